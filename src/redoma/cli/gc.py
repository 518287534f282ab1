"""`redoma gc`: lets go of what is kept for applying and undoing beyond its bounds."""

from __future__ import annotations

import sys

from redoma.cli.options import read
from redoma.cli.tree import size
from redoma.i18n import phrased
from redoma.model.errors import UsageError

USAGE = """\
usage: redoma gc [--dry-run] [--older-than DAYS]

Lets go of what is kept beyond its bounds, the oldest first: 14 days, 2 GiB or a twentieth of the
disk, 200 transactions; and of what a crash left behind. This also happens now and then by itself.
What was applied last in each workspace stays.

  --dry-run          only says what would go
  --older-than DAYS  another age than 14 days; 0 for everything that is not in use, what was
                     applied last included
  --json             one JSON object
"""


def main(arguments: list[str]) -> int:
    """Makes room."""
    options = read(
        arguments,
        flags=("--dry-run", "--json", "-h", "--help"),
        values=("--older-than",),
        usage="redoma gc [--dry-run]",
    )
    if options.flags & {"-h", "--help"}:
        sys.stdout.write(phrased(USAGE))
        return 0
    if options.words:
        raise UsageError(f"nothing is known of {options.words[0]!r} here", hint="redoma gc --help")
    from redoma.pipeline.stored_changes import RetentionBounds, collect_garbage

    days = options.values.get("--older-than")
    age = None if days is None else _days(days) * 86_400
    bounds = RetentionBounds() if age is None else RetentionBounds(age=age, newest=age == 0)
    only_tell = "--dry-run" in options.flags
    freed = collect_garbage(bounds, only_tell=only_tell)
    if "--json" in options.flags:
        import json

        made = {"dry_run": only_tell, "ids": list(freed.ids), "bytes": freed.size}
        sys.stdout.write(json.dumps(made) + "\n")
        return 0
    told = "would free {0}: {1} transactions\n" if only_tell else "freed {0}: {1} transactions\n"
    sys.stdout.write(phrased(told, size(freed.size), len(freed.ids)))
    for name in freed.ids:
        sys.stdout.write(f"  {name}\n")
    return 0


def _days(text: str) -> float:
    try:
        days = float(text)
    except ValueError:
        days = -1.0
    if not 0 <= days < 1e6:
        raise UsageError(f"--older-than: {text!r} is no number of days", hint="--older-than 7")
    return days
