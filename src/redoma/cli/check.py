"""`redoma check`: what a command would do, how bad that is, and what policy says to it."""

from __future__ import annotations

import os
import sys

from redoma.cli import streams
from redoma.cli.options import Argument, CommandTable, Heading, Option, Sample
from redoma.cli.streams import MOST_BYTES
from redoma.i18n import phrased
from redoma.model.decision import Decision, Verdict
from redoma.model.errors import UsageError
from redoma.pipeline.checks import CommandCheck
from redoma.pipeline.decisions.policies import load_policy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO, TextIO

    from redoma.cli.options import CommandLine
    from redoma.model.errors import RecordError
    from redoma.pipeline.decisions.explanations import ExplainedFact

CHECK = CommandTable(
    "check",
    "Judges a shell command without running it: its level of risk, the decision of the policy that"
    " applies here, every reason with the part of the command it is about, and a safer way where"
    " there is one.",
    usage=(
        "[OPTION]... COMMAND",
        "[OPTION]... -- WORD...",
        "--jsonl [--pack PACK] [--cwd DIR] < commands.jsonl",
    ),
    arguments=(
        Argument("COMMAND", "one argument is shell text; `-` reads the text from standard input"),
        Argument(
            "-- WORD...",
            "several words are the words of one command, quoted as needed and never split",
        ),
    ),
    options=(
        Heading("options"),
        Option("--json", "one JSON object instead of prose"),
        Option(
            "--explain",
            "also every fact: which card or handler found it and which rule graded it, with file"
            " and line",
        ),
        Option(
            "--enclosed",
            "as a run of it here would be judged: what its sandbox stops or undo takes back is"
            " logged, with what holds it",
        ),
        Option(
            "--jsonl",
            "reads a JSON string or an object with `cmd` (and `pack`, `cwd`) from each line of"
            " standard input and writes one JSON object a line, in the same order",
        ),
        Option(
            "--pack PACK",
            "the rule pack: default, terminal or skill (default: the policy's own)",
            choices="default terminal skill",
        ),
        Option(
            "--cwd DIR", "the directory that the command is taken to run in (default: this one)"
        ),
    ),
    status=(
        "0 allowed, 10 needs confirmation, 20 denied; 2 the command line or a line of input cannot"
        " be understood; 125 redoma could not do its work. With --jsonl: 0, or 2 if a line was bad."
    ),
    samples=(
        Sample("redoma check 'git push --force'", "what would be said to it", status=10),
        Sample("redoma check --enclosed 'git reset --hard'", "what a run of it would be asked"),
        Sample("redoma check --json -- rm -r build", "the same for a program"),
    ),
    stray="quote the whole command, or put -- before it: redoma check -- ls -l",
)
GOOD, BAD = 0, 2
STATUS = {Verdict.ALLOW: 0, Verdict.LOG: 0, Verdict.CONFIRM: 10, Verdict.DENY: 20}


@CHECK.main
def main(given: CommandLine) -> int:
    """Judges what the command line names and returns 0, 10 or 20."""
    pack = given.values.get("--pack", "")  # or the policy's own
    cwd = working_directory(given.values.get("--cwd"))
    if "--jsonl" in given.flags:
        if given.words:
            raise UsageError("--jsonl reads commands from standard input only", hint=CHECK.hint)
        if "--enclosed" in given.flags:
            raise UsageError("--enclosed and --jsonl do not go together", hint=CHECK.hint)
        return judge_lines(sys.stdin.buffer, sys.stdout, pack=pack, cwd=cwd)
    text = _text(given.words)
    decision = judge(text, pack=pack, cwd=cwd, enclosed="--enclosed" in given.flags)
    facts = _explained(text, pack, cwd) if "--explain" in given.flags else None
    if "--json" in given.flags:
        from redoma.cli import json_report as as_json

        answer = as_json.decision_json(decision)
        if facts is not None:
            from redoma.cli.explanation import facts_json

            answer["facts"] = facts_json(text, facts)
        sys.stdout.write(as_json.line(answer))
    else:
        from redoma.cli import prose

        sys.stdout.write(prose.report(decision, prose.screen(sys.stdout)))
        if facts is not None:
            from redoma.cli.explanation import facts_text

            sys.stdout.write(facts_text(text, facts))
    return STATUS[decision.verdict]


def _explained(text: str, pack: str, cwd: str | None) -> tuple[ExplainedFact, ...]:
    from redoma.pipeline.decisions.explanations import explained_facts

    return explained_facts(text, pack=pack, cwd=cwd, home=os.environ.get("HOME"))


