"""Answers of Python calls: what goes in comes out, and bytes that are no answer say so."""

from __future__ import annotations

import datetime
import enum
import math
import struct
import uuid
from collections import Counter, OrderedDict, namedtuple
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redoma.jail.calls import wire
from redoma.jail.calls.answer_reader import AnswerReader, Malformed
from redoma.jail.calls.answer_writer import AnswerWriter, NoForm


class Colour(enum.Enum):
    RED = 1
    BLUE = (2, "b")


class Access(enum.Flag):
    READ = 1
    WRITE = 2


@dataclass(frozen=True)
class Point:
    x: int
    y: float = 0.0
    made: str = field(init=False, default="here")


def written(value: Any, *declared: type) -> bytes:
    to = AnswerWriter(declared)
    to.data += wire.MAGIC + wire.RETURNED
    to.put(value)
    return bytes(to.data)


def there_and_back(value: Any, *declared: type) -> Any:
    ended, found = AnswerReader(written(value, *declared), declared).whole()
    assert ended == wire.RETURNED
    return found


PLAIN = [
    *(None, True, False, 0, -1, 2**63 - 1, -(2**63), 2**63, -(2**200), 10**400),
    *(
        0.5,
        -0.0,
        1e308,
        complex(1, -2),
        "",
        "héllo",
        "\ud800",
        "a\0b",
        b"",
        b"\xff\0",
        bytearray(b"x"),
    ),
    *(
        [],
        [1, "a", [2]],
        list(range(100)),
        [0.5] * 20,
        [2**70] * 20,
        (),
        (1,),
        {1, 2},
        frozenset({1, 2}),
    ),
    *({}, {"a": 1, "$": 2}, {1: "x", (1, 2): None, b"k": 0.5}),
    datetime.datetime(2024, 2, 29, 12, 30, 1, 5),
    datetime.datetime(2024, 10, 27, 2, 30, fold=1),
    datetime.datetime(2024, 2, 29, tzinfo=datetime.timezone(datetime.timedelta(hours=-3))),
    datetime.date(1, 1, 1),
    datetime.time(23, 59, tzinfo=datetime.UTC),
    datetime.timedelta(-1, 5, 7),
    *(Path("/a/b"), PurePosixPath("x"), Decimal("1.50"), Decimal("-Infinity")),
    uuid.UUID(int=5),
]


@pytest.mark.parametrize("value", PLAIN, ids=lambda value: repr(value)[:40])
def test_data_comes_back_as_it_was(value: Any) -> None:
    found = there_and_back(value)
    assert (type(found), found) == (type(value), value)
    assert isinstance(value, frozenset) or str(found) == str(value)


def test_not_a_number_comes_back_as_none_too() -> None:
    found = there_and_back([float("nan"), float("-inf")])
    assert math.isnan(found[0]) and found[1] == -math.inf


DATA = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.dates()
    | st.uuids(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=12,
)


@given(DATA)
@settings(max_examples=60, deadline=None)
def test_any_data_comes_back_as_it_was(value: Any) -> None:
    assert repr(there_and_back(value)) == repr(value)


@given(st.binary(max_size=200))
@settings(max_examples=300, deadline=None)
def test_bytes_that_anyone_wrote_are_a_value_or_no_answer(data: bytes) -> None:
    for bytes_ in (data, wire.MAGIC + wire.RETURNED + data):
        try:
            AnswerReader(bytes_, (Point, Colour)).whole()
        except Malformed:
            continue


@given(DATA, st.data())
@settings(max_examples=50, deadline=None)
def test_an_answer_that_was_changed_never_breaks_its_reader(
    value: Any, data: st.DataObject
) -> None:
    whole = bytearray(written(value))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] = data.draw(st.integers(0, 255))
    with suppress(Malformed):
        AnswerReader(bytes(whole)).whole()


def test_declared_types_come_back_as_themselves() -> None:
    value = [Point(1), {"c": Colour.BLUE}, Access.READ | Access.WRITE]
    found = there_and_back(value, Point, Colour, Access)
    assert found == value
    assert [type(each) for each in found] == [Point, dict, Access]


