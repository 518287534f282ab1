"""A short form of `bench/soak_sessions.py`: nothing leaks, nobody types without permission."""

from __future__ import annotations

from bench.soak_sessions import soak


def test_guests_who_come_and_go_leave_nothing_behind() -> None:
    assert soak(seconds=3, sessions=2, guests=2) == []
