"""No frame that anybody sends does more than say that it is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redoma.sessions import frames
from redoma.sessions.frames import BadFrame, FrameKind


@given(st.binary(max_size=200))
def test_any_bytes_are_a_frame_or_refused(data: bytes) -> None:
    try:
        found = frames.received(data)
    except BadFrame:
        return
    assert found.kind in (3, 4, 5, 6, 7, 8)
    assert 0 <= found.columns <= frames.MOST_COLUMNS
    assert 0 <= found.rows <= frames.MOST_ROWS


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"\x01" + b"\0" * 20,
        b"\x02" + b"\0" * 20,
        b"\x04\0",
        b"\x05[]",
        b"\x05" + b"[" * 60_000,
        b'\x05{"type": 1}',
        b"\x06\0",
        b"\x09",
        b"\xff",
        b"\x03" + b"x" * (64 << 10),
    ],
)
def test_what_a_guest_may_not_send_is_refused(frame: bytes) -> None:
    with pytest.raises(BadFrame):
        frames.received(frame)


@pytest.mark.parametrize(("columns", "rows"), [(0, 0), (1, 65535), (65535, 1), (65535, 65535)])
def test_a_size_is_never_one_that_hurts(columns: int, rows: int) -> None:
    found = frames.received(frames.resized(columns, rows))
    assert frames.LEAST_COLUMNS <= found.columns <= frames.MOST_COLUMNS
    assert frames.LEAST_ROWS <= found.rows <= frames.MOST_ROWS


def test_a_large_screen_is_drawn_in_frames_that_every_channel_carries() -> None:
    drawn = bytes(range(256)) * 1000
    sent = list(frames.snapshot(7, 80, 24, drawn))
    assert all(len(frame) < 64 << 10 for frame in sent)
    assert [frame[0] for frame in sent[:2]] == [FrameKind.SNAPSHOT, FrameKind.MORE]
    assert sent[0][13:] + b"".join(frame[1:] for frame in sent[1:]) == drawn
