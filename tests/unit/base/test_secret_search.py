"""A secret that is known by value is found in a stream, in whichever dress and however it is cut."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as some

from redoma.base.secret_search import SecretSearch, hidden_forms

SECRET = "pa/ss+w0rd&=5f2c81d0"
DRESSED = {
    "plain": SECRET.encode(),
    "base64": base64.b64encode(SECRET.encode()),
    "base64 behind one": base64.b64encode(b"x" + SECRET.encode() + b"yz"),
    "base64 behind two": base64.b64encode(b"xy" + SECRET.encode() + b"z"),
    "base64 for URLs": base64.urlsafe_b64encode(b"x" + SECRET.encode()),
    "base64 folded": base64.encodebytes(b"u" * 50 + SECRET.encode()),
    "URL": quote(SECRET, safe="").encode(),
    "URL, all of it": "".join(f"%{c:02X}" for c in SECRET.encode()).encode(),
    "hex": SECRET.encode().hex().encode(),
    "HEX": SECRET.encode().hex().upper().encode(),
    "JSON": json.dumps({"a": SECRET}).encode(),
}


def through(data: bytes, *cuts: int, secret: str = SECRET) -> bytes:
    search = SecretSearch(hidden_forms(secret))
    out, before = b"", 0
    for cut in (*cuts, len(data)):
        out += search.feed(data[before:cut])
        before = cut
    return out + search.finish()


@pytest.mark.parametrize("dress", DRESSED)
def test_a_secret_is_found_in_every_dress_wherever_it_is_cut(dress: str) -> None:
    data = b"before " + DRESSED[dress] + b" after\n"
    whole = through(data)
    assert len(whole) == len(data)
    assert whole.count(b"*") >= len(SECRET)
    assert whole.startswith(b"before ")
    assert whole.endswith(b" after\n")
    assert all(through(data, cut) == whole for cut in range(len(data)))


@pytest.mark.parametrize("size", [6, 7, 8, 11])
def test_the_shortest_secrets_are_found_in_base64_at_every_offset(size: int) -> None:
    secret = "kq7Zx2Lm9Pw"[:size]
    for before in range(3):
        data = base64.b64encode(b"a" * before + secret.encode() + b"bcd")
        assert b"*****" in through(data, secret=secret)


@given(some.binary(max_size=300), some.lists(some.integers(0, 300), max_size=5))
def test_what_is_no_secret_passes_as_it_is(data: bytes, cuts: list[int]) -> None:
    assert through(data, *sorted(min(cut, len(data)) for cut in cuts)) == data


def test_no_more_is_held_back_than_may_be_the_beginning_of_a_secret() -> None:
    search = SecretSearch(hidden_forms(SECRET))
    assert search.feed(b"Continue? ") == b"Continue? "
    # An end of a line is not waited behind because its last letter may begin a secret.
    assert search.feed(b"stop\n") == b"stop\n"
    assert search.feed(b"say pa/ss") == b"say "
    assert search.feed(b"ive\n") == b"pa/ssive\n"


def test_without_secrets_nothing_is_looked_for() -> None:
    search = SecretSearch(())
    assert (search.feed(b"x"), search.finish()) == (b"x", b"")
