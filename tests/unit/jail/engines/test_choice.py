"""What the kernel caps is called capped, what we look at is called watched, and capped is preferred."""

from __future__ import annotations

import pytest

from redoma.jail.engines.choice import given_here, plan
from redoma.jail.probe.inside import LIMITS
from redoma.model.errors import NoEngine
from redoma.model.grant import Enforcement, EngineReport, Grant, Guarantee, Limits, Writes
from redoma.model.request import Request, ShellCommand
from redoma.model.value import replace

REQUEST = Request(workload=ShellCommand(text="x"))
GROUPS = frozenset({"memory", "pids", "cpu"})
ABOUT_LIMITS = frozenset(g for g in Guarantee if g.words.endswith((" capped", " watched")))


class Machine:
    """A machine whose engines claim every limit, with these control groups."""

    def __init__(self, controllers: frozenset[str], *usable: str) -> None:
        self._controllers = controllers
        self._usable = usable

    def report(self, name: str) -> EngineReport:
        if name not in self._usable:
            return EngineReport(name=name, missing=tuple((g, "not here") for g in Guarantee))
        return EngineReport(name=name, version="1", guarantees=frozenset(Guarantee))

    def controllers(self) -> frozenset[str]:
        return self._controllers


def enforced(machine: Machine, *require: Guarantee, **grant: object) -> Enforcement:
    limits = Limits(memory=1 << 30, processes=64, cpu_seconds=9, total_written=1 << 30)
    made = {"limits": limits, "prefer": ("bubblewrap", "systemd"), **grant}
    wanted = Grant(level="t", workspace="/w", require=frozenset(require), **made)  # type: ignore[arg-type]
    return plan(REQUEST, wanted, machine).enforcement


def held(found: Enforcement) -> set[str]:
    return {g.value for g in found.held & ABOUT_LIMITS}


def test_with_a_control_group_memory_is_capped_and_the_disk_watched() -> None:
    found = enforced(Machine(GROUPS, "bubblewrap"))
    found = replace(found, held=found.held & ABOUT_LIMITS)
    assert found.sentence() == (
        "bubblewrap: memory capped, cpu watched, processes capped, disk watched"
    )


def test_without_one_memory_is_watched_and_so_it_is_called() -> None:
    found = enforced(Machine(frozenset(), "bubblewrap"), Guarantee.MEMORY_WATCHED)
    assert held(found) == {"memory-watched", "processes-capped", "cpu-watched", "disk-watched"}
    assert "memory watched" in found.sentence()


def test_capped_is_more_than_watched() -> None:
    found = enforced(Machine(GROUPS, "bubblewrap"), Guarantee.MEMORY_WATCHED)
    assert found.shortfall == frozenset()


def test_who_requires_a_cap_is_refused_where_it_would_only_be_watched() -> None:
    with pytest.raises(NoEngine, match="memory capped"):
        enforced(Machine(frozenset(), "bubblewrap"), Guarantee.MEMORY_CAPPED)


def test_what_is_written_into_memory_is_capped_with_it() -> None:
    found = enforced(Machine(GROUPS, "bubblewrap"), writes=Writes.MEMORY)
    assert "disk-capped" in held(found)
    assert "disk watched" not in found.sentence()


@pytest.mark.parametrize(
    ("controllers", "usable", "chosen"),
    [
        (frozenset(), ("bubblewrap", "systemd"), "systemd"),
        (frozenset(), ("bubblewrap",), "bubblewrap"),
        (GROUPS, ("bubblewrap", "systemd"), "bubblewrap"),
    ],
)
def test_a_manager_that_caps_is_asked_where_we_could_only_watch(
    controllers: frozenset[str], usable: tuple[str, ...], chosen: str
) -> None:
    found = enforced(Machine(controllers, *usable))
    assert found.engine == chosen
    assert (Guarantee.MEMORY_CAPPED in found.held) is (chosen == "systemd" or bool(controllers))


def test_a_run_without_a_limit_of_memory_asks_no_manager() -> None:
    machine = Machine(frozenset(), "bubblewrap", "systemd")
    assert enforced(machine, limits=Limits(processes=9)).engine == "bubblewrap"


def test_doctor_says_why_nothing_is_capped() -> None:
    engine = EngineReport(name="bubblewrap", version="1", guarantees=LIMITS)
    found = given_here(engine, frozenset())
    assert {g.value for g in engine.guarantees - found.guarantees} == {
        "memory-capped",
        "cpu-capped",
        "disk-capped",
    }
    assert all("watched" in why for _, why in found.missing)
