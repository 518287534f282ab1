"""However many connections there are, none hides another: they are counted, and refusals have room."""

from __future__ import annotations

from redoma.egress.ledger import MOST_DOMAINS, MOST_ROWS, Ledger
from redoma.model.network import NOT_GRANTED, ONE_OF_MANY, Connection
from redoma.model.request import Request, ShellCommand
from redoma.pipeline.audit_events import AuditEvents


def passed(name: str, **more: object) -> Connection:
    known = {"port": 443, "rule": "*", "sent": 10, "received": 20, **more}
    return Connection(allowed=True, name=name, **known)  # type: ignore[arg-type]


def stopped(name: str, why: str = NOT_GRANTED) -> Connection:
    return Connection(allowed=False, name=name, port=443, why=why)


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


def test_too_many_hosts_of_one_domain_are_counted_by_the_domain_and_hide_no_other() -> None:
    ledger = Ledger()
    for number in range(MOST_ROWS + 500):
        ledger.allow(passed(f"x{number}.evil.test"))
    ledger.allow(passed("other.example"))
    rows = ledger.all()
    assert len(rows) == MOST_ROWS + 2
    assert [(row.name, row.times) for row in rows[-2:]] == [
        ("*.evil.test", 500),
        ("*.example", 1),
    ]
    assert (ledger.left_out, total(rows)) == (501, MOST_ROWS + 501)
    assert sum(row.sent for row in rows) == 10 * (MOST_ROWS + 501)


def test_room_is_bounded_and_nothing_is_left_uncounted() -> None:
    ledger = Ledger()
    many = MOST_ROWS + MOST_DOMAINS + 3000
    for number in range(many):
        ledger.allow(passed(f"www.d{number}.test"))
        ledger.drop(stopped(f"www.r{number}.test"))
    rows = ledger.all()
    assert len(rows) == 2 * (MOST_ROWS + MOST_DOMAINS + 1)
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


def test_the_record_has_rows_for_refusals_that_nothing_else_can_take() -> None:
    calls = (*(passed(f"x{n}.test") for n in range(1500)), stopped("secret.example"))
    request = Request(workload=ShellCommand(text="ls"))
    rows = [event.details for event in AuditEvents(request).network(calls)]
    assert rows[-1]["target"] == "secret.example:443"
    assert (len(rows), rows[-2]["target"], rows[-2]["times"]) == (502, "*", 1000)
