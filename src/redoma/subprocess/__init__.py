"""`subprocess` whose commands run in a sandbox: judged, audited, and undone by `redoma undo`.

    from redoma import subprocess

is all that code has to change. Constants, results and exceptions are the standard library's own,
so `except` clauses go on working; what differs is in docs/reference/subprocess.md.
"""

from __future__ import annotations

from subprocess import (
    DEVNULL,
    PIPE,
    STDOUT,
    CalledProcessError,
    CompletedProcess,
    SubprocessError,
    TimeoutExpired,
    list2cmdline,  # noqa: F401 — the library's own has it as well, and does not export it
)

from redoma.subprocess.popen import Popen, enclosed_in
from redoma.subprocess.refusal import CommandRefused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "DEVNULL",
    "PIPE",
    "STDOUT",
    "CalledProcessError",
    "CommandRefused",
    "CompletedProcess",
    "Popen",
    "SubprocessError",
    "TimeoutExpired",
    "call",
    "check_call",
    "check_output",
    "enclosed_in",
    "getoutput",
    "getstatusoutput",
    "run",
]


def run(
    *popenargs: Any,
    input: Any = None,
    capture_output: bool = False,
    timeout: float | None = None,
    check: bool = False,
    **kwargs: Any,
) -> CompletedProcess[Any]:
    """Runs a command and returns its end; `result` there is the run's whole story.

    >>> import os, redoma, tempfile
    >>> from redoma import subprocess
    >>> with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
    ...     done = subprocess.run(["tr", "a-z", "A-Z"], input=b"x", capture_output=True, cwd=place)
    >>> done.stdout
    b'X'
    """
    if input is not None:
        if kwargs.get("stdin") is not None:
            raise ValueError("stdin and input arguments may not both be used.")
        kwargs["stdin"] = PIPE
    if capture_output:
        if kwargs.get("stdout") is not None or kwargs.get("stderr") is not None:
            raise ValueError("stdout and stderr arguments may not be used with capture_output.")
        kwargs["stdout"] = kwargs["stderr"] = PIPE
    with Popen(*popenargs, **kwargs) as process:
        try:
            stdout, stderr = process.communicate(input, timeout=timeout)
        except TimeoutExpired:
            process.kill()
            process.wait()
            raise
        except BaseException:
            process.kill()
            raise  # leaving the block waits for it
        status = process.poll()
    assert status is not None
    if check and status:
        raise CalledProcessError(status, process.args, output=stdout, stderr=stderr)
    done = CompletedProcess(process.args, status, stdout, stderr)
    done.result = process.result  # type: ignore[attr-defined] # ours, beside the library's own
    return done


def call(*popenargs: Any, timeout: float | None = None, **kwargs: Any) -> int:
    """Runs a command and returns its status."""
    with Popen(*popenargs, **kwargs) as process:
        try:
            return process.wait(timeout=timeout)
        except BaseException:
            process.kill()
            raise


def check_call(*popenargs: Any, **kwargs: Any) -> int:
    """Runs a command; `CalledProcessError` where it fails."""
    status = call(*popenargs, **kwargs)
    if status:
        raise CalledProcessError(status, _command_of(popenargs, kwargs))
    return 0


def check_output(*popenargs: Any, timeout: float | None = None, **kwargs: Any) -> Any:
    """What a command prints; `CalledProcessError` where it fails."""
    for name in ("stdout", "check"):
        if name in kwargs:
            raise ValueError(f"{name} argument not allowed, it will be overridden.")
    if "input" in kwargs and kwargs["input"] is None:
        text = [kwargs.get(name) for name in ("universal_newlines", "text", "encoding", "errors")]
        kwargs["input"] = "" if any(text) else b""
    return run(*popenargs, stdout=PIPE, timeout=timeout, check=True, **kwargs).stdout


def getstatusoutput(
    cmd: Any, *, encoding: str | None = None, errors: str | None = None
) -> tuple[int, str]:
    """The status and the output, errors among it, of a shell command."""
    try:
        output = check_output(  # noqa: S604 — that is what it is for
            cmd, shell=True, text=True, stderr=STDOUT, encoding=encoding, errors=errors
        )
        status = 0
    except CalledProcessError as error:
        output, status = error.output, error.returncode
    return status, output.removesuffix("\n")


def getoutput(cmd: Any, *, encoding: str | None = None, errors: str | None = None) -> str:
    """The output, errors among it, of a shell command."""
    return getstatusoutput(cmd, encoding=encoding, errors=errors)[1]


def _command_of(popenargs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return kwargs["args"] if "args" in kwargs else popenargs[0]


def __dir__() -> list[str]:
    return sorted(__all__)
