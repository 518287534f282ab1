"""`redoma undo`: takes back what was applied."""

from __future__ import annotations

import sys

from redoma.faces.cli.options import read
from redoma.faces.display import harmless
from redoma.model.errors import UsageError
from redoma.words import phrased

USAGE = """\
usage: redoma undo [ID]

Takes back what was applied: the files are again as they were before. Without an ID it is the last
that was applied in this workspace. Refused where a file has changed since.

  --workspace DIR  the workspace, if it is not the current directory
  --json           one JSON object
ID may be shortened as long as it is clear.
"""
_SHOWN = 20


def main(arguments: list[str]) -> int:
    """Undoes; every refusal is an error that leaves the workspace as it was."""
    options = read(
        arguments,
        flags=("--json", "-h", "--help"),
        values=("--workspace",),
        usage="redoma undo [ID]",
    )
    if options.flags & {"-h", "--help"}:
        sys.stdout.write(phrased(USAGE))
        return 0
    if len(options.words) > 1:
        raise UsageError("one at a time", hint="redoma undo ID")
    from redoma.faces.cli.history import workspace_here
    from redoma.flow.applying import undo
    from redoma.flow.policies import load

    place = options.values.get("--workspace", "")
    if options.words:
        if place:
            raise UsageError("an ID says which workspace is meant", hint="redoma undo ID")
        undone = undo(options.words[0], load("."))
    else:
        here = workspace_here(place)
        undone = undo(None, load(here), workspace=here)
    if "--json" in options.flags:
        import json

        made = {"id": undone.id, "paths": list(undone.paths), "notes": list(undone.notes)}
        sys.stdout.write(json.dumps(made) + "\n")
        return 0
    count = len(undone.paths)
    told = "undid {0}: {1} paths are as they were\n"
    if count == 1:
        told = "undid {0}: {1} path is as it was\n"
    sys.stdout.write(phrased(told, undone.id, count))
    for path in undone.paths[:_SHOWN]:
        sys.stdout.write(f"  {harmless(path)}\n")
    if count > _SHOWN:
        sys.stdout.write(phrased("  and {0} more\n", count - _SHOWN))
    sys.stdout.flush()
    for note in undone.notes:
        sys.stderr.write(f"redoma: {harmless(phrased(note))}\n")
    sys.stderr.write(phrased("hint: redoma apply {0} brings them back\n", undone.id))
    return 0
