"""Using up the machine: processes, memory, disk, descriptors, output, time.

Each attack uses no more than it names, and gives it back at once: a machine without limits is not
brought down by it. Where it needs limits lower than the level's, it says so.
"""

from __future__ import annotations

import os
import time

from tests.escape.attack import attack
from tests.escape.inside import Box
from tests.escape.promises import P
from tests.escape.world import World

FORKS = "400 forks"
DISK = "200 MB of disk"
MB = 1 << 20
PROCESSES = {"processes": 256}


def _fork(count):
    import signal
    import time

    made = []
    try:
        for _ in range(count):
            pid = os.fork()
            if pid == 0:
                signal.alarm(20)
                time.sleep(20)
                os._exit(0)
            made.append(pid)
    except OSError:
        pass
    for pid in made:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return len(made)


@attack(P.FORKS, FORKS, only_bare=True)
def fork_many_times(world: World, box: Box) -> str:
    told = box.call(_fork, 400, limits=PROCESSES)
    return f"{told.value} processes at once" if (told.value or 0) >= 400 else ""


def _fork_tree(depth, place):
    import signal
    import time

    signal.alarm(20)
    for level in range(depth):
        try:
            if os.fork() == 0:
                signal.alarm(20)
        except OSError:
            break
        open(f"{place}/{os.getpid()}", "w").close()
        time.sleep(0.05 * (level > 5))
    time.sleep(1.5)


@attack(P.FORKS, FORKS, only_bare=True)
def fork_like_a_bomb(world: World, box: Box) -> str:
    """Every process forks, nine times over; after seconds all of them end by themselves."""
    place = world.workspace / "pids"
    place.mkdir()
    box.call(_fork_tree, 9, place, timeout=10, limits=PROCESSES)
    seen = len(list(place.iterdir()))
    return f"{seen} processes" if seen >= 400 else ""


def _threads(count):
    import threading

    over = threading.Event()
    made = []
    threading.stack_size(64 * 1024)
    try:
        for _ in range(count):
            thread = threading.Thread(target=over.wait, daemon=True)
            thread.start()
            made.append(thread)
    except RuntimeError:
        pass
    over.set()
    return len(made)


@attack(P.FORKS, FORKS, only_bare=True)
def start_many_threads(world: World, box: Box) -> str:
    """To the kernel's scheduler a thread is a process."""
    told = box.call(_threads, 400, limits=PROCESSES)
    return f"{told.value} threads at once" if (told.value or 0) >= 400 else ""


def _write_file(path, megabytes):
    chunk = b"x" * (1 << 20)
    with open(path, "wb") as file:
        for _ in range(megabytes):
            file.write(chunk)
    return megabytes


@attack(P.DISK, DISK, only_bare=True)
def write_a_large_file(world: World, box: Box) -> str:
    box.call(_write_file, world.workspace / "large", 200, limits={"file_size": 100 * MB})
    size = _size(world)
    return f"{size >> 20} MB on disk" if size >= 200 * MB else ""


def _size(world: World) -> int:
    found = 0
    for place, _, names in os.walk(world.workspace):
        found += sum(os.lstat(f"{place}/{name}").st_blocks * 512 for name in names)
    return found


def _write_files(workspace, megabytes):
    chunk = b"x" * (1 << 20)
    for number in range(megabytes):
        with open(f"{workspace}/part{number}", "wb") as file:
            file.write(chunk)
    return megabytes


@attack(P.DISK, DISK, only_bare=True)
def write_many_files(world: World, box: Box) -> str:
    """Many small files are one large one; the limit for the whole is set to 64 MB here."""
    box.call(_write_files, world.workspace, 200, limits={"total_written": 64 * MB})
    size = _size(world)
    return f"{size >> 20} MB on disk" if size >= 200 * MB else ""


def _write_and_hide(workspace, megabytes):
    # Nothing is ever found by looking at the workspace: the names are gone at once.
    chunk = b"x" * (1 << 20)
    kept = []
    for _ in range(megabytes):
        fd = os.open(workspace, os.O_TMPFILE | os.O_RDWR, 0o600)
        kept.append(fd)
        os.write(fd, chunk)
    return sum(os.fstat(fd).st_size for fd in kept) >> 20


@attack(P.DISK, DISK, only_bare=True)
def write_files_without_names(world: World, box: Box) -> str:
    """Space of files without a name is space too; the limit for the whole is 64 MB here."""
    told = box.call(_write_and_hide, world.workspace, 200, limits={"total_written": 64 * MB})
    return f"{told.value} MB" if (told.value or 0) >= 200 else ""


