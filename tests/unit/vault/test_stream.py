"""What comes out of a stream never depends on how it came in, and a secret never comes in halves."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redoma.vault.redactor import Redactor
from redoma.vault.stream import OVERLAP, WINDOW
from tests.pace import slowness
from tests.unit.vault.labelled import negatives, positives
from tests.unit.vault.nasty import in_lines, repeated, units
from tests.unit.vault.tokens import ALNUM, private_key, run, token

REDACTOR = Redactor(["correct-horse"])
PIECES = [
    *(case.text.encode() for case in positives(5)[::9]),
    *(text.encode() for text in negatives(5)[::60]),
    *(
        private_key(Random(3), "RSA PRIVATE KEY", lines=4)[0].encode(),
        b"correct-horse",
        b"password=",
    ),
    *(b"\n", b"\r\n", b" ", b"'", b'"', b"", b"\xc3", b"-----BEGIN PRIVATE KEY-----", b"AKIA"),
]


def streamed(data: bytes, sizes: list[int]) -> bytes:
    """The data, fed in pieces of these sizes over and over."""
    stream = REDACTOR.stream()
    out, at, turn = [], 0, 0
    while at < len(data):
        size = sizes[turn % len(sizes)]
        out.append(stream.feed(data[at : at + size]))
        at, turn = at + size, turn + 1
    return b"".join([*out, stream.finish()])


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join),
    st.lists(st.integers(1, 90), min_size=1, max_size=5),
)
def test_any_split_gives_the_same_as_the_whole(data: bytes, sizes: list[int]) -> None:
    assert streamed(data, sizes) == REDACTOR.data(data)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join))
def test_lines_are_redacted_one_by_one_as_they_are_together(data: bytes) -> None:
    stream = REDACTOR.stream()
    one_by_one = [stream.feed(line) for line in data.splitlines(keepends=True)]
    assert b"".join([*one_by_one, stream.finish()]) == REDACTOR.data(data)


BORDERS = [WINDOW - OVERLAP, WINDOW, 2 * (WINDOW - OVERLAP), 2 * WINDOW - OVERLAP]


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("kind", ["github-token", "aws-session-token", "jwt"])
def test_a_secret_at_the_border_of_a_window_does_not_get_through(border: int, kind: str) -> None:
    random = Random(border)
    for before in (0, 1, 7, 20, 39, 40, 41, 200, 300):
        value = token(random, kind)
        line = ("lorem ipsum " * 20_000)[: border - before - 1] + " " + value + " dolor " * 4000
        data = line.encode()
        out = REDACTOR.data(data)
        assert out == data.replace(value.encode(), b"[REDACTED]")
        assert streamed(data, [4096]) == out


@pytest.mark.parametrize("border", BORDERS)
def test_a_name_and_its_value_are_not_parted_by_a_window(border: int) -> None:
    for before in (1, 5, 9, 10, 14, 30):
        line = (
            ("lorem ipsum " * 20_000)[: border - before - 1]
            + " password=hunter2 "
            + "dolor " * 4000
        )
        out = REDACTOR.data(line.encode())
        assert out == line.replace("hunter2", "[REDACTED]").encode()
        assert streamed(line.encode(), [1000, 7]) == out


@pytest.mark.parametrize(
    "frame", ["password={} end", 'x "token": "{}" end', "ghp_{} end", "eyJ{}.{} end"]
)
def test_a_secret_longer_than_any_window_goes_as_a_whole(frame: str) -> None:
    value = run(Random(1), ALNUM, 3 * WINDOW)
    data = frame.replace("{}", value).encode()
    out = REDACTOR.data(data)
    assert len(out) < 100
    assert out.endswith(b" end")
    assert streamed(data, [5000, 3]) == out


def test_what_is_held_back_is_bounded_by_a_window() -> None:
    stream = REDACTOR.stream()
    fed = shown = 0
    for _ in range(200):
        fed += 1000
        shown += len(stream.feed(b"lorem ipsu" * 100))
        assert fed - shown <= WINDOW + 1000


def test_a_line_is_shown_as_soon_as_it_is_whole() -> None:
    stream = REDACTOR.stream()
    assert stream.feed(b"one\ntw") == b"one\n"
    assert stream.feed(b"o\n") == b"two\n"
    assert stream.feed(b"PASSWORD=hun") == b""
    assert stream.feed(b"ter2\n") == b"PASSWORD=[REDACTED]\n"


@pytest.mark.parametrize(
    "unit", [b"a", b"=", b'"', b"\\", b"password=", b'password="', b"eyJ", b"://a:"]
)
@pytest.mark.parametrize("layout", [repeated, in_lines])
def test_a_megabyte_of_nasty_text_takes_less_than_a_second(unit: bytes, layout: object) -> None:
    import time

    data = layout(unit, 1_000_000)  # type: ignore[operator]
    started = time.process_time()
    REDACTOR.data(data)
    assert time.process_time() - started < slowness()


def test_no_text_takes_more_than_linear_time() -> None:
    import time

    slow, pace = [], slowness()
    for unit in units():
        started = time.process_time()
        REDACTOR.data(repeated(unit, 50_000))
        took = time.process_time() - started
        if took > 0.2 * pace:
            slow.append((unit, took))
    assert slow == []
