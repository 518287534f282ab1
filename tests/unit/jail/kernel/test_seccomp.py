"""Filters are well-formed programs that say what they are meant to say; read by interpreting them."""

from __future__ import annotations

import errno
import struct

import pytest

from redoma.jail.kernel.seccomp import Sockets, alone, assemble
from redoma.jail.kernel.seccomp_notify import filter_of_calls
from redoma.jail.kernel.syscall_table import MACHINES, NUMBERS, number
from redoma.model.grant import Syscalls
from tests.unit.jail.kernel.interpreter import ALLOW, ERROR, REPORT, answer


@pytest.fixture(params=MACHINES)
def machine(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def asked(machine: str, name: str, *arguments: int, **how: object) -> int:
    """The filter's answer to a call by name."""
    code = assemble(how.pop("syscalls", Syscalls.USUAL), machine=machine, **how)  # type: ignore[arg-type]
    call = number(name, machine)
    assert call is not None
    return answer(code, call, *arguments, arch=MACHINES[machine][0])


def test_every_jump_lands_inside_the_program(machine: str) -> None:
    code = assemble(Syscalls.STRICTEST, machine=machine, landlock_only=True,
                    refuse_preallocation=True, refuse_uncounted_memory=True)  # fmt: skip
    length = len(code) // 8
    assert length < 4096
    for at in range(length):
        operation, yes, no, value = struct.unpack_from("HBBI", code, at * 8)
        if operation in (0x15, 0x25, 0x35, 0x45):
            assert at + 1 + max(yes, no) < length
        if operation == 0x05:
            assert at + 1 + value < length
    assert struct.unpack_from("HBBI", code, (length - 1) * 8)[0] == 0x06


@pytest.mark.parametrize(
    "name", ["mount", "unshare", "setns", "ptrace", "keyctl", "bpf", "pivot_root", "chroot"]
)
def test_what_no_ordinary_program_needs_is_refused(machine: str, name: str) -> None:
    assert asked(machine, name) == ERROR | errno.EPERM


@pytest.mark.parametrize("name", ["clone3", "io_uring_setup", "openat2", "open_tree", "fsopen"])
def test_what_programs_can_do_without_is_said_to_be_absent(machine: str, name: str) -> None:
    assert asked(machine, name) == ERROR | errno.ENOSYS


def test_another_architectures_table_is_not_a_way_round(machine: str) -> None:
    code = assemble(Syscalls.USUAL, machine=machine)
    assert answer(code, 21, arch=0x40000003) == ERROR | errno.ENOSYS


def test_the_second_table_of_x86_is_absent() -> None:
    code = assemble(Syscalls.USUAL, machine="x86_64")
    assert answer(code, 0x40000000 | 165, arch=MACHINES["x86_64"][0]) == ERROR | errno.ENOSYS


def test_threads_and_processes_start_but_namespaces_do_not(machine: str) -> None:
    assert asked(machine, "clone", 0x3D0F00) == ALLOW
    assert asked(machine, "clone", 0x11) == ALLOW
    for new in (0x10000000, 0x20000000, 0x40000000, 0x02000000, 0x00020000, 0x80):
        assert asked(machine, "clone", new | 0x11) == ERROR | errno.EPERM


def test_nothing_is_typed_whatever_stands_in_the_upper_half(machine: str) -> None:
    for command in (0x5412, 0x541C, 0x5412 | 1 << 32):
        assert asked(machine, "ioctl", 0, command) == ERROR | errno.EPERM
    assert asked(machine, "ioctl", 0, 0x5413) == ALLOW


def test_only_usual_sockets_open(machine: str) -> None:
    for family in (1, 2, 10):
        assert asked(machine, "socket", family, 1, 0) == ALLOW
    assert asked(machine, "socket", 16, 3, 0) == ALLOW
    for family, protocol in ((16, 12), (17, 0), (40, 0), (38, 0), (0, 0)):
        assert asked(machine, "socket", family, 1, protocol) == ERROR | errno.EAFNOSUPPORT
    assert asked(machine, "socket", 2, 1, 0, sockets=Sockets.LOCAL_ONLY) != ALLOW


def test_set_id_bits_cannot_be_given(machine: str) -> None:
    assert asked(machine, "fchmodat", 0, 0, 0o755) == ALLOW
    assert asked(machine, "fchmodat", 0, 0, 0o4755) == ERROR | errno.EPERM
    assert asked(machine, "openat", 0, 0, 0o100, 0o4755) == ERROR | errno.EPERM
    assert asked(machine, "openat", 0, 0, 0, 0o4755) == ALLOW
    assert asked(machine, "mknodat", 0, 0, 0o102755) == ERROR | errno.EPERM


def test_memory_that_nobody_counts_is_refused_where_asked(machine: str) -> None:
    assert asked(machine, "memfd_create") == ALLOW
    assert asked(machine, "memfd_create", refuse_uncounted_memory=True) == ERROR | errno.ENOSYS
    assert asked(machine, "shmget", 0, 4096, refuse_uncounted_memory=True) == ALLOW
    for size in (1 << 20, 1 << 32, (1 << 40) | 1):
        refused = asked(machine, "shmget", 0, size, refuse_uncounted_memory=True)
        assert refused == ERROR | errno.ENOMEM


def test_no_number_stands_for_two_calls(machine: str) -> None:
    known = [n for n in (number(name, machine) for name in NUMBERS) if n is not None]
    assert len(known) == len(set(known))


def steps(code: bytes, call: int, arch: int) -> int:
    """How many instructions the kernel looks at for a call."""
    seen: list[int] = []
    answer(code, call, arch=arch, seen=seen)
    return len(seen)


def test_an_answer_is_found_in_few_steps(machine: str) -> None:
    code = assemble(Syscalls.STRICTEST, machine=machine, refuse_preallocation=True)
    audit = MACHINES[machine][0]
    assert max(steps(code, call, audit) for call in range(600)) <= 24


def test_only_arguments_cost_a_call_more_than_its_number(machine: str) -> None:
    """The kernel remembers the answer to a call where no argument is looked at."""
    code = assemble(Syscalls.USUAL, machine=machine)
    looked = set()
    for call in range(600):
        seen: list[int] = []
        answer(code, call, arch=MACHINES[machine][0], seen=seen)
        if any(struct.unpack_from("HBBI", code, at * 8)[3] >= 16 for at in seen
               if struct.unpack_from("HBBI", code, at * 8)[0] == 0x20):  # fmt: skip
            looked.add(call)
    wanted = """chmod fchmod fchmodat creat mknod mknodat open openat clone ioctl personality
        socket""".split()
    assert looked == {n for n in (number(name, machine) for name in wanted) if n is not None}


def test_looking_on_reports_what_opens_or_changes_files_or_reaches_out_and_nothing_else(
    machine: str,
) -> None:
    code = filter_of_calls(machine)
    audit = MACHINES[machine][0]
    reported = {
        name
        for name in NUMBERS
        if (call := number(name, machine)) is not None and answer(code, call, arch=audit) == REPORT
    }
    known = set(
        "open openat creat truncate execve execveat connect mkdir mkdirat mknod mknodat rmdir "
        "unlink unlinkat rename renameat renameat2 link linkat symlink symlinkat chmod "
        "fchmodat".split()
    )
    assert reported == {name for name in known if number(name, machine) is not None}
    openat = number("openat", machine)
    assert openat is not None
    # Of another architecture the other filter is asked, which knows none of its calls.
    assert answer(code, openat, arch=audit ^ 1) == ALLOW


def test_looking_on_is_weaker_than_any_refusal() -> None:
    # The kernel takes the strictest answer of all filters: the one that is least as a number.
    assert ERROR < REPORT < ALLOW


@pytest.mark.parametrize(
    ("name", "flags", "said"),
    [
        ("execve", 0, ERROR | errno.EPERM),
        ("execveat", 0, ERROR | errno.EPERM),
        ("clone", 0x11, ERROR | errno.EPERM),  # a process, as fork and vfork make it
        ("clone", 0x4111, ERROR | errno.EPERM),
        ("clone", 0x3D0F00, ALLOW),  # a thread
        ("clone3", 0, ERROR | errno.ENOSYS),
        ("ioctl", 0, ALLOW),
    ],
)
def test_who_is_alone_makes_threads_and_no_process(
    machine: str, name: str, flags: int, said: int
) -> None:
    call = number(name, machine)
    assert call is not None
    assert answer(alone(machine), call, flags, arch=MACHINES[machine][0]) == said


def test_who_is_alone_has_no_other_numbers_for_the_same_calls(machine: str) -> None:
    assert answer(alone(machine), 2, arch=3) == ERROR | errno.ENOSYS
