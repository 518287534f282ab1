"""What a command may call is a list with reasons, measured by what containers may call."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import pytest

import redoma
from redoma.jail.kernel.seccomp import assemble
from redoma.jail.kernel.syscall_table import (
    ABSENT,
    ALLOWED,
    BEYOND_CONTAINERS,
    DENIED,
    MACHINES,
    NUMBERS,
    names,
    number,
)
from redoma.model.grant import Syscalls
from tests.unit.jail.kernel.interpreter import ALLOW, ERROR, answer

# The calls of these machines that Docker's default profile allows a container that has none of the
# capabilities (github.com/moby/profiles, seccomp/default.json, 2025); some with rules on arguments.
CONTAINERS = """
    accept accept4 access add_key adjtimex alarm arch_prctl bind brk cachestat capget capset
    chdir chmod chown clock_adjtime clock_getres clock_gettime clock_nanosleep clone close
    close_range connect copy_file_range creat dup dup2 dup3 epoll_create epoll_create1 epoll_ctl
    epoll_ctl_old epoll_pwait epoll_pwait2 epoll_wait epoll_wait_old eventfd eventfd2 execve
    execveat exit exit_group faccessat faccessat2 fadvise64 fallocate fanotify_mark fchdir
    fchmod fchmodat fchmodat2 fchown fchownat fcntl fdatasync fgetxattr flistxattr flock fork
    fremovexattr fsetxattr fstat fstatfs fsync ftruncate futex futex_requeue futex_wait
    futex_waitv futex_wake futimesat get_robust_list get_thread_area getcpu getcwd getdents
    getdents64 getegid geteuid getgid getgroups getitimer getpeername getpgid getpgrp getpid
    getppid getpriority getrandom getresgid getresuid getrlimit getrusage getsid getsockname
    getsockopt gettid gettimeofday getuid getxattr getxattrat inotify_add_watch inotify_init
    inotify_init1 inotify_rm_watch io_cancel io_destroy io_getevents io_pgetevents io_setup
    io_submit ioctl ioprio_get ioprio_set keyctl kill landlock_add_rule landlock_create_ruleset
    landlock_restrict_self lchown lgetxattr link linkat listen listmount listxattr listxattrat
    llistxattr lremovexattr lseek lsetxattr lstat madvise map_shadow_stack membarrier
    memfd_create memfd_secret mincore mkdir mkdirat mknod mknodat mlock mlock2 mlockall mmap
    modify_ldt mprotect mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink
    mremap mseal msgctl msgget msgrcv msgsnd msync munlock munlockall munmap name_to_handle_at
    nanosleep newfstatat open openat openat2 pause personality pidfd_open pidfd_send_signal pipe
    pipe2 pkey_alloc pkey_free pkey_mprotect poll ppoll prctl pread64 preadv preadv2 prlimit64
    process_mrelease process_vm_readv process_vm_writev pselect6 ptrace pwrite64 pwritev
    pwritev2 read readahead readlink readlinkat readv recvfrom recvmmsg recvmsg remap_file_pages
    removexattr removexattrat rename renameat renameat2 request_key restart_syscall rmdir rseq
    rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend
    rt_sigtimedwait rt_tgsigqueueinfo sched_get_priority_max sched_get_priority_min
    sched_getaffinity sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval
    sched_setaffinity sched_setattr sched_setparam sched_setscheduler sched_yield seccomp select
    semctl semget semop semtimedop sendfile sendmmsg sendmsg sendto set_robust_list
    set_thread_area set_tid_address setfsgid setfsuid setgid setgroups setitimer setpgid
    setpriority setregid setresgid setresuid setreuid setrlimit setsid setsockopt setuid
    setxattr setxattrat shmat shmctl shmdt shmget shutdown sigaltstack signalfd signalfd4 socket
    socketpair splice stat statfs statmount statx symlink symlinkat sync sync_file_range syncfs
    sysinfo tee tgkill time timer_create timer_delete timer_getoverrun timer_gettime
    timer_settime timerfd_create timerfd_gettime timerfd_settime times tkill truncate umask
    uname unlink unlinkat uretprobe utime utimensat utimes vfork vmsplice wait4 waitid write
    writev
