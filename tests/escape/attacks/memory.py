"""Using up memory: in pages, in files that are pages, in what the kernel keeps for a process.

No attack takes more than 1.2 GB, and each gives it back at once.
"""

from __future__ import annotations

import os

from tests.escape.attack import attack
from tests.escape.inside import Box
from tests.escape.prelude import text_of
from tests.escape.promises import P
from tests.escape.world import World

MEMORY = "1 GiB of memory"
# A level's own is a share of the machine's.
LIMITS = {"memory": 1 << 30, "temporary": 512 << 20}


def _fill_memory(megabytes):
    import mmap

    pages = mmap.mmap(-1, megabytes << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for start in range(0, megabytes << 20, 4096):
        pages[start] = 1
    return megabytes


def _whole(box: Box, payload: object, megabytes: int, *more: object) -> str:
    # Where some of several processes are killed, the others wait for them until the time is over.
    told = box.call(payload, megabytes, *more, timeout=15, limits=LIMITS)  # type: ignore[arg-type]
    return f"used {told.value} MB" if told.ended and (told.value or 0) >= megabytes else ""


@attack(P.MEMORY, MEMORY, only_bare=True)
def fill_memory(world: World, box: Box) -> str:
    return _whole(box, _fill_memory, 1024)


def _fill_by_many(megabytes, parts, populate):
    import mmap

    size = (megabytes // parts) << 20
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | (0x8000 if populate else 0)
    go, told, made = os.pipe(), os.pipe(), []
    for _ in range(parts):
        made.append(os.fork())
        if made[-1] == 0:
            os.close(go[1])
            pages = mmap.mmap(-1, size, flags=flags)
            if not populate:
                for start in range(0, size, 4096):
                    pages[start] = 1
            os.write(told[1], b"x")
            os.read(go[0], 1)  # holds its part until all have theirs
            os._exit(0)
    os.close(told[1])
    full = 0
    while full < parts and os.read(told[0], 1):
        full += 1
    resident = 0
    for pid in made:  # what is there at one moment, and not what was asked for
        words = text_of(f"/proc/{pid}/statm").split()
        resident += int(words[1]) * 4096 if words else 0
    os.close(go[1])
    return resident >> 20


@attack(P.MEMORY, MEMORY, only_bare=True)
def fill_memory_by_many_processes(world: World, box: Box) -> str:
    """A limit for each process is none for the tree."""
    return _whole(box, _fill_by_many, 1200, 8, False)


@attack(P.MEMORY, MEMORY, only_bare=True)
def fill_memory_at_once(world: World, box: Box) -> str:
    """Faster than anyone looks: each process takes its part in one call."""
    return _whole(box, _fill_by_many, 1200, 8, True)


def _fill_shared_memory(megabytes):
    import mmap

    pages = mmap.mmap(-1, megabytes << 20)  # shared and anonymous
    for start in range(0, megabytes << 20, 4096):
        pages[start] = 1
    return megabytes


@attack(P.MEMORY, MEMORY, only_bare=True)
def fill_shared_memory(world: World, box: Box) -> str:
    """Shared pages are in no process's data segment."""
    return _whole(box, _fill_shared_memory, 1200)


def _fill_nameless_files(megabytes):
    done = 0
    kept = []
    chunk = b"x" * (1 << 20)
    try:
        while done < megabytes:
            fd = os.memfd_create("x")
            kept.append(fd)
            for _ in range(60):
                done += os.write(fd, chunk) >> 20
    except OSError:
        pass
    return done


@attack(P.MEMORY, MEMORY, only_bare=True)
def fill_files_in_memory(world: World, box: Box) -> str:
    """A file without a name, that no page table shows."""
    return _whole(box, _fill_nameless_files, 1200)


def _fill_system_v_memory(megabytes):
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    size = 60 << 20
    made, done = [], 0
    try:
        while done < megabytes:
            number = libc.shmget(0, size, 0o1600)
            if number < 0:
                break
            made.append(number)
            place = libc.shmat(number, None, 0)
            ctypes.memset(place, 1, size)
            libc.shmdt(ctypes.c_void_p(place))
            done += size >> 20
    finally:
        for number in made:
            libc.shmctl(number, 0, None)
    return done


@attack(P.MEMORY, MEMORY, only_bare=True)
def fill_system_v_memory(world: World, box: Box) -> str:
    """Segments that no process has attached are in no process's size."""
    return _whole(box, _fill_system_v_memory, 1200)


def _fill_socket_buffers(megabytes, parts):
    import socket
    import time

    told = os.pipe()
    for _ in range(parts):
        if os.fork() == 0:
            kept, size = [], 0
            try:
                while size < megabytes * (1 << 20) // parts:
                    for one in socket.socketpair():
                        kept.append(one)
                        one.setblocking(False)
                        try:
                            while True:
                                size += one.send(b"x" * 65536)
                        except BlockingIOError:
                            pass
            except OSError:
                pass
            os.write(told[1], f"{size >> 20}\n".encode())
            time.sleep(1)
            os._exit(0)
    os.close(told[1])
    text = b""
    while text.count(b"\n") < parts and (chunk := os.read(told[0], 4096)):
        text += chunk
    return sum(int(line) for line in text.split())


@attack(P.MEMORY, MEMORY, only_bare=True)
def fill_socket_buffers(world: World, box: Box) -> str:
    """What lies unread between sockets is the kernel's memory, and no process's."""
    told = box.call(_fill_socket_buffers, 1200, 12, limits=LIMITS)
    return f"used {told.value} MB" if (told.value or 0) >= 1024 else ""


def _fill_directories(megabytes, places):
    done = 0
    chunk = b"x" * (1 << 20)
    for place in places:
        try:
            for number in range(megabytes):
                with open(f"{place}/fill{number}", "wb") as file:
                    done += file.write(chunk) >> 20
        except OSError:
            continue
    return done


@attack(P.MEMORY, MEMORY, only_bare=True)
def fill_memory_by_temporary_files(world: World, box: Box) -> str:
    """/tmp, /dev/shm and the home directory are memory inside; together they are capped too."""
    places = ["/tmp", "/dev/shm", "/dev", "/run", "/var/tmp", str(world.home), "/"]
    own = world.place("/tmp"), world.place("/dev/shm")  # where nothing encloses, only these
    if box.enclosure.name in ("bare", "direct"):
        places = [str(place) for place in own]
    told = box.call(_fill_directories, 600, places, limits=LIMITS)
    return f"used {told.value} MB" if (told.value or 0) >= 1024 else ""
