"""No text is too nasty: depth, size and work are bounded, and the bound is told."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import pytest

from redoma.judge.shell import parse
from redoma.model.script import Script
from tests.unit.judge.shell.show import shown
from tests.unit.judge.shell.walk import nodes

SIZE = 64 * 1024
NASTY = (
    *("$(", '"$(', '"$("$(', "`", "\\`", '"`', "`\\`", "${a:-", '"${a:-"', "${a[", "${x//$("),
    *("((", "$((", "((a)", "$((a) ", "((a$((", "$[", "(", "{ ", "if ", "while ", "until "),
    *("for x in a; do ", "case x in a) ", "f() { ", "function f ", "coproc ", "time ", "! ", "!"),
    *("[[ ( ", "[[ a ", "[[ a && ", "<(", "a=(", "[a]=", "x[$(", "@(", "?(", "a["),
    *("a&&", "a|", "a|&", "a;", "a\n", "a&", "&", "|", ";;", ")", "}", "fi ", "done ", "then "),
    *("'", '"', "$'", '$"', "\\", "\\a", "\\\n", "a\\\n", "#\\\n", "a #\\\n", "'\\\n' ", "\n"),
    *("<<A ", "<<A\n", "<<A <<B\n", "cat <<A\n$(", "cat <<-A\n\t$(", "cat <<A\nA\n", "$(<<A\n"),
    *("a ", "$x", "$x ", '"$x" ', "''", "'' ", "a'b'", 'a"b"', "a=1 ", ">a ", "2>&1 ", "&>"),
    *("{a}>", "<<<a ", "(a);", "{ a; };", "[[ a ]];", "((1));", "$(a)", "`a`", "${a}", "${a[b]} "),
    *("@(a) ", "a=(b) ", "if a; then b; fi;", "case x in a) b;; esac;", "f() { a; };", "coproc a;"),
    *("\r", "\0", "\ud800", "é ", "~", "*", '((a;$((b;"((c;`', "\"${a:-'", "$(( '", "\\$x"),
)
MIXED = {
    "bodies": "cat " + "<<A " * 8000 + "\n" + "A\n" * 8000,
    "nested bodies": "cat <<A\n$(" * 40 + "Ab\n" * 20000,
    "stripped bodies": "cat <<-A\n\t$(" * 40 + "\t\tAb\n" * 12000,
    "backticks in backticks": "`\\`\\\\\\`" + "a " * 32000,
    "brackets both ways": "(" * 32000 + ")" * 32000,
    "arithmetic or not": "((" * 40 + " $((" * 40 + "1+" * 30000,
    "one array": "a=(" + "b " * 32000,
    "one loop": "for x in " + "b " * 32000,
    "one pattern": "case x in " + "b|" * 32000,
    "one test": "[[ " + "a && " * 13000,
    "deep then wide": "${a:-" * 90 + "b'c'" * 16000,
}


def cost(text: str) -> float:
    """Processor seconds for one reading."""
    started = time.process_time()
    parse(text)
    return time.process_time() - started


@pytest.fixture(scope="module")
def yardstick() -> float:
    """What a fixed amount of plain Python costs here: a hundredth of a second at rest."""
    best = 60.0
    for _ in range(3):
        started = time.process_time()
        counted: dict[int, tuple[int, str]] = {}
        for number in range(30_000):
            counted[number] = (number, str(number))
        best = min(best, time.process_time() - started)
    return best


def affordable(text: str, yardstick: float) -> bool:
    # At rest the worst of these takes nine yards; without a bound they take hundreds. Others
    # use the machine as well, so a second try is allowed.
    return any(cost(text) < max(0.1, 20 * yardstick) for _ in range(3))


@pytest.mark.parametrize("unit", NASTY)
def test_a_nasty_text_is_answered_in_a_tenth_of_a_second(unit: str, yardstick: float) -> None:
    assert affordable((unit * SIZE)[:SIZE], yardstick)


@pytest.mark.parametrize("name", MIXED)
def test_a_nasty_mixture_is_answered_in_a_tenth_of_a_second(name: str, yardstick: float) -> None:
    assert affordable(MIXED[name][:SIZE], yardstick)


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
