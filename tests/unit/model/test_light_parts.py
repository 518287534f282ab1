"""What stands in for parts of the standard library in a cold start does what the original does."""

from __future__ import annotations

import contextlib
import copy
import enum
import json
import pickle
import re
import shlex
from collections.abc import Callable, Iterator

import pytest

from redoma.base import blocks, plain_json
from redoma.base.pattern import _taken_apart, _used, compiled, known, lazy
from redoma.base.remembered import remembered
from redoma.model import enums
from redoma.model.request import Program
from redoma.model.result import Outcome
from redoma.model.risk import Risk


def colours(kind: type[enum.Enum], number: type[enum.IntEnum]) -> tuple[object, ...]:
    """What can be seen of two enumerations, whoever made them."""

    class Colour(kind):  # type: ignore[valid-type, misc]
        RED = "red"
        GREEN = "green"
        CRIMSON = "red"

        @property
        def loud(self) -> str:
            return str(self.value).upper()

    class Level(number):  # type: ignore[valid-type, misc]
        LOW = 1
        HIGH = 2

    red, high = Colour("red"), Level(2)
    return (
        [member.name for member in Colour],
        [member.name for member in reversed(Colour)],
        (len(Colour), bool(Colour), red in Colour),
        list(Colour.__members__),
        (Colour.CRIMSON is Colour.RED, Colour["GREEN"].value, red is Colour(red), red.loud),
        (repr(red), str(red), f"{red}", hash(red) == hash(Colour.RED)),
        (repr(high), str(high), f"{high}", f"{high:03}", high > Level.LOW, high == 2, high + 1),
        (copy.copy(red) is red, copy.deepcopy([red])[0] is red, json.dumps(high)),
        {red: 1}[Colour.CRIMSON],
        red != "red",
    )


def test_an_enumeration_is_what_one_of_the_library_is() -> None:
    assert colours(enums.Enum, enums.IntEnum) == colours(enum.Enum, enum.IntEnum)


def test_members_stay_what_they_are() -> None:
    with pytest.raises(AttributeError):
        Risk.LOW = Risk.HIGH  # type: ignore[misc]
    with pytest.raises(AttributeError):
        del Outcome.EXITED
    with pytest.raises(ValueError, match="'elsewhere' is not a valid Outcome"):
        Outcome("elsewhere")
    with pytest.raises(ValueError, match="is not a valid Outcome"):
        Outcome([])
    with pytest.raises(TypeError):
        type("More", (Risk,), {})


def test_a_member_comes_back_from_a_pickle_as_itself() -> None:
    for member in (*Risk, *Outcome):
        assert pickle.loads(pickle.dumps(member)) is member


class Trouble(Exception):
    """Raised in blocks."""


def behaves(
    contextmanager: Callable[..., object], raised: BaseException | None, how: str
) -> object:
    """What comes of a block in which something is raised, by a generator that answers it so."""
    seen: list[object] = []

    @contextmanager  # type: ignore[arg-type]
    def block(name: str) -> Iterator[str]:
        seen.append("in")
        try:
            yield name
        except BaseException as error:
            seen.append(type(error).__name__)
            if how == "swallow":
                return
            if how == "other":
                raise ValueError("another") from error
            raise
        finally:
            seen.append("out")

    try:
        with block("it") as given:  # type: ignore[attr-defined]
            seen.append(given)
            if raised is not None:
                raise raised
        seen.append("behind")
    except BaseException as error:
        seen.append((type(error).__name__, str(error)))
    return seen


@pytest.mark.parametrize("how", ["pass", "swallow", "other"])
@pytest.mark.parametrize(
    "raised", [None, Trouble("x"), StopIteration("x"), KeyboardInterrupt(), GeneratorExit()]
)
def test_a_block_ends_as_one_of_the_library_does(raised: BaseException | None, how: str) -> None:
    ours = behaves(blocks.contextmanager, raised, how)
    assert ours == behaves(contextlib.contextmanager, raised, how)


