"""`redoma discard`: lets held changes go; the workspace is not touched."""

from __future__ import annotations

import sys

from redoma.cli.options import read
from redoma.i18n import phrased
from redoma.model.errors import UsageError

USAGE = """\
usage: redoma discard ID...
       redoma discard --all

Lets the changes of previews go. The workspace is not touched.

  --all    every preview of this workspace that is not applied
  --json   one JSON object
ID may be shortened as long as it is clear.
"""
_HINT = "redoma discard ID, or redoma discard --all"


def main(arguments: list[str]) -> int:
    """Discards what was named."""
    options = read(arguments, flags=("--all", "--json", "-h", "--help"), usage=_HINT)
    if options.flags & {"-h", "--help"}:
        sys.stdout.write(phrased(USAGE))
        return 0
    every = "--all" in options.flags
    if every == bool(options.words):
        raise UsageError("name changes by their id, or say --all", hint=_HINT)
    from redoma.pipeline import stored_changes
    from redoma.pipeline.policies import load_policy
    from redoma.pipeline.transactions import local_transactions

    # Each name is made out before anything goes: a slip in the last one discards nothing.
    names = _all_here() if every else tuple(stored_changes.resolve(word) for word in options.words)
    transactions = local_transactions(load_policy("."))
    for name in names:
        transactions.discard(name)
    if "--json" in options.flags:
        import json

        sys.stdout.write(json.dumps({"discarded": list(names)}) + "\n")
        return 0
    for name in names:
        sys.stdout.write(phrased("discarded {0}\n", name))
    if not names:
        sys.stderr.write(phrased("redoma: nothing is held\n"))
    return 0


def _all_here() -> tuple[str, ...]:
    """Never those of another workspace: someone else may be about to apply them."""
    from redoma.cli.history import workspace_here
    from redoma.pipeline import stored_changes

    waiting = set(stored_changes.previews())
    return tuple(e.id for e in stored_changes.history(workspace_here("")) if e.id in waiting)
