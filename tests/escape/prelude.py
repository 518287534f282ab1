"""What every payload carries with it: system calls by name, and what a refusal looks like.

The text of this file is sent inside before the payload's own, so it uses the standard library
alone and runs on any Python 3.
"""

import ctypes
import errno
import os

LIBC = ctypes.CDLL(None, use_errno=True)

# name: (x86_64, aarch64); -1 where a machine has no such call.
CALLS = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "clone": (56, 220),
    "clone3": (435, 435),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "fchmodat2": (452, 452),
    "file_getattr": (468, 468),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "init_module": (175, 105),
    "io_uring_setup": (425, 425),
    "ioperm": (173, -1),
    "iopl": (172, -1),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lsm_get_self_attr": (459, 459),
    "lsm_list_modules": (461, 461),
    "memfd_create": (319, 279),
    "mknodat": (259, 33),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "openat": (257, 56),
    "openat2": (437, 437),
    "perf_event_open": (298, 241),
    "personality": (135, 92),
    "pidfd_getfd": (438, 438),
    "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424),
    "pivot_root": (155, 41),
    "prlimit64": (302, 261),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "sched_setaffinity": (203, 122),
    "set_mempolicy_home_node": (450, 450),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "setpriority": (141, 140),
    "shmat": (30, 196),
    "shmget": (29, 194),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
    "vhangup": (153, 58),
}


def call(name, *arguments):
    """Makes a system call; OSError when the kernel says no."""
    number = CALLS[name][os.uname().machine != "x86_64"]
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    answer = LIBC.syscall(ctypes.c_long(number), *words) if number >= 0 else -1
    if answer < 0:
        raise OSError(ctypes.get_errno() if number >= 0 else errno.ENOSYS, name)
    return answer


def reached(name, *arguments):
    """How the kernel answered a call that should have been refused before it was looked at.

    Arguments are chosen so that the call can do no harm: it fails for another reason than
    permission, and that reason shows that whoever called it was let in.
    """
    try:
        answer = call(name, *arguments)
    except OSError as error:
        if error.errno in (errno.EPERM, errno.ENOSYS, errno.EACCES):
            return ""
        return f"{name} was let in: {errno.errorcode.get(error.errno, error.errno)}"
    return f"{name} was done: {answer}"


def text_of(path, most=1 << 16):
    """The beginning of a file, or nothing where it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(most).decode(errors="replace")
    except OSError:
        return ""


def everything_below(top, most=20000):
    """Paths below a directory, as far as they can be listed."""
    found = []
    for place, directories, files in os.walk(top):
        found += [os.path.join(place, name) for name in directories + files]
        if len(found) > most:
            break
    return found
