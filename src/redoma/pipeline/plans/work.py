"""What each operation of a plan is for the one path: a command that is judged as any other.

A file operation is the program that people use for it. So the judge knows it, the policy and its
rules hold for it, the kernel encloses it, and what it changed can be seen and taken back.
"""

from __future__ import annotations

from redoma.model.display import shortened
from redoma.model.intent import Operation
from redoma.model.value import Value
from redoma.pipeline.questions import LONGEST_INPUT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from redoma.model.intent import Step


class Work(Value):
    """A command for the path, where it runs and what it reads; or a function to call."""

    command: str | tuple[str, ...] = ""
    stdin: bytes = b""
    cwd: str = ""
    target: str = ""
    args: tuple[object, ...] = ()
    kwargs: Mapping[str, object] = {}
    # Whether what it prints is for whoever looks on.
    prints: bool = True

    @property
    def shown(self) -> str:
        """In one line, for a list of steps."""
        if self.target:
            given = [repr(each) for each in self.args]
            given += [f"{name}={value!r}" for name, value in self.kwargs.items()]
            return f"{self.target}({', '.join(given)})"
        if isinstance(self.command, str):
            return self.command
        from shlex import join

        return join(self.command)

    @property
    def given(self) -> str:
        """What it reads, shortened: nobody should approve a file whose text they cannot see."""
        if not self.stdin:
            return ""
        return repr(shortened(self.stdin.decode("utf-8", "replace"), LONGEST_INPUT))


def work_of(step: Step) -> Work:
    """The work of a step that was read."""
    return _MADE[step.operation](step.arguments)


def _command(given: Mapping[str, Any]) -> Work:
    return Work(
        command=tuple(given["argv"]) if "argv" in given else given["command"],
        stdin=given.get("stdin", "").encode(),
        cwd=given.get("cwd", ""),
    )


def _python(given: Mapping[str, Any]) -> Work:
    return Work(
        target=given["call"], args=tuple(given.get("args", ())), kwargs=given.get("kwargs", {})
    )


def _delete(given: Mapping[str, Any]) -> Work:
    words = ("rm", "-r", "--") if given.get("recursive") else ("rm", "--")
    return Work(command=(*words, given["path"]))


_MADE: dict[Operation, Callable[[Mapping[str, Any]], Work]] = {
    Operation.SHELL: _command,
    Operation.PROGRAM: _command,
    Operation.PYTHON: _python,
    Operation.FILE_READ: lambda given: Work(command=("cat", "--", given["path"])),
    Operation.FILE_WRITE: lambda given: Work(
        command=("tee", "--", given["path"]), stdin=given["content"].encode(), prints=False
    ),
    # Without -T a folder of that name would swallow the file, and the plan would say otherwise.
    Operation.FILE_MOVE: lambda given: Work(command=("mv", "-T", "--", given["path"], given["to"])),
    Operation.FILE_DELETE: _delete,
    Operation.FOLDER_MAKE: lambda given: Work(command=("mkdir", "-p", "--", given["path"])),
}
