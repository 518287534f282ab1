"""No text is too nasty: depth, size and work are bounded, and the bound is told."""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from redoma.judge.shell.parser import parse
from redoma.model.script import Script
from tests.unit.judge.shell.nasty import MIXED, NASTY, SIZE
from tests.unit.judge.shell.show import shown
from tests.unit.judge.shell.walk import nodes


def cost(text: str) -> float:
    """Processor seconds for one reading, from the bottom of a stack of its own.

    Where the frames of a deep stack happen to fill a block of memory just when a loop calls a
    function, the interpreter makes and frees a block at every call: that is not our cost.
    """
    spent: list[float] = []

    def read() -> None:
        started = time.thread_time()
        parse(text)
        spent.append(time.thread_time() - started)

    reader = threading.Thread(target=read)
    reader.start()
    reader.join()
    return spent[0]


@pytest.fixture(autouse=True)
def small_heap() -> Iterator[None]:
    """Keeps the collector from walking through the whole test run at every step."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def yardstick() -> float:
    """What a fixed amount of plain Python costs just now: a hundredth of a second at rest."""
    started = time.process_time()
    counted: dict[int, tuple[int, str]] = {}
    for number in range(30_000):
        counted[number] = (number, str(number))
    return time.process_time() - started


def sound(text: str) -> bool:
    """Whether all spans lie in the text, also where reading was given up."""
    script = parse(text)
    size = len(text)
    return all(0 <= node.span[0] <= node.span[1] <= size for node in nodes(script))


def affordable(text: str) -> bool:
    # At rest the worst of these takes nine yards; without a bound they take hundreds. Others
    # use the machine as well, so more than one try is allowed.
    return any(cost(text) < max(0.1, 20 * yardstick()) for _ in range(4))


@pytest.mark.parametrize("unit", NASTY)
def test_a_nasty_text_is_answered_in_a_tenth_of_a_second(unit: str) -> None:
    assert affordable((unit * SIZE)[:SIZE])
    assert sound((unit * SIZE)[:SIZE])


@pytest.mark.parametrize("name", MIXED)
def test_a_nasty_mixture_is_answered_in_a_tenth_of_a_second(name: str) -> None:
    assert affordable(MIXED[name][:SIZE])
    assert sound(MIXED[name][:SIZE])


@pytest.mark.parametrize(
    "unit",
    [
        "$(",
        '"$("',
        "${a:-",
        "((",
        "(",
        "{ ",
        "if ",
        "while ",
        "f() { ",
        "<(",
        "case x in a) ",
    ],
)
def test_nesting_beyond_all_measure_is_left_unread(unit: str) -> None:
    script = parse(unit * 2000)
    assert script.unread
    assert max(item.span[1] for item in script.unread) == len(script.text)


def test_a_list_of_any_length_is_no_nesting() -> None:
    text = " && ".join(["a"] * 5000)
    script = parse(text)
    assert (script.unread, len(script.body.commands)) == ((), 5000)
    assert parse("a | " * 3000 + "a").unread == ()


def test_reasonable_nesting_is_read() -> None:
    assert parse("$(" * 40 + "a" + ")" * 40).unread == ()
    assert parse("{ " * 40 + "a" + "; }" * 40).unread == ()
    assert parse("${a:-" * 80 + "b" + "}" * 80).unread == ()


def test_what_was_read_before_the_limit_is_kept() -> None:
    assert shown("rm -rf x; " + "$(" * 1000).startswith("rm -rf x; $($(")
    assert shown("rm -rf x; " + "a; " * 30000).startswith("rm -rf x; a; a; ")


def at_depth(frames: int, action: Callable[[], Script]) -> Script:
    return action() if frames == 0 else at_depth(frames - 1, action)


@pytest.mark.parametrize("unit", ["$(", '"$(', "${a:-", "x=($(", "cat <<A\n$(", "((", "if ", ">$("])
def test_a_caller_deep_in_the_stack_gets_an_answer(unit: str) -> None:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    try:
        script = at_depth(300, lambda: parse(unit * 3000))
    finally:
        sys.setrecursionlimit(limit)
    assert script.unread
    # Not the answer of last resort: what was read is there.
    assert sum(1 for _ in nodes(script)) > 20


def test_even_at_the_end_of_the_stack_nothing_is_raised() -> None:
    def down() -> Script:
        try:
            return down()
        except RecursionError:
            return parse('a; $(b $(c "$(d ${e:-$(f)})"))')

    script = down()
    assert script.unread or len(script.body.commands) == 2


@pytest.mark.parametrize(
    "unit", ["ls -la; ", "a 'b c' \"$d\" > e\n", "if a; then b; fi\n", "$(a) "]
)
def test_cost_grows_with_the_length_and_no_faster(unit: str) -> None:
    small, large = unit * 100, unit * 800
    quick = min(cost(small) for _ in range(5))
    assert min(cost(large) for _ in range(5)) < 8 * 3 * quick


@pytest.mark.parametrize("collecting", [True, False])
def test_the_collector_is_left_as_it_was(collecting: bool) -> None:
    (gc.enable if collecting else gc.disable)()
    try:
        parse("a; " * 5000)
        assert gc.isenabled() is collecting
    finally:
        gc.enable()
