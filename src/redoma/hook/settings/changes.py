"""What installing and uninstalling would change, before anything is changed."""

from __future__ import annotations

from redoma.hook.settings import entry, files, json_file, toml_file
from redoma.hook.settings.places import Place, places
from redoma.model.errors import UsageError
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType


class Change(Value):
    """A settings file before and after; `after` None means that the file goes."""

    kept: files.Kept
    after: str | None
    keeps_backup: bool = False
    exact: bool = False

    @property
    def changed(self) -> bool:
        return self.after != self.kept.text


def handler(place: Place) -> ModuleType:
    """The module that edits the format of a file."""
    return toml_file if place.is_toml else json_file


def installed(
    agent: str, scope: str, wanted: dict[str, object] | None = None
) -> list[tuple[files.Kept, list[dict[str, object]]]]:
    """The files of a scope, with the groups of ours in each; `wanted` is shown if one is broken."""
    return [(kept, _groups(kept, wanted)) for kept in map(files.read, places(agent, scope))]


def _groups(kept: files.Kept, wanted: dict[str, object] | None) -> list[dict[str, object]]:
    try:
        found: list[dict[str, object]] = handler(kept.place).groups(kept.text, kept.place.agent)
    except UsageError as error:
        raise UsageError(f"{kept.real} {error}", hint=_by_hand(kept, wanted)) from error
    return found


def install(agent: str, scope: str, options: list[str]) -> Change:
    """The change that puts our hook in, or brings it up to date."""
    group = entry.group(agent, options)
    here = installed(agent, scope, group)
    target, ours = next(((kept, found) for kept, found in here if found), _fresh(here))
    if ours == [group]:
        return Change(kept=target, after=target.text)
    try:
        edit = handler(target.place)
        text = edit.remove(target.text, agent) if ours else target.text
        after = edit.add(text, agent, group)
    except UsageError as error:
        raise UsageError(f"{target.real} {error}", hint=_by_hand(target, group)) from error
    # A file that already had ours keeps the backup of the time before us.
    return Change(kept=target, after=after, keeps_backup=target.text is not None and not ours)


def _fresh(
    here: list[tuple[files.Kept, list[dict[str, object]]]],
) -> tuple[files.Kept, list[dict[str, object]]]:
    """Where a new hook goes: beside hooks that are there, as Codex warns of two kinds of file."""
    for kept, ours in here:
        if kept.text is not None and kept.text.strip():
            settings = handler(kept.place).parse(kept.text)
            if settings.get("hooks"):
                return kept, ours
    return here[0]


def uninstall(agent: str, scope: str) -> list[Change]:
    """The changes that take our hook out, and with it all that was added for it."""
    changes = []
    for kept, ours in installed(agent, scope):
        if not ours or kept.text is None:
            continue
        edit = handler(kept.place)
        before = files.read_backup(kept)
        if len(ours) == 1 and _made(edit, before, agent, ours[0]) == kept.text:
            changes.append(Change(kept=kept, after=before, exact=True))
            continue
        try:
            after = edit.remove(kept.text, agent)
        except UsageError as error:
            raise UsageError(f"{kept.real} {error}") from error
        emptied = before is None and after.strip() in ("", "{}")
        changes.append(Change(kept=kept, after=None if emptied else after))
    return changes


def _made(edit: ModuleType, before: str | None, agent: str, group: dict[str, object]) -> str | None:
    """What installing made of the file that was there before."""
    try:
        made: str = edit.add(before, agent, group)
    except UsageError:
        return None
    return made


def carry_out(change: Change) -> None:
    """Writes a change; the backup comes first, and goes when the file is as it was."""
    if not change.changed:
        return
    if change.keeps_backup:
        files.write_backup(change.kept)
    if change.after is None:
        files.delete(change.kept.real)
    else:
        files.write(change.kept, change.after)
    if change.exact:
        files.delete(change.kept.backup)


def _by_hand(kept: files.Kept, group: dict[str, object] | None) -> str:
    if group is None:
        return "mend the file, then try again"
    agent = kept.place.agent
    if kept.place.is_toml:
        return f"add this by hand:\n{toml_file.block(agent, group)}"
    import json

    entry_text = json.dumps({"hooks": {entry.event(agent): [group]}}, indent=2)
    return f"add this by hand:\n{entry_text}"
