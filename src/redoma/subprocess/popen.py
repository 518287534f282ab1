"""`Popen` whose command runs in a sandbox: all but the start, the end and signals is the library's.

The standard library's class makes the pipes, reads and writes them, and knows text and timeouts;
ours takes the place of its `fork`, `waitpid` and `kill`.
"""

from __future__ import annotations

import errno
import inspect
import os
import signal
import subprocess
from contextlib import contextmanager
from contextvars import ContextVar

from redoma import Sandbox
from redoma.model.arguments import WrongValue
from redoma.model.errors import RedomaError
from redoma.model.message import Message
from redoma.subprocess.refusal import CommandRefused, is_refused
from redoma.subprocess.started_run import StartedRun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from redoma import Result

_PARAMETERS = inspect.signature(subprocess.Popen.__init__)
# What is done as asked: by the standard library's part of the class, or by ours.
_DONE = {
    *("self", "args", "bufsize", "executable", "stdin", "stdout", "stderr", "shell", "cwd", "env"),
    *("universal_newlines", "text", "encoding", "errors", "pipesize"),
    # A command always has a session and a process group of its own.
    *("start_new_session",),
    # On this system the library itself says what is wrong with these.
    *("startupinfo", "creationflags"),
}
_sandbox: ContextVar[Sandbox | None] = ContextVar("sandbox", default=None)


@contextmanager
def enclosed_in(sandbox: Sandbox) -> Iterator[Sandbox]:
    """Within the block every command of this module runs in this sandbox.

    >>> import redoma, tempfile
    >>> from redoma import subprocess
    >>> with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
    ...     with subprocess.enclosed_in(redoma.Sandbox(place)):
    ...         subprocess.check_output(["echo", "hello"], text=True)
    'hello\\n'
    """
    before = _sandbox.set(sandbox)
    try:
        yield sandbox
    finally:
        _sandbox.reset(before)


class Popen(subprocess.Popen):  # type: ignore[type-arg] # of text or bytes, as its arguments say
    """Starts a command in a sandbox; the arguments are those of `subprocess.Popen`.

    `sandbox` says in which; without it that of `enclosed_in`, else one made for this command. What
    cannot be done inside is a ValueError that says so. A refused command is `CommandRefused`.
    `result` is the run's whole story once it is over.
    """

    __module__ = "redoma.subprocess"

    def __init__(
        self, args: Any, *given: Any, sandbox: Sandbox | None = None, **named: Any
    ) -> None:
        bound = _PARAMETERS.bind(self, args, *given, **named)
        bound.apply_defaults()
        _refuse_what_cannot_be(bound.arguments)
        self._given = bound.arguments
        self._sandbox = sandbox or _sandbox.get()
        self._run: StartedRun | None = None
        self._told = False
        named["start_new_session"], named["process_group"] = False, None
        del bound.arguments["self"]  # who keeps itself is never let go
        super().__init__(args, *given, **_accepted(named, len(given)))

    @property
    def result(self) -> Result | None:
        """The whole story of the run, once it is over."""
        return self._run.result if self._run is not None else None

    def _get_handles(self, stdin: Any, stdout: Any, stderr: Any) -> tuple[int, ...]:
        streams: tuple[int, ...] = super()._get_handles(stdin, stdout, stderr)  # type: ignore[misc]
        self._streams = streams
        return streams

    def _execute_child(self, *_: Any) -> None:
        """Starts the command in its sandbox, in the place of a new process of ours."""
        argv = _argv(self._given)
        env = _env(self._given["env"])
        cwd = _cwd(self._given["cwd"])
        own: list[int] = []
        try:
            sandbox = self._sandbox or _made_for(cwd)
            if not self._given["shell"]:
                _find(argv[0], cwd or os.getcwd(), self._given["env"])
            if env:
                sandbox = sandbox.with_env(env)
            cwd = cwd or _here(sandbox)
            stdin, onto = self._own_streams(own)
            run = StartedRun(sandbox, argv, cwd, stdin, onto)
            own.clear()
        finally:
            for fd in set(own):
                os.close(fd)
            self._close_pipe_fds(*self._streams)  # type: ignore[attr-defined]
        run.start()
        if run.over and not run.pid:
            if run.result is not None and is_refused(run.result):
                raise CommandRefused(self.args, run.result)
            if run.error is not None:
                raise run.error
        self._run = run
        self.pid = run.pid
        self._child_created = True

    def _own_streams(self, own: list[int]) -> tuple[int, dict[int, int]]:
        """Descriptors of the run's own: the caller may close, or point elsewhere, all of theirs."""
        nothing = getattr(self, "_devnull", None)
        p2cread, _, _, c2pwrite, _, errwrite = self._streams

        def kept(fd: int) -> int:
            own.append(os.dup(fd))
            return own[-1]

        # Without a word the command reads nothing: what is read for it in advance would be lost to
        # the caller's own reading.
        stdin = kept(p2cread) if p2cread not in (-1, nothing) else -1
        onto: dict[int, int] = {}
        for number, fd in ((1, c2pwrite), (2, errwrite)):
            if fd == -1 and _is_open(number):
                onto[number] = kept(number)
            elif fd not in (-1, nothing):
                # One stream has one order, whatever the command writes to first.
                together = fd == c2pwrite or self._given["stderr"] == subprocess.STDOUT
                onto[number] = onto[1] if number == 2 and together and onto else kept(fd)
        return stdin, onto

    def _internal_poll(self, _deadstate: int | None = None, **_: Any) -> int | None:
        run = self._run
        if self.returncode is None and run is not None and run.over:
            self.returncode = _status(run)
        return self.returncode

    def _wait(self, timeout: float | None) -> int:
        run = self._run
        if run is None or (self.returncode is not None and self._told):
            return self.returncode or 0
        try:
            in_time = run.wait(timeout)
        except KeyboardInterrupt:
            # At a terminal Ctrl-C reaches a command as well; ours has a session of its own.
            run.signal(signal.SIGINT)
            raise
        if not in_time:
            assert timeout is not None
            raise subprocess.TimeoutExpired(self.args, timeout)
        self.returncode = _status(run)
        if not self._told:
            self._told = True
            if run.error is not None:
                raise run.error
            if run.result is not None and is_refused(run.result):
                raise CommandRefused(self.args, run.result)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """The status, once the command and everything that it changed is settled."""
        return super().wait(timeout)

    def send_signal(self, sig: int) -> None:
        """Sends a signal to all processes of the command."""
        if int(sig) not in {0, *signal.valid_signals()}:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        if self.poll() is None and self._run is not None and sig:
            self._run.signal(int(sig))


