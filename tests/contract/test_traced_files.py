"""Which files a command opened is told where it was asked for, and changes nothing else."""

from __future__ import annotations

import json
import os
import threading

import pytest

from redoma.cli.json_report import result_json
from redoma.jail.engines.registry import declared
from redoma.jail.supervisor.file_trace import MOST_FILES
from redoma.model.errors import UsageError
from redoma.model.result import Outcome, Result
from tests.contract.machine import ENGINES, Machine

pytestmark = pytest.mark.both_users

PYTHON = "/usr/bin/python3"
needs_python = pytest.mark.skipif(not os.path.exists(PYTHON), reason=f"there is no {PYTHON}")


def on(engines: list[str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("machine", engines, indirect=True)


tracing = on([name for name in ENGINES if declared(name).traces_files])
not_tracing = on([name for name in ENGINES if not declared(name).traces_files])


def own(result: Result, machine: Machine) -> list[str]:
    """The names below the workspace, as they were opened."""
    place = f"{machine.workspace}/"
    files = result.files_accessed
    assert files is not None
    return [path.removeprefix(place) for path in files if path.startswith(place)]


@not_tracing
def test_an_engine_that_cannot_tell_refuses_to_run(machine: Machine) -> None:
    with pytest.raises(UsageError, match="cannot tell which files"):
        machine.sandbox().run("touch ran", trace_files=True)
    assert not (machine.workspace / "ran").exists()


def test_nothing_is_told_where_nobody_asked(machine: Machine) -> None:
    result = machine.sandbox().run("cat /etc/hosts")
    assert (result.files_accessed, result.resources_used.files_accessed) == (None, None)


@tracing
def test_each_file_is_named_once_as_the_command_sees_it(machine: Machine) -> None:
    (machine.workspace / "deep").mkdir()
    (machine.workspace / "deep/read").write_text("text\n")
    (machine.workspace / "link").symlink_to("deep/read")
    script = machine.workspace / "script"
    script.write_text("#!/bin/sh\n:\n")
    script.chmod(0o755)
    command = "cat link; cd deep; cat read ./read ../deep/read; echo x >../made; cd ..; ./script"
    result = machine.sandbox().run(command, trace_files=True)
    assert result.ok, result.stderr
    assert own(result, machine) == ["deep/read", "made", "script"]
    files = result.files_accessed or ()
    assert os.path.realpath("/bin/cat") in files
    assert len(set(files)) == len(files)


@tracing
def test_the_sandboxes_own_files_are_not_the_commands(machine: Machine) -> None:
    result = machine.sandbox().run(["/bin/true"], trace_files=True)
    files = result.files_accessed or ()
    assert files[0] == os.path.realpath("/bin/true")
    assert [path for path in files if "python" in path or "bwrap" in path] == []


@tracing
def test_what_could_not_be_opened_and_directories_are_no_files(machine: Machine) -> None:
    closed = machine.workspace / "closed"
    closed.write_text("nobody's")
    closed.chmod(0)
    (machine.workspace / "there").write_text("")
    command = "cat missing closed no/such/file; ls -R . ; set -C; : >there; : >/usr/bin/new"
    result = machine.sandbox().run(command, trace_files=True)
    assert own(result, machine) == []
    assert "/usr/bin/new" not in (result.files_accessed or ())


@tracing
def test_a_name_that_is_no_text_is_kept_and_harms_no_reader(machine: Machine) -> None:
    name = b"not\xff\x1b[31mtext"
    (machine.workspace / os.fsdecode(name)).write_text("")
    result = machine.sandbox().run("cat not*", trace_files=True)
    assert [os.fsencode(path) for path in own(result, machine)] == [name]
    text = json.dumps(result_json(result))
    used = json.loads(text)["resources_used"]
    assert used["files_accessed"][-1].endswith("not\ufffd\x1b[31mtext")
    assert "\\udc" not in text


@tracing
@needs_python
def test_a_call_that_is_refused_stays_refused(machine: Machine) -> None:
    code = """
import ctypes, os
for mode in (0o4755, 0o755):
    try:
        os.close(os.open("made", os.O_CREAT | os.O_WRONLY | os.O_EXCL, mode))
        print("made", oct(mode))
    except PermissionError:
        print("refused", oct(mode))
libc = ctypes.CDLL(None, use_errno=True)
print("traced itself" if libc.ptrace(0, 0, None, None) == 0 else "not traced")
"""
    result = machine.sandbox().run([PYTHON, "-c", code], trace_files=True)
    assert result.stdout.splitlines() == [b"refused 0o4755", b"made 0o755", b"not traced"]


@tracing
def test_nothing_of_the_tracing_is_open_inside(machine: Machine) -> None:
    result = machine.sandbox().run("ls -l /proc/self/fd; grep Seccomp: /proc/self/status")
    looked_on = machine.sandbox().run(
        "ls -l /proc/self/fd; grep Seccomp: /proc/self/status", trace_files=True
    )
    opened = [[line.rpartition(b"-> ")[2].partition(b":")[0] for line in r.stdout.splitlines()[1:]]
              for r in (result, looked_on)]  # fmt: skip
    assert [kind for kind in opened[1] if b"seccomp" in kind or b"socket" in kind] == []
    assert len(opened[0]) == len(opened[1])


@tracing
@needs_python
def test_signals_and_threads_do_not_disturb_what_is_opened(machine: Machine) -> None:
    code = """
import os, signal, threading
signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
def work(n):
    for i in range(50):
        os.close(os.open(f"file{n}-{i}", os.O_CREAT | os.O_RDWR, 0o644))
threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
for t in threads: t.start()
for t in threads: t.join()
signal.setitimer(signal.ITIMER_REAL, 0)
"""
    result = machine.sandbox().run([PYTHON, "-c", code], trace_files=True)
    assert result.ok, result.stderr
    assert set(own(result, machine)) == {f"file{n}-{i}" for n in range(4) for i in range(50)}


@on(["bubblewrap"])
def test_there_is_an_end_to_the_list_and_it_is_said(machine: Machine) -> None:
    command = f"i=0; while [ $i -lt {MOST_FILES + 50} ]; do : >f$i; i=$((i+1)); done"
    result = machine.sandbox().run(command, trace_files=True, timeout=120)
    assert result.ok, result.stderr
    assert len(result.files_accessed or ()) == MOST_FILES
    assert result.notes == (f"more than {MOST_FILES} files were opened; the others are not listed",)


@tracing
def test_a_run_that_opens_without_end_is_ended_in_time_and_leaves_nothing(machine: Machine) -> None:
    sandbox = machine.sandbox()
    sandbox.run("true", timeout=5, trace_files=True)
    threads, descriptors = threading.active_count(), len(os.listdir("/proc/self/fd"))
    result = sandbox.run("while :; do : <work; : >work; done", timeout=5, trace_files=True)
    assert result.outcome is Outcome.TIMED_OUT
    assert result.resources_used.wall_seconds < 20
    assert own(result, machine) == ["work"]
    assert threading.active_count() == threads
    assert len(os.listdir("/proc/self/fd")) == descriptors


@tracing
def test_a_command_with_a_terminal_is_traced_as_well(machine: Machine) -> None:
    result = machine.sandbox().run("test -t 0 && cat </etc/hosts >copy", terminal=True,
                                  stdin=None, trace_files=True)  # fmt: skip
    assert result.ok, result.stdout
    assert own(result, machine) == ["copy"]
