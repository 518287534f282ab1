"""`redoma pending`, `answer` and `approvals`: questions that wait, and what was approved."""

from __future__ import annotations

import os
import sys
import time

from redoma.base.text import harmless, shortened
from redoma.cli.options import Argument, CommandTable, Heading, Option, Sample, nearest
from redoma.cli.prose import screen
from redoma.i18n import phrased
from redoma.model.confirmation import LONGEST_COMMAND, confirmation_request, response_as_dict
from redoma.model.errors import UsageError
from redoma.model.request import Choice, Remember
from redoma.pipeline.pending_questions import (
    account,
    answer_pending,
    can_remember,
    described,
    pending,
    remembered,
)
from redoma.pipeline.secrets import redactor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.cli.options import CommandLine
    from redoma.pipeline.pending_questions import Approval, Waiting

PENDING = CommandTable(
    "pending",
    "Lists the questions that wait for an answer: what would run, why it is asked, what it would"
    " touch, and how long there is. `redoma answer ID approve` answers one.",
    usage=("[--json] [--watch]",),
    options=(
        Heading("options"),
        Option("--json", "one JSON object with all of them; with --watch one object a line"),
        Option("--watch", "goes on, and shows each new question as it comes"),
    ),
    samples=(Sample("redoma pending --json", "what waits, for a program"),),
)
ANSWER = CommandTable(
    "answer",
    "Answers a question that `redoma pending` lists. The first answer counts; a later one is"
    " refused. An approval is for exactly what was asked, and for one run. If its asker has gone"
    " meanwhile, it waits ten minutes for the same command in the same place.",
    usage=("ID approve|deny|dry_run|modify [OPTION]...",),
    arguments=(Argument("ID", "the question's id, or enough of its beginning"),),
    options=(
        Heading("options"),
        Option("--command TEXT", "with modify: what to run instead; it is judged anew"),
        Option(
            "--remember HOW",
            "with approve: once (the default), session, exact or prefix",
            choices="once session exact prefix",
        ),
        Option("--notes TEXT", "a remark that is kept with the answer"),
        Option("--json", "the answer as one JSON object"),
    ),
    status="0 the answer counts; 2 it cannot be understood; 126 the question is over.",
    samples=(Sample("redoma answer 3f2a9c1e approve", "lets that command run once", status=126),),
)
APPROVALS = CommandTable(
    "approvals",
    "Lists what runs without a question because you approved it for longer than once.",
    options=(
        Heading("options"),
        Option("--workspace DIR", "only those of one workspace, for list and clear"),
        Option("--json", "one JSON object"),
    ),
    samples=(Sample("redoma approvals list", "what runs without a question"),),
    usual="list",
)
LOOKS_EVERY = 0.3
LONGEST_NOTES = 4096
_LASTS = {
    Remember.ONCE: "once, in advance",
    Remember.SESSION: "this session",
    Remember.EXACT: "always, exactly",
    Remember.PREFIX: "always, begins so",
}
SHOWN = 300


@PENDING.main
def show_pending(given: CommandLine) -> int:
    """Shows what waits; with --watch until it is interrupted."""
    if given.words:
        raise UsageError(f"nothing is known of {given.words[0]!r} here", hint=PENDING.hint)
    if "--watch" in given.flags:
        return _watch(as_json=given.json)
    waiting = pending().list()
    if given.json:
        import json

        sys.stdout.write(json.dumps({"pending": [waiting_json(one) for one in waiting]}) + "\n")
    elif not waiting:
        sys.stderr.write(phrased("no question is waiting\n"))
    else:
        sys.stdout.write("\n".join(waiting_text(one) for one in waiting))
    return 0


def _watch(*, as_json: bool) -> int:
    import json

    shown: set[str] = set()
    questions = pending()
    while True:
        waiting = questions.list()
        for one in waiting:
            if one.question.id not in shown:
                text = json.dumps(waiting_json(one)) + "\n" if as_json else waiting_text(one) + "\n"
                sys.stdout.write(text)
                sys.stdout.flush()
        shown = {one.question.id for one in waiting}
        time.sleep(LOOKS_EVERY)


def waiting_json(waiting: Waiting) -> dict[str, object]:
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