def _refuse_what_cannot_be(given: Mapping[str, Any]) -> None:
    for name, value in given.items():
        usual = _PARAMETERS.parameters[name].default
        if name in _DONE or value is usual or value == usual:
            continue
        if (name == "pass_fds" and not value) or (name == "process_group" and value == 0):
            continue
        raise WrongValue(
            Message("{name} cannot be had for a command in a sandbox", name=name),
            hint="docs/reference/subprocess.md says why, and what there is instead",
        )
    if given["executable"] is not None and not given["shell"]:
        words = given["args"]
        first = words if isinstance(words, str | bytes | os.PathLike) else next(iter(words), "")
        if os.fsdecode(first) != os.fsdecode(given["executable"]):
            raise WrongValue(
                Message("{name} cannot be had for a command in a sandbox", name="executable"),
                hint="name the program itself as the first word",
            )


def _accepted(named: dict[str, Any], positional: int) -> dict[str, Any]:
    """The named arguments that this Python's class knows and that were not given by place."""
    names = list(_PARAMETERS.parameters)[2 + positional :]
    return {name: value for name, value in named.items() if name in names}


def _argv(given: Mapping[str, Any]) -> list[str]:
    args = given["args"]
    if isinstance(args, str | bytes):
        words: list[Any] = [args]
    elif isinstance(args, os.PathLike):
        if given["shell"]:
            raise TypeError("path-like args is not allowed when shell is true")
        words = [args]
    else:
        words = list(args)
    if given["shell"]:
        words = [given["executable"] or "/bin/sh", "-c", *words]
    argv = [os.fsdecode(word) for word in words]
    if any("\0" in word for word in argv):
        raise ValueError("embedded null byte")
    return argv


def _env(given: Mapping[Any, Any] | None) -> dict[str, str]:
    """The variables that were set for this command.

    Attack: `env=dict(os.environ, X="1")` would take every secret of ours inside. What has the same
    value here was not set for the command; what of it goes in, the sandbox says.
    """
    env = {os.fsdecode(name): os.fsdecode(value) for name, value in (given or {}).items()}
    for name, value in env.items():
        if not name or "=" in name:
            raise ValueError("illegal environment variable name")
        if "\0" in name + value:
            raise ValueError("embedded null byte")
    return {name: value for name, value in env.items() if os.environ.get(name) != value}


def _cwd(given: Any) -> str:
    if given is None:
        return ""
    cwd = os.path.abspath(os.fsdecode(given))
    if not os.path.isdir(cwd):
        number = errno.ENOTDIR if os.path.exists(cwd) else errno.ENOENT
        raise OSError(number, os.strerror(number), given)
    return cwd


def _made_for(cwd: str) -> Sandbox:
    """A sandbox of the current directory; or of the one where the command is to run, elsewhere."""
    here = os.getcwd()
    inside = (
        not cwd or os.path.realpath(cwd) == here or os.path.realpath(cwd).startswith(f"{here}/")
    )
    return Sandbox(here if inside else cwd)


def _here(sandbox: Sandbox) -> str:
    """The current directory where the sandbox has it; else its workspace."""
    here = os.getcwd()
    return here if f"{here}/".startswith(f"{sandbox.workspace}/") else ""


def _find(program: str, cwd: str, env: Mapping[Any, Any] | None) -> None:
    """The error of a program that is not there, or is none."""
    if "/" in program:
        places = [os.path.join(cwd, program)]
    else:
        given = {os.fsdecode(k): os.fsdecode(v) for k, v in env.items()} if env else None
        places = [os.path.join(place, program) for place in os.get_exec_path(given)]
    there = [place for place in places if os.path.isfile(place)]
    if any(os.access(place, os.X_OK) for place in there):
        return
    denied = there or ("/" in program and os.path.isdir(places[0]))
    number = errno.EACCES if denied else errno.ENOENT
    raise OSError(number, os.strerror(number), program)


def _is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


def _status(run: StartedRun) -> int:
    """The status as `subprocess` says it: negative for a signal."""
    if run.result is None:
        return run.error.exit_status if isinstance(run.error, RedomaError) else 125
    ended = run.result.exit
    if not is_refused(run.result) and ended is not None and ended.signal is not None:
        return -ended.signal
    return run.result.exit_code