def test_a_block_has_one_yield() -> None:
    @blocks.contextmanager
    def twice() -> Iterator[None]:
        yield
        yield

    @blocks.contextmanager
    def never() -> Iterator[None]:
        if not twice:
            yield

    with pytest.raises(RuntimeError, match="didn't stop"), twice():
        pass
    with pytest.raises(RuntimeError, match="didn't yield"), never():
        pass


def test_suppressing_goes_on_behind_what_was_named_and_nothing_else() -> None:
    with blocks.suppress(KeyError, OSError):
        raise FileNotFoundError
    with pytest.raises(ValueError, match="other"), blocks.suppress(OSError):
        raise ValueError("other")
    with pytest.raises(OSError, match="none named"), blocks.suppress():
        raise OSError("none named")


PATTERNS: list[tuple[str | bytes, int]] = [
    (r"([A-Za-z_]\w*)=(?P<value>[^;]*);?", 0),
    (r"(?s)a.b|c{2,3}+", re.IGNORECASE),
    (rb"[\x80-\xff]+(?!\w)", 0),
    ("äö|[^\x00-\u1234]", 0),
]


@pytest.mark.parametrize(("text", "flags"), PATTERNS)
def test_a_pattern_that_was_kept_is_the_one_that_was_compiled(
    text: str | bytes, flags: int
) -> None:
    assert _used(text, _taken_apart(text, int(flags))) == re.compile(text, flags)
    assert compiled(text, flags) == re.compile(text, flags)
    assert (text, int(flags)) in known
    assert compiled(text, flags) == re.compile(text, flags)


def test_a_pattern_whose_code_is_none_is_compiled_anew() -> None:
    made = _taken_apart("a+b", 0)
    for broken in ((made[0], (1, 2, 3), *made[2:]), (made[0], made[1][:-3], *made[2:]), (1, 2)):
        known["a+b", 0] = broken  # type: ignore[assignment]
        assert compiled("a+b").fullmatch("aab")


def test_a_lazy_pattern_answers_as_the_pattern() -> None:
    words = lazy(r"(\w)(\w*)")
    assert words.findall("ab c") == [("a", "b"), ("c", "")]
    assert words.sub(r"\2\1", "ab c") == "ba c"
    assert (words.pattern, words.groups) == (r"(\w)(\w*)", 2)


def test_an_answer_is_worked_out_once_and_the_memory_is_bounded() -> None:
    asked: list[tuple[int, bool]] = []

    @remembered(3)
    def double(number: int, *, twice: bool = False) -> int:
        asked.append((number, twice))
        return number * (4 if twice else 2)

    assert [double(1), double(1), double(1, twice=True), double(1, twice=True)] == [2, 2, 4, 4]
    assert asked == [(1, False), (1, True)]
    for number in range(10):
        assert double(number) == number * 2
    assert double(1) == 2


@pytest.mark.parametrize(
    "value",
    [{"a": [1, -2.5, None, True], "é\udcff\n": {"b": ""}}, [], "x", 12345678901234567890, ["\0"]],
)
def test_json_is_written_and_read_as_the_library_does(value: object) -> None:
    assert plain_json.written(value) == json.dumps(value)
    assert plain_json.read(json.dumps(value, indent=1)) == value


@pytest.mark.parametrize("text", ["", " ", "{", '{"a" 1}', "[1] 2", "nul", '"\n"', "[1,]"])
def test_what_is_no_json_is_a_value_error(text: str) -> None:
    for read in (json.loads, plain_json.read):
        with pytest.raises(ValueError):  # each says it in its own words
            read(text)


@pytest.mark.parametrize(
    "argv",
    [("ls",), ("a b", "it's", ""), ("-x=y", "@%+=:,./-_"), ("é", "$HOME", "a\nb", "~", "\udcff")],
)
def test_a_command_line_is_shown_as_a_shell_would_read_it(argv: tuple[str, ...]) -> None:
    assert Program(argv=argv).shown == shlex.join(argv)
