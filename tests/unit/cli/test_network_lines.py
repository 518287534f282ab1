"""What was refused is told with what to type, and nothing in it acts on a terminal."""

from __future__ import annotations

import pytest

from redoma.cli.closing_lines import network_lines
from redoma.cli.run import RUN
from redoma.cli.run_options import sandbox_for
from redoma.model.errors import UsageError
from redoma.model.network import (
    DATAGRAM,
    NOT_GRANTED,
    OTHER_NAME,
    PORT_NOT_GRANTED,
    Connection,
)


def refused(why: str, **known: object) -> Connection:
    return Connection(allowed=False, why=why, **known)  # type: ignore[arg-type]


def test_a_refusal_says_what_to_grant() -> None:
    told = network_lines(
        (
            Connection(allowed=True, name="a.example", port=443),
            Connection(allowed=True, name="a.example", port=443),
            refused(NOT_GRANTED, kind="dns", name="b.example"),
            refused(PORT_NOT_GRANTED, name="a.example", port=22),
            refused(NOT_GRANTED, address="192.0.2.1", port=443),
            refused(NOT_GRANTED, address="2001:db8::1", port=443),
            refused(OTHER_NAME, name="a.example", port=443),
            refused(DATAGRAM, kind="udp", name="a.example", port=443),
            refused(NOT_GRANTED, name="c.example", port=443, listed=True),
            refused(PORT_NOT_GRANTED, name="c.example", port=22, listed=True),
        )
    )
    assert told == [
        "redoma: reached a.example:443\n",
        "redoma: refused: b.example — grant it with --allow-host b.example\n",
        "redoma: refused: a.example:22 — grant it with --allow-host a.example:22\n",
        "redoma: refused: 192.0.2.1:443 — grant it with --allow-host 192.0.2.1:443\n",
        "redoma: refused: [2001:db8::1]:443 — grant it with --allow-host [2001:db8::1]:443\n",
        f"redoma: refused: a.example:443: {OTHER_NAME}\n",
        f"redoma: refused: a.example:443 by UDP: {DATAGRAM}\n",
        "redoma: refused: c.example:443 — the policy has to list it,"
        " as in network.allowed_hosts: [c.example]\n",
        "redoma: refused: c.example:22 — the policy has to list it,"
        " as in network.allowed_hosts: [c.example:22]\n",
    ]


def test_a_long_story_is_told_in_short() -> None:
    told = network_lines(tuple(refused(NOT_GRANTED, name=f"n{n}.example") for n in range(30)))
    assert (len(told), told[-1]) == (11, "redoma: refused: 20 more (--json lists them)\n")


def test_a_name_cannot_act_on_a_terminal() -> None:
    (told,) = network_lines((refused(NOT_GRANTED, name="a\x1b[2Jb"),))
    assert "\x1b" not in told


def test_ports_to_publish_are_numbers() -> None:
    with pytest.raises(UsageError):
        sandbox_for(RUN.read(["--publish", "8000:80", "x"]))


def test_hosts_are_collected() -> None:
    found = RUN.read(["--allow-host", "a.example", "--allow-host=b.example:22", "x"])
    assert found.many["--allow-host"] == ["a.example", "b.example:22"]