def waiting_text(waiting: Waiting) -> str:
    """A waiting question for people."""
    on = screen(sys.stdout)
    question = waiting.question
    left = phrased("{0} s left", int(waiting.seconds_left + 0.999))
    head = f"{question.id}  {harmless(phrased(question.safety_level))}  {left}"
    if not waiting.asker_waits:
        head += phrased("  (its asker has gone)")
    lines = described(question, columns=on.width + 1, colour=on.colour, redact=redactor().text)
    return "\n".join([head, *lines, ""])


@ANSWER.main
def answer_one(given: CommandLine) -> int:
    """Gives one answer; an error where it does not count."""
    if len(given.words) != 2:
        raise UsageError("an id and a decision are needed", hint=ANSWER.hint)
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
    if given.json:
        import json

        sys.stdout.write(json.dumps(response_as_dict(answer)) + "\n")
        return 0
    sys.stdout.write(f"{answer.question}  {phrased(answer.choice.value)}\n")
    if not waiting.asker_waits:
        told = "its asker has gone: nobody waits for this answer\n"
        if choice is Choice.APPROVE:
            told = "its asker has gone: the approval waits ten minutes for the same command\n"
        sys.stderr.write(phrased(told))
    return 0


def _choice(said: str) -> Choice:
    try:
        return Choice(said.replace("-", "_"))
    except ValueError:
        known = [choice.value for choice in Choice]
        meant = nearest(said, known)
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
        raise UsageError("modify needs --command TEXT", hint=ANSWER.hint)
    if choice is not Choice.MODIFY and "--command" in values:
        raise UsageError("--command goes with modify", hint=ANSWER.hint)
    if choice is not Choice.APPROVE and values.get("--remember", "once") != "once":
        raise UsageError("--remember goes with approve", hint=ANSWER.hint)
    if len(command) > LONGEST_COMMAND or "\0" in command:
        raise UsageError("--command is too long, or holds a NUL byte", hint=ANSWER.hint)
    if len(values.get("--notes", "")) > LONGEST_NOTES:
        raise UsageError(f"--notes is longer than {LONGEST_NOTES} characters", hint=ANSWER.hint)


@APPROVALS.subcommand("list", "[--workspace DIR] [--json]", "what is approved (the default)")
def _list(given: CommandLine) -> int:
    workspace = _workspace(given)
    kept = [one for one in remembered().list() if workspace in ("", one.workspace)]
    if not kept and not given.json:
        sys.stderr.write(phrased("nothing is approved for longer than one run\n"))
        return 0
    text = "".join(f"{approval_line(one)}\n" for one in kept)
    return _say(given, {"approvals": [approval_json(one) for one in kept]}, text)


@APPROVALS.subcommand("revoke", "ID [--json]", "takes one approval back", most=1)
def _revoke(given: CommandLine) -> int:
    if not given.words or _workspace(given):
        raise UsageError("an ID, and nothing else, is revoked", hint="redoma approvals revoke ID")
    gone = remembered().revoke(given.words[0])
    text = phrased("revoked {0}\n", approval_line(gone))
    return _say(given, {"revoked": [approval_json(gone)]}, text)


@APPROVALS.subcommand("clear", "[--workspace DIR] [--json]", "takes all of them back")
def _clear(given: CommandLine) -> int:
    count = remembered().clear(workspace=_workspace(given))
    return _say(given, {"revoked": count}, phrased("revoked {0}\n", count))


def _workspace(given: CommandLine) -> str:
    place = given.values.get("--workspace", "")
    return os.path.realpath(place) if place else ""


def _say(given: CommandLine, content: dict[str, object], text: str) -> int:
    if given.json:
        import json

        text = json.dumps(content) + "\n"
    sys.stdout.write(text)
    return 0


def approval_json(approval: Approval) -> dict[str, object]:
    """An approval for programs; the words themselves are not kept, so they are not here."""
    return {
        "id": approval.id,
        "remember": approval.remember.value,
        "command": approval.shown,
        "workspace": approval.workspace,
        "directory": approval.cwd,
        "session": approval.session,
        "highest_risk": approval.risk.label,
        "rules": list(approval.rules),
        "approved_by": approval.approved_by,
        "timestamp": approval.at,
    }


def approval_line(approval: Approval) -> str:
    """An approval on one line."""
    return (
        f"{approval.id}  {phrased(_LASTS[approval.remember]):<17}  "
        f"{phrased('up to {0}', phrased(approval.risk.label)):<15}  "
        f"{harmless(approval.cwd)}  {harmless(shortened(approval.shown, SHOWN))}"
    )
