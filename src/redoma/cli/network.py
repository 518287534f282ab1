"""`redoma network learn`: which hosts a command needs, found by running it once."""

from __future__ import annotations

import os
import shlex
import sys

from redoma.base.text import harmless
from redoma.cli import say
from redoma.cli.options import CommandTable, Heading, Option, Sample
from redoma.cli.run_options import RUN_OPTIONS, sandbox_here
from redoma.i18n import phrased
from redoma.model.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.cli.options import CommandLine
    from redoma.model.network import Connection
    from redoma.model.result import Result

NETWORK = CommandTable(
    "network",
    "Runs a command once with every public host within reach, notes whom it reached, and prints the"
    " smallest grants that would have sufficed. Private networks, this machine and the metadata"
    " services of clouds stay closed. What the command writes is held, and not applied.",
    options=(
        Heading("how it is learned and shown"),
        Option("-y, --yes", "does not ask before every public host is within reach"),
        Option("--policy", "prints a block for sandbox.yaml instead of options"),
        Option("--json", "one JSON object"),
    ),
    borrowed=RUN_OPTIONS,
    without="--tty --mock --no-undo --direct --trace-files",
    notes=(
        "With --inspect requests are read, and methods and paths are part of what is granted.",
        "What the command prints goes to standard error, what was learned to standard output.",
    ),
    status="the command's own, as with `redoma run`",
    samples=(
        Sample("redoma network learn --yes 'true'", "a command that reaches nobody needs nobody"),
    ),
    usual="learn",
    explains=True,
)
_YES = ("y", "yes", "s", "sim")


@NETWORK.subcommand(
    "learn", "[OPTION]... 'COMMAND'", "runs a command, and says which hosts it needs", most=None
)
def _learn(line: CommandLine) -> int:
    if not line.words:
        raise UsageError("no command given", hint="redoma network learn 'COMMAND'")
    for flag in NETWORK.without.split():
        if flag in line.flags or flag in line.values:
            raise UsageError(f"redoma network learn takes no {flag}", hint=NETWORK.hint)
    if line.json and "--policy" in line.flags:
        raise UsageError("--json and --policy do not go together")
    command = line.words[0] if len(line.words) == 1 else line.words
    _asked_first(line, shlex.join(line.words) if len(line.words) > 1 else line.words[0])
    result = _run(line, command)
    from redoma.pipeline.learned_grants import smallest

    calls = result.network_calls or ()
    rules = smallest(calls)
    refused = [call for call in calls if not call.allowed]
    if line.json:
        _say_json(result, rules, refused, inspect="--inspect" in line.flags)
        return result.exit_code
    _say_closing(line, result, rules, refused)
    if "--policy" in line.flags:
        sys.stdout.write(_block(rules, inspect="--inspect" in line.flags))
    else:
        flags = ["--inspect"] if any(" " in rule for rule in rules) else []
        options = [*flags, *(f"--allow-host {shlex.quote(rule)}" for rule in rules)]
        sys.stdout.write("".join(f"{option}\n" for option in options))
    return result.exit_code


def _asked_first(line: CommandLine, command: str) -> None:
    """Goes on only where a person says so: for this one run no host is refused by its name."""
    if "--yes" in line.flags:
        return
    if not (os.isatty(0) and os.isatty(2)):
        raise UsageError(
            "learning lets a command reach every public host, and nobody can be asked here",
            hint="redoma network learn --yes 'COMMAND'",
        )
    question = phrased(
        "redoma: for this one run every public host is within reach of {0}; go on? [y/N]",
        harmless(command),
    )
    sys.stderr.write(f"{question} ")
    sys.stderr.flush()
    answer = sys.stdin.readline()
    if not answer:
        sys.stderr.write("\n")
    if answer.strip().lower() not in _YES:
        raise UsageError(
            "nobody said yes, so nothing ran", hint="redoma network learn --yes 'COMMAND'"
        )


def _run(line: CommandLine, command: str | list[str]) -> Result:
    from redoma.cli.streams import own_input, pass_signals_on, writer
    from redoma.pipeline.this_host import Control

    sandbox, cwd = sandbox_here(line, network_any_host=True, access_apply="never")
    control = Control()
    pass_signals_on(control)
    result = sandbox.run(command, cwd=cwd, stdin=own_input(), sink=writer(out=2), control=control)
    control.close()
    return result


def _say_closing(
    line: CommandLine, result: Result, rules: tuple[str, ...], refused: list[Connection]
) -> None:
    """What a person has to know beside the grants themselves."""
    from redoma.cli.closing_lines import closing_line, network_lines

    if result.network_calls is None or not result.ok:
        say(closing_line(result).removesuffix("\n"))
    elif "--quiet" not in line.flags:
        say("".join(network_lines(tuple(refused))).removesuffix("\n"))
    if result.network_calls is not None and not rules:
        say(phrased("redoma: it reached nobody"))
    if result.changes is not None and result.changes.id and result.changes.items:
        say(phrased("redoma: what it wrote is held: redoma apply {0}", result.changes.id))


def _block(rules: tuple[str, ...], *, inspect: bool) -> str:
    """The grants as a policy says them."""
    lines = ["network:", "  allowed_hosts:" if rules else "  allowed_hosts: []"]
    lines += [f'    - "{rule}"' for rule in rules]
    if inspect:
        lines.append("  inspect: true")
    return "\n".join(lines) + "\n"


def _say_json(
    result: Result, rules: tuple[str, ...], refused: list[Connection], *, inspect: bool
) -> None:
    import json

    content = {
        "hosts": list(rules),
        "inspect": inspect,
        "refused": [{"target": call.target, "why": call.why} for call in refused],
        "outcome": result.outcome.value,
        "exit_code": result.exit_code,
        "changes": result.changes.id if result.changes is not None else None,
    }
    sys.stdout.write(json.dumps(content) + "\n")
