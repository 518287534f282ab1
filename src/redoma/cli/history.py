"""`redoma history`: what was previewed, applied and undone; `redoma gc` lets old ones go."""

from __future__ import annotations

import os
import sys

from redoma.base.paths import is_within
from redoma.base.text import harmless, shortened
from redoma.cli.options import Argument, CommandTable, Heading, Option, Sample
from redoma.cli.table import columns_of, row
from redoma.i18n import phrased
from redoma.model.change import Standing
from redoma.model.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.cli.options import CommandLine
    from redoma.model.change import HistoryEntry

_COMMAND = 60
HISTORY = CommandTable(
    "history",
    "Lists what was previewed, applied and undone in this workspace, the newest first; with an ID,"
    " shows what that one changed.",
    usage=("[--all] [--json]", "ID [--stat | --patch | --json]"),
    arguments=(Argument("ID", "may be shortened as long as it is clear"),),
    options=(
        Heading("options"),
        Option("--all", "of every workspace"),
        Option("--workspace DIR", "of this one"),
        Option("--stat", "only the tree of changes"),
        Option("--patch", "a patch for `git apply`"),
        Option("--no-pager", "does not stop at each screenful"),
        Option("--json", "one JSON object"),
    ),
    samples=(Sample("redoma history --all", "everything that is remembered"),),
)
GC = CommandTable(
    "gc",
    "Lets go of what is kept beyond its bounds, the oldest first: 14 days, 2 GiB or a twentieth of"
    " the disk, 200 transactions; and of what a crash left behind, containers included. This also"
    " happens now and then by itself. What was applied last in each workspace stays.",
    usage=("[--dry-run] [--older-than DAYS]",),
    options=(
        Heading("options"),
        Option("--dry-run", "only says what would go"),
        Option(
            "--older-than DAYS",
            "another age than 14 days; 0 for everything that is not in use, what was applied last"
            " included",
        ),
        Option("--json", "one JSON object"),
    ),
    samples=(Sample("redoma gc --dry-run", "what would be let go now"),),
)


@HISTORY.main
def main(options: CommandLine) -> int:
    """Lists, or shows one."""
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
    if options.json:
        import json

        sys.stdout.write(json.dumps({"history": [as_json(entry) for entry in entries]}) + "\n")
        return 0
    if not entries:
        told = "redoma: nothing is remembered here\nhint: redoma history --all\n"
        sys.stderr.write(phrased(told))
    from redoma.cli.console import page

    width = columns_of(sys.stdout)
    lines = [line(entry, width, with_place="--all" in options.flags) for entry in entries]
    page(lines, wanted="--no-pager" not in options.flags)
    return 0


def line(entry: HistoryEntry, width: int | None = None, *, with_place: bool) -> str:
    """One entry for people, in lines that fit their screen."""
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
    head = f"{entry.id}  {when}  {standing:<11}  {counts:<12}"
    return "".join(f"{part}\n" for part in row(head, f"{command}{place}{why}", width))


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
    from redoma.cli.console import page
    from redoma.cli.preview import changes_report
    from redoma.cli.prose import screen
    from redoma.cli.tree import tree

    on = screen(sys.stdout)
    parts = [line(entry, columns_of(sys.stdout), with_place=True), f"{harmless(entry.command)}\n\n"]
    if differs:
        parts += changes_report(changes, on, stat="--stat" in flags)
    else:
        parts.append(tree(changes.items, on))
    parts += [phrased("warning: {0}\n", harmless(phrased(warning))) for warning in changes.warnings]
    page(parts, wanted="--no-pager" not in flags)
    return 0


@GC.main
def collect(options: CommandLine) -> int:
    """Makes room."""
    if options.words:
        raise UsageError(f"nothing is known of {options.words[0]!r} here", hint="redoma gc --help")
    from redoma.cli.tree import size
    from redoma.pipeline.stored_changes import RetentionBounds, collect_garbage

    days = options.values.get("--older-than")
    age = None if days is None else _days(days) * 86_400
    bounds = RetentionBounds() if age is None else RetentionBounds(age=age, newest=age == 0)
    only_tell = "--dry-run" in options.flags
    freed = collect_garbage(bounds, only_tell=only_tell)
    from redoma.pipeline.container_leftovers import collect_containers

    containers = collect_containers(only_tell=only_tell)
    if options.json:
        import json

        made = {
            "dry_run": only_tell,
            "ids": list(freed.ids),
            "bytes": freed.size,
            "containers": [
                {"id": each.id, "name": each.name, "project_path": each.project_path}
                for each in containers
            ],
        }
        sys.stdout.write(json.dumps(made) + "\n")
        return 0
    told = "would free {0}: {1} transactions\n" if only_tell else "freed {0}: {1} transactions\n"
    sys.stdout.write(phrased(told, size(freed.size), len(freed.ids)))
    for name in freed.ids:
        sys.stdout.write(f"  {name}\n")
    for each in containers:
        left = "would remove {0} of {1}\n" if only_tell else "removed {0} of {1}\n"
        sys.stdout.write(phrased(left, each.name, harmless(each.project_path)))
    return 0


def _days(text: str) -> float:
    try:
        days = float(text)
    except ValueError:
        days = -1.0
    if not 0 <= days < 1e6:
        raise UsageError(f"--older-than: {text!r} is no number of days", hint="--older-than 7")
    return days
