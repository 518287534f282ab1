"""Which engine runs a command, and what is said where one cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from redoma.jail.engines.catalog import NAMES
from redoma.jail.levels import ENGINES, LEVELS, load
from redoma.jail.plan import plan
from redoma.model.access import Grant, Limits
from redoma.model.errors import NoEngine, UsageError
from redoma.model.guarantee import EngineReport, Guarantee
from redoma.model.request import Request, ShellCommand
from redoma.pipeline.sandbox import Sandbox
from redoma.pipeline.this_host import this_host
from tests.contract.machine import ALL, usable

pytestmark = pytest.mark.both_users

REQUEST = Request(workload=ShellCommand(text=":"))
EVERYTHING = frozenset(Guarantee) - {Guarantee.NETWORK_ALLOW_LISTED}


class Told:
    """A host that is what it is told to be."""

    def __init__(self, **holds: frozenset[Guarantee]) -> None:
        self._holds = holds

    def report(self, name: str) -> EngineReport:
        held = self._holds.get(name, frozenset())
        return EngineReport(
            name=name,
            guarantees=held,
            missing=tuple((g, f"{name} lacks it") for g in EVERYTHING - held),
        )

    def controllers(self) -> frozenset[str]:
        return frozenset({"memory", "pids", "cpu"})


@pytest.mark.parametrize("name", ALL)
def test_an_engine_works_here_or_says_why_not(name: str) -> None:
    usable(name)


def test_the_order_is_the_strongest_and_cheapest_first() -> None:
    assert ENGINES == ("warm", "bubblewrap", "systemd", "unshare", "landlock")


@pytest.mark.parametrize("level", LEVELS)
def test_no_level_prefers_direct_or_a_container(level: str) -> None:
    assert {"direct", "container"} & set(load(level).prefer) == set()


@pytest.mark.parametrize("lost", range(len(ENGINES)))
def test_the_first_engine_that_holds_everything_is_chosen(lost: int) -> None:
    grant = load("standard").grant("/nonexistent")
    host = Told(**dict.fromkeys(ENGINES[lost:], EVERYTHING))
    assert plan(REQUEST, grant, host).engine == ENGINES[lost]


def test_a_weaker_engine_is_a_refusal_and_not_a_weaker_run() -> None:
    grant = load("standard").grant("/nonexistent")
    host = Told(landlock=EVERYTHING - {Guarantee.PROTECTED_PATHS})
    with pytest.raises(NoEngine, match="landlock lacks it"):
        plan(REQUEST, grant, host)


def test_a_container_is_never_usable_and_says_so() -> None:
    found = this_host().report("container")
    assert (found.usable, found.guarantees) == (False, frozenset())
    assert {g for g in EVERYTHING if not dict(found.missing).get(g)} == set()
    grant = Grant(level="x", workspace="/nonexistent", limits=Limits(), prefer=("container",))
    with pytest.raises(NoEngine):
        plan(REQUEST, grant, this_host())


def test_an_engine_that_does_not_exist_is_named_with_those_that_do(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        Sandbox(str(tmp_path), engine="chroot").run("true")
    assert "chroot" in str(caught.value)
    assert all(name in caught.value.hint for name in NAMES)


@pytest.mark.parametrize("name", ["warm", "bubblewrap", "unshare"])
def test_a_forced_engine_is_the_one_that_runs(name: str, tmp_path: Path) -> None:
    usable(name)
    result = Sandbox(str(tmp_path), engine=name).run("true")
    assert result.enforcement is not None
    assert (result.enforcement.engine, result.enforcement.shortfall) == (name, frozenset())
