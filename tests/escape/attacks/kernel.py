"""Settings and controls of the kernel, rare system calls, devices.

Nothing here could do harm if it succeeded: settings are written as they are, files are opened and
closed, and calls carry arguments that the kernel refuses after it looked at the caller's privilege.
"""

from __future__ import annotations

import errno
import os
import stat

from tests.escape.attack import BOTH, Unsupported, attack
from tests.escape.inside import Box
from tests.escape.prelude import call, reached
from tests.escape.promises import P
from tests.escape.world import World

SYSCTL = "write /proc/sys (as root)"
CONTROLS = "write other controls of the kernel (as root)"
CALLS = "rare system calls"
DEVICES = "devices"


def _write_as_it_is(paths):
    done = []
    for path in paths:
        try:
            with open(path) as file:
                text = file.read()
            with open(path, "w") as file:
                file.write(text)
            done.append(path)
        except OSError:
            continue
    return done


@attack(P.SETTINGS, SYSCTL, works_for="root")
def write_kernel_settings(world: World, box: Box) -> str:
    """`core_pattern` and `modprobe` name programs that the kernel runs as root, outside."""
    names = "kernel/core_pattern kernel/modprobe vm/overcommit_memory fs/file-max kernel/panic"
    told = box.call(_write_as_it_is, [f"/proc/sys/{name}" for name in names.split()])
    return f"wrote {', '.join(told.value)}" if told.value else ""


def _open_for_writing(paths):
    done = []
    for path in paths:
        try:
            os.close(os.open(path, os.O_WRONLY))
            done.append(path)
        except OSError:
            continue
    return done


@attack(P.SETTINGS, CONTROLS, works_for="root")
def open_controls_of_the_kernel(world: World, box: Box) -> str:
    """They are opened for writing, and nothing is written."""
    names = """
        /proc/sysrq-trigger /proc/irq/default_smp_affinity /proc/sys/fs/binfmt_misc/register
        /sys/kernel/mm/transparent_hugepage/enabled /sys/kernel/uevent_helper /sys/power/state
        /sys/kernel/debug/tracing/trace_marker /sys/fs/cgroup/memory/release_agent
    """
    told = box.call(_open_for_writing, names.split())
    return f"opened {', '.join(told.value)}" if told.value else ""


def _leave_control_group():
    done = []
    with open("/proc/self/mountinfo") as file:
        lines = [line.split() for line in file]
    places = {words[4] for words in lines if "cgroup" in words[-3] or "cgroup" in words[-2]}
    places |= {"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/pids"}
    for place in sorted(places):
        for name in ("tasks", "cgroup.procs"):
            try:
                fd = os.open(f"{place}/{name}", os.O_WRONLY)  # never made where there is none
                os.write(fd, str(os.getpid()).encode())
                os.close(fd)
                done.append(f"{place}/{name}")
            except OSError:
                continue
    return done


@attack(P.SETTINGS, CONTROLS, works_for="root")
def leave_the_control_group(world: World, box: Box) -> str:
    """Limits end where a process can move itself to another group."""
    told = box.call(_leave_control_group)
    return f"moved by {', '.join(told.value)}" if told.value else ""


def _reach(name, arguments):
    import ctypes

    made = []
    for argument in arguments:
        if argument == "self":
            made.append(os.getpid())
        elif isinstance(argument, str):
            made.append(argument.encode())
        elif isinstance(argument, list):
            made.append(ctypes.create_string_buffer(bytes(argument), 256))
        else:
            made.append(argument)
    return reached(name, *made)


_ADJUST_TICK = [0, 0x40, 0, 0]  # to a value that is refused as nonsense, after privilege
_SOFTWARE_EVENT = [1, 0, 0, 0, 112]
_MAY_BE_MISSING = """
    delete_module file_getattr finit_module init_module ioperm iopl kexec_file_load kexec_load
    lsm_get_self_attr lsm_list_modules set_mempolicy_home_node
""".split()

