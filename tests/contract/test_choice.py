"""Which engine runs a command, and what is said where one cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from redoma.base.levels import LEVELS
from redoma.jail.engines.choice import plan
from redoma.jail.engines.registry import (
    DECLARED,
    DEFAULTS,
    NAMES,
    EngineDeclaration,
    declared,
    engine_name,
)
from redoma.jail.profiles.profile import load
from redoma.model.errors import NoEngine, UsageError
from redoma.model.grant import EngineReport, Guarantee
from redoma.model.request import Request, ShellCommand
from redoma.pipeline.sandbox import Sandbox
from redoma.pipeline.this_host import this_host
from tests.contract.machine import usable

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


@pytest.mark.parametrize("name", NAMES)
def test_an_engine_works_here_or_says_why_not(name: str) -> None:
    usable(name)


def test_the_order_is_the_strongest_and_cheapest_first() -> None:
    assert DEFAULTS == ("forkserver", "bubblewrap", "systemd", "landlock")


@pytest.mark.parametrize("level", LEVELS)
def test_no_level_prefers_an_engine_that_confines_nothing(level: str) -> None:
    assert [name for name in load(level).prefer if not declared(name).confines] == []


@pytest.mark.parametrize("lost", range(len(DEFAULTS)))
def test_the_first_engine_that_holds_everything_is_chosen(lost: int) -> None:
    grant = load("standard").grant("/nonexistent")
    host = Told(**dict.fromkeys(DEFAULTS[lost:], EVERYTHING))
    assert plan(REQUEST, grant, host).engine == DEFAULTS[lost]


def test_a_weaker_engine_is_a_refusal_and_not_a_weaker_run() -> None:
    grant = load("standard").grant("/nonexistent")
    host = Told(landlock=EVERYTHING - {Guarantee.PROTECTED_PATHS})
    with pytest.raises(NoEngine, match="landlock lacks it"):
        plan(REQUEST, grant, host)


@pytest.mark.parametrize("declaration", DECLARED, ids=NAMES)
def test_an_engine_is_what_is_declared_of_it(declaration: EngineDeclaration) -> None:
    engine = this_host().engine(declaration.name)
    assert (engine.name, type(engine).__name__) == (declaration.name, declaration.of)
    found = this_host().report(declaration.name)
    if found.usable:
        assert bool(found.guarantees) is declaration.confines
        assert (Guarantee.CHANGES_HELD in found.guarantees) is declaration.holds_changes


def test_an_alias_names_the_engine_itself(tmp_path: Path) -> None:
    usable("forkserver")
    assert (engine_name("warm"), declared("warm").name) == ("forkserver", "forkserver")
    result = Sandbox(str(tmp_path), engine="warm").run("true")
    assert result.enforcement is not None
    assert result.enforcement.engine == "forkserver"


def test_an_engine_that_stays_is_the_last_that_one_run_alone_tries() -> None:
    grant = load("standard").grant("/nonexistent")
    both = Told(forkserver=EVERYTHING, bubblewrap=EVERYTHING)
    assert plan(REQUEST, grant, both).engine == "forkserver"
    assert plan(REQUEST, grant, both, alone=True).engine == "bubblewrap"
    assert plan(REQUEST, grant, Told(forkserver=EVERYTHING), alone=True).engine == "forkserver"


def test_an_engine_that_does_not_exist_is_named_with_those_that_do(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        Sandbox(str(tmp_path), engine="chroot").run("true")
    assert "chroot" in str(caught.value)
    assert all(name in caught.value.hint for name in NAMES)


@pytest.mark.parametrize("name", [each.name for each in DECLARED if each.hides_paths])
def test_a_forced_engine_is_the_one_that_runs(name: str, tmp_path: Path) -> None:
    usable(name)
    result = Sandbox(str(tmp_path), engine=name).run("true")
    assert result.enforcement is not None
    assert (result.enforcement.engine, result.enforcement.shortfall) == (name, frozenset())
