"""`redoma answer`: answers a question that waits, from another terminal than the one that asks."""

from __future__ import annotations

import sys

from redoma.cli import options
from redoma.i18n import phrased
from redoma.model.confirmation import LONGEST_COMMAND, response_as_dict
from redoma.model.errors import UsageError
from redoma.model.question import Choice, Remember
from redoma.pipeline.pending_questions import account, answer_pending
from redoma.pipeline.redaction import redactor

USAGE = "redoma answer ID approve|deny|dry_run|modify [OPTION]..."
HELP = f"""usage: {USAGE}

Answers a question that `redoma pending` lists. The first answer counts; a later one is refused.
An approval is for exactly what was asked, and for one run. If its asker has gone meanwhile, it
waits ten minutes for the same command in the same place.

  ID               the question's id, or enough of its beginning
  --command TEXT   with modify: what to run instead; it is judged anew
  --remember HOW   with approve: once (the default), session, exact or prefix
  --notes TEXT     a remark that is kept with the answer
  --json           the answer as one JSON object
  -h, --help       this text

exit status: 0 the answer counts; 2 it cannot be understood; 126 the question is over.
"""
LONGEST_NOTES = 4096


def main(arguments: list[str]) -> int:
    """Gives one answer; an error where it does not count."""
    given = options.read(
        arguments,
        flags=("--json", "-h", "--help"),
        values=("--command", "--remember", "--notes"),
        usage=USAGE,
        words_hint=USAGE,
    )
    if given.flags & {"-h", "--help"}:
        sys.stdout.write(phrased(HELP))
        return 0
    if len(given.words) != 2:
        raise UsageError("an id and a decision are needed", hint=USAGE)
    id, said = given.words
    choice = _choice(said)
    command = given.values.get("--command", "")
    _fits(choice, command, given.values)
    waiting, answer = answer_pending(
        id,
        choice,
        by=account(),
        remember=_remember(given.values.get("--remember", Remember.ONCE.value)),
        modified_command=command,
        notes=given.values.get("--notes", ""),
        redact=redactor().text,
    )
    if "--json" in given.flags:
        import json

        sys.stdout.write(json.dumps(response_as_dict(answer)) + "\n")
        return 0
    sys.stdout.write(f"{answer.question}  {phrased(answer.choice.value)}\n")
    if choice is Choice.APPROVE and not waiting.asker_waits:
        sys.stderr.write(
            phrased("its asker has gone: the approval waits ten minutes for the same command\n")
        )
    return 0


def _choice(said: str) -> Choice:
    try:
        return Choice(said.replace("-", "_"))
    except ValueError:
        known = [choice.value for choice in Choice]
        meant = options.nearest(said, known)
        raise UsageError(
            f"{said!r} is no decision", hint=meant or f"one of: {', '.join(known)}"
        ) from None


def _remember(said: str) -> Remember:
    try:
        return Remember(said)
    except ValueError:
        known = ", ".join(one.value for one in Remember)
        raise UsageError(f"--remember: {said!r} is not known", hint=f"one of: {known}") from None


def _fits(choice: Choice, command: str, values: dict[str, str]) -> None:
    if choice is Choice.MODIFY and not command.strip():
        raise UsageError("modify needs --command TEXT", hint=USAGE)
    if choice is not Choice.MODIFY and "--command" in values:
        raise UsageError("--command goes with modify", hint=USAGE)
    if choice is not Choice.APPROVE and values.get("--remember", "once") != "once":
        raise UsageError("--remember goes with approve", hint=USAGE)
    if len(command) > LONGEST_COMMAND or "\0" in command:
        raise UsageError("--command is too long, or holds a NUL byte", hint=USAGE)
    if len(values.get("--notes", "")) > LONGEST_NOTES:
        raise UsageError(f"--notes is longer than {LONGEST_NOTES} characters", hint=USAGE)
