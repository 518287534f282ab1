"""However many connections there are, none hides another: they are counted, and refusals have room."""

from __future__ import annotations

from typing import cast

import pytest

from redoma.egress.ledger import MOST_DOMAINS, MOST_ROWS, Ledger
from redoma.model.network import (
    NOT_GRANTED,
    ONE_OF_MANY,
    REQUEST_NOT_GRANTED,
    Connection,
    Reach,
)
from redoma.model.request import Request, ShellCommand
from redoma.pipeline.audit_events import AuditEvents


def passed(name: str, **more: object) -> Connection:
    known = {"port": 443, "rule": "*", "sent": 10, "received": 20, **more}
    return Connection(allowed=True, name=name, **known)  # type: ignore[arg-type]


def stopped(name: str, why: str = NOT_GRANTED, **more: str) -> Connection:
    return Connection(allowed=False, name=name, port=443, why=why, **more)  # type: ignore[arg-type]


def total(rows: tuple[Connection, ...]) -> int:
    return sum(row.times for row in rows)


def test_the_same_connection_is_counted_and_not_listed_again() -> None:
    ledger = Ledger()
    for _ in range(2001):
        ledger.allow(passed("a.test"))
    ledger.allow(passed("evil.test"))
    first, second = ledger.all()
    assert (first.name, first.times, first.sent, first.received) == ("a.test", 2001, 20010, 40020)
    assert 0 < first.first <= first.last
    # Attack: 2 001 cheap connections hide the next one.
    assert second == passed("evil.test")
    assert ledger.left_out == 0


def test_what_is_asked_of_a_host_makes_a_difference() -> None:
    ledger = Ledger()
    for path in ("/a", "/b", "/a"):
        ledger.allow(passed("a.test", kind="https", method="GET", path=path, status=200))
    ledger.allow(passed("a.test", kind="https", method="GET", path="/a", status=404))
    assert [(row.path, row.status, row.times) for row in ledger.all()] == [
        ("/a", 200, 2),
        ("/b", 200, 1),
        ("/a", 404, 1),
    ]


def test_a_host_is_listed_however_many_requests_were_made_of_others() -> None:
    ledger = Ledger()
    for number in range(MOST_ROWS + 500):
        ledger.allow(passed("a.test", kind="https", method="GET", path=f"/{number}", status=200))
        ledger.refuse(stopped("a.test", method="PUT", path=f"/{number}", why=REQUEST_NOT_GRANTED))
    ledger.allow(passed("other.example", kind="https", method="GET", path="/x", status=200))
    ledger.refuse(stopped("secret.example"))
    rows = ledger.all()
    # Attack: 2 001 cheap requests, and neither the next host nor the next refusal has a row.
    assert [(r.name, r.times, r.path) for r in rows if r.allowed][-2:] == [
        ("a.test", 500, ""),
        ("other.example", 1, ""),
    ]
    many, last = rows[-2:]
    assert (many.name, many.times, many.why, many.grant) == ("a.test", 500, REQUEST_NOT_GRANTED, "")
    assert (last, ledger.left_out) == (stopped("secret.example"), 0)


def test_every_refusal_is_listed_until_a_flood_of_them_ends_the_run() -> None:
    ledger, most = Ledger(), Reach().max_refusals
    for number in range(most):
        ledger.refuse(stopped(f"x{number}.evil.test"))
    rows = ledger.all()
    assert (len(rows), ledger.left_out) == (most, 0)
    assert {row.times for row in rows} == {1}
    assert rows[-1] == stopped(f"x{most - 1}.evil.test")


def test_too_many_hosts_are_counted_by_the_domain_of_their_owner(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("redoma.egress.ledger.MOST_HOSTS", 10)
    ledger = Ledger()
    for number in range(MOST_ROWS + 10 + 500):
        ledger.allow(passed(f"x{number}.evil.co.uk"))
    ledger.allow(passed("other.example"))
    rows = ledger.all()
    assert [(row.name, row.times) for row in rows[-2:]] == [
        ("*.evil.co.uk", 500),
        ("*.other.example", 1),
    ]
    assert (ledger.left_out, total(rows)) == (501, MOST_ROWS + 511)
    assert sum(row.sent for row in rows) == 10 * (MOST_ROWS + 511)


def test_room_is_bounded_and_nothing_is_left_uncounted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("redoma.egress.ledger.MOST_HOSTS", 10)
    ledger = Ledger()
    many = MOST_ROWS + 10 + MOST_DOMAINS + 300
    for number in range(many):
        ledger.allow(passed(f"www.d{number}.test"))
        ledger.drop(stopped(f"www.r{number}.test"))
    rows = ledger.all()
    assert len(rows) == 2 * (MOST_ROWS + 10 + MOST_DOMAINS + 1)
    assert total(rows) == 2 * many
    folded = [row for row in rows if row.name.startswith("*")]
    assert {row.why for row in folded if not row.allowed} == {ONE_OF_MANY}
    # A name for many is nothing to grant.
    assert {row.grant for row in folded} == {""}


def test_what_passed_takes_no_room_from_what_was_refused() -> None:
    told: list[Connection] = []
    ledger = Ledger(told.append)
    for number in range(MOST_ROWS + 1):
        ledger.begun(passed(f"x{number}.test"))
        ledger.allow(passed(f"x{number}.test"))
    ledger.refuse(stopped("secret.example"))
    assert ledger.all()[-1] == stopped("secret.example")
    assert told[-1] == stopped("secret.example")


def test_the_audit_log_names_every_host_of_a_run_and_refusals_have_rows_of_their_own() -> None:
    calls = (*(passed(f"x{n}.test") for n in range(1500)), stopped("secret.example"))
    request = Request(workload=ShellCommand(text="ls"))
    rows = [event.details for event in AuditEvents(request).network(calls)]
    assert rows[-1]["target"] == "secret.example:443"
    assert len(rows) == 3 + 200 + 1
    named = [name for row in rows[:3] for name in cast("dict[str, int]", row["targets"])]
    assert named == [f"x{n}.test:443" for n in range(200, 1500)]
    assert [row["times"] for row in rows[:3]] == [500, 500, 300]


def test_of_ten_thousand_refusals_the_audit_log_names_each_in_few_rows() -> None:
    calls = tuple(stopped(f"x{n}.test") for n in range(10_000))
    rows = AuditEvents(Request(workload=ShellCommand(text="ls"))).network(calls)
    assert len(rows) == 220
    said = "".join(str(row.details) for row in rows)
    assert all(f"x{n}.test:443" in said for n in range(10_000))
