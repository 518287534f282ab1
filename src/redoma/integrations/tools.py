"""The functions that every framework gets as tools: plain arguments in, text for a model out.

A refused or failed command is text that says so, with the safer way where there is one; nothing
that a model asks for raises.
"""

from __future__ import annotations

import redoma
from redoma.model.errors import RedomaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma import Result, Sandbox

LONGEST = 16 << 10


class SandboxTools:
    """A sandbox's commands as functions with documented arguments.

    >>> import redoma, tempfile
    >>> from redoma.integrations.tools import SandboxTools
    >>> with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
    ...     tools = SandboxTools(redoma.Sandbox(place))
    ...     print(tools.run_command("echo hello"))
    ...     print(tools.run_command("rm -rf ~").splitlines()[0])
    hello
    <BLANKLINE>
    [denied]
    """

    def __init__(self, sandbox: Sandbox | None = None) -> None:
        """Tools over a sandbox; over this directory by default."""
        self._sandbox = sandbox or redoma.Sandbox()

    def functions(self) -> list[Callable[..., str]]:
        """Every tool, in the order in which they are offered."""
        return [self.run_command, self.preview_command, self.run_python, self.undo_changes]

    def run_command(self, command: str, timeout: float = 120.0) -> str:
        """Run a shell command in a sandbox and return what it printed.

        Files that it changes in the workspace are kept, and can be undone.

        Args:
            command: The shell command, as for bash -c.
            timeout: Seconds after which it is ended.
        """
        return _told(lambda: result_text(self._sandbox.run(command, timeout=timeout)))

    def preview_command(self, command: str, timeout: float = 120.0) -> str:
        """Run a shell command without lasting changes and return the diff of what it would change.

        Args:
            command: The shell command, as for bash -c.
            timeout: Seconds after which it is ended.
        """

        def work() -> str:
            with self._sandbox.preview(command, timeout=timeout) as held:
                diff = held.diff() if held.changes.items else "[no file would change]"
                return f"{result_text(held.result)}\n{shortened(diff)}"

        return _told(work)

    def run_python(self, code: str, timeout: float = 120.0) -> str:
        """Run Python source in a sandbox and return what it printed.

        Args:
            code: The Python source.
            timeout: Seconds after which it is ended.
        """
        command = ["python3", "-c", code]
        return _told(lambda: result_text(self._sandbox.run(command, timeout=timeout)))

    def undo_changes(self, transaction: str = "") -> str:
        """Take back the file changes of an earlier command.

        Args:
            transaction: Its name, as run_command told it; empty for the last one.
        """

        def work() -> str:
            undone = self._sandbox.undo(transaction)
            return f"[undone {undone.id}: {len(undone.paths)} paths are as they were]"

        return _told(work)


def result_text(result: Result) -> str:
    """A result as a model reads it: the output, then in brackets what else there is to know."""
    text = shortened(result.stdout.decode(errors="replace"))
    errors = shortened(result.stderr.decode(errors="replace"))
    notes = []
    if result.outcome.value != "exited":
        notes.append(f"[{result.outcome.words}]")
        if result.decision is not None and result.exit is None:
            notes += [f"[because it {why}]" for why in result.decision.because]
            notes += [
                f"[instead: {finding.alternative}]"
                for finding in result.decision.assessment.findings
                if finding.alternative
            ]
    elif result.exit_code:
        notes.append(f"[exit status {result.exit_code}]")
    if result.changes is not None and result.changes.items and result.applied:
        notes.append(f"[{len(result.changes.items)} changed paths, as {result.changes.id}]")
    notes += [f"[{note}]" for note in result.notes]
    if errors:
        text = f"{text}[standard error]\n{errors}"
    return text + "\n".join(notes)


def shortened(text: str, most: int = LONGEST) -> str:
    """The beginning and the end of a long text."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out …]\n{text[-half:]}"


def _told(work: Callable[[], str]) -> str:
    try:
        return work()
    except RedomaError as error:
        return f"[{error}]" + (f"\n[hint: {error.hint}]" if error.hint else "")
