"""The system calls that a command may make, by group, and why; everything else is absent.

The measure is the usual container profile: what Docker, containerd and Podman allow a container
without capabilities. A call that is allowed here and not there is in `BEYOND_CONTAINERS` with its
reason; one that is allowed there and not here is in `DENIED`, or its reason stands in `ABSENT`.
Some of those allowed have rules about their arguments, see `seccomp`. A call that a kernel adds
later is in none of these, and answers as on a kernel that does not have it yet.
"""

from __future__ import annotations

ALLOWED: tuple[tuple[str, str], ...] = (
    ("read, write and move within what is open already", """
        close close_range copy_file_range dup dup2 dup3 fadvise64 fallocate fcntl fdatasync flock
        fsync ftruncate ioctl lseek pread64 preadv preadv2 pwrite64 pwritev pwritev2 read readahead
        readv sendfile splice sync sync_file_range syncfs tee write writev"""),
    ("open, make, name and remove files: which ones is decided by the root, not here", """
        access chdir creat faccessat faccessat2 fchdir getcwd getdents getdents64 link linkat mkdir
        mkdirat mknod mknodat open openat readlink readlinkat rename renameat renameat2 rmdir
        symlink symlinkat truncate umask unlink unlinkat"""),
    ("ask about files and file systems", """
        cachestat fstat fstatfs lstat newfstatat stat statfs statx"""),
    ("modes, owners, times and attributes of files; never a set-id bit", """
        chmod chown fchmod fchmodat fchown fchownat fgetxattr flistxattr fremovexattr fsetxattr
        futimesat getxattr getxattrat lchown lgetxattr listxattr listxattrat llistxattr
        lremovexattr lsetxattr removexattr removexattrat setxattr setxattrat utime utimensat
        utimes"""),
    ("memory of the caller's own", """
        brk get_mempolicy madvise map_shadow_stack mbind membarrier memfd_create mincore mlock
        mlock2 mlockall mmap mprotect mremap mseal msync munlock munlockall munmap pkey_alloc
        pkey_free pkey_mprotect remap_file_pages set_mempolicy"""),
    ("start, await and end processes and threads; no namespace comes with one", """
        clone execve execveat exit exit_group fork pidfd_open vfork wait4 waitid"""),
    ("what C libraries need for threads", """
        arch_prctl futex futex_requeue futex_wait futex_waitv futex_wake get_robust_list
        getcpu gettid rseq set_robust_list set_tid_address"""),
    ("signals, within the command's own process namespace", """
        alarm kill pause pidfd_send_signal restart_syscall rt_sigaction rt_sigpending
        rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait
        rt_tgsigqueueinfo sigaltstack signalfd signalfd4 tgkill tkill"""),
    ("read clocks, sleep, and set timers of the caller's own", """
        adjtimex clock_getres clock_gettime clock_nanosleep getitimer gettimeofday nanosleep
        setitimer time timer_create timer_delete timer_getoverrun timer_gettime timer_settime
        timerfd_create timerfd_gettime timerfd_settime times"""),
    ("wait for many things at once: event loops, servers, file watchers", """
        epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2
        inotify_add_watch inotify_init inotify_init1 inotify_rm_watch pipe pipe2 poll ppoll
        pselect6 select"""),
    ("asynchronous input and output of the old kind, which databases use", """
        io_cancel io_destroy io_getevents io_pgetevents io_setup io_submit"""),
    ("sockets of the usual families; whom they reach is decided by the network namespace", """
        accept accept4 bind connect getpeername getsockname getsockopt listen recvfrom recvmmsg
        recvmsg sendmmsg sendmsg sendto setsockopt shutdown socket socketpair"""),
    ("queues, semaphores and shared memory, within the command's own IPC namespace", """
        mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink msgctl msgget msgrcv
        msgsnd semctl semget semop semtimedop shmat shmctl shmdt shmget"""),
    ("who the caller is, and to become less; there is no privilege to gain", """
        capget capset getegid geteuid getgid getgroups getpgid getpgrp getpid getppid getresgid
        getresuid getsid getuid setfsgid setfsuid setgid setgroups setpgid setregid setresgid
        setresuid setreuid setsid setuid"""),
    ("limits, priorities and processors of the command's own processes", """
        getpriority getrlimit getrusage ioprio_get ioprio_set prlimit64 sched_get_priority_max
        sched_get_priority_min sched_getaffinity sched_getattr sched_getparam sched_getscheduler
        sched_rr_get_interval sched_setaffinity sched_setattr sched_setparam sched_setscheduler
        sched_yield setpriority setrlimit"""),
    ("a program's settings for itself, and restrictions that it puts on itself", """
        landlock_add_rule landlock_create_ruleset landlock_restrict_self personality prctl
        seccomp"""),
    ("facts about the machine, and random numbers", "getrandom sysinfo uname"),
    ("made by the kernel in a program that the machine's owner watches with probes",
     "uretprobe"),
)  # fmt: skip

# Answered as forbidden: a program that asks for them is to hear a plain no, as it did before this
# list was one of what is allowed.
DENIED: tuple[tuple[str, str], ...] = (
    ("changes mounts or the root, or makes and enters namespaces", """
        chroot mount pivot_root setns umount2 unshare"""),
    ("reads or changes another process, past what it agreed to", """
        kcmp migrate_pages move_pages pidfd_getfd process_madvise process_mrelease
        process_vm_readv process_vm_writev ptrace"""),
    ("keys are not kept apart by any namespace", "add_key keyctl request_key"),
    ("changes the kernel or the whole machine", """
        acct clock_adjtime clock_settime create_module delete_module finit_module get_kernel_syms
        init_module ioperm iopl kexec_file_load kexec_load nfsservctl query_module quotactl
        quotactl_fd reboot setdomainname sethostname settimeofday swapoff swapon _sysctl syslog
        vhangup"""),
    ("finds a file by its number, past the root that the command has", """
        name_to_handle_at open_by_handle_at"""),
    ("large parts of the kernel that many ways out began in", """
        bpf fanotify_init fanotify_mark perf_event_open userfaultfd vmsplice"""),
    ("memory that no limit counts, and tables of segments that only emulators write", """
        memfd_secret modify_ldt"""),
    ("no program of these days asks", "afs_syscall lookup_dcookie sysfs uselib ustat"),
)  # fmt: skip

# Answered as by an older kernel like all that is not named here; these a container has, and why a
# command has not.
ABSENT: tuple[tuple[str, str], ...] = (
    ("their flags or mode lie in memory, where no filter sees a namespace or a set-id bit; C "
     "libraries go on with clone, openat and fchmodat", "clone3 fchmodat2 openat2"),
    ("they tell of mounts; /proc/self/mountinfo does", "listmount statmount"),
    ("no kernel of these machines has them", """
        epoll_ctl_old epoll_wait_old get_thread_area set_thread_area"""),
)  # fmt: skip

# Allowed here and in no container without capabilities, each with its reason.
BEYOND_CONTAINERS: dict[str, str] = {
    "get_mempolicy": "Java and OpenMP ask how their own memory lies; it tells of nobody else's",
    "mbind": "Java places its own memory; it reaches only pages of the caller",
    "set_mempolicy": "OpenMP and databases place their own memory; it reaches only the caller",
}


def names(groups: tuple[tuple[str, str], ...]) -> list[str]:
    """The calls of some groups."""
    return " ".join([calls for _, calls in groups]).split()
