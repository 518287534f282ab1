"""The newest entries of each session stay, and what went is told from what was taken."""

from __future__ import annotations

from pathlib import Path

import pytest

from redoma.audit.chain import BATCH
from redoma.audit.log import KEEP as DEFAULT
from redoma.audit.log import AuditLog
from redoma.audit.retention import MOST_RETAINED
from redoma.audit.verification import verify
from redoma.model.event import Event, Kind
from redoma.model.value import replace
from tests.unit.audit.story import ended, entries, judged, starting, tamper

KEEP = 20


def fill(directory: Path, rows: int, sessions: int = 1) -> AuditLog:
    record = AuditLog(str(directory), keep=KEEP)
    for number in range(rows):
        record.note(judged(number, session=f"s{number % sessions}"))
    return record


def test_a_session_keeps_its_newest_entries_and_few_more(tmp_path: Path) -> None:
    fill(tmp_path / "audit", 300)
    kept = entries(tmp_path / "audit")
    assert KEEP <= len(kept) <= KEEP + BATCH
    judgements = [entry.run for entry in kept if entry.kind == "judged"]
    assert judgements == [f"run-{number}" for number in range(300 - len(judgements), 300)]


@pytest.mark.requirement("S12")
def test_the_last_thousand_of_a_session_stay_where_nobody_says_how_many(tmp_path: Path) -> None:
    assert DEFAULT == 1000
    record = AuditLog(str(tmp_path / "audit"))
    record.append(*(judged(number, session="s") for number in range(1000)))
    record.append(judged(1000, session="s"))
    before = [entry.run for entry in entries(tmp_path / "audit") if entry.kind == "judged"]
    assert "run-1" in before
    for number in range(1001, 1002 + 2 * BATCH):
        record.append(judged(number, session="s"))
    kept = [entry.run for entry in entries(tmp_path / "audit") if entry.kind == "judged"]
    assert 1000 - BATCH <= len(kept) <= 1000 + BATCH
    assert kept[-1] == f"run-{1001 + 2 * BATCH}"


def test_one_session_does_not_push_out_another(tmp_path: Path) -> None:
    record = fill(tmp_path / "audit", 15)
    for number in range(400):
        record.note(judged(number, session="busy"))
    quiet = [entry.run for entry in entries(tmp_path / "audit") if entry.session == "s0"]
    assert quiet == [f"run-{number}" for number in range(15)]


def test_the_chain_verifies_over_what_was_let_go(tmp_path: Path) -> None:
    fill(tmp_path / "audit", 500, sessions=3)
    found = verify(str(tmp_path / "audit"))
    assert found.faults == ()
    assert found.let_go > 300
    assert found.rows == len(entries(tmp_path / "audit"))
    assert found.last == found.rows + found.let_go


def test_letting_go_is_itself_an_entry(tmp_path: Path) -> None:
    fill(tmp_path / "audit", 300)
    told = [entry for entry in entries(tmp_path / "audit") if entry.kind == Kind.RETAINED.value]
    assert told
    first = next(e.seq for e in entries(tmp_path / "audit") if e.kind == "judged")
    assert told[-1].facts()["up_to"] < first
    # What says so takes nobody's place.
    assert len(told) <= MOST_RETAINED + 1


def connection(number: int, *, allowed: bool, host: str = "") -> Event:
    host = host or f"h{number}.test"
    details = {"target": host, "name": host, "allowed": allowed, "path": '"allowed":true'}
    return Event(kind=Kind.NETWORK, run="noisy", session="s", details=details)


@pytest.mark.requirement("S12")
def test_connections_push_out_no_judgement_question_answer_run_or_refusal(tmp_path: Path) -> None:
    # Attack: 1 500 cheap connections, and the refusal before them is among the old rows.
    record = AuditLog(str(tmp_path / "audit"), keep=KEEP)
    told = (Kind.JUDGED, Kind.ASKED, Kind.ANSWERED, Kind.REFUSED, Kind.RUN_STARTING, Kind.APPLIED)
    record.append(*(Event(kind=kind, run="quiet", session="s") for kind in told))
    for start in range(0, 1500, 100):
        record.append(*(connection(n, allowed=True) for n in range(start, start + 100)))
    kept = entries(tmp_path / "audit")
    assert [e.kind for e in kept if e.run == "quiet"] == [kind.value for kind in told]
    assert KEEP <= sum(e.kind == "network" for e in kept) <= KEEP + 100 + BATCH
    assert verify(str(tmp_path / "audit")).faults == ()


