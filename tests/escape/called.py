"""What hostile functions do inside a call: each tries to reach its caller, or the machine."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import Any, NoReturn

ANSWER = 3
RETURNED = b"redoma-answer-1\nR"


def libc() -> Any:
    import ctypes

    return ctypes.CDLL(None, use_errno=True)


# Reaching out of the process.


def opens_without_python(path: str) -> int:
    opened: int = libc().open(path.encode(), os.O_RDWR)
    return opened


def creates_without_python(path: str) -> int:
    made: int = libc().open(path.encode(), os.O_RDWR | os.O_CREAT, 0o600)
    return made


def descriptors() -> list[str]:
    """What each descriptor leads to; the listing's own is gone when it is looked at."""
    found = []
    for name in sorted(os.listdir("/proc/self/fd"), key=int):
        try:
            found.append(f"{name} {os.readlink(f'/proc/self/fd/{name}').split(':')[0]}")
        except OSError:
            continue
    return found


def others_memory() -> list[int]:
    """Processes beside this one whose memory can be opened."""
    found = []
    for name in os.listdir("/proc"):
        # The first process is the sandbox's own, with no more rights than this one.
        if name.isdigit() and int(name) not in (1, os.getpid()):
            try:
                with open(f"/proc/{name}/mem", "rb"):
                    found.append(int(name))
            except OSError:
                continue
    return found


def own_memory() -> int:
    """What is written through /proc/self/mem is this process's own, and goes no further."""
    import ctypes

    value = ctypes.create_string_buffer(b"before")
    with open("/proc/self/mem", "r+b", buffering=0) as memory:
        memory.seek(ctypes.addressof(value))
        return memory.write(b"after!")


def everything_known() -> bytes:
    """All that this process can see of its caller: variables, words, modules, objects."""
    import gc
    import sys

    parts = [repr(dict(os.environ)), repr(sys.argv), " ".join(sys.modules)]
    parts += [repr(vars(module)) for module in list(sys.modules.values()) if module is not None]
    parts += [repr(each) for each in gc.get_objects() if isinstance(each, dict | list | tuple)]
    with open("/proc/self/environ", "rb") as environ, open("/proc/self/cmdline", "rb") as words:
        known = environ.read() + words.read()
    return known + "\n".join(parts).encode(errors="replace")


def contains(secret_backwards: str) -> bool:
    return secret_backwards[::-1].encode() in everything_known()


def kills_everyone() -> list[str]:
    import signal

    said = []
    for pid in (os.getppid(), 1, -1):
        try:
            os.kill(pid, signal.SIGKILL)
            said.append("sent")
        except OSError as error:
            said.append(type(error).__name__)
    return said


# Answers that are none.


def writes_an_answer(data: bytes, then: str) -> Any:
    os.write(ANSWER, data)
    if then == "return":
        return "the second answer"
    if then == "sleep":
        import time

        time.sleep(3600)
    os._exit(0)


def closes_its_channel() -> str:
    os.close(ANSWER)
    return "to nobody"


def closes_everything() -> str:
    os.closerange(0, 256)
    return "to nobody"


def forks_and_returns() -> str:
    child = os.fork()
    if child:
        os.waitpid(child, 0)  # it has answered by then
    return "twice"


def forks_and_stays(path: str) -> int:
    import time

    child = os.fork()
    if child == 0:
        os.setsid()
        time.sleep(2)
        with open(path, "w") as file:
            file.write("later")
        os._exit(0)
    return child


def ends_at_once(status: int) -> NoReturn:
    os._exit(status)


def exits(status: int) -> NoReturn:
    raise SystemExit(status)


def interrupts() -> NoReturn:
    raise KeyboardInterrupt("not yours")


def crashes() -> int:
    read: int = libc().strlen(8)
    return read


def recurses(depth: int) -> int:
    return recurses(depth + 1)


def ignores_signals() -> NoReturn:
    import signal
    import sys

    for number in range(1, 32):
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_IGN)
    sys.setswitchinterval(1000)
    while True:
        pass


