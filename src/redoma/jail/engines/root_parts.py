"""What every root has of its own, whoever builds it: the one description that engines keep to.

Which directories of the machine are shown is a grant's to say (`view`, `engines/frame`); what
stands here is the same in every sandbox of namespaces. `tests/contract/test_root.py` looks from
inside each of them and compares.
"""

from __future__ import annotations

# /dev: the devices that every program may use, and the links beside them.
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
DEVICE_LINKS = (
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("core", "/proc/kcore"),
    ("ptmx", "pts/ptmx"),
)
DEVICE_DIRECTORIES = ("shm", "pts")

# /proc: what changes the machine can only be read; where its mode lets nobody write it anyway, it
# is left as it is.
READ_ONLY_IN_PROC = ("sys", "sysrq-trigger", "irq", "bus")
# The first process is the sandbox's own. Attack: /proc/1/exe leads to the launcher's program past
# every mount made here, /proc/1/mem to what it will say of the command's end. Bubblewrap's is
# covered by an empty directory; our own are invisible to whoever may not trace them.
FIRST_PROCESS = "/proc/1"
PROC_OPTIONS = "hidepid=2"

# By kind of file system, what every mount of it has. An overlay that is written under bubblewrap
# has none of these by name: it belongs to a user namespace, where the kernel opens no device
# through it, and no program gains anything by its set-id bits since none may gain privileges.
ALWAYS = frozenset({"nosuid", "nodev"})
FLAGS = {"proc": ALWAYS | {"noexec"}, "devpts": frozenset({"nosuid", "noexec"})}
# A device is of use through its own mount alone.
OF_DEVICES = frozenset({"nosuid"})

# What a process of the command has, as /proc/self/status says it.
STATUS = {
    "CapInh": "0" * 16,
    "CapPrm": "0" * 16,
    "CapEff": "0" * 16,
    "CapBnd": "0" * 16,
    "CapAmb": "0" * 16,
    "NoNewPrivs": "1",
    "Seccomp": "2",
}
NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")
