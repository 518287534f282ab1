"""A grant gets a gate where hosts are granted, and a policy's list is never exceeded."""

from __future__ import annotations

from pathlib import Path

import pytest

from redoma.egress.grants import gated, kept_to
from redoma.egress.host_rules import read
from redoma.jail.engines.choice import plan
from redoma.jail.profiles.profile import load
from redoma.model.errors import NoEngine, PolicySyntax, Refused, UsageError
from redoma.model.grant import EngineReport, Grant, Guarantee, NetworkMode
from redoma.model.network import Reach
from redoma.model.request import Request, ShellCommand
from redoma.model.value import replace

STANDARD = load("standard").grant("/project")
MINIMAL = load("minimal").grant("/project")


class Machine:
    """A machine whose one engine gives everything but what is left out."""

    def __init__(self, *missing: Guarantee) -> None:
        self._missing = frozenset(missing)

    def report(self, name: str) -> EngineReport:
        return EngineReport(name=name, version="1", guarantees=frozenset(Guarantee) - self._missing)

    def controllers(self) -> frozenset[str]:
        return frozenset({"memory", "pids", "cpu"})


def planned(grant: Grant, machine: Machine) -> frozenset[Guarantee]:
    return plan(Request(workload=ShellCommand(text=":")), grant, machine).enforcement.held


def test_a_gate_takes_the_place_of_a_closed_network() -> None:
    grant = gated(STANDARD, read(["a.example"]))
    held = planned(grant, Machine())
    assert (grant.network, grant.reach) == (NetworkMode.GATED, read(["a.example"]))
    assert Guarantee.NETWORK_ALLOW_LISTED in held
    assert Guarantee.NETWORK_CLOSED not in held


def test_without_a_gate_nothing_runs_whatever_a_grant_requires() -> None:
    grant = replace(gated(STANDARD, read(["a.example"])), require=frozenset())
    with pytest.raises(NoEngine) as error:
        planned(grant, Machine(Guarantee.NETWORK_ALLOW_LISTED))
    assert "network-allow-listed" in error.value.required


def test_a_network_that_was_closed_again_needs_no_gate() -> None:
    closed = replace(gated(STANDARD, read(["a.example"])), network=NetworkMode.CLOSED)
    held = planned(closed, Machine(Guarantee.NETWORK_ALLOW_LISTED))
    assert Guarantee.NETWORK_CLOSED in held


@pytest.mark.parametrize("level", ["strict", "maximum"])
def test_a_level_without_a_network_gets_none(level: str) -> None:
    with pytest.raises(UsageError):
        gated(load(level).grant("/project"), read(["a.example"]))


def test_an_open_network_is_held_to_a_policys_list() -> None:
    grant = kept_to(MINIMAL, ("a.example", "localhost"), (22,), 10)
    listed = read(["a.example"], blocked_ports=[22], max_connections=10)
    assert grant.reach == replace(listed, listed=True)
    assert (grant.network, Guarantee.NETWORK_ALLOW_LISTED in grant.require) == (
        NetworkMode.GATED,
        True,
    )


def test_an_open_network_with_blocked_ports_alone_is_every_host_through_a_gate() -> None:
    grant = kept_to(MINIMAL, None, (22,), None)
    assert grant.reach == Reach(anyone=True, blocked_ports=(22,), max_connections=1000)
    assert (grant.network, Guarantee.NETWORK_ALLOW_LISTED in grant.require) == (
        NetworkMode.GATED,
        True,
    )
    assert kept_to(MINIMAL, None, (), 7).reach == Reach(anyone=True, max_connections=7)


def test_a_policy_without_a_list_leaves_the_hosts_that_were_asked_for() -> None:
    asked = read(["a.example"], blocked_ports=[23])
    grant = kept_to(gated(STANDARD, asked), None, (22,), 5)
    assert grant.reach == replace(asked, blocked_ports=(23, 22), max_connections=5)


@pytest.mark.parametrize(
    ("listed", "asked"),
    [
        ("a.example", "a.example"),
        ("a.example", "a.example:443"),
        ("a.example:*", "a.example:22"),
        ("*.example.com", "a.example.com"),
        ("*.example.com", "*.b.example.com"),
        ("localhost", "localhost:5432"),
    ],
)
def test_a_host_on_the_policys_list_may_be_asked_for(listed: str, asked: str) -> None:
    grant = kept_to(gated(STANDARD, read([asked])), (listed,), (22,), 5)
    assert grant.reach.hosts == read([asked]).hosts
    assert (grant.reach.blocked_ports, grant.reach.max_connections) == ((22,), 5)


@pytest.mark.parametrize(
    ("listed", "asked"),
    [
        ("a.example", "b.example"),
        ("a.example", "*.a.example"),
        ("a.example", "a.example:22"),
        ("a.example:443", "a.example:*"),
        ("a.example", "a.example=10.0.0.1"),
        ("a.example", "a.example=10.0.0.0/8"),
        ("a.example", "localhost:5432"),
        ("*.example.com", "example.com"),
    ],
)
def test_a_host_beyond_the_policys_list_is_refused_by_name(listed: str, asked: str) -> None:
    with pytest.raises(Refused) as error:
        kept_to(gated(STANDARD, read([asked])), (listed,), (), None)
    assert asked in str(error.value)
    assert listed in error.value.hint


def test_a_profile_may_grant_hosts(tmp_path: Path) -> None:
    profile = tmp_path / "own.yaml"
    profile.write_text("level: own\nnetwork: gated\nhosts:\n  - a.example\n  - b.example:22\n")
    made = load(str(profile)).grant("/project")
    assert (made.network, made.reach) == (NetworkMode.GATED, read(["a.example", "b.example:22"]))
    assert load(str(profile)).grant("/project") == made  # as kept


def test_a_profile_that_grants_too_much_is_an_error_with_its_place(tmp_path: Path) -> None:
    profile = tmp_path / "own.yaml"
    profile.write_text("network: gated\nhosts:\n  - a.example\n  - '*.com'\n")
    with pytest.raises(PolicySyntax) as error:
        load(str(profile))
    assert error.value.location == f"{profile}:4:5"


def test_ports_are_ports() -> None:
    for wrong in ({"publish": [0]}, {"publish": [70_000]}, {"blocked_ports": [-1]}):
        with pytest.raises(UsageError):
            read([], **wrong)  # type: ignore[arg-type]
    with pytest.raises(UsageError):
        read([f"localhost:{port}" for port in range(1000, 1051)])
    assert read([], publish=[80, 80]) == Reach(publish=(80,))


def test_the_port_of_a_place_is_the_lists_as_the_place_is() -> None:
    listed = ("a.example=10.0.0.1",)
    grant = gated(STANDARD, read(["a.example=10.0.0.1:22"]))
    with pytest.raises(Refused):
        kept_to(grant, listed, (), None)
    assert (
        kept_to(gated(STANDARD, read(listed)), listed, (), None).reach.hosts == read(listed).hosts
    )
