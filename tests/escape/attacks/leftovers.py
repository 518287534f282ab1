"""Outliving the command: in the background, in another session, stopped, deaf to signals."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress

from tests.escape.attack import attack
from tests.escape.inside import Box
from tests.escape.payload import NotRun
from tests.escape.prelude import text_of
from tests.escape.promises import P
from tests.escape.world import World

SURVIVE = "background process survives the command"
KILLED = "process survives its killed supervisor"
PATIENCE = 2.0


def _background(way, workspace):
    import signal
    import time

    if os.fork():
        for _ in range(100):
            if os.path.exists(f"{workspace}/running"):
                return
            time.sleep(0.02)
        return
    if "session" in way:
        os.setsid()
    if "twice" in way and os.fork():
        os._exit(0)
    if "deaf" in way:
        for number in range(1, 32):
            try:
                signal.signal(number, signal.SIG_IGN)
            except OSError:
                continue
    if "closed" in way:
        for fd in range(64):
            try:
                os.close(fd)
            except OSError:
                continue
    open(f"{workspace}/running", "w").close()
    if "stopped" in way:
        os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(60)
    os._exit(0)


def _make(name: str, *way: str) -> None:
    def attempt(world: World, box: Box) -> str:
        # Longer than a background process that keeps the output open should hold the caller.
        box.call(_background, list(way), world.workspace, timeout=5)
        return world.left_behind(within=PATIENCE)

    attempt.__name__ = name
    attack(P.LEFTOVERS, SURVIVE, only_bare=True)(attempt)


_make("stay_in_the_background", "closed")
_make("stay_as_a_daemon", "session", "twice", "closed")
_make("stay_deaf_to_signals", "session", "deaf", "closed")
_make("stay_stopped", "session", "stopped", "closed")
_make("stay_with_the_output_open", "session")


def _sleep_deaf(first_too):
    import signal
    import time

    for _ in range(3):
        if os.fork() == 0:
            os.setsid()
            first_too = True
            break
    for number in (1, 2, 3, 10, 12, 15):
        signal.signal(number, signal.SIG_IGN if first_too else signal.SIG_DFL)
    time.sleep(60)


@attack(P.LEFTOVERS, "process survives the timeout", only_bare=True)
def outlive_the_timeout(world: World, box: Box) -> str:
    """Deaf to every signal that can be ignored, in sessions of its own."""
    box.call(_sleep_deaf, True, timeout=1.5)
    return world.left_behind(within=PATIENCE)


def _stop_oneself():
    import signal

    if os.fork() == 0:
        os.setsid()
    os.kill(os.getpid(), signal.SIGSTOP)


@attack(P.LEFTOVERS, "process survives the timeout", only_bare=True)
def outlive_the_timeout_stopped(world: World, box: Box) -> str:
    box.call(_stop_oneself, timeout=1.5)
    return world.left_behind(within=PATIENCE)


def _killed_supervisor(world: World, box: Box, number: int) -> str:
    # A signal that Redoma passes on ends the command; the rest of its tree does not hear it.
    process = box.started(_sleep_deaf, number == signal.SIGKILL)
    try:
        until = time.monotonic() + 20
        # Three forked children and their parent, beside whatever supervises them.
        while _payloads(world) < 4 and process.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        if _payloads(world) < 4:
            raise NotRun(f"the payload never forked: {process.poll()} {_said(process)}")
        os.kill(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=5)
        return world.left_behind(within=PATIENCE)
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


def _said(process: subprocess.Popen[bytes]) -> str:
    if process.stderr is None or process.poll() is None:
        return ""
    return repr(process.stderr.read()[-600:])


def _payloads(world: World) -> int:
    names = [text_of(f"/proc/{pid}/cmdline") for pid in world.alive()]
    return sum(1 for name in names if "-I\0-S\0" in name and name.startswith("python3"))


@attack(P.LEFTOVERS, KILLED, only_bare=True)
def outlive_a_killed_supervisor(world: World, box: Box) -> str:
    """Redoma itself is killed, without a chance to clean up."""
    return _killed_supervisor(world, box, signal.SIGKILL)


@attack(P.LEFTOVERS, KILLED, only_bare=True)
def outlive_a_terminated_supervisor(world: World, box: Box) -> str:
    """Redoma is told to end, as a closed terminal or an agent that gives up does."""
    return _killed_supervisor(world, box, signal.SIGTERM)
