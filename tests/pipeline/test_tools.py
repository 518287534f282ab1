"""Tools under constraints, in a real sandbox: the document's examples and its table."""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import pwd
import shutil
import sqlite3
import subprocess
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from redoma import Question
from redoma.audit.entries import AuditReader, EntryFilter
from redoma.dialects.tools import (
    SandboxConstraints,
    SandboxedTool,
    SandboxExecutor,
    SandboxTimeout,
    SandboxViolation,
    adapt_on_sandbox_violation,
    get_filesystem_only,
    get_permissive,
    get_restricted,
    get_safe_defaults,
)
from tests.tidy import remove


class Tool:
    """A tool as an agent has it: it knows nothing of any sandbox."""

    def scan(self, path: str) -> list[str]:
        return sorted(os.listdir(path))

    def read(self, path: str) -> str:
        return Path(path).read_text()

    def write(self, path: str, content: str = "x") -> str:
        Path(path).write_text(content)
        return path


my_tool = tool = Tool()


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """A home of its own for all tests here: each new one costs a second.

    Not in /tmp, of which a sandbox has its own.
    """
    place = pwd.getpwuid(os.geteuid()).pw_dir  # whatever HOME says
    place = place if os.access(place, os.W_OK) else os.path.expanduser("~")
    base = Path(tempfile.mkdtemp(prefix="rdm-", dir=place)).resolve()
    known = {name: os.environ.get(name) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")}
    for name, folder in zip(known, ("home", "config", "state"), strict=True):
        (base / folder).mkdir(mode=0o700)
        os.environ[name] = str(base / folder)
    (base / "home/Downloads").mkdir()
    (base / "home/Downloads/a.txt").write_text("a")
    (base / "home/.ssh").mkdir()
    (base / "home/.ssh/id").write_text("secret")
    (base / "home/way").symlink_to(base / "home/.ssh")
    (base / "outside").mkdir()
    (base / "outside/log").write_text("log")
    yield base / "home"
    for name, value in known.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value
    remove(base)


def executor(home: Path, constraints: SandboxConstraints, **how: Any) -> SandboxExecutor:
    return SandboxExecutor(constraints, record=str(home.parent / "record"), **how)


def refused(run: SandboxExecutor, function: Any, *args: Any, **kwargs: Any) -> tuple[str, str]:
    """The kind and the constraint of the violation that this is."""
    with pytest.raises(SandboxViolation) as raised:
        run.execute(function, *args, **kwargs)
    return raised.value.kind, raised.value.constraint


def rows(home: Path) -> list[tuple[str, dict[str, Any]]]:
    with AuditReader(str(home.parent / "record")) as reader:
        return [(row.kind, json.loads(row.details)) for row in reader.all(EntryFilter())]


@pytest.mark.both_users
@pytest.mark.requirement("X3", "X4")
def test_the_documents_first_example(home: Path) -> None:
    executor = SandboxExecutor(get_safe_defaults())
    result = executor.execute(my_tool.scan, path=f"{home}/Downloads")
    assert result == ["a.txt"]
    with pytest.raises(SandboxViolation) as raised:
        executor.execute(my_tool.write, path="/etc/important_config")
    assert (raised.value.path, raised.value.constraint) == (
        "/etc/important_config",
        "forbidden_paths",
    )
    assert not os.path.exists("/etc/important_config")


class SafeFileOps(SandboxedTool):
    """The document's tool."""

    def __init__(self) -> None:
        super().__init__(get_filesystem_only())

    def write_file(self, path: str, content: str) -> int:
        return self.execute_safe(self._write_impl, path, content)

    def _write_impl(self, path: str, content: str) -> int:
        with open(path, "w") as file:
            return file.write(content)


@pytest.mark.requirement("X6")
def test_the_documents_tool_is_sandboxed_by_its_own_method(home: Path) -> None:
    ops = SafeFileOps()
    assert ops.write_file(f"{home}/note", "hello") == 5
    assert (home / "note").read_text() == "hello"
    with pytest.raises(SandboxViolation):
        ops.write_file(str(home.parent / "outside/log"), "gone")
    assert (home.parent / "outside/log").read_text() == "log"


@pytest.mark.requirement("X4", "X3")
def test_when_sandboxing_triggers(home: Path) -> None:
    run = executor(home, get_safe_defaults())
    quick = executor(home, SandboxConstraints(max_execution_time=1))
    assert refused(run, tool.write, "/etc/config") == ("write", "forbidden_paths")
    assert refused(run, tool.write, f"{home}/.ssh/key") == ("write", "forbidden_paths")
    assert run.execute(tool.read, f"{home}/Downloads/a.txt") == "a"
    with pytest.raises(SandboxTimeout):
        quick.execute(time.sleep, 60)
    assert refused(run, urllib.request.urlopen, "http://example.com") == (
        "network",
        "allow_network",
    )


@pytest.mark.requirement("X9")
def test_the_documents_adaptation_goes_on_with_another_path(home: Path) -> None:
    executor = SandboxExecutor(get_filesystem_only())
    path = "/etc/config"
    try:
        executor.execute(tool.write, path="/etc/config")
    except SandboxViolation as violation:
        alternative = adapt_on_sandbox_violation(path, executor.constraints)
        assert alternative == adapt_on_sandbox_violation(violation)
        executor.execute(tool.write, path=alternative)
    assert (home / "config").read_text() == "x"


def sqlite_read(path: str) -> object:
    return sqlite3.connect(path).execute("select 1 from sqlite_master").fetchall()


def c_read(path: str) -> bytes:
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.open(path.encode(), os.O_RDONLY)
    if fd < 0:
        raise OSError(ctypes.get_errno(), "open", path)
    return os.read(fd, 100)


def program_read(path: str) -> bytes:
    return subprocess.run(["cat", path], capture_output=True, check=False).stdout


def link_read(path: str) -> str:
    os.symlink(path, "/tmp/innocent")
    return Path("/tmp/innocent").read_text()


def quiet_c_read(path: str) -> int:
    return int(ctypes.CDLL(None).open(path.encode(), os.O_RDONLY))


@pytest.mark.both_users
@pytest.mark.requirement("X4", "X2")
def test_a_forbidden_path_below_an_allowed_one_is_out_of_reach_by_every_way(home: Path) -> None:
    own = {str(home)}
    run = executor(
        home,
        SandboxConstraints(allowed_read_paths=own, allowed_write_paths=own, allow_subprocess=True),
    )
    secret = f"{home}/.ssh/id"
    for way in (tool.read, sqlite_read, c_read, link_read, os.listdir):
        path = secret if way is not os.listdir else f"{home}/.ssh"
        assert (way, refused(run, way, path)) == (way, ("read", "forbidden_paths"))
    assert refused(run, tool.read, f"{home}/way/id") == ("read", "forbidden_paths")
    assert run.execute(program_read, secret) == b""
    assert run.execute(quiet_c_read, secret) == -1
    assert (home / ".ssh/id").read_text() == "secret"


@pytest.mark.requirement("X2", "X10")
def test_what_is_not_among_the_allowed_is_a_no(home: Path) -> None:
    run = executor(home, get_restricted())
    outside = str(home.parent / "outside/log")
    assert refused(run, tool.read, outside) == ("read", "allowed_read_paths")
    assert refused(run, tool.read, "/usr/bin/env") == ("read", "allowed_read_paths")
    assert refused(run, tool.write, f"{home}/new") == ("write", "allowed_write_paths")
    assert refused(run, program_read, outside) == ("subprocess", "allow_subprocess")
    assert run.execute(tool.write, f"{home}/.zenus/tmp/new") == f"{home}/.zenus/tmp/new"
    assert (home / ".zenus/tmp/new").exists()


@pytest.mark.requirement("X10")
def test_every_denial_is_written_down_with_what_held(home: Path) -> None:
    before = len(rows(home))
    refused(executor(home, get_filesystem_only()), tool.read, f"{home}/.ssh/id")
    new = rows(home)[before:]
    assert [kind for kind, _ in new] == ["judged", "run-starting", "run-ended", "violation"]
    assert new[3][1] == {
        "kind": "read",
        "what": f"{home}/.ssh/id",
        "why": "this path is hidden from the call",
    }
    started = new[1][1]
    assert (started["network"], started["subprocesses"]) == ("closed", False)
    assert started["writable"] == [str(home)]
    assert f"{home}/.ssh" in started["hidden"]
    assert started["limits"]["wall_seconds"] == 30


@pytest.mark.requirement("X10")
def test_the_policy_of_where_the_caller_stands_holds_for_tools(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "project").mkdir()
    (home / "project/sandbox.yaml").write_text(
        'version: "1.0"\nconfirmation:\n  required_for: [safety_level >= safe]\n'
    )
    run = executor(home, get_filesystem_only())
    assert run.execute(len, "x") == 1
    monkeypatch.chdir(home / "project")
    assert refused(run, len, "x") == ("policy", "policy")


def fill(path: str, megabytes: int) -> None:
    with open(path, "wb") as file:
        for _ in range(megabytes):
            file.write(b"x" * (1 << 20))


@pytest.mark.requirement("X1")
def test_memory_file_size_and_processes_are_limited_by_the_kernel(home: Path) -> None:
    own = {str(home)}
    small = SandboxConstraints(
        allowed_write_paths=own,
        max_memory_mb=128,
        max_file_size_mb=1,
        allow_subprocess=True,
        max_subprocesses=2,
    )
    run = executor(home, small)
    assert refused(run, bytearray, 600 << 20) == ("resources", "max_memory_mb")
    assert refused(run, fill, f"{home}/large", 3) == ("resources", "max_file_size_mb")
    assert run.execute(program_read, f"{home}/Downloads/a.txt") == b"a"


@pytest.mark.requirement("X1")
@pytest.mark.both_users
def test_a_limit_of_none_is_no_limit_and_is_claimed_by_nobody(home: Path) -> None:
    before = len(rows(home))
    none = SandboxConstraints(max_memory_mb=None, max_file_size_mb=None)
    assert executor(home, none).execute(sum, [1, 2]) == 3
    assert executor(home, SandboxConstraints()).execute(sum, [1, 2]) == 3
    limits = [found["limits"] for kind, found in rows(home)[before:] if kind == "run-starting"]
    assert [limit.get("memory") for limit in limits] == [None, 1 << 30]
    assert [limit.get("file_size") for limit in limits] == [None, 100 << 20]


@pytest.mark.requirement("X1")
def test_a_host_that_is_not_allowed_is_named(home: Path) -> None:
    held_to = SandboxConstraints(allow_network=True, allowed_hosts={"api.example.com"})
    with pytest.raises(SandboxViolation) as raised:
        executor(home, held_to).execute(urllib.request.urlopen, "http://www.example.com/")
    assert (raised.value.host, raised.value.constraint) == ("www.example.com", "allowed_hosts")
    assert adapt_on_sandbox_violation(raised.value) == "api.example.com"


@pytest.mark.requirement("X5")
def test_the_permissive_profile_has_a_gate_to_everyone_and_not_to_this_machine(home: Path) -> None:
    before = len(rows(home))
    assert executor(home, get_permissive()).execute(sum, [1, 2]) == 3
    started = next(details for kind, details in rows(home)[before:] if kind == "run-starting")
    assert (started["network"], started["limits"]["wall_seconds"]) == ("gated", 300)


@pytest.mark.requirement("X3")
def test_it_works_in_threads_and_event_loops(home: Path) -> None:
    run = executor(home, SandboxConstraints(max_execution_time=20))
    quick = executor(home, SandboxConstraints(max_execution_time=0.5))
    found: list[object] = []

    def in_thread() -> None:
        found.append(run.execute(len, "abc"))
        try:
            quick.execute(time.sleep, 60)
        except SandboxTimeout as error:
            found.append(type(error))

    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()

    async def in_loop() -> list[object]:
        both = await asyncio.gather(run.aexecute(len, "abcd"), run.aexecute(len, "abcde"))
        with pytest.raises(SandboxTimeout):
            await quick.aexecute(time.sleep, 60)
        return list(both)

    assert (found, asyncio.run(in_loop())) == ([3, SandboxTimeout], [4, 5])


def broken() -> None:
    raise KeyError("mine")


@pytest.mark.requirement("X3")
def test_what_the_tool_itself_raises_is_what_is_raised(home: Path) -> None:
    run = executor(home, get_filesystem_only())
    with pytest.raises(KeyError, match="mine"):
        run.execute(broken)
    with pytest.raises(FileNotFoundError):
        run.execute(tool.read, f"{home}/not-there")


@pytest.mark.requirement("X8")
def test_constraints_are_relaxed_for_one_operation_and_only_when_confirmed(home: Path) -> None:
    outside = str(home.parent / "outside")
    asked: list[Question] = []
    said = {"answer": False}

    def ask(question: Question) -> bool:
        asked.append(question)
        return said["answer"]

    run = executor(home, get_restricted(), ask=ask)
    more = run.relaxed(allowed_write_paths={outside})
    assert refused(more, tool.write, f"{outside}/new") == ("policy", "policy")
    assert not os.path.exists(f"{outside}/new")
    said["answer"] = True
    before = len(rows(home))
    assert more.execute(tool.write, f"{outside}/new") == f"{outside}/new"
    assert more.execute(tool.write, f"{outside}/newer") == f"{outside}/newer"
    assert len(asked) == 3  # each operation by itself
    assert f"relaxed constraints: allowed_write_paths={{{outside}}}" in " ".join(asked[0].because)
    new = rows(home)[before:]
    assert [kind for kind, _ in new[:4]] == ["judged", "asked", "answered", "run-starting"]
    assert outside in new[3][1]["writable"]
    assert refused(run, tool.write, f"{outside}/third") == ("write", "allowed_write_paths")


@pytest.mark.requirement("X8")
def test_where_nobody_can_be_asked_nothing_is_relaxed(home: Path) -> None:
    run = executor(home, get_restricted())
    assert refused(run.relaxed(max_execution_time=60), len, "x") == ("policy", "policy")


@pytest.mark.requirement("X4")
def test_deleting_the_wrong_logs_is_a_violation_and_not_a_broken_system(home: Path) -> None:
    run = executor(home, get_safe_defaults())
    logs = str(home.parent / "outside")
    # Root's own home is not to be seen at all by who runs tools for root.
    seen = ("write", "allowed_write_paths") if os.geteuid() else ("read", "allowed_read_paths")
    assert refused(run, shutil.rmtree, logs) == seen
    assert os.path.exists(f"{logs}/log")
