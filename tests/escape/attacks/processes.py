"""Seeing, signalling, tracing and reading processes of the host."""

from __future__ import annotations

import os
import subprocess

from tests.escape.attack import attack
from tests.escape.inside import Box
from tests.escape.prelude import call, text_of
from tests.escape.promises import P
from tests.escape.world import World

SEE = "see host processes"
HURT = "kill, ptrace host processes"


def _processes(pid, secret):
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and secret in text_of(f"/proc/{name}/cmdline"):
            found.append(f"/proc/{name}")
    return found


@attack(P.PROCESSES, SEE)
def see_a_host_process(world: World, box: Box) -> str:
    """The command line of a host process, which often holds secrets."""
    decoy = world.decoy()
    told = box.call(_processes, decoy.pid, world.secret)
    return f"seen: {told.value}" if told.value else ""


def _same_namespaces():
    return {name: os.readlink(f"/proc/self/ns/{name}") for name in os.listdir("/proc/self/ns")}


@attack(P.PROCESSES, SEE)
def share_a_namespace_with_the_host(world: World, box: Box) -> str:
    """Processes, messages, network, mounts and names of the machine are in namespaces."""
    told = box.call(_same_namespaces)
    apart = ("pid", "ipc", "net", "mnt", "uts", "user")
    shared = [n for n in apart if told.value[n] == os.readlink(f"/proc/self/ns/{n}")]
    return f"shared with the host: {', '.join(shared)}" if shared else ""


def _signal(pid):
    import signal

    os.kill(pid, signal.SIGUSR1)


@attack(P.PROCESSES, HURT)
def signal_a_host_process(world: World, box: Box) -> str:
    decoy = world.decoy()
    box.call(_signal, decoy.pid)
    return decoy.harmed()


def _signal_group(pid):
    import signal

    os.killpg(pid, signal.SIGUSR1)


@attack(P.PROCESSES, HURT)
def signal_a_host_process_group(world: World, box: Box) -> str:
    decoy = world.decoy()
    box.call(_signal_group, decoy.pid)
    return decoy.harmed()


def _pidfd_signal(pid):
    fd = call("pidfd_open", pid, 0)
    call("pidfd_send_signal", fd, 10, 0, 0)


@attack(P.PROCESSES, HURT)
def signal_by_pidfd(world: World, box: Box) -> str:
    decoy = world.decoy()
    box.call(_pidfd_signal, decoy.pid)
    return decoy.harmed()


def _trace(pid):
    attach, detach = 16, 17
    call("ptrace", attach, pid, 0, 0)
    os.waitpid(pid, 0x40000000)  # of any kind of child
    call("ptrace", detach, pid, 0, 10)  # with a signal that it will tell of


@attack(P.PROCESSES, HURT)
def trace_a_host_process(world: World, box: Box) -> str:
    decoy = world.decoy()
    told = box.call(_trace, decoy.pid)
    return decoy.harmed() or ("traced" if told.ended and not told.refused else "")


def _read_memory(pid, address):
    import ctypes

    class Vector(ctypes.Structure):
        _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))

    buffer = ctypes.create_string_buffer(64)
    here = Vector(ctypes.addressof(buffer), 64)
    there = Vector(address, 64)
    call("process_vm_readv", pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
    return buffer.value.decode(errors="replace")


@attack(P.PROCESSES, HURT)
def read_the_memory_of_a_host_process(world: World, box: Box) -> str:
    decoy = world.decoy()
    told = box.call(_read_memory, decoy.pid, decoy.address)
    return "read a secret from memory" if world.secret in str(told.value) else ""


def _read_memory_file(pid, address):
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as file:
        file.seek(address)
        return file.read(64).decode(errors="replace")


@attack(P.PROCESSES, HURT)
def read_the_memory_file_of_a_host_process(world: World, box: Box) -> str:
    decoy = world.decoy()
    told = box.call(_read_memory_file, decoy.pid, decoy.address)
    return "read a secret from memory" if world.secret in str(told.value) else ""


def _take_descriptor(pid):
    process = call("pidfd_open", pid, 0)
    fd = call("pidfd_getfd", process, 1, 0)
    os.write(fd, b"owned\n")


@attack(P.PROCESSES, HURT)
def take_a_descriptor_of_a_host_process(world: World, box: Box) -> str:
    decoy = world.decoy()
    box.call(_take_descriptor, decoy.pid)
    return decoy.harmed()


def _through_proc(pid, victim):
    done = []
    for way in (f"root{victim}", "cwd/victim"):
        try:
            with open(f"/proc/{pid}/{way}", "a") as file:
                file.write("owned")
            done.append(way)
        except OSError:
            continue
    return done


@attack(P.PROCESSES, HURT)
def reach_files_through_a_host_process(world: World, box: Box) -> str:
    """The root and the working directory of a host process are doors to its file system."""
    decoy = world.decoy()
    box.call(_through_proc, decoy.pid, world.victim)
    return world.changed_outside()


def _slow_down(pid):
    try:
        os.setpriority(os.PRIO_PROCESS, pid, 19)
        return "priority"
    except OSError:
        os.sched_setaffinity(pid, {0})
        return "affinity"


@attack(P.PROCESSES, HURT)
def slow_down_a_host_process(world: World, box: Box) -> str:
    decoy = world.decoy()
    before = (os.getpriority(os.PRIO_PROCESS, decoy.pid), os.sched_getaffinity(decoy.pid))
    box.call(_slow_down, decoy.pid)
    after = (os.getpriority(os.PRIO_PROCESS, decoy.pid), os.sched_getaffinity(decoy.pid))
    return "" if after == before else "a host process was slowed down"


def _limit(pid):
    import resource

    resource.prlimit(pid, resource.RLIMIT_NOFILE, (7, 7))


@attack(P.PROCESSES, HURT)
def limit_a_host_process(world: World, box: Box) -> str:
    decoy = world.decoy()
    box.call(_limit, decoy.pid)
    text = text_of(f"/proc/{decoy.pid}/limits")
    line = next(line for line in text.splitlines() if line.startswith("Max open files"))
    return "limits of a host process were changed" if line.split()[3] == "7" else ""


def _attach_shared_memory(key):
    import ctypes

    attach = ctypes.CDLL(None, use_errno=True).shmat
    attach.restype = ctypes.c_void_p
    place = attach(call("shmget", key, 64, 0o666), None, 0)
    if place in (None, ctypes.c_void_p(-1).value):
        return ""
    return ctypes.string_at(place, 64).decode(errors="replace")


@attack(P.PROCESSES, SEE)
def read_shared_memory_of_the_host(world: World, box: Box) -> str:
    """System V memory has no path: only a namespace hides it."""
    key = int(world.token[3:10], 16) | 1
    made = subprocess.run(
        ["/usr/bin/env", "python3", "-I", "-c", _MAKE_SHARED_MEMORY, str(key), world.secret],
        capture_output=True,
        text=True,
        check=True,
    )
    try:
        told = box.call(_attach_shared_memory, key)
    finally:
        subprocess.run(["ipcrm", "-m", made.stdout.strip()], check=True)
    return "read shared memory" if world.secret in str(told.value) else ""


_MAKE_SHARED_MEMORY = """
import ctypes, sys
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
number = libc.shmget(int(sys.argv[1]), 64, 0o1000 | 0o666)
ctypes.memmove(libc.shmat(number, None, 0), sys.argv[2].encode(), len(sys.argv[2]))
print(number)
"""
