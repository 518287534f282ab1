"""CPython's own tests of `subprocess`, pointed at ours; run as a program, it prints one JSON line each.

python -m tests.doors.library_suite [TEST]...     Class.test_name; all of them by default
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from types import ModuleType
from typing import Any

SECONDS = 60
SUITE = "test.test_subprocess"
# Runs the tests of another class once more, with another selector of the library's.
REPEATED = ("ProcessTestCaseNoPoll",)
# What cannot be, and which tests want it.
CANNOT = {
    "The command gets no descriptor of ours but its three streams, and those are pipes: "
    "`close_fds=False`, `pass_fds`, streams that are the caller's own files": (
        "POSIXProcessTestCase.test_close_fds",
        "POSIXProcessTestCase.test_pass_fds",
        "POSIXProcessTestCase.test_pass_fds_inheritable",
        "POSIXProcessTestCase.test_pass_fds_redirected",
        "POSIXProcessTestCase.test_pipe_cloexec",
        "POSIXProcessTestCase.test_pipe_cloexec_real_tools",
        "POSIXProcessTestCase.test_swap_std_fds_with_one_closed",
    ),
    "No code of ours runs between us and the command: `preexec_fn`": (
        "POSIXProcessTestCase.test_close_fds_after_preexec",
        "POSIXProcessTestCase.test_preexec",
        "POSIXProcessTestCase.test_preexec_errpipe_does_not_double_close_pipes",
        "POSIXProcessTestCase.test_preexec_exception",
        "POSIXProcessTestCase.test_preexec_fork_failure",
        "POSIXProcessTestCase.test_preexec_gc_module_failure",
    ),
    "The sandbox says who the command is, with which mask and signals: "
    "`user`, `group`, `extra_groups`, `umask`, `restore_signals=False`": (
        "POSIXProcessTestCase.test_extra_groups",
        "POSIXProcessTestCase.test_group",
        "POSIXProcessTestCase.test_restore_signals",
        "POSIXProcessTestCase.test_umask",
        "POSIXProcessTestCase.test_user",
    ),
    "What is judged and audited is what runs, so a program has no other name: "
    "`executable` without `shell=True`": (
        "POSIXProcessTestCase.test_exception_bad_executable",
        "ProcessTestCase.test_bytes_executable",
        "ProcessTestCase.test_cwd_with_relative_executable",
        "ProcessTestCase.test_executable",
        "ProcessTestCase.test_executable_takes_precedence",
        "ProcessTestCase.test_pathlike_executable",
    ),
    "The command is no child of this process: `os.waitpid` of its `pid`, `WUNTRACED`": (
        "POSIXProcessTestCase.test_send_signal_race",
        "POSIXProcessTestCase.test_stopped",
    ),
    "The policy wants somebody asked about what the command does, and nobody is": (
        "POSIXProcessTestCase.test_close_fds_when_max_fd_is_lowered",
    ),
    "The test looks into the library's own insides: `_fork_exec`, `_USE_VFORK`, its list of names": (
        "MiscTests.test__all__",
        "POSIXProcessTestCase.test_exception_errpipe_bad_data",
        "POSIXProcessTestCase.test_exception_errpipe_normal",
        "POSIXProcessTestCase.test_surrogates_error_message",
        "ProcessTestCase.test__use_vfork",
    ),
}


class Stuck(Exception):
    """A test that went on for longer than any should."""


class Report(unittest.TestResult):
    """Prints what became of each test when it is known."""

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self.why = ""
        self.skipped_because = ""
        self.runs = 0
        self.began = time.monotonic()
        signal.alarm(SECONDS)

    def stopTest(self, test: unittest.TestCase) -> None:
        signal.alarm(0)
        end = "failed" if self.why else "skipped" if self.skipped_because else "passed"
        line = {
            "test": name_of(test),
            "end": end,
            "why": self.why or self.skipped_because,
            # How many commands it ran in a sandbox: some look only at the library's insides.
            "runs": self.runs,
            "seconds": round(time.monotonic() - self.began, 2),
        }
        print(json.dumps(line), file=sys.__stdout__, flush=True)
        super().stopTest(test)

    def _failed(self, error: Any) -> None:
        kind, value, _ = error
        self.why = self.why or f"{kind.__name__}: {value}".splitlines()[0][:160]

    def addError(self, test: unittest.TestCase, err: Any) -> None:
        self._failed(err)

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:
        self._failed(err)

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:
        if err is not None:
            self._failed(err)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        self.skipped_because = reason


def available() -> bool:
    """Whether this Python came with its own tests."""
    try:
        return importlib.util.find_spec(SUITE) is not None
    except ImportError:
        return False


def name_of(test: unittest.TestCase) -> str:
    return ".".join(test.id().split(".")[-2:])


def pointed_at_ours() -> ModuleType:
    """The library's tests, whose `subprocess` is ours."""
    from redoma import subprocess as ours

    importlib.import_module(SUITE)  # with it everything that it needs, which keeps the library's
    del sys.modules[SUITE]
    # Each test begins by waiting for what the ones before it left.
    vars(ours).update(_active=subprocess._active, _cleanup=subprocess._cleanup)  # type: ignore[attr-defined]
    sys.modules["subprocess"] = ours
    try:
        return importlib.import_module(SUITE)
    finally:
        sys.modules["subprocess"] = subprocess


def run(names: list[str]) -> None:
    """Runs the tests of these names, or all that are about this system."""

    from redoma.subprocess.started_run import StartedRun

    def stuck(_number: int, _frame: object) -> None:
        signal.alarm(5)  # what cleans up after it may be stuck as well
        raise Stuck(f"not over after {SECONDS} s")

    signal.signal(signal.SIGALRM, stuck)
    tests = pointed_at_ours()
    wanted = set(names)
    suite = unittest.defaultTestLoader.loadTestsFromModule(tests)
    result = Report()
    start = StartedRun.start

    def counted(run: StartedRun) -> None:
        result.runs += 1
        start(run)

    StartedRun.start = counted  # type: ignore[method-assign]
    for case in (case for part in suite for case in part):  # type: ignore[union-attr]
        class_name = type(case).__name__
        if class_name in REPEATED or (wanted and name_of(case) not in wanted):
            continue
        case.run(result)


def main() -> None:
    place = Path(tempfile.mkdtemp(prefix="rdm-", dir="/var/tmp"))
    (place / "state").mkdir(mode=0o700)
    work = place / "work"
    (work / "tmp").mkdir(parents=True)
    # The tests write their files where they are: in the workspace, and below it.
    os.environ |= {"XDG_STATE_HOME": str(place / "state"), "TMPDIR": str(work / "tmp")}
    os.chdir(work)
    from redoma import Access, Sandbox
    from redoma.subprocess import enclosed_in

    # The tests start this Python: the one beneath a virtual environment, and what it loads.
    sys.executable = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
    try:
        with enclosed_in(Sandbox(access=Access(read=(sys.base_prefix,)))):
            run(sys.argv[1:])
    finally:
        import shutil

        os.chdir("/")
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    main()