def test_subclasses_of_plain_types_come_back_plain() -> None:
    pair = namedtuple("pair", "a b")

    class Shout(str):
        def __str__(self) -> str:
            return self.upper()

    value = [pair(1, 2), OrderedDict(a=1), Counter("aab"), Shout("x")]
    found = there_and_back(value)
    assert found == [(1, 2), {"a": 1}, {"a": 2, "b": 1}, "x"]
    assert [type(each) for each in found] == [tuple, dict, dict, str]


@pytest.mark.parametrize(
    ("value", "where", "why"),
    [
        (object(), "", "is a object, which is no data"),
        ({"a": [1, 2, 3, print]}, "['a'][3]", "is a builtin_function_or_method, which is no data"),
        ([Point(1)], "[0]", "is a {here}.Point, which was not expected"),
        (
            {1: Colour.RED},
            "[1]",
            "is a {here}.Colour, which was not expected",
        ),
        ((x for x in ()), "", "is a generator, not its items"),
        ({(1, object()): 1}, "[(1, <object object at", None),
    ],
)
def test_what_has_no_form_is_named_by_its_path(value: Any, where: str, why: str | None) -> None:
    with pytest.raises(NoForm) as caught:
        written(value)
    assert caught.value.where.startswith(where)
    if why is not None:
        assert (caught.value.where, caught.value.why) == (where, why.format(here=__name__))


def test_what_holds_itself_is_no_data() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(NoForm, match="holds itself, or is nested too deeply"):
        written(loop)


def test_more_than_may_come_back_is_refused_while_it_is_written() -> None:
    to = AnswerWriter(largest=1 << 20)
    with pytest.raises(NoForm, match="is larger than the 1 MiB that can come back"):
        to.put(["x" * 1000] * 2000)
    assert len(to.data) < 2 << 20


def test_a_list_that_holds_lists_a_million_times_is_refused_while_it_is_written() -> None:
    value: list[Any] = ["ha"] * 10
    for _ in range(12):
        value = [value] * 10
    with pytest.raises(NoForm, match="has more parts than can come back"):
        AnswerWriter(largest=1 << 20).put(value)


def answer(body: bytes) -> bytes:
    return wire.MAGIC + wire.RETURNED + body


def many(tag: bytes, count: int) -> bytes:
    return tag + struct.pack("<I", count)


FORGED = {
    "nothing": b"",
    "another beginning": b"redoma-answer-2\n" + b"RN",
    "an ending that is none": wire.MAGIC + b"X" + b"N",
    "no value": wire.MAGIC + b"R",
    "a tag that is none": answer(b"\xfe"),
    "two values": answer(b"NN"),
    "a length past the end": answer(many(b"l", 2**32 - 1)),
    "a text that is none": answer(many(b"s", 1) + b"\xff"),
    "deep": answer(many(b"l", 1) * 101 + b"N"),
    "a key twice": answer(many(b"d", 2) + (many(b"s", 1) + b"a" + b"N") * 2),
    "an item twice": answer(many(b"S", 2) + b"NN"),
    "a key that is a list": answer(many(b"d", 1) + many(b"l", 0) + b"N"),
    "a date that is none": answer(b"e" + many(b"s", 3) + b"abc"),
    "a time before time": answer(b"y" + struct.pack("<iii", -(2**31), 0, 0)),
    "a type that nobody declared": answer(b"x" + struct.pack("<H", 2) + many(b"", 0)),
    "fields for an enum": answer(b"x" + struct.pack("<H", 1) + many(b"", 0)),
    "fields that are not there": answer(b"x" + struct.pack("<H", 0) + many(b"", 0)),
    "a member that is none": answer(b"v" + struct.pack("<H", 1) + many(b"s", 1) + b"q" + b"N"),
    "numbers cut off": answer(many(b"q", 7) + b"1234567"),
}