def _write_at_once(workspace, megabytes, parts):
    chunk = b"x" * ((megabytes // parts) << 20)
    for number in range(parts):
        if os.fork() == 0:
            with open(f"{workspace}/at-once{number}", "wb", buffering=0) as file:
                file.write(chunk)
            os._exit(0)
    for _ in range(parts):
        os.wait()
    return megabytes


@attack(P.DISK, DISK, only_bare=True)
def write_at_once(world: World, box: Box) -> str:
    """Faster than anyone looks: one call a file. The limit for the whole is 64 MB here."""
    box.call(_write_at_once, world.workspace, 240, 4, limits={"total_written": 64 * MB})
    size = _size(world)
    return f"{size >> 20} MB on disk" if size >= 200 * MB else ""


def _preallocate(workspace, megabytes):
    for number in range(4):
        fd = os.open(f"{workspace}/pre{number}", os.O_CREAT | os.O_RDWR)
        os.posix_fallocate(fd, 0, (megabytes // 4) << 20)
    return megabytes


@attack(P.DISK, DISK, only_bare=True)
def take_space_without_writing(world: World, box: Box) -> str:
    """Space is taken without a byte being written; the limit for the whole is 64 MB here."""
    box.call(_preallocate, world.workspace, 240, limits={"total_written": 64 * MB})
    size = _size(world)
    return f"{size >> 20} MB on disk" if size >= 200 * MB else ""


def _write_by_mapping(workspace, megabytes):
    import mmap

    for number in range(4):
        size = (megabytes // 4) << 20
        fd = os.open(f"{workspace}/map{number}", os.O_CREAT | os.O_RDWR)
        os.ftruncate(fd, size)
        pages = mmap.mmap(fd, size)
        for start in range(0, size, 4096):
            pages[start] = 1
        pages.flush()
    return megabytes


@attack(P.DISK, DISK, only_bare=True)
def write_by_mapping(world: World, box: Box) -> str:
    """No call writes: pages are changed in memory. The limit for the whole is 64 MB here."""
    box.call(_write_by_mapping, world.workspace, 240, limits={"total_written": 64 * MB})
    size = _size(world)
    return f"{size >> 20} MB on disk" if size >= 200 * MB else ""


def _sparse(path):
    with open(path, "wb") as file:
        file.seek(1 << 40)
        file.write(b"x")


@attack(P.DISK, "file larger than any limit", only_bare=True)
def make_a_sparse_file(world: World, box: Box) -> str:
    """A terabyte that takes no space breaks whatever copies it."""
    box.call(_sparse, world.workspace / "sparse", limits={"file_size": 100 * MB})
    place = world.workspace / "sparse"
    size = place.stat().st_size if place.exists() else 0
    return f"a file of {size} bytes" if size > 1 << 39 else ""


def _open_files(count):
    kept = []
    try:
        for _ in range(count):
            kept.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        pass
    return len(kept)


@attack(P.OUTPUT, "open files", works_for="root", only_bare=True)
def open_many_files(world: World, box: Box) -> str:
    told = box.call(_open_files, 5000, limits={"open_files": 1024})
    return f"{told.value} files open at once" if (told.value or 0) >= 5000 else ""


def _flood(megabytes, line):
    chunk = line.encode() * ((1 << 20) // len(line))
    for _ in range(megabytes):
        os.write(1, chunk)
    return megabytes


def _kept(box: Box, line: str) -> str:
    box.call(_flood, 64, line)
    assert box.last is not None
    size = len(box.last.out) + len(box.last.err)
    return f"{size >> 20} MB of output kept" if size >= 60 * MB else ""


@attack(P.OUTPUT, "output without end", only_bare=True)
def flood_the_output(world: World, box: Box) -> str:
    return _kept(box, "all work and no play\n")


@attack(P.OUTPUT, "output without end", only_bare=True)
def flood_the_output_without_a_newline(world: World, box: Box) -> str:
    return _kept(box, "x")


def _flood_for_ever():
    import signal
    import time

    if os.fork() == 0:
        os.setsid()
    signal.alarm(20)
    chunk = b"x" * (1 << 16)
    while True:
        try:
            os.write(1, chunk)
        except OSError:
            chunk = b""  # nobody listens any more
        time.sleep(0.002)  # so that whoever keeps all of it has room for it


@attack(P.OUTPUT, "time without end", only_bare=True)
def write_until_the_time_is_over(world: World, box: Box) -> str:
    """Output that never stops does not keep the clock from being looked at."""
    began = time.monotonic()
    box.call(_flood_for_ever, timeout=1.5, limits={"output_total": 1 << 40})
    took = time.monotonic() - began
    return f"ran {took:.1f} s of 1.5 s" if took > 6 or world.alive() else ""


def _spin(seconds, processes):
    import time

    for _ in range(processes - 1):
        if os.fork() == 0:
            break
    until = time.monotonic() + 20  # on a busy machine processor time passes slowly
    while time.process_time() < seconds and time.monotonic() < until:
        pass
    return time.process_time()


@attack(P.OUTPUT, "time without end", only_bare=True)
def spin_past_the_processor_time(world: World, box: Box) -> str:
    """One second of processor time is given, and several are taken by several processes."""
    told = box.call(_spin, 2.5, 2, limits={"cpu_seconds": 1})
    return f"took {told.value:.1f} s of 1 s" if (told.value or 0) >= 2.5 else ""
