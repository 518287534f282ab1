"""Limits hold over processes, restarts and clocks, and say when there is room again."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from redoma.audit import ledger
from redoma.audit.chain import ChainHead
from redoma.audit.ledger import DAY, MINUTE
from redoma.audit.log import AuditLog
from redoma.model.errors import RateLimited
from redoma.model.policy import AdmissionLimits, Rates
from tests.unit.audit.story import ended, entries, judged, starting, tamper

SRC = Path(__file__).resolve().parents[3] / "src"


def limited(**rates: float) -> AdmissionLimits:
    """These rates for each caller."""
    return AdmissionLimits(per_caller=Rates(**rates))


def test_no_more_runs_a_minute_than_allowed_and_the_refusal_says_when(tmp_path: Path) -> None:
    record = AuditLog(str(tmp_path / "audit"))
    rates = limited(executions_per_minute=2)
    for number in range(2):
        record.admit(starting(f"r{number}", caller="a"), limits=rates)
        record.append(ended(f"r{number}"))
    with pytest.raises(RateLimited) as caught:
        record.admit(judged(1, caller="a"), starting("r2", caller="a"), limits=rates)
    assert 50 <= caught.value.retry_after <= 60
    assert f"try again in {caught.value.retry_after:.0f} s" in str(caught.value)
    assert caught.value.exit_status == 126
    *_, judgement, refusal = entries(tmp_path / "audit")
    assert (judgement.kind, judgement.run) == ("judged", "run-1")
    assert (refusal.kind, refusal.run) == ("refused", "r2")
    assert refusal.facts()["code"] == "rate-limited"
    assert not record.has_run(record.digest_of("never"))
    record.admit(starting("other", caller="b"), limits=rates)


def test_a_minute_later_there_is_room_again(tmp_path: Path) -> None:
    record = AuditLog(str(tmp_path / "audit"))
    rates = limited(executions_per_minute=1)
    record.admit(starting("r0"), limits=rates)
    record.append(ended("r0"))
    record.close()
    tamper(tmp_path / "audit", f"UPDATE runs SET started = started - {MINUTE}")
    record.admit(starting("r1"), limits=rates)


def test_no_more_runs_at_once_than_allowed(tmp_path: Path) -> None:
    record = AuditLog(str(tmp_path / "audit"))
    rates = AdmissionLimits(per_session=Rates(concurrent_runs=2))
    record.admit(starting("a", session="s"), limits=rates)
    record.admit(starting("b", session="s"), limits=rates)
    with pytest.raises(RateLimited, match="2 runs at once"):
        record.admit(starting("c", session="s"), limits=rates)
    record.admit(starting("elsewhere", session="t"), limits=rates)
    record.append(ended("a"))
    record.admit(starting("c", session="s"), limits=rates)


def test_the_place_of_a_run_that_crashed_comes_back_at_once(tmp_path: Path) -> None:
    record = AuditLog(str(tmp_path / "audit"))
    rates = limited(concurrent_runs=1)
    record.append(judged(1))  # we have looked for interrupted runs before the other one crashes
    code = (
        f"import sys; sys.path.insert(0, {str(SRC)!r})\n"
        "from redoma.audit.log import AuditLog\n"
        "from redoma.model.event import Event, Kind\n"
        f"AuditLog({str(tmp_path / 'audit')!r}).append(Event(kind=Kind.RUN_STARTING, run='gone'))\n"
        "import os; os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=False)
    record.admit(starting("ours"), limits=rates)
    assert [(entry.kind, entry.run) for entry in entries(tmp_path / "audit")][1:] == [
        ("run-starting", "gone"),
        ("interrupted", "gone"),
        ("run-starting", "ours"),
    ]


@pytest.mark.parametrize(
    ("rates", "used"),
    [
        (limited(cpu_seconds_per_day=10), {"cpu_seconds": 10.5}),
        (limited(bytes_per_day=1000), {"bytes_written": 600, "output_bytes": 400}),
    ],
)
def test_a_day_has_a_budget_that_outlives_the_process(
    tmp_path: Path, rates: AdmissionLimits, used: dict[str, float]
) -> None:
    with AuditLog(str(tmp_path / "audit")) as record:
        record.admit(starting("a"), limits=rates)
        record.append(ended("a", **used))
    with AuditLog(str(tmp_path / "audit")) as record, pytest.raises(RateLimited) as caught:
        record.admit(starting("b"), limits=rates)
    assert DAY / 1e6 <= caught.value.retry_after <= DAY / 1e6 + 3600
    # What was added up from single runs counts as before.
    tamper(tmp_path / "audit", f"UPDATE runs SET started = started - {2 * MINUTE}")
    with AuditLog(str(tmp_path / "audit")) as record:
        for number in range(70):
            record.note(judged(number))
        with pytest.raises(RateLimited, match="a day"):
            record.admit(starting("b"), limits=rates)
        record.close()
        tamper(tmp_path / "audit", "UPDATE spent SET hour = hour - 26")
        record.admit(starting("b"), limits=rates)


def test_two_processes_cannot_both_take_the_last_place(tmp_path: Path) -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(SRC)!r})\n"
        "from redoma.audit.log import AuditLog\n"
        "from redoma.model.errors import RateLimited\n"
        "from redoma.model.event import Event, Kind\n"
        "from redoma.model.policy import AdmissionLimits, Rates\n"
        f"record = AuditLog({str(tmp_path / 'audit')!r})\n"
        "rates = AdmissionLimits(per_caller=Rates(concurrent_runs=5))\n"
        "taken = 0\n"
        "sys.stdin.readline()\n"
        "for number in range(20):\n"
        "    try:\n"
        "        record.admit(Event(kind=Kind.RUN_STARTING, run=f'{sys.argv[1]}-{number}'),"
        " limits=rates)\n"
        "        taken += 1\n"
        "    except RateLimited:\n"
        "        pass\n"
        "print(taken, flush=True)\n"
        "sys.stdin.readline()\n"
    )
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(3)
    ]
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    taken = [int(racer.stdout.readline()) for racer in racers if racer.stdout is not None]
    for racer in racers:
        racer.communicate("end\n")
    assert sum(taken) == 5


def head(**given: object) -> ChainHead:
    return ChainHead(record="r", ledger=100 * DAY, **given)


class Moment:
    """A moment that the test chose."""

    def __init__(self, boot: str, uptime: int, wall: int) -> None:
        self.boot = boot
        self.uptime = uptime
        self.wall = wall


@pytest.mark.parametrize(
    ("known", "now", "passed"),
    [
        # Within one boot only the kernel's count is asked.
        (head(boot="a", uptime=MINUTE, wall=50 * DAY), Moment("a", 3 * MINUTE, 0), 2 * MINUTE),
        (
            head(boot="a", uptime=MINUTE, wall=50 * DAY),
            Moment("a", 3 * MINUTE, 999 * DAY),
            2 * MINUTE,
        ),
        # After a reboot the wall clock counts, and at least the time since the boot.
        (head(boot="a", uptime=9, wall=50 * DAY), Moment("b", MINUTE, 51 * DAY), DAY),
        (head(boot="a", uptime=9, wall=50 * DAY), Moment("b", MINUTE, 0), MINUTE),
        (head(boot="a", uptime=9, wall=50 * DAY), Moment("b", 2 * DAY, 1), 2 * DAY),
        # A new record has no past, and time never goes back.
        (head(), Moment("a", DAY, DAY), 0),
        (head(boot="a", uptime=DAY, wall=0), Moment("a", 5, DAY), 0),
    ],
)
def test_setting_the_clock_neither_opens_a_limit_nor_closes_it_for_good(
    known: ChainHead, now: ledger.Now, passed: int
) -> None:
    assert ledger.passed(known, now) == passed


@pytest.mark.parametrize("years", [-30, 30])
def test_a_wall_clock_that_jumps_by_years_changes_no_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, years: int
) -> None:
    rates = limited(executions_per_minute=1)
    record = AuditLog(str(tmp_path / "audit"))
    record.admit(starting("a"), limits=rates)
    record.append(ended("a"))
    jumped = time.time_ns() + years * 365 * DAY * 1000
    monkeypatch.setattr(time, "time_ns", lambda: jumped)
    with pytest.raises(RateLimited) as caught:
        record.admit(starting("b"), limits=rates)
    assert 50 <= caught.value.retry_after <= 60
    later = time.clock_gettime_ns(time.CLOCK_BOOTTIME) + 61 * 10**9
    monkeypatch.setattr(time, "clock_gettime_ns", lambda _: later)
    record.admit(starting("b"), limits=rates)


def test_nothing_at_all_may_be_allowed(tmp_path: Path) -> None:
    record = AuditLog(str(tmp_path / "audit"))
    for rates in (
        limited(executions_per_minute=0),
        limited(concurrent_runs=0),
        limited(cpu_seconds_per_day=0),
        limited(bytes_per_day=0),
    ):
        with pytest.raises(RateLimited):
            record.admit(starting("a"), limits=rates)


def test_the_refusal_that_lasts_longest_is_the_one_that_is_told(tmp_path: Path) -> None:
    record = AuditLog(str(tmp_path / "audit"))
    record.append(starting("a"))
    record.append(ended("a", cpu_seconds=100))
    both = limited(executions_per_minute=1, cpu_seconds_per_day=50)
    with pytest.raises(RateLimited, match="CPU seconds a day"):
        record.admit(starting("b"), limits=both)