@pytest.mark.parametrize("data", FORGED.values(), ids=FORGED.keys())
def test_a_forged_answer_is_none(data: bytes) -> None:
    with pytest.raises(Malformed):
        AnswerReader(data, (Point, Colour)).whole()


def test_an_answer_takes_little_more_memory_than_it_has_bytes() -> None:
    lists = 1 << 20
    data = answer(many(b"l", lists) + many(b"l", 0) * lists)
    with pytest.raises(Malformed, match="it would take too much memory"):
        AnswerReader(data, largest=len(data)).whole()


@pytest.mark.parametrize("tag", [wire.PATH, wire.PURE_PATH])
def test_a_path_of_many_parts_takes_little_more_memory_than_it_has_bytes(tag: bytes) -> None:
    text = b"ab/" * (1 << 16)
    data = answer(tag + many(b"s", len(text)) + text)
    with pytest.raises(Malformed, match="it would take too much memory"):
        AnswerReader(data, largest=len(data)).whole()


def test_flags_of_a_million_bits_are_no_flags() -> None:
    bits = (1 << (1 << 20)).to_bytes((1 << 17) + 1, "little", signed=True)
    value = wire.BIG_INT + struct.pack("<I", len(bits)) + bits
    data = answer(b"v" + struct.pack("<H", 0) + many(b"s", 0) + value)
    with pytest.raises(Malformed, match="no enum has"):
        AnswerReader(data, (Flags,)).whole()


class Flags(enum.Flag):
    ONE = 1


def test_keys_with_one_hash_do_not_hold_up_their_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("redoma.jail.calls.answer_reader._SECONDS", 0.2)
    same = (2**61 - 1).__mul__
    items = [same(at).to_bytes(16, "little", signed=True) for at in range(1, 40_000)]
    body = b"".join(wire.BIG_INT + struct.pack("<I", 16) + item for item in items)
    with pytest.raises(Malformed, match="it takes too long to read"):
        AnswerReader(answer(many(b"S", len(items)) + body)).whole()


class Scalar:
    """As NumPy's own: no subclass of a number, and one by its method."""

    def __init__(self, plain: object) -> None:
        self._plain = plain

    def item(self) -> object:
        return self._plain


Scalar.__module__, Scalar.__name__, Scalar.__qualname__ = "numpy", "generic", "generic"
Number = type("int64", (Scalar,), {"__module__": "numpy"})
Time = type("datetime64", (Scalar,), {"__module__": "numpy"})
Array = type("ndarray", (), {"__module__": "numpy", "tolist": lambda _: [1]})
Table = type("DataFrame", (), {"__module__": "pandas", "to_dict": lambda _: {}})
NoTime = type("NaTType", (datetime.datetime,), {"__module__": "pandas"})
DAY = datetime.date(2026, 1, 2)


@pytest.mark.requirement("X3")
@pytest.mark.parametrize("plain", [3, 2**70, 0.5, True, 1j, "text", b"bytes"])
def test_a_scalar_of_numpy_comes_back_as_what_it_is(plain: object) -> None:
    found = there_and_back({"a": [Number(plain)]})["a"][0]
    assert (found, type(found)) == (plain, type(plain))
    assert there_and_back(Time(DAY)) == DAY


@pytest.mark.requirement("X3")
@pytest.mark.parametrize(
    ("value", "why"),
    [
        (Array(), "is a numpy.ndarray: .tolist() makes it data"),
        (Table(), "is a pandas.DataFrame: .to_dict() makes it data"),
        (Time(10**18), "is a numpy.datetime64: str(…) or .astype(…) makes it data"),
        (Number(object()), "is a numpy.int64: str(…) or .astype(…) makes it data"),
        (NoTime(2026, 1, 2), "is a pandas.NaTType, which is no data"),
    ],
)
def test_what_is_no_data_says_what_makes_it_data(value: object, why: str) -> None:
    with pytest.raises(NoForm) as raised:
        written([value])
    assert (raised.value.where, raised.value.why) == ("[0]", why)
