"""The counts are those of the entries, and their text is nobody's to forge."""

from __future__ import annotations

from pathlib import Path

import pytest

from redoma.audit.log import AuditLog
from redoma.audit.stats import Stats, count, prometheus
from redoma.model.event import Event, Kind
from tests.unit.audit.story import ended, entries, judged, starting


@pytest.fixture
def stats(tmp_path: Path) -> Stats:
    with AuditLog(str(tmp_path / "audit")) as record:
        record.append(judged(1))
        for rule in ("rm.root", "rm.root", 'evil"} 1\nredoma_judged{verdict="allow'):
            record.append(
                Event(kind=Kind.JUDGED, run="x", details={"verdict": "deny", "rules": [rule]})
            )
        record.append(Event(kind=Kind.JUDGED, run="x", details={"verdict": "deny"}))
        for choice in ("approve", "deny", "deny"):
            record.append(Event(kind=Kind.ANSWERED, run="x", details={"choice": choice}))
        record.append(Event(kind=Kind.REFUSED, run="x", details={"code": "rate-limited"}))
        for number, seconds in enumerate((0.02, 0.4, 7)):
            record.append(starting(f"r{number}"))
            record.append(ended(f"r{number}", wall_seconds=seconds, code=number % 2))
        record.append(ended("killed", outcome="timed-out", code=None, wall_seconds=30))
    return count(entries(tmp_path / "audit"))


@pytest.mark.requirement("T14")
def test_what_was_blocked_denied_and_run_is_counted(stats: Stats) -> None:
    assert stats == Stats(
        entries={
            "judged": 5,
            "run-ended": 4,
            "answered": 3,
            "run-starting": 3,
            "refused": 1,
        },
        verdicts={"deny": 4, "allow": 1},
        blocked={"rm.root": 2, 'evil"} 1\nredoma_judged{verdict="allow': 1, "policy": 1},
        answers={"deny": 2, "approve": 1},
        refused={"rate-limited": 1},
        outcomes={"exited": 3, "timed-out": 1},
        exit_codes={"0": 2, "1": 1},
        durations=(0.02, 0.4, 7.0, 30.0),
    )
    assert stats.denied_by_the_user == 2
    assert (stats.quantile(0.5), stats.quantile(1.0)) == (7.0, 30.0)


def test_prometheus_reads_one_number_a_line(stats: Stats) -> None:
    lines = prometheus(stats).splitlines()
    assert 'redoma_blocked{rule="rm.root"} 2' in lines
    assert 'redoma_judged{verdict="allow"} 1' in lines
    assert sum(line.startswith("redoma_judged{") for line in lines) == 2
    assert 'redoma_run_seconds_bucket{le="0.5"} 2' in lines
    assert 'redoma_run_seconds_bucket{le="+Inf"} 4' in lines
    assert "redoma_run_seconds_sum 37.420000" in lines
    assert all(line.isascii() for line in lines)


def test_nothing_counts_as_nothing() -> None:
    assert count([]).quantile(0.95) == 0.0
