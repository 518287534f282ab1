"""`redoma hook enclose`: what an agent starts in place of its shell; it never runs a line bare.

The agent gives one command. It is judged, as the hook before it judged it, and runs in the jail of
the session's project; what it wrote is applied, and can be taken back. Whatever goes wrong here
ends as a refusal with a status that is not 0.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress

from redoma.base.paths import is_within
from redoma.cli import complain, say
from redoma.cli.options import Argument, CommandTable, Option
from redoma.cli.run_options import RUN_OPTIONS, sandbox_arguments
from redoma.hook.agent_session import AgentSession, ExpectedCommand
from redoma.hook.shell_line import ShellLine, read_line
from redoma.model.errors import RedomaError, UsageError
from redoma.model.result import Outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from redoma.cli.options import CommandLine
    from redoma.model.result import Result

REFUSED = 126
RUN_HELP = "redoma run --help"
# What agents set so that programs do not wait for a person, and know who runs them.
_PASSED = (
    *("AI_AGENT", "CLAUDECODE", "GEMINI_CLI", "CI", "NO_COLOR", "PAGER", "GIT_PAGER", "GH_PAGER"),
    *("GIT_EDITOR", "GIT_TERMINAL_PROMPT"),
)
_LONGEST_PATH = 4096
ENCLOSE = CommandTable(
    "hook enclose",
    "What the shell of an agent is replaced by: judges one command of a session and runs it in the"
    " jail. `redoma hook install` writes it down; nobody types it.",
    usage=("AGENT [--for SESSION] [OPTION]... -- LINE",),
    arguments=(Argument("AGENT", "whose command it is: claude-code or gemini"),),
    options=(Option("--for SESSION", "the agent's session, where its environment does not say"),),
    borrowed=RUN_OPTIONS,
    without="--tty --json --workspace --ask",
)


def enclose(arguments: list[str]) -> int:
    """Runs one line of an agent enclosed; its status is the command's own."""
    try:
        given = ENCLOSE.read(arguments)
        if len(given.words) != 2:
            raise UsageError("one agent and one line are needed", hint="redoma hook --help")
        agent, text = given.words
        return _Enclosed(agent, text, given.values.get("--for", "")).run(given)
    except RedomaError as error:
        complain(error)
        return REFUSED


def checked_options(agent: str, options: list[str]) -> None:
    """An error where these are no options that every command of an agent can run with."""
    given = ENCLOSE.read([agent, *options, "--", ":"])
    if len(given.words) != 2:
        raise UsageError(
            "only options may follow --, not {word}", word=repr(given.words[1]), hint=RUN_HELP
        )
    sandbox_arguments(given)


class _Enclosed:
    """One command of an agent, on its way into the jail."""

    def __init__(self, agent: str, text: str, session: str) -> None:
        named = session or os.environ.get("CLAUDE_CODE_SESSION_ID", "")
        self._session = AgentSession(agent, named)
        # Another form than we know is judged whole, and enclosed whole.
        self._line = read_line(text) or ShellLine(command=text)
        self._expected = self._session.arrive(self._line.command)

    def run(self, given: CommandLine) -> int:
        """Judges and runs it."""
        from redoma.cli.streams import own_input, pass_signals_on, writer
        from redoma.pipeline.enclosed_command import run_enclosed
        from redoma.pipeline.sandbox import Sandbox
        from redoma.pipeline.this_host import Control

        project = self._session.project
        if not project:
            raise UsageError(
                "this session of {agent} is not known, so its command is refused",
                agent=self._session.agent,
                hint="the hook has to see it first: redoma hook status, and start the agent anew",
            )
        place = tempfile.mkdtemp(prefix="redoma-cwd-") if self._line.place else ""
        try:
            with Sandbox(project, **self._arguments(given, place)) as sandbox:
                control = Control()
                pass_signals_on(control)
                result = run_enclosed(
                    sandbox,
                    self._judged(project),
                    self._script(project, place),
                    cwd=self._inside(project),
                    stdin=own_input(),
                    was_asked=self._expected is not None and self._expected.asked,
                    sink=writer(),
                    control=control,
                )
                control.close()
            if place:
                self._hand_over(place)
            self._tell(result)
            return result.exit_code
        finally:
            if place:
                from shutil import rmtree

                rmtree(place, ignore_errors=True)

    def _arguments(self, given: CommandLine, place: str) -> dict[str, Any]:
        from redoma.model.value import replace
        from redoma.pipeline.requests import Caller

        _, arguments = sandbox_arguments(given)
        access = arguments["access"]
        read = [*access.read]
        if self._line.snapshot and os.path.isfile(self._line.snapshot):
            read.append(self._line.snapshot)
        passed = {name: os.environ[name] for name in _PASSED if name in os.environ}
        expected = self._expected or ExpectedCommand()
        arguments["access"] = replace(
            access,
            read=read,
            write=[*access.write, *([place] if place else [])],
            env={**passed, **(access.env or {})},
            # What stays beside other commands sees their changes, and they see its own.
            direct=access.direct or expected.background,
            apply=access.apply or "always",
        )
        arguments["caller"] = Caller(name=self._session.agent, session=self._session.id)
        return arguments

    def _inside(self, project: str) -> str:
        """The directory of the command in its workspace; the workspace itself for another."""
        here, root = os.getcwd(), os.path.realpath(project)
        return here if is_within(here, root) else root

    def _judged(self, project: str) -> str:
        """The command as it is judged: with where it runs, if that is not in the project."""
        return f"{self._way_out(project)}{self._line.command}"

    def _way_out(self, project: str) -> str:
        from shlex import quote

        here = os.getcwd()
        outside = not is_within(here, os.path.realpath(project))
        return f"cd {quote(here)} || exit 1\n" if outside else ""

    def _script(self, project: str, place: str) -> str:
        """What runs in the jail: the command in the agent's own wrapping, in the agent's shell."""
        if not place:
            return f"{self._way_out(project)}{self._line.command}"
        script = f"{self._way_out(project)}{self._line.script(f'{place}/cwd')}"
        if os.path.basename(self._line.snapshot).startswith("snapshot-zsh"):
            from shlex import quote

            return f"exec zsh -c {quote(script)}"
        return script

    def _hand_over(self, place: str) -> None:
        """Writes the last directory to where the agent looks for it.

        Attack: the command puts there what it likes; so it is one path of a directory that is
        there, and the agent's own file is made by us and not through a link.
        """
        try:
            handle = os.open(f"{place}/cwd", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(handle, "rb") as stream:
                said = stream.read(_LONGEST_PATH + 1)
        except OSError:
            return  # the command failed, and the agent stays where it is
        last = os.fsdecode(said.removesuffix(b"\n"))
        if len(said) > _LONGEST_PATH or not os.path.isabs(last) or not os.path.isdir(last):
            return
        with suppress(OSError):
            os.unlink(self._line.place)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with suppress(OSError), os.fdopen(os.open(self._line.place, flags, 0o600), "wb") as stream:
            stream.write(said)

    def _tell(self, result: Result) -> None:
        """What the agent has to know beside the command's own output: what was not done."""
        from redoma.cli.closing_lines import closing_line

        if result.outcome is Outcome.EXITED and not result.held_back and not result.notes:
            return
        say(closing_line(result, quiet=True).removesuffix("\n"))
