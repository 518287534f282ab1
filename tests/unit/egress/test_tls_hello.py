"""The host that a TLS client names is read from its first message, however that is cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redoma.egress import tls_hello
from tests.unit.egress.hellos import hello, name_of, real, records


def test_a_real_client_names_its_host() -> None:
    assert tls_hello.read(real("registry.example")) == tls_hello.ClientHello(
        complete=True, name="registry.example"
    )


def test_a_real_client_without_a_name_names_nobody() -> None:
    assert tls_hello.read(real(None)) == tls_hello.ClientHello(complete=True)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_a_hello_in_many_records_is_one_hello(size: int) -> None:
    message = real("registry.example")[5:]
    assert tls_hello.read(records(message, size)).name == "registry.example"


def test_a_hello_that_is_still_coming_is_waited_for() -> None:
    whole = real("registry.example")
    assert {tls_hello.read(whole[:cut]) for cut in range(len(whole))} == {tls_hello.MORE}


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n",
        b"\x16\2\0\0\5",
        b"\x17\3\3\0\5hello",
        b"\x16\3\1\0\0",
        b"\x16\3\1\xff\xff",
        b"\x16\3\1\0\4\2\0\0\0",
        b"\x16\3\1\0\4\1\xff\xff\xff",
        hello(name_of(b"a.example"), name_of(b"b.example")),
        hello(name_of(b"")),
        hello(name_of("ä.example".encode())),
        hello((0, b"\0\4\1\0\1a")),
        hello((0, b"\0\x0c\0\0\1a\0\0\1b\0\0\1c")),
        hello((0, b"\xff\xff")),
    ],
)
def test_what_two_readers_might_read_differently_is_unreadable(data: bytes) -> None:
    assert tls_hello.read(data) == tls_hello.UNREADABLE


def test_a_name_in_an_encrypted_part_is_noticed() -> None:
    data = hello(name_of(b"front.example"), (0xFE0D, b"\0" * 20))
    assert tls_hello.read(data) == tls_hello.ClientHello(
        complete=True, name="front.example", hidden_name=True
    )


@given(st.binary(max_size=2000))
def test_no_bytes_make_the_reader_raise(data: bytes) -> None:
    tls_hello.read(data)


@given(st.data())
def test_no_change_to_a_real_hello_makes_the_reader_raise(data: st.DataObject) -> None:
    whole = bytearray(hello(name_of(b"registry.example"), (10, b"\0\2\0\x1d")))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(whole) - 1))
        whole[at] = data.draw(st.integers(0, 255))
    tls_hello.read(bytes(whole))


def test_a_hello_of_tiny_records_costs_next_to_nothing() -> None:
    import time

    tiny = b"\x16\3\1\0\1" + b"\1"
    data = tiny + b"\x16\3\1\0\1\0" * 12_000
    began = time.process_time()
    held = bytearray()
    for at in range(0, len(data), 64):
        held += data[at : at + 64]
        if tls_hello.read(held).complete:
            break
    assert tls_hello.read(held).unreadable
    assert time.process_time() - began < 1


def test_what_a_client_offers_to_speak_is_read() -> None:
    offered = hello(name_of(b"a.test"), (16, b"\0\x0c\2h2\x08http/1.1"))
    assert tls_hello.read(offered).protocols == ("h2", "http/1.1")
