"""Whatever a hostile function answers, its caller has a value of plain data or a typed error."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from redoma import Call, CallFailed, NotReturnable, Sandbox, SandboxTimeout, SandboxViolation
from redoma.model.errors import LimitReached, OutputTooLarge
from tests.escape import called

pytestmark = [pytest.mark.both_users, pytest.mark.requirement("X4")]
FIVE = called.RETURNED + b"i" + struct.pack("<q", 5)


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Sandbox:
    place = tmp_path_factory.mktemp("calls")
    (place / "work").mkdir()
    sandbox = Sandbox(str(place / "work"), audit=str(place / "record"))
    sandbox.call(len, "")
    return sandbox


@pytest.fixture(autouse=True)
def whole(sandbox: Sandbox) -> Iterator[None]:
    """After an attack everything is as it was before it."""
    before = _channels()
    yield
    assert _channels() == before
    assert os.listdir(sandbox.workspace) == []
    assert not [name for name in ("reduced", "text") if os.path.exists(f"/tmp/{name}")]


def _channels() -> list[str]:
    """The pipes and processes that are held open here."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            found.append(os.readlink(f"/proc/self/fd/{name}"))
    return sorted(link for link in found if link.startswith(("pipe:", "anon_inode:[pidfd]")))


def ends(sandbox: Sandbox, call: Call) -> BaseException:
    with pytest.raises(BaseException) as caught:
        sandbox.perform(call).raise_for_outcome()
    return caught.value


UNFIT = {
    "bytes that are no answer": (called.writes_an_answer, b"\xff" * 64, "exit"),
    "an answer cut off": (called.writes_an_answer, FIVE[:-1], "exit"),
    "two answers": (called.writes_an_answer, FIVE, "return"),
    "an answer and the same again": (called.writes_an_answer, FIVE * 2, "exit"),
    "an answer of two processes": (called.forks_and_returns,),
    "an object that runs a command when it is unpickled": (called.evil_object,),
    "an object that says it is a dictionary": (called.evil_class,),
    "a module": (__import__, "os"),
    "a generator that nobody declared": (called.endless,),
}


@pytest.mark.parametrize("call", UNFIT.values(), ids=UNFIT.keys())
def test_what_is_no_data_does_not_come_back(sandbox: Sandbox, call: tuple[Any, ...]) -> None:
    assert type(ends(sandbox, Call(call[0], call[1:]))) is NotReturnable


UNANSWERED = {
    "a channel that is closed": (called.closes_its_channel,),
    "everything closed": (called.closes_everything,),
    "an end at once": (called.ends_at_once, 0),
    "an end at once with a status": (called.ends_at_once, 7),
    "SystemExit": (called.exits, 3),
    "KeyboardInterrupt": (called.interrupts,),
    "StopIteration, which would end a loop of the caller's": (next, iter(())),
    "a crash": (called.crashes,),
    "an exception that cannot be asked": (called.evil_exception,),
    "an exception whose argument is no data": (called.evil_arguments,),
}


@pytest.mark.parametrize("call", UNANSWERED.values(), ids=UNANSWERED.keys())
def test_an_end_without_a_value_is_a_failed_call(sandbox: Sandbox, call: tuple[Any, ...]) -> None:
    assert type(ends(sandbox, Call(call[0], call[1:]))) is CallFailed


def test_an_answer_by_hand_is_a_value_like_any_other(sandbox: Sandbox) -> None:
    assert sandbox.call(called.writes_an_answer, FIVE, "exit") == 5


def test_a_violation_by_hand_is_read_as_data(sandbox: Sandbox) -> None:
    error = ends(sandbox, Call(called.violation_by_hand, ("x",)))
    assert isinstance(error, SandboxViolation)
    assert (error.kind, error.what) == ("read", "")


@pytest.mark.parametrize(
    "call",
    [
        Call(open, ("/etc/\x1b[2J\x07", "w")),
        Call(exec, ("raise type('\x1b[2J', (Exception,), {})('\x1b]0;a\x07')",)),
    ],
    ids=["a path", "a type and a message"],
)
def test_what_an_error_says_does_nothing_to_a_terminal(sandbox: Sandbox, call: Call) -> None:
    error = ends(sandbox, call)
    assert isinstance(error, SandboxViolation | CallFailed)
    assert ("\x1b" in str(error), "\\x1b[2J" in str(error)) == (False, True)


@pytest.mark.parametrize(
    "call",
    [
        Call(called.writes_an_answer, (FIVE, "sleep"), timeout=2),
        Call(called.ignores_signals, timeout=2),
    ],
    ids=["an answer, and then no end", "signals ignored"],
)
def test_who_does_not_end_is_ended(sandbox: Sandbox, call: Call) -> None:
    assert type(ends(sandbox, call)) is SandboxTimeout


@pytest.mark.parametrize("function", [called.gigabyte, called.gigabyte_by_hand])
def test_a_gigabyte_does_not_come_back(sandbox: Sandbox, function: Any) -> None:
    kinds = (NotReturnable, LimitReached, OutputTooLarge, MemoryError)
    assert isinstance(ends(sandbox, Call(function)), kinds)


def test_a_generator_without_end_has_one(sandbox: Sandbox) -> None:
    assert type(ends(sandbox, Call(called.endless, collects=1000))) is LimitReached


def test_subclasses_that_lie_come_back_as_what_they_hold(sandbox: Sandbox) -> None:
    found = sandbox.call(called.loud_values)
    assert found == ["plain", 7, {"a": 1}]
    assert [type(each) for each in found] == [str, int, dict]


def test_recursion_and_chains_of_exceptions_end(sandbox: Sandbox) -> None:
    assert type(ends(sandbox, Call(called.recurses, (0,)))) is RecursionError
    assert type(ends(sandbox, Call(called.evil_chain))) is ValueError


def test_a_message_is_as_long_as_one_reads(sandbox: Sandbox) -> None:
    error = ends(sandbox, Call(called.long_message))
    assert len(str(error)) < 100_000