def test_refused_connections_are_not_pushed_out_by_those_that_passed(tmp_path: Path) -> None:
    record = AuditLog(str(tmp_path / "audit"), keep=KEEP)
    record.append(*(connection(n, allowed=False) for n in range(5)))
    for start in range(0, 600, 100):
        record.append(*(connection(n, allowed=True) for n in range(start, start + 100)))
    refused = [e for e in entries(tmp_path / "audit") if e.facts().get("allowed") is False]
    assert len(refused) == 5


def test_busy_runs_do_not_push_out_the_refusal_of_an_earlier_one(tmp_path: Path) -> None:
    # Attack: three runs with as many refusals as fit, and the one before them is old.
    record = AuditLog(str(tmp_path / "audit"), keep=KEEP)
    quiet = connection(0, allowed=False, host="secret.test")
    record.append(replace(quiet, run="quiet"))
    for run in ("one", "two", "three"):
        record.append(*(replace(connection(n, allowed=False), run=run) for n in range(5 * KEEP)))
    record.append(*(judged(n, session="s") for n in range(BATCH)))
    kept = [e for e in entries(tmp_path / "audit") if e.kind == "network"]
    assert [e.facts()["name"] for e in kept if e.run == "quiet"] == ["secret.test"]
    # What a run has room for is what it noted first.
    for run in ("one", "two", "three"):
        own = [e.facts()["name"] for e in kept if e.run == run]
        assert 6 <= len(own) <= 7
        assert own == [f"h{n}.test" for n in range(len(own))]
    assert verify(str(tmp_path / "audit")).faults == ()


def test_what_was_held_back_pushes_out_no_judgement(tmp_path: Path) -> None:
    record = AuditLog(str(tmp_path / "audit"), keep=KEEP)
    record.append(judged(0, session="s"))
    for start in range(0, 600, 100):
        record.append(
            *(
                Event(kind=Kind.VIOLATION, run="r", session="s", details={"path": f"{n}"})
                for n in range(start, start + 100)
            )
        )
    assert next(e.kind for e in entries(tmp_path / "audit")) == "judged"
    assert verify(str(tmp_path / "audit")).faults == ()


def test_deleting_beside_a_gap_shows(tmp_path: Path) -> None:
    fill(tmp_path / "audit", 300).close()
    first = entries(tmp_path / "audit")[0].seq
    tamper(tmp_path / "audit", f"DELETE FROM audit_log WHERE seq = {first}")
    faults = verify(str(tmp_path / "audit")).faults
    assert [(fault.wrong.value, fault.entry) for fault in faults] == [("deleted", first)]


def test_widening_a_gap_without_the_key_shows(tmp_path: Path) -> None:
    fill(tmp_path / "audit", 300).close()
    first = entries(tmp_path / "audit")[0]
    tamper(
        tmp_path / "audit",
        f"DELETE FROM audit_log WHERE seq = {first.seq}",
        f"UPDATE gaps SET last = {first.seq}, after = x'{first.link}' WHERE last = {first.seq - 1}",
    )
    faults = verify(str(tmp_path / "audit")).faults
    assert [fault.wrong.value for fault in faults] == ["gap-forged", "deleted"]


def test_retention_does_not_clear_a_forgers_traces_away(tmp_path: Path) -> None:
    record = fill(tmp_path / "audit", 30)
    record.close()
    tamper(
        tmp_path / "audit",
        "UPDATE audit_log SET command = 'echo nothing' WHERE seq = 5",
        "DELETE FROM audit_log WHERE seq = 9",
    )
    for number in range(300):
        record.note(judged(number, session="s0"))
    record.close()
    faults = verify(str(tmp_path / "audit")).faults
    assert [(fault.wrong.value, fault.entry) for fault in faults] == [
        ("deleted", 9),
        ("changed", 5),
    ]


def test_the_start_of_a_run_that_goes_on_is_not_let_go(tmp_path: Path) -> None:
    record = AuditLog(str(tmp_path / "audit"), keep=KEEP)
    record.append(starting("long"))
    for number in range(300):
        record.note(judged(number))
    assert entries(tmp_path / "audit")[0].run == "long"
    record.append(ended("long"))
    for number in range(BATCH):
        record.note(judged(number))
    assert entries(tmp_path / "audit")[0].run != "long"
    assert verify(str(tmp_path / "audit")).ok


def test_without_a_limit_everything_stays(tmp_path: Path) -> None:
    record = AuditLog(str(tmp_path / "audit"), keep=None)
    for number in range(200):
        record.note(judged(number))
    assert len(entries(tmp_path / "audit")) == 200