""".split()
BEYOND_THE_NEWEST = (
    *range(471, 640),
    1000,
    4095,
    0x3FFFFFFF,
    0x40000000,
    0x40000001,
    2**31,
    2**32 - 1,
)


@pytest.fixture(params=MACHINES)
def machine(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def test_every_group_has_a_reason_and_every_call_one_place() -> None:
    groups = (*ALLOWED, *DENIED, *ABSENT)
    assert all(len(reason.split()) >= 4 for reason, _ in groups)
    listed = names(groups)
    assert len(listed) == len(set(listed))
    assert set(listed) <= NUMBERS.keys()


def test_what_no_container_may_call_is_allowed_only_with_a_reason() -> None:
    beyond = set(names(ALLOWED)) - set(CONTAINERS)
    assert beyond == BEYOND_CONTAINERS.keys()
    assert all(len(reason.split()) >= 5 for reason in BEYOND_CONTAINERS.values())


def test_what_a_container_may_call_and_a_command_may_not_has_a_reason() -> None:
    assert set(CONTAINERS) <= {*names(ALLOWED), *names(DENIED), *names(ABSENT)}


def test_each_call_of_the_list_passes_with_ordinary_arguments(machine: str) -> None:
    code = assemble(Syscalls.USUAL, machine=machine)
    ordinary = {"socket": (2, 1, 0)}
    for name in names(ALLOWED):
        call = number(name, machine)
        if call is not None:
            given = answer(code, call, *ordinary.get(name, ()), arch=MACHINES[machine][0])
            assert given == ALLOW, name


def test_each_call_that_is_not_in_the_list_is_absent_or_denied(machine: str) -> None:
    code = assemble(Syscalls.USUAL, machine=machine)
    allowed, denied = set(names(ALLOWED)), set(names(DENIED))
    for name in NUMBERS.keys() - allowed:
        call = number(name, machine)
        if call is not None:
            wanted = errno.EPERM if name in denied else errno.ENOSYS
            assert answer(code, call, arch=MACHINES[machine][0]) == ERROR | wanted, name


def test_numbers_that_nobody_knows_yet_are_absent(machine: str) -> None:
    # Attack: the next kernel has a call that no list of forbidden ones can name today.
    code = assemble(Syscalls.USUAL, machine=machine)
    known = {n for n in (number(name, machine) for name in NUMBERS) if n is not None}
    for call in (*BEYOND_THE_NEWEST, *(n for n in range(471) if n not in known)):
        assert answer(code, call, arch=MACHINES[machine][0]) == ERROR | errno.ENOSYS, call


_ASK = """
import ctypes, sys
sys.path[:0] = sys.argv[1:2]
from redoma.jail.kernel import privileges, seccomp
from redoma.model.grant import Syscalls
code = seccomp.assemble(Syscalls.USUAL)
libc = ctypes.CDLL(None, use_errno=True)
privileges.no_new_privileges()
privileges.load_filter(code)
for number in map(int, sys.argv[2].split(",")):
    ctypes.set_errno(0)
    print(libc.syscall(ctypes.c_long(number), *[ctypes.c_long(-1)] * 6), ctypes.get_errno())
"""


@pytest.mark.both_users
@pytest.mark.skipif(os.uname().machine not in MACHINES, reason="no filter for this machine")
def test_the_kernel_itself_answers_that_way() -> None:
    absent = [471, 500, 1000, 0x3FFFFFFF, *(_number(n) for n in ("lsm_list_modules", "openat2"))]
    denied = [_number(n) for n in ("mount", "ptrace", "bpf", "keyctl")]
    allowed = [_number(n) for n in ("close", "fcntl", "mseal", "landlock_create_ruleset")]
    numbers = ",".join(map(str, [*absent, *denied, *allowed]))
    src = os.path.dirname(os.path.dirname(redoma.__file__))
    done = subprocess.run(
        [sys.executable, "-c", _ASK, src, numbers], capture_output=True, text=True, check=True
    )
    told = [int(line.split()[1]) for line in done.stdout.splitlines()]
    assert told[: len(absent)] == [errno.ENOSYS] * len(absent)
    assert told[len(absent) : -len(allowed)] == [errno.EPERM] * len(denied)
    # What these are given makes no sense, and that is what the kernel says: they were let in.
    assert not {errno.ENOSYS, errno.EPERM} & set(told[-len(allowed) :][:2])


def test_the_filter_of_another_architecture_lets_nothing_through(machine: str) -> None:
    code = assemble(Syscalls.USUAL, machine=machine)
    for arch in (0x40000003, 0x40000028, 0xC00000F3):
        for call in (1, 4, 21, 120, 165):
            assert answer(code, call, arch=arch) == ERROR | errno.ENOSYS


def _number(name: str) -> int:
    call = number(name, os.uname().machine)
    assert call is not None
    return call
