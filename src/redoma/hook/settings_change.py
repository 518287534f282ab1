"""Changes of an agent's settings that put our hook in, or take it out: found, made, carried out."""

from __future__ import annotations

from redoma.hook import enclosing_entry, entry, own_shell
from redoma.hook import settings_file as files
from redoma.hook.agents import AGENTS
from redoma.hook.settings_file import SettingsPlace, places
from redoma.model.errors import UsageError
from redoma.model.message import Message
from redoma.model.value import Value


class SettingsChange(Value):
    """A settings file before and after; `after` None means that the file goes."""

    kept: files.Kept
    after: str | None
    keeps_backup: bool = False
    exact: bool = False
    shell: tuple[str, str] = ("", "")  # the agent and the text of its own shell, to be written

    @property
    def changed(self) -> bool:
        return self.after != self.kept.text or bool(self.shell[1])


def handler(place: SettingsPlace) -> entry.JsonSettings | entry.TomlSettings:
    """What edits the format of a file."""
    return entry.TomlSettings() if place.is_toml else entry.JsonSettings()


def installed(
    agent: str, scope: str, wanted: dict[str, object] | None = None
) -> list[tuple[files.Kept, list[dict[str, object]]]]:
    """The files of a scope, with the groups of ours in each; `wanted` is shown if one is broken."""
    return [(kept, _groups(kept, wanted)) for kept in map(files.read_place, places(agent, scope))]


def _groups(kept: files.Kept, wanted: dict[str, object] | None) -> list[dict[str, object]]:
    try:
        return handler(kept.place).groups(kept.text, kept.place.agent)
    except UsageError as error:
        raise UsageError(f"{kept.real} {error}", hint=_by_hand(kept, wanted)) from error


ENCLOSING = ("claude-code", "gemini")
"""The agents whose shell commands can be enclosed from their settings."""


def install(
    agent: str, scope: str, options: list[str], *, run: list[str] | None = None
) -> SettingsChange:
    """The change that puts our hook in, or brings it up to date.

    With `run`, the options of a run, the agent's shell commands run enclosed.
    """
    encloses = run is not None
    if encloses:
        options = [*options, "--enclosed"]
    group = entry.group(agent, options)
    here = installed(agent, scope, group)
    target, ours = next(((kept, found) for kept, found in here if found), _fresh(here))
    shell = ("", "")
    if run is not None:
        command = entry.command(agent, options)
        text = own_shell.script(agent, AGENTS[agent].title, run, command)
        shell = (agent, "" if own_shell.is_written(agent, text) else text)
    edit = handler(target.place)
    worn = _wears(target.text, agent)
    if ours == [group] and worn == encloses:
        return SettingsChange(kept=target, after=target.text, shell=shell)
    try:
        before = _bare(edit, target.text, agent) if ours and target.text else target.text
        after = _made(edit, before, agent, group, options if encloses else None)
    except UsageError as error:
        raise UsageError(f"{target.real} {error}", hint=_by_hand(target, group)) from error
    # A file that already had ours keeps the backup of the time before us.
    return SettingsChange(
        kept=target, after=after, keeps_backup=target.text is not None and not ours, shell=shell
    )


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


def uninstall(agent: str, scope: str) -> list[SettingsChange]:
    """The changes that take our hook out, and with it all that was added for it."""
    changes: list[SettingsChange] = []
    for kept, ours in installed(agent, scope):
        if not ours or kept.text is None:
            continue
        edit = handler(kept.place)
        before = files.read_backup(kept)
        if len(ours) == 1 and _was_made(edit, before, kept.text, agent, ours[0]):
            changes.append(SettingsChange(kept=kept, after=before, exact=True))
            continue
        try:
            after = _bare(edit, kept.text, agent)
        except UsageError as error:
            raise UsageError(f"{kept.real} {error}") from error
        emptied = before is None and after.strip() in ("", "{}")
        changes.append(SettingsChange(kept=kept, after=None if emptied else after))
    return changes


def _bare(edit: entry.JsonSettings | entry.TomlSettings, text: str, agent: str) -> str:
    """The settings without anything of ours."""
    if isinstance(edit, entry.JsonSettings):
        text = enclosing_entry.remove(text, agent)
    return edit.remove(text, agent)


def _made(
    edit: entry.JsonSettings | entry.TomlSettings,
    before: str | None,
    agent: str,
    group: dict[str, object],
    enclosing: list[str] | None,
) -> str:
    """The settings with our hook; with the options of an enclosing one, with all that it needs."""
    after = edit.add(before, agent, group)
    return after if enclosing is None else enclosing_entry.add(after, agent, enclosing)


def _was_made(
    edit: entry.JsonSettings | entry.TomlSettings,
    before: str | None,
    now: str,
    agent: str,
    group: dict[str, object],
) -> bool:
    """Whether the file is as installing made it of the one that was there before."""
    import shlex

    try:
        if not _wears(now, agent):
            return _made(edit, before, agent, group, None) == now
        command = str(group["hooks"][0]["command"])  # type: ignore[index]
        words = shlex.split(command.partition(entry.ELSE_STOP)[0])
        options = words[words.index("hook") + 2 :]
        return _made(edit, before, agent, group, options) == now
    except (UsageError, ValueError):
        return False


def _wears(text: str | None, agent: str) -> bool:
    """Whether the settings enclose; never those in TOML."""
    if not text or not text.strip() or agent not in ENCLOSING:
        return False
    return enclosing_entry.is_worn(entry.JsonSettings.parse(text), agent)


def carry_out(change: SettingsChange) -> None:
    """Writes a change; the backup comes first, and goes when the file is as it was."""
    if not change.changed:
        return
    agent, text = change.shell
    if text:  # first: settings that name what is not there would stop every command
        own_shell.write(agent, text)
    if change.after == change.kept.text:
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
        return Message("add this by hand:\n{block}", block=entry.toml_block(agent, group))
    import json

    entry_text = json.dumps({"hooks": {entry.event(agent): [group]}}, indent=2)
    return Message("add this by hand:\n{block}", block=entry_text)
