"""Questions to a name server are read within bounds, and answered in their own form."""

from __future__ import annotations

from struct import pack, unpack_from

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redoma.egress import dns


def asked(name: str, kind: int = dns.A, *, extension: bytes = b"", count: int = 1) -> bytes:
    labels = b"".join(bytes([len(p)]) + p.encode() for p in name.split(".") if p)
    head = pack("!HHHHHH", 0x1234, 0x0100, count, 0, 0, 1 if extension else 0)
    return head + labels + b"\0" + pack("!HH", kind, 1) + extension


def test_a_question_is_read() -> None:
    question = dns.read(asked("Registry.example", dns.AAAA))
    assert question == dns.DnsQuestion(
        identity=0x1234,
        name="Registry.example",
        kind=dns.AAAA,
        asked=asked("Registry.example", dns.AAAA)[12:],
    )


def test_an_answer_repeats_the_question_and_carries_the_addresses() -> None:
    question = dns.read(asked("a.example", extension=b"\0" + pack("!HHIH", 41, 4096, 0, 0)))
    assert question is not None
    made = dns.answer(question, dns.OK, (bytes([198, 18, 0, 1]),))
    assert unpack_from("!HHHHHH", made) == (0x1234, 0x8180, 1, 1, 0, 1)
    assert made[12:].startswith(question.asked)
    assert bytes([198, 18, 0, 1]) in made


def test_a_name_that_is_not_there_is_answered_at_once() -> None:
    question = dns.read(asked("a.example"))
    assert question is not None
    assert unpack_from("!HH", dns.answer(question, dns.NO_SUCH_NAME)) == (0x1234, 0x8183)


@pytest.mark.parametrize(
    "data",
    [
        asked("a.example", count=2),
        asked("a.example")[:-2],
        asked("a.example")[:12] + b"\xc0\x0c" + pack("!HH", 1, 1),
        asked(".".join(["a"] * 40)),
        asked(".".join(["a" * 60] * 6)),
        asked("a.example")[:-1] + b"\3",
    ],
)
def test_a_question_that_nobody_would_ask_is_an_error_of_form(data: bytes) -> None:
    question = dns.read(data)
    assert question is not None
    assert unpack_from("!HH", dns.answer(question, dns.OK, (b"1234",))) == (0x1234, 0x8181)


def test_an_answer_nobody_asked_for_gets_none() -> None:
    assert dns.read(pack("!HHHHHH", 1, 0x8180, 1, 1, 0, 0)) is None
    assert dns.read(b"") is None
    assert dns.read(b"\0" * 5000) is None


@given(st.binary(max_size=600))
def test_no_bytes_make_the_reader_raise(data: bytes) -> None:
    question = dns.read(data)
    if question is not None:
        assert len(dns.answer(question, dns.OK, (b"\1\2\3\4",))) <= len(data) + 64


@given(st.binary(max_size=80), st.integers(0, 2))
def test_no_change_to_a_real_question_makes_the_reader_raise(tail: bytes, cut: int) -> None:
    base = asked("registry.example")
    dns.read(base[: 12 + cut * 5] + tail)