def judge(text: str, *, pack: str, cwd: str | None, enclosed: bool = False) -> Decision:
    """The decision on a command; text that is not valid UTF-8 is denied, whatever it says."""
    home = os.environ.get("HOME")
    policy = load_policy(cwd or ".", home=home)
    kind = CommandCheck
    if enclosed:
        from redoma.pipeline.enclosed_check import EnclosedCheck

        kind = EnclosedCheck
    checks = kind(policy, pack=pack, cwd=cwd, home=home)
    return checks.checked((text,), waits=False, unwritten=_unwritten)[0]


def _unwritten(error: RecordError) -> None:
    """Says that the audit log could not be written: nothing runs here, so that is all."""
    from redoma.base.text import harmless

    sys.stderr.write(phrased("redoma: not written down: {0}\n", harmless(phrased(str(error)))))


def working_directory(given: str | None) -> str | None:
    """The directory that a command is taken to run in, absolute; None where there is none."""
    try:
        return os.path.abspath(given) if given else os.getcwd()
    except OSError:  # the directory we stand in was removed
        return None


def _text(words: list[str]) -> str:
    if words == ["-"]:
        text = _from_stdin()
    elif len(words) == 1:
        text = words[0]
    else:
        import shlex

        text = shlex.join(words)
    if not text.strip():
        raise UsageError("there is no command to judge", hint=CHECK.hint)
    return text


def _from_stdin() -> str:
    data = streams.read_all(sys.stdin.buffer)
    if data is None:
        raise UsageError(f"more than {streams.MOST_BYTES} bytes on standard input", hint=CHECK.hint)
    # Bytes that are no UTF-8 are kept, so that they are seen and refused rather than replaced.
    return data.decode("utf-8", "surrogateescape").removesuffix("\n")


def judge_lines(source: BinaryIO, sink: TextIO, *, pack: str, cwd: str | None) -> int:
    """Answers each line as soon as it is read; a bad one is answered with an error and a no."""

    from redoma.cli.json_report import line

    _refuse_unknown_pack(pack, cwd)
    status = GOOD
    while True:
        raw = source.readline(MOST_BYTES + 1)
        if not raw:
            return status
        try:
            answer = _answer(raw, source, pack, cwd)
        except Exception as error:
            status = BAD
            answer = refusal(_why(error))
        sink.write(line(answer))
        sink.flush()


def _refuse_unknown_pack(pack: str, cwd: str | None) -> None:
    """A wrong --pack is one error, not one for each line; nothing is written down for it."""
    from redoma.pipeline.decisions.check import check

    home = os.environ.get("HOME")
    check(":", pack=pack, cwd=cwd, home=home, policy=load_policy(cwd or ".", home=home))


def refusal(error: str) -> dict[str, object]:
    """What stands in the place of a line that could not be judged."""
    return {
        "cmd": None,
        "risk": "forbidden",
        "verdict": "deny",
        "reasons": [error],
        "suggested_alternative": None,
        "error": error,
    }


def _answer(raw: bytes, source: BinaryIO, pack: str, cwd: str | None) -> dict[str, object]:
    import json

    from redoma.cli.json_report import brief_json

    if len(raw) > MOST_BYTES:
        while raw and not raw.endswith(b"\n"):
            raw = source.readline(MOST_BYTES)
        raise UsageError(f"the line is longer than {MOST_BYTES} bytes")
    given = json.loads(raw.decode("utf-8"))
    if isinstance(given, str):
        given = {"cmd": given}
    if not isinstance(given, dict):
        raise UsageError("a line must be a JSON string or an object with `cmd`")
    text = given.get("cmd")
    if not isinstance(text, str) or not text.strip():
        raise UsageError("`cmd` must be a string that is not empty")
    own_pack = _text_of(given, "pack") or pack
    own_cwd = _text_of(given, "cwd")
    where = working_directory(own_cwd) if own_cwd else cwd
    return brief_json(judge(text, pack=own_pack, cwd=where))


def _text_of(given: dict[str, object], name: str) -> str | None:
    value = given.get(name)
    if value is not None and not isinstance(value, str):
        raise UsageError(f"`{name}` must be a string")
    return value


def _why(error: Exception) -> str:
    import json

    if isinstance(error, UnicodeDecodeError):
        return "the line is not valid UTF-8"
    if isinstance(error, json.JSONDecodeError):
        return f"the line is not JSON: {error.msg} at character {error.pos}"
    if isinstance(error, RecursionError):
        return "the line is nested too deeply"
    return str(error)