def endless() -> Iterator[int]:
    while True:
        yield 1


def gigabyte() -> bytes:
    return bytes(1 << 30)


def gigabyte_by_hand() -> str:
    block = bytes(1 << 20)
    os.write(ANSWER, RETURNED + b"b" + struct.pack("<I", 1 << 30))
    for _ in range(1 << 10):
        os.write(ANSWER, block)
    return "so much"


# Values and exceptions that do something when they are looked at.


class Reduced:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch /tmp/reduced",)


class Pretender:
    @property
    def __class__(self) -> type:  # type: ignore[override]
        return dict

    def __getattr__(self, name: str) -> Any:
        return lambda *_: {"pretended": name}


class LoudText(str):
    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch /tmp/text",)

    def encode(self, *_: Any, **__: Any) -> bytes:
        return b"\xff" * 10

    def __len__(self) -> int:
        return 1 << 40


class LoudNumber(int):
    def __index__(self) -> int:
        raise RuntimeError("asked")

    def __le__(self, other: object) -> bool:
        raise RuntimeError("compared")

    __ge__ = __lt__ = __gt__ = __le__


class LoudMap(dict[str, int]):
    def items(self) -> Any:
        return endless()

    def __iter__(self) -> Any:
        return endless()

    def __len__(self) -> int:
        return 1 << 40


def evil_object() -> object:
    return Reduced()


def evil_class() -> object:
    return Pretender()


def loud_values() -> list[object]:
    return [LoudText("plain"), LoudNumber(7), LoudMap(a=1)]


class Evil(Exception):
    """Nothing that one can ask it has an answer."""

    def __str__(self) -> str:
        raise SystemExit("asked")

    def __repr__(self) -> str:
        raise KeyboardInterrupt

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)


def evil_exception() -> NoReturn:
    raise Evil


def evil_chain() -> NoReturn:
    first, second = ValueError("a"), ValueError("b")
    first.__cause__, second.__cause__ = second, first
    raise first


def evil_arguments() -> NoReturn:
    raise ValueError(Reduced())


def long_message() -> NoReturn:
    raise ValueError("x" * (100 << 20))


def violation_by_hand(path: str) -> None:
    """A violation that never was, with what no violation has."""
    told = b"d" + struct.pack("<I", 1) + b"s" + struct.pack("<I", 4) + b"kind"
    os.write(ANSWER, RETURNED[:-1] + b"V" + told + b"i" + struct.pack("<q", 5))
    os._exit(1)


def rights_here() -> list[str]:
    """Which process namespace this is, and what this process may do, after a moment."""
    import time

    time.sleep(0.3)
    names = ("CapPrm:", "CapEff:", "CapBnd:", "NoNewPrivs:", "Seccomp:")
    with open("/proc/self/status") as file:
        rights = [line.split()[1] for line in file if line.startswith(names)]
    return [str(os.stat("/proc/self/ns/pid").st_ino), *rights]


def looks_into_the_first_process() -> list[str]:
    """What of the sandbox's first process can be opened, or reached by its owner."""
    import ctypes

    reached = []
    for name in ("status", "mem", "environ", "maps", "fd", "root", "cwd", "ns/user"):
        path = f"/proc/1/{name}"
        try:
            os.readlink(path) if name in ("root", "cwd", "ns/user") else os.stat(path)
            if name in ("mem", "environ", "maps"):
                os.close(os.open(path, os.O_RDONLY))
            elif name == "fd":
                os.listdir(path)
            reached.append(name)
        except OSError:
            pass
    libc = ctypes.CDLL(None, use_errno=True)
    reached += [name for name, number in (("attach", 16), ("seize", 0x4206)) if
                libc.ptrace(number, 1, 0, 0) == 0]  # fmt: skip
    reached += [
        name
        for name, flag in (("user", 0x10000000), ("mount", 0x20000), ("network", 0x40000000))
        if libc.unshare(flag) == 0
    ]
    return reached