RARE_CALLS: dict[str, tuple[list[object], frozenset[str]]] = {
    "acct": (["/nonexistent"], frozenset({"root"})),
    "add_key": (["user", "redoma", "x", 1, -2], BOTH),
    "bpf": ([0, [], 128], frozenset({"root"})),
    "clock_adjtime": ([0, _ADJUST_TICK], frozenset({"root"})),
    "delete_module": (["redoma-nonexistent", 0], frozenset({"root"})),
    "fanotify_init": ([0x200, 0], BOTH),
    # Newer than most lists of what is forbidden: what no ordinary program asks for is not there.
    "file_getattr": ([-1, "", [], 24, -1], BOTH),
    "finit_module": ([-1, "", 0], frozenset({"root"})),
    "init_module": ([0, 0, ""], frozenset({"root"})),
    "io_uring_setup": ([1, []], BOTH),
    "ioperm": ([0x80, 1, 1], frozenset({"root"})),
    "iopl": ([3], frozenset({"root"})),
    "kcmp": (["self", "self", 0, 0, 1], BOTH),
    "kexec_file_load": ([-1, -1, 0, "", 0x4000], frozenset({"root"})),
    "kexec_load": ([0, 0, 0, 0xFFFF], frozenset({"root"})),
    "keyctl": ([0, -3, 0], BOTH),
    "lsm_get_self_attr": ([100, 0, [], -1], BOTH),
    "lsm_list_modules": ([0, [], -1], BOTH),
    "open_by_handle_at": ([-100, [], 0], frozenset({"root"})),
    "perf_event_open": ([_SOFTWARE_EVENT, 0, -1, -1, 0], frozenset({"root"})),
    "personality": ([0x0040000], BOTH),
    "pidfd_getfd": ([-1, 0, 0], BOTH),
    "process_vm_readv": (["self", 0, 0, 0, 0, 0], BOTH),
    "process_vm_writev": (["self", 0, 0, 0, 0, 0], BOTH),
    "ptrace": ([0, 0, 0, 0], BOTH),
    "quotactl": ([0x80000700, "/nonexistent", 0, 0], BOTH),
    "reboot": ([0, 0, 0, 0], frozenset({"root"})),  # without the magic numbers it is refused
    "request_key": (["user", "redoma-nonexistent", 0, 0], BOTH),
    "set_mempolicy_home_node": ([0, 1 << 12, 0, -1], BOTH),
    "setdomainname": (["", -1], frozenset({"root"})),
    "sethostname": (["", -1], frozenset({"root"})),
    "swapoff": (["/nonexistent"], frozenset({"root"})),
    "swapon": (["/nonexistent", 0], frozenset({"root"})),
    "syslog": ([10, 0, 0], frozenset({"root"})),
    "userfaultfd": ([1], BOTH),
    "vhangup": ([], frozenset({"root"})),
}


def _make(name: str, arguments: list[object], works_for: frozenset[str]) -> None:
    def attempt(world: World, box: Box) -> str:
        if name in _MAY_BE_MISSING and _kernel_lacks(name):
            raise Unsupported(f"this kernel has no {name}")
        return str(box.call(_reach, name, arguments).value or "")

    attempt.__name__ = f"call_{name}"
    attack(P.CALLS, CALLS, works_for=works_for)(attempt)


def _kernel_lacks(name: str) -> bool:
    try:
        call(name, -1, -1, 0, 0, 0xFFFF)  # nonsense to the kernel, or refused to us
    except OSError as error:
        return error.errno == errno.ENOSYS
    return False


for _name, (_arguments, _works_for) in RARE_CALLS.items():
    _make(_name, _arguments, _works_for)


def _make_device(workspace):
    import stat

    os.mknod(f"{workspace}/device", stat.S_IFCHR | 0o666, os.makedev(1, 3))


@attack(P.DEVICES, DEVICES, works_for="root")
def make_a_device(world: World, box: Box) -> str:
    """The number is that of /dev/null; any other would be made just so."""
    box.call(_make_device, world.workspace)
    return "a device was made" if os.path.lexists(world.workspace / "device") else ""


def _use_device(path):
    with open(path, "rb", buffering=0) as file:
        return len(file.read(4))


@attack(P.DEVICES, DEVICES, works_for="root")
def use_a_device_in_the_workspace(world: World, box: Box) -> str:
    """A device that lies in the workspace; this one only gives zeroes."""
    if os.geteuid() != 0:
        raise Unsupported("only root can make a device")
    device = world.workspace / "zero"
    os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 5))
    device.chmod(0o666)
    told = box.call(_use_device, device)
    return "read from a device" if told.value == 4 else ""


def _open_devices(names):
    done = []
    for name in names:
        try:
            os.close(os.open(name, os.O_RDONLY | os.O_NONBLOCK))
            done.append(name)
        except OSError:
            continue
    return done


@attack(P.DEVICES, DEVICES, works_for="root")
def open_devices_of_the_machine(world: World, box: Box) -> str:
    """Disks, memory, kernel messages, virtual machines: opened for reading, and closed."""
    with open("/proc/partitions") as file:
        disks = [f"/dev/{line.split()[3]}" for line in file.read().splitlines()[2:]]
    names = ["/dev/mem", "/dev/port", "/dev/kmsg", "/dev/kvm", "/dev/fuse", "/dev/loop-control"]
    told = box.call(_open_devices, names + disks[:4])
    return f"opened {', '.join(told.value)}" if told.value else ""
