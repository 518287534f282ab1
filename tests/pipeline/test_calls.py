"""Python functions in a sandbox: the value comes back, or an error that says what and where."""

from __future__ import annotations

import asyncio
import functools
import json
import os
import shutil
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import pytest

import redoma
from redoma import (
    AsyncSandbox,
    Call,
    CallFailed,
    Limits,
    NotReturnable,
    NotSendable,
    Outcome,
    Sandbox,
    SandboxTimeout,
    SandboxViolation,
)
from redoma.audit.entries import AuditReader, EntryFilter
from redoma.model.errors import LimitReached, UsageError
from tests.pipeline.called import (
    Counter,
    Found,
    OwnTrouble,
    connects,
    count,
    doubled,
    fails,
    fills,
    forever,
    nested,
    numbers,
    numbers_awaited,
    removes_a_tree,
    removes_by_descriptor,
    writes,
)


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    return Sandbox(str(tmp_path), audit=f"{tmp_path}-record")


@pytest.mark.requirement("X3")
def test_every_kind_of_callable_runs_inside_and_its_value_comes_back(sandbox: Sandbox) -> None:
    own = os.getpid()
    factor = 3
    assert sandbox.call(os.getpid) != own
    assert sandbox.call(lambda x: x * factor, 5) == 15
    assert sandbox.call(Counter(4).add, 3) == 7
    assert sandbox.call(Counter(4), 3) == 12
    assert sandbox.call(functools.partial(pow, 2), 10, mod=1000) == 24
    assert sandbox.call(doubled, 21) == 42


def test_a_generator_comes_back_as_a_list_where_that_is_declared(sandbox: Sandbox) -> None:
    assert sandbox.perform(Call(numbers, (3,), collects=3)).value == [0, 1, 2]
    assert sandbox.perform(Call(numbers_awaited, (3,), collects=3)).value == [0, 1, 2]
    with pytest.raises(LimitReached, match="the generator has more than 3 items"):
        sandbox.perform(Call(numbers, (4,), collects=3)).raise_for_outcome()


