"""`redoma.subprocess`: the library's behaviour, in a sandbox; and CPython's own tests of it."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import struct
import subprocess as library
import sys
import termios
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from redoma import Access, Choice, Limits, Outcome, PolicyChoice, Sandbox, UsageError, subprocess
from tests.doors import library_suite
from tests.pipeline.place import Place

ROOT = Path(__file__).resolve().parents[2]
LONG = 60
CONFIRMED = PolicyChoice(rules=[("all", "safety_level >= safe", "require_confirmation")])


@pytest.fixture
def work(place: Place, one_cache: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(place.workspace)
    yield place.workspace


def test_names_of_the_library_are_the_librarys_own() -> None:
    for name in ("PIPE", "STDOUT", "DEVNULL", "CompletedProcess", "CalledProcessError"):
        assert getattr(subprocess, name) is getattr(library, name)
    assert subprocess.TimeoutExpired is library.TimeoutExpired
    assert issubclass(subprocess.Popen, library.Popen)
    assert set(library.__all__) <= {*subprocess.__all__, "list2cmdline"}


def test_a_command_runs_judged_and_can_be_undone(work: Path) -> None:
    done = subprocess.run("echo hello | tee kept", shell=True, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "hello\n", "")
    assert done.result.decision is not None and done.result.applied  # type: ignore[attr-defined]
    assert (work / "kept").read_text() == "hello\n"
    assert Sandbox().undo().paths == ("kept",)
    assert not (work / "kept").exists()


def test_a_refused_command_is_an_oserror_that_says_why_and_runs_nothing(work: Path) -> None:
    (work / "here").write_text("x")
    with pytest.raises(OSError, match="deletes") as caught:
        subprocess.Popen("rm here; rm -rf /etc", shell=True)
    refused = caught.value
    assert isinstance(refused, subprocess.CommandRefused) and isinstance(refused, PermissionError)
    assert refused.result.outcome is Outcome.DENIED and refused.strerror == str(refused)
    assert (work / "here").read_text() == "x"
    with pytest.raises(subprocess.CommandRefused, match="approved"):
        subprocess.run(["rm", "here"], sandbox=Sandbox(policy=CONFIRMED))
    assert (work / "here").exists()


def test_what_a_dry_run_held_is_an_error_of_the_wait(work: Path) -> None:
    (work / "here").write_text("x")
    made = Sandbox(ask=lambda _question: Choice.DRY_RUN, policy=CONFIRMED)
    process = subprocess.Popen(["rm", "here"], sandbox=made)
    with pytest.raises(subprocess.CommandRefused, match="waits for a person") as caught:
        process.wait(LONG)
    assert process.returncode == process.wait() == 126
    assert caught.value.result is process.result and "redoma apply" in caught.value.hint
    assert (work / "here").read_text() == "x"


ODD = [
    {"preexec_fn": print},
    {"pass_fds": (0,)},
    {"close_fds": False},
    {"user": 0},
    {"group": 0},
    {"extra_groups": ()},
    {"umask": 0o22},
    {"restore_signals": False},
    {"process_group": 1},
    {"executable": "/bin/echo"},
]


@pytest.mark.parametrize("given", ODD, ids=[next(iter(each)) for each in ODD])
def test_what_cannot_be_done_inside_is_an_error_that_names_it(given: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(given))) as caught:
        subprocess.run(["true"], **given)
    assert isinstance(caught.value, UsageError) and caught.value.hint


def test_a_command_that_runs_is_written_to_read_from_and_signalled(work: Path) -> None:
    with subprocess.Popen(
        ["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write("one\n")
        assert process.stdout.readline() == "one\n"
        assert process.poll() is None and process.pid > 0
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.05)
        process.terminate()
        assert process.wait(LONG) == -signal.SIGTERM
    assert process.result is not None and process.result.outcome is Outcome.SIGNALLED


def test_a_signal_right_after_the_start_is_not_lost(work: Path) -> None:
    for _ in range(3):
        process = subprocess.Popen(["sleep", "600"])
        process.terminate()
        assert process.wait(LONG) == -signal.SIGTERM
        process = subprocess.Popen(["sleep", "600"])
        process.kill()
        assert process.wait(LONG) == -signal.SIGKILL


@pytest.mark.both_users
@pytest.mark.parametrize("engine", ["", "bubblewrap"])
def test_a_killed_command_is_told_as_killed(work: Path, engine: str) -> None:
    made = Sandbox(engine=engine)
    process = subprocess.Popen("echo x > made; sleep 600 & sleep 600", shell=True, sandbox=made)
    while process.result is None:
        process.kill()
        with suppress(subprocess.TimeoutExpired):
            process.wait(1)
    assert process.returncode == -signal.SIGKILL


def test_the_end_of_a_command_does_not_wait_for_a_reader(work: Path) -> None:
    process = subprocess.Popen(["yes"], stdout=subprocess.PIPE)
    assert process.stdout is not None
    full, waiting = 60_000, struct.pack("i", 0)
    while struct.unpack("i", waiting)[0] < full and process.poll() is None:
        time.sleep(0.01)
        waiting = fcntl.ioctl(process.stdout, termios.FIONREAD, waiting)
    process.kill()
    assert process.wait(LONG) == -signal.SIGKILL
    rest = process.stdout.read()
    assert len(rest) > full and set(rest) == set(b"y\n")
    process.stdout.close()


def test_a_reader_who_goes_ends_the_writer(work: Path) -> None:
    process = subprocess.Popen(["yes"], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(LONG) in (-signal.SIGPIPE, 1)


def test_both_outputs_into_one_keep_the_order_of_writing(work: Path) -> None:
    text = "for i in 1 2 3 4 5 6 7 8 9; do echo out $i; echo err $i >&2; done"
    said = subprocess.check_output(text, shell=True, stderr=subprocess.STDOUT, text=True)
    assert said == "".join(f"out {i}\nerr {i}\n" for i in range(1, 10))
    with open("both", "wb") as file:
        subprocess.check_call(text, shell=True, stdout=file, stderr=file)
    assert Path("both").read_text() == said


def test_large_input_and_output_go_through_whole(work: Path) -> None:
    data = os.urandom(1 << 20) * 3
    done = subprocess.run(["cat"], input=data, stdout=subprocess.PIPE, timeout=LONG)
    assert done.stdout == data


def test_output_that_cannot_be_written_is_an_error(work: Path) -> None:
    with open("/dev/full", "wb") as full, pytest.raises(OSError, match="No space"):
        subprocess.run(["echo", "hello"], stdout=full)


def test_without_a_word_nothing_of_our_own_input_is_read(work: Path) -> None:
    read, write = os.pipe()
    os.write(write, b"ours")
    os.close(write)
    before = os.dup(0)
    os.dup2(read, 0)
    try:
        assert subprocess.check_output(["cat"]) == b""
        assert os.read(0, 10) == b"ours"
    finally:
        os.dup2(before, 0)
        os.close(before)
        os.close(read)


def test_of_the_environment_only_what_was_set_for_the_command_goes_in(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Attack: code copies the whole environment to add a word, and a token goes in with it.
    monkeypatch.setenv("SERVICE_TOKEN", "secret-of-ours")
    env = {**os.environ, "ADDED": "here"}
    said = subprocess.check_output(["env"], env=env, text=True).splitlines()
    assert "ADDED=here" in said
    assert not [line for line in said if "secret-of-ours" in line]
    made = Sandbox(access=Access(env={"ADDED": "before", "OTHER": "x"}))
    said = subprocess.check_output(["env"], env=env, text=True, sandbox=made).splitlines()
    assert {"ADDED=here", "OTHER=x"} <= set(said)
    with pytest.raises(ValueError, match="environment"):
        subprocess.run(["true"], env={"A=B": "x"})


def test_a_command_elsewhere_has_its_workspace_there(work: Path, place: Place) -> None:
    elsewhere = place.workspace.parent / "elsewhere"
    elsewhere.mkdir()
    subprocess.check_call("echo x > made", shell=True, cwd=elsewhere)
    assert (elsewhere / "made").read_text() == "x\n"
    (work / "below").mkdir()
    done = subprocess.run("echo x > ../above", shell=True, cwd="below")
    assert done.returncode == 0 and (work / "above").exists()
    with pytest.raises(FileNotFoundError):
        subprocess.run(["true"], cwd=work / "nowhere")
    with pytest.raises(FileNotFoundError):
        subprocess.run(["no-such-program"])
    with pytest.raises(PermissionError):
        subprocess.run([str(elsewhere)])


def test_each_thread_has_the_sandbox_of_its_own_block(work: Path) -> None:
    seen: list[bool] = []

    def beside() -> None:
        seen.append(b"MARK" in subprocess.check_output(["env"]))

    with subprocess.enclosed_in(Sandbox(access=Access(env={"MARK": "1"}))):
        thread = threading.Thread(target=beside)
        thread.start()
        thread.join()
        seen.append(b"MARK" in subprocess.check_output(["env"]))
    assert seen == [False, True]


def test_a_limit_that_was_met_is_in_the_result(work: Path) -> None:
    made = Sandbox(limits=Limits(wall_seconds=0.5))
    process = subprocess.Popen(["sleep", "600"], sandbox=made)
    assert process.wait(LONG) == -signal.SIGKILL
    assert process.result is not None and process.result.outcome is Outcome.TIMED_OUT


def test_commands_end_with_the_program_and_not_before_their_output(work: Path) -> None:
    code = """
        from redoma import subprocess
        process = subprocess.Popen("echo begun; exec sleep 600", shell=True, stdout=subprocess.PIPE)
        print(process.stdout.readline(), process.pid)
    """
    done = library.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdout=library.PIPE,
        check=True,
        text=True,
        timeout=LONG,
    )
    said, pid = done.stdout.rsplit(maxsplit=1)
    assert said == "b'begun\\n'"
    assert not Path(f"/proc/{pid}").exists()


# Quick ones of each kind; `bench/subprocess_suite.py` runs all.
SAMPLE = """
    ContextManagerTests.test_broken_pipe_cleanup ContextManagerTests.test_returncode
    MiscTests.test_run_keyboardinterrupt_no_kill MiscTests.test_getoutput
    POSIXProcessTestCase.test_CalledProcessError_str_signal POSIXProcessTestCase.test_args_string
    POSIXProcessTestCase.test_close_fds_0_1_2 POSIXProcessTestCase.test_exception_cwd
    POSIXProcessTestCase.test_kill POSIXProcessTestCase.test_process_group_0
    POSIXProcessTestCase.test_run_abort POSIXProcessTestCase.test_select_unbuffered
    POSIXProcessTestCase.test_send_signal POSIXProcessTestCase.test_shell_sequence
    POSIXProcessTestCase.test_specific_shell POSIXProcessTestCase.test_start_new_session
    POSIXProcessTestCase.test_stderr_stdin_are_single_inout_fd POSIXProcessTestCase.test_swap_fds
    POSIXProcessTestCase.test_undecodable_env POSIXProcessTestCase.test_zombie_fast_process_del
    ProcessTestCase.test_check_output_stdin_arg ProcessTestCase.test_communicate_eintr
    ProcessTestCase.test_communicate_pipe_buf ProcessTestCase.test_cwd_with_relative_arg
    ProcessTestCase.test_env ProcessTestCase.test_failed_child_execute_fd_leak
    ProcessTestCase.test_invalid_env ProcessTestCase.test_stdin_fileobj
    ProcessTestCase.test_stdout_filedes_of_stdout ProcessTestCase.test_stdout_none
    ProcessTestCase.test_threadsafe_wait
    ProcessTestCase.test_universal_newlines_communicate_stdin_stdout_stderr
    ProcessTestCase.test_writes_before_communicate RunFuncTestCase.test_capture_output
    RunFuncTestCase.test_check RunFuncTestCase.test_encoding_warning
    RunFuncTestCase.test_run_with_pathlike_path_and_arguments RunFuncTestCase.test_timeout
""".split()


@pytest.mark.skipif(not library_suite.available(), reason="this Python came without its own tests")
def test_cpythons_own_tests_pass_against_ours() -> None:
    done = library.run(
        [sys.executable, "-W", "ignore", "-m", "tests.doors.library_suite", *SAMPLE],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdin=library.DEVNULL,
        stdout=library.PIPE,
        check=True,
        text=True,
    )
    ends = [json.loads(line) for line in done.stdout.splitlines()]
    assert [end for end in ends if end["end"] != "passed"] == []
    assert {end["test"] for end in ends} == set(SAMPLE)
    assert sum(end["runs"] for end in ends) >= len(SAMPLE) // 2


def test_the_page_names_every_test_that_cannot_pass() -> None:
    page = (ROOT / "docs/reference/subprocess.md").read_text(encoding="utf-8")
    for why, tests in library_suite.CANNOT.items():
        names = ", ".join(f"`{name.partition('.')[2]}`" for name in tests)
        assert f"| {why} | {len(tests)}: {names} |" in page
    cannot = sum(map(len, library_suite.CANNOT.values()))
    assert f"and {cannot} cannot;" in page
