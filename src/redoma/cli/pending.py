"""`redoma pending`: the questions that wait for a person."""

from __future__ import annotations

import sys
import time

from redoma.cli import options
from redoma.cli.prose import screen
from redoma.i18n import phrased
from redoma.model.confirmation import confirmation_request
from redoma.model.display import harmless
from redoma.model.errors import UsageError
from redoma.model.question import Remember
from redoma.pipeline.pending_questions import can_remember, described, pending
from redoma.pipeline.redaction import redactor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.pipeline.pending_questions import Waiting

USAGE = "redoma pending [--json] [--watch]"
HELP = f"""usage: {USAGE}

Lists the questions that wait for an answer: what would run, why it is asked, what it would
touch, and how long there is. `redoma answer ID approve` answers one.

  --json      one JSON object with all of them; with --watch one object a line
  --watch     goes on, and shows each new question as it comes
  -h, --help  this text
"""
LOOKS_EVERY = 0.3


def main(arguments: list[str]) -> int:
    """Shows what waits; with --watch until it is interrupted."""
    given = options.read(arguments, flags=("--json", "--watch", "-h", "--help"), usage=USAGE)
    if given.flags & {"-h", "--help"}:
        sys.stdout.write(phrased(HELP))
        return 0
    if given.words:
        raise UsageError(f"nothing is known of {given.words[0]!r} here", hint=USAGE)
    if "--watch" in given.flags:
        return _watch(as_json="--json" in given.flags)
    waiting = pending().list()
    if "--json" in given.flags:
        import json

        sys.stdout.write(json.dumps({"pending": [as_object(one) for one in waiting]}) + "\n")
    elif not waiting:
        sys.stderr.write(phrased("no question is waiting\n"))
    else:
        sys.stdout.write("\n".join(as_text(one) for one in waiting))
    return 0


def _watch(*, as_json: bool) -> int:
    import json

    shown: set[str] = set()
    questions = pending()
    while True:
        waiting = questions.list()
        for one in waiting:
            if one.question.id not in shown:
                text = json.dumps(as_object(one)) + "\n" if as_json else as_text(one) + "\n"
                sys.stdout.write(text)
                sys.stdout.flush()
        shown = {one.question.id for one in waiting}
        time.sleep(LOOKS_EVERY)


def as_object(waiting: Waiting) -> dict[str, object]:
    """A waiting question for programs: the document's request, and what helps to answer it."""
    question = waiting.question
    redact = redactor().text
    possible = can_remember(question)
    return {
        "confirmation_request": confirmation_request(question, redact),
        "seconds_left": round(waiting.seconds_left, 1),
        "asker_waits": waiting.asker_waits,
        "because": [redact(why) for why in question.because],
        "suggested_alternative": question.alternative or None,
        "workspace": question.workspace,
        "session": question.session,
        "policy": question.policy,
        "can_remember": [one.value for one in Remember if one in possible],
    }


def as_text(waiting: Waiting) -> str:
    """A waiting question for people."""
    on = screen(sys.stdout)
    question = waiting.question
    left = phrased("{0} s left", int(waiting.seconds_left + 0.999))
    head = f"{question.id}  {harmless(phrased(question.safety_level))}  {left}"
    if not waiting.asker_waits:
        head += phrased("  (its asker has gone)")
    lines = described(question, columns=on.width + 1, colour=on.colour, redact=redactor().text)
    return "\n".join([head, *lines, ""])
