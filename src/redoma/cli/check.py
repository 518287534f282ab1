"""`redoma check`: what a command would do, how bad that is, and what policy says to it."""

from __future__ import annotations

import os
import sys

from redoma.cli import options, streams
from redoma.i18n import phrased
from redoma.model.decision import Decision, Verdict
from redoma.model.errors import UsageError
from redoma.pipeline.checks import CommandCheck
from redoma.pipeline.policies import load_policy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.errors import RecordError

USAGE = "redoma check [--json] [--pack PACK] [--cwd DIR] COMMAND"
HELP = f"""usage: {USAGE}
       redoma check [OPTION]... -- WORD...
       redoma check --jsonl [--pack PACK] [--cwd DIR]  < commands.jsonl

Judges a shell command without running it: its level of risk, the decision of the policy that
applies here, every reason with the part of the command it is about, and a safer way where there
is one.

  COMMAND      one argument is shell text; `-` reads the text from standard input
  -- WORD...   several words are the words of one command, quoted as needed and never split

  --json       one JSON object instead of prose
  --jsonl      reads a JSON string or an object with `cmd` (and `pack`, `cwd`) from each line of
               standard input and writes one JSON object a line, in the same order
  --pack PACK  the rule pack: default, terminal or skill (default: the policy's own)
  --cwd DIR    the directory that the command is taken to run in (default: this one)
  -h, --help   this text

exit status: 0 allowed, 10 needs confirmation, 20 denied; 2 the command line or a line of input
cannot be understood; 125 redoma could not do its work. With --jsonl: 0, or 2 if a line was bad.
"""

STATUS = {Verdict.ALLOW: 0, Verdict.LOG: 0, Verdict.CONFIRM: 10, Verdict.DENY: 20}


def main(arguments: list[str]) -> int:
    """Judges what the command line names and returns 0, 10 or 20."""
    given = options.read(
        arguments,
        flags=("--json", "--jsonl", "-h", "--help"),
        values=("--pack", "--cwd"),
        usage=USAGE,
        words_hint="quote the whole command, or put -- before it: redoma check -- ls -l",
    )
    if given.flags & {"-h", "--help"}:
        sys.stdout.write(phrased(HELP))
        return 0
    pack = given.values.get("--pack", "")  # or the policy's own
    cwd = working_directory(given.values.get("--cwd"))
    if "--jsonl" in given.flags:
        if given.words:
            raise UsageError("--jsonl reads commands from standard input only", hint=USAGE)
        from redoma.cli import jsonl

        return jsonl.judge_lines(sys.stdin.buffer, sys.stdout, pack=pack, cwd=cwd)
    decision = judge(_text(given.words), pack=pack, cwd=cwd)
    if "--json" in given.flags:
        from redoma.cli import json_report as as_json

        sys.stdout.write(as_json.line(as_json.decision_json(decision)))
    else:
        from redoma.cli import prose

        sys.stdout.write(prose.report(decision, prose.screen(sys.stdout)))
    return STATUS[decision.verdict]


def judge(text: str, *, pack: str, cwd: str | None) -> Decision:
    """The decision on a command; text that is not valid UTF-8 is denied, whatever it says."""
    home = os.environ.get("HOME")
    policy = load_policy(cwd or ".", home=home)
    checks = CommandCheck(policy, pack=pack, cwd=cwd, home=home)
    return checks.checked((text,), waits=False, unwritten=_unwritten)[0]


def _unwritten(error: RecordError) -> None:
    """Says that the audit log could not be written: nothing runs here, so that is all."""
    from redoma.model.display import harmless

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
        raise UsageError("there is no command to judge", hint=USAGE)
    return text


def _from_stdin() -> str:
    data = streams.read_all(sys.stdin.buffer)
    if data is None:
        raise UsageError(f"more than {streams.MOST_BYTES} bytes on standard input", hint=USAGE)
    # Bytes that are no UTF-8 are kept, so that they are seen and refused rather than replaced.
    return data.decode("utf-8", "surrogateescape").removesuffix("\n")
