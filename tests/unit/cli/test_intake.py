"""Bytes from outside are read up to a limit."""

from __future__ import annotations

import io

from redoma.cli import streams


class Dripping(io.BytesIO):
    """A stream that gives a byte at a time, as a pipe may."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(min(1, size if size is not None and size >= 0 else 1))


def test_everything_is_read_however_it_drips() -> None:
    assert streams.read_all(Dripping(b"rm -rf ~")) == b"rm -rf ~"
    assert streams.read_all(io.BytesIO(b"")) == b""


def test_more_than_the_limit_is_refused_and_not_cut() -> None:
    assert streams.read_all(io.BytesIO(b"x" * streams.MOST_BYTES)) == b"x" * streams.MOST_BYTES
    assert streams.read_all(io.BytesIO(b"x" * (streams.MOST_BYTES + 1))) is None
