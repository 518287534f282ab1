"""`redoma history`: what was previewed, applied and undone, and where each of it stands."""

from __future__ import annotations

import os
import sys

from redoma.base.paths import is_within
from redoma.cli.options import read
from redoma.i18n import phrased
from redoma.model.display import harmless, shortened
from redoma.model.errors import UsageError
from redoma.model.transaction import Standing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.transaction import HistoryEntry

USAGE = """\
usage: redoma history [--all] [--json]
       redoma history ID [--stat | --patch | --json]

Lists what was previewed, applied and undone in this workspace, the newest first; with an ID, shows
what that one changed.

  --all            of every workspace
  --workspace DIR  of this one
  --stat           only the tree of changes
  --patch          a patch for `git apply`
  --no-pager       does not stop at each screenful
  --json           one JSON object
ID may be shortened as long as it is clear.
"""
_FLAGS = ("--all", "--json", "--stat", "--patch", "--no-pager", "-h", "--help")
_COMMAND = 60


def main(arguments: list[str]) -> int:
    """Lists, or shows one."""
    options = read(arguments, flags=_FLAGS, values=("--workspace",), usage="redoma history [ID]")
    if options.flags & {"-h", "--help"}:
        sys.stdout.write(phrased(USAGE))
        return 0
    if len(options.words) > 1:
        raise UsageError("one at a time", hint="redoma history ID")
    if options.words:
        return _one(options.words[0], options.flags)
    if options.flags & {"--stat", "--patch"}:
        raise UsageError("of which one?", hint="redoma history ID --patch")
    from redoma.pipeline import stored_changes

    place = options.values.get("--workspace", "")
    if place and "--all" in options.flags:
        raise UsageError("--all and --workspace do not go together")
    entries = stored_changes.history("" if "--all" in options.flags else workspace_here(place))
    if "--json" in options.flags:
        import json

        sys.stdout.write(json.dumps({"history": [as_json(entry) for entry in entries]}) + "\n")
        return 0
    if not entries:
        told = "redoma: nothing is remembered here\nhint: redoma history --all\n"
        sys.stderr.write(phrased(told))
    from redoma.cli.terminal import page

    lines = [line(entry, with_place="--all" in options.flags) for entry in entries]
    page(lines, wanted="--no-pager" not in options.flags)
    return 0


def line(entry: HistoryEntry, *, with_place: bool) -> str:
    """One entry for people."""
    import time

    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.when))
    signs = (
        ("+", entry.created),
        ("~", entry.modified),
        ("-", entry.deleted),
        (">", entry.renamed),
        ("*", entry.attributes),
    )
    counts = " ".join(f"{sign}{number}" for sign, number in signs if number)
    command = harmless(shortened(entry.command, _COMMAND))
    place = phrased("  in {0}", harmless(entry.workspace)) if with_place else ""
    why = f"  ({harmless(phrased(entry.why))})" if entry.why else ""
    standing = phrased(entry.standing.value)
    return f"{entry.id}  {when}  {standing:<11}  {counts:<12}  {command}{place}{why}\n"


def as_json(entry: HistoryEntry) -> dict[str, object]:
    """One entry for programs."""
    from datetime import UTC, datetime

    return {
        "id": entry.id,
        "when": datetime.fromtimestamp(entry.when, UTC).isoformat(timespec="seconds"),
        "command": entry.command,
        "workspace": entry.workspace,
        "standing": entry.standing.value,
        "created": entry.created,
        "modified": entry.modified,
        "deleted": entry.deleted,
        "renamed": entry.renamed,
        "attributes": entry.attributes,
        "size": entry.size,
        "undoable": entry.standing is Standing.APPLIED,
        "why": entry.why,
    }


def workspace_here(place: str) -> str:
    """The workspace that is meant: the nearest remembered one around a directory, or itself."""
    from redoma.pipeline import stored_changes

    here = os.path.realpath(place or ".")
    around = [
        entry.workspace for entry in stored_changes.history() if is_within(here, entry.workspace)
    ]
    return max(around, key=len, default=here)


def _one(name: str, flags: set[str]) -> int:
    """What one transaction changed; its differences only while they are held."""
    from redoma.pipeline import stored_changes

    whole = stored_changes.resolve(name)
    entry = next(entry for entry in stored_changes.history() if entry.id == whole)
    differs = entry.standing in (Standing.HELD, Standing.UNDONE)
    if "--patch" in flags:
        if not differs:
            raise UsageError(f"{whole} is {entry.standing.value}: its differences are not held")
        from redoma.cli.preview import write_patch

        write_patch(stored_changes.load(whole), pager="--no-pager" not in flags)
        return 0
    changes = stored_changes.load(whole)
    if "--json" in flags:
        import json

        from redoma.cli.json_report import change_json

        made = {**as_json(entry), "changes": [change_json(item) for item in changes.items]}
        sys.stdout.write(json.dumps({**made, "warnings": list(changes.warnings)}) + "\n")
        return 0
    from redoma.cli.preview import changes_report
    from redoma.cli.prose import screen
    from redoma.cli.terminal import page
    from redoma.cli.tree import tree

    on = screen(sys.stdout)
    parts = [line(entry, with_place=True), f"{harmless(entry.command)}\n\n"]
    if differs:
        parts += changes_report(changes, on, stat="--stat" in flags)
    else:
        parts.append(tree(changes.items, on))
    parts += [phrased("warning: {0}\n", harmless(phrased(warning))) for warning in changes.warnings]
    page(parts, wanted="--no-pager" not in flags)
    return 0