def test_declared_dataclasses_come_back_as_themselves(sandbox: Sandbox, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("a\nb\n")
    result = sandbox.perform(Call(count, (str(text),), returns=(Found,)))
    assert result.value == Found(text, 2)


def test_what_a_call_prints_is_in_its_result(sandbox: Sandbox) -> None:
    heard: list[tuple[int, bytes]] = []
    result = sandbox.perform(
        Call(print, ("hello",)), sink=lambda stream, data: heard.append((stream, data))
    )
    assert (result.value, result.stdout, heard) == (None, b"hello\n", [(1, b"hello\n")])
    assert result.outcome is Outcome.EXITED and result.ok


@pytest.mark.parametrize(
    ("function", "kind", "text"),
    [
        (lambda: 1 // 0, ZeroDivisionError, "integer division or modulo by zero"),
        (lambda: {}["key"], KeyError, "'key'"),
        (lambda: int("x"), ValueError, "invalid literal for int() with base 10: 'x'"),
        (lambda: "é".encode("ascii"), UnicodeEncodeError, None),
        (lambda: os.stat("/tmp/none"), FileNotFoundError, None),
    ],
)
def test_a_built_in_exception_is_raised_again_as_itself(
    sandbox: Sandbox, function: Any, kind: type[Exception], text: str | None
) -> None:
    with pytest.raises(kind) as caught:
        sandbox.call(function)
    assert type(caught.value) is kind
    assert text is None or str(caught.value) == text
    cause = caught.value.__cause__
    assert isinstance(cause, CallFailed)
    assert cause.type_name == kind.__name__
    assert "Traceback (most recent call last)" in cause.traceback_text


def test_another_exception_comes_back_as_a_failed_call(sandbox: Sandbox) -> None:
    with pytest.raises(CallFailed) as caught:
        sandbox.call(fails)
    assert caught.value.type_name == f"{OwnTrouble.__module__}.OwnTrouble"
    assert str(caught.value) == f"{OwnTrouble.__module__}.OwnTrouble: ('then', 5)"
    assert caught.value.cause_text == "LookupError: first"
    assert "in fails" in caught.value.traceback_text


@pytest.mark.requirement("X4")
def test_what_was_not_given_is_a_violation_that_names_it(sandbox: Sandbox, tmp_path: Path) -> None:
    found = []
    for function, path in (
        (lambda path: Path(path).read_text(), "/etc/shadow"),
        (lambda path: Path(path).write_text("x"), "/etc/important_config"),
        (os.mkdir, "/opt/made"),
        (lambda path: os.rename("/tmp", path), "/srv/moved"),
    ):
        with pytest.raises(SandboxViolation) as caught:
            sandbox.call(function, path)
        found.append((caught.value.kind, caught.value.path, bool(caught.value.constraint)))
    assert found == [
        ("read", "/etc/shadow", True),
        ("write", "/etc/important_config", True),
        ("write", "/opt/made", True),
        ("write", "/srv/moved", True),
    ]


def test_a_closed_network_is_a_violation_that_names_the_host(sandbox: Sandbox) -> None:
    found = []
    for host in ("example.com", "192.0.2.1"):
        with pytest.raises(SandboxViolation) as caught:
            sandbox.call(connects, host)
        found.append((caught.value.kind, caught.value.host))
    assert found == [("network", "example.com"), ("network", "192.0.2.1")]


def test_a_call_that_takes_too_long_is_a_timeout_from_any_thread(sandbox: Sandbox) -> None:
    caught: list[BaseException] = []

    def run() -> None:
        try:
            sandbox.perform(Call(forever, timeout=1)).raise_for_outcome()
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert [type(error) for error in caught] == [SandboxTimeout]


def test_a_call_is_awaited_and_ends_when_it_is_cancelled(tmp_path: Path) -> None:
    async def go() -> tuple[int, bool]:
        sandbox = AsyncSandbox(str(tmp_path))
        value = await sandbox.call(doubled, 4)
        task = asyncio.create_task(sandbox.call(forever))
        await asyncio.sleep(0.3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(SandboxTimeout):
            (await sandbox.perform(Call(forever, timeout=1))).raise_for_outcome()
        return value, task.cancelled()

    assert asyncio.run(go()) == (8, True)


def test_what_cannot_be_sent_is_named(sandbox: Sandbox) -> None:
    lock = threading.Lock()
    for function, args, where in (
        (len, ({"a": [1, lock]},), "argument 1['a'][1]"),
        (lambda: (lock.locked(),), (), "the function's variable lock"),
        (functools.partial(print, lock), (), "the function.args[0]"),
    ):
        with pytest.raises(NotSendable) as caught:
            sandbox.call(function, *args)
        assert caught.value.where == where


def test_what_cannot_come_back_is_named(sandbox: Sandbox) -> None:
    import socket

    with pytest.raises(NotReturnable) as caught:
        sandbox.call(lambda: {"a": [1, 2, 3, socket.socket()]})
    assert caught.value.where == "result['a'][3]"
    assert str(caught.value) == "result['a'][3] is a socket.socket, which is no data"


def test_a_call_inside_a_call_is_refused_clearly(sandbox: Sandbox, tmp_path: Path) -> None:
    with pytest.raises(CallFailed, match="this function already runs in") as caught:
        sandbox.call(nested, str(tmp_path))
    assert caught.value.type_name == f"{UsageError.__module__}.UsageError"


def test_what_a_call_writes_is_real_only_where_it_returns(sandbox: Sandbox, tmp_path: Path) -> None:
    assert sandbox.call(writes, str(tmp_path / "kept"), fails=False) == 11
    with pytest.raises(ValueError, match="after all"):
        sandbox.call(writes, str(tmp_path / "lost"), fails=True)
    assert sorted(os.listdir(tmp_path)) == ["kept"]


def test_a_call_stands_in_the_record_with_its_arguments_shortened(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    run = sandbox.perform(Call(len, ("x" * 100,))).run
    with AuditReader(f"{tmp_path}-record") as reader:
        rows = [row for row in reader.all(EntryFilter()) if row.run == run]
    assert {row.command for row in rows if row.command} == {f"call builtins.len('{'x' * 60}'…)"}
    assert [row.kind for row in rows] == ["judged", "run-starting", "run-ended"]


@pytest.mark.requirement("X8")
def test_the_record_says_what_a_call_was_refused(sandbox: Sandbox, tmp_path: Path) -> None:
    run = sandbox.perform(Call(os.mkdir, ("/srv/made",))).run
    with AuditReader(f"{tmp_path}-record") as reader:
        rows = {row.kind: row.details for row in reader.all(EntryFilter()) if row.run == run}
    assert json.loads(rows["run-ended"])["failure"] == {
        "how": "violation",
        "kind": "write",
        "what": "/srv/made",
    }


def test_a_first_call_leaves_nothing_in_a_workspace_that_holds_redoma_itself(
    tmp_path: Path,
) -> None:
    nothing_compiled = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(redoma.__file__).parent, tmp_path / "redoma", ignore=nothing_compiled)
    text = f"""
        import sys
        sys.path[:0] = {[str(tmp_path), *sys.path]!r}
        from redoma import Call, Sandbox
        done = Sandbox({str(tmp_path)!r}, audit={f"{tmp_path}-record"!r}).perform(Call(len, ("x",)))
        print(done.value, done.changes.items, done.held_back)
    """
    started = (sys.executable, "-S", "-B", "-c", textwrap.dedent(text))
    done = subprocess.run(started, capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout, done.stderr) == ("1 () ()\n", "")


def test_what_a_call_keeps_in_files_that_are_memory_counts_as_memory(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    sandbox = Sandbox(
        str(tmp_path / "work"), audit=str(tmp_path / "record"), limits=Limits(memory=96 << 20)
    )
    results = [sandbox.perform(Call(fills, ("/tmp", 20))) for _ in range(2)]
    assert [result.outcome for result in results] == [Outcome.OUT_OF_MEMORY] * 2


def test_a_path_below_an_open_directory_is_taken_for_what_it_is(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    assert sandbox.call(removes_a_tree, str(tmp_path)) is False
    with pytest.raises(SandboxViolation) as refused:
        sandbox.call(removes_by_descriptor, "/usr/bin", "env")
    assert "/usr/bin/env" in str(refused.value)
