"""A Python call is the same on every engine: its value, its output, and what it may not do."""

from __future__ import annotations

from pathlib import Path

import pytest

from redoma import Access, Call, SandboxTimeout, SandboxViolation
from redoma.model.grant import Guarantee
from tests.contract.machine import Machine, claims
from tests.pipeline.called import (
    doubled,
    forever,
    reads,
    starts,
    starts_by_hand,
    threads,
    writes,
)

pytestmark = pytest.mark.both_users


def test_a_call_answers_and_prints(machine: Machine) -> None:
    sandbox = machine.sandbox()
    assert sandbox.call(doubled, 21) == 42
    result = sandbox.perform(Call(print, ("said",)))
    assert (result.value, result.stdout, result.ok) == (None, b"said\n", True)


def test_a_call_that_does_not_end_is_ended(machine: Machine) -> None:
    with pytest.raises(SandboxTimeout):
        machine.sandbox().perform(Call(forever, timeout=1)).raise_for_outcome()


def test_a_call_writes_where_it_may_and_nowhere_else(machine: Machine) -> None:
    claims(machine.engine, Guarantee.WRITES_CONFINED)
    sandbox = machine.sandbox()
    kept = machine.workspace / "kept"
    assert sandbox.call(writes, str(kept), fails=False) == 11
    with pytest.raises(SandboxViolation) as caught:
        sandbox.call(writes, str(machine.victim), fails=False)
    assert (caught.value.kind, caught.value.path) == ("write", str(machine.victim))
    assert (kept.read_text(), machine.victim.read_text()) == ("made inside", "as it was")


def test_a_call_reads_what_it_may_and_nothing_else(machine: Machine) -> None:
    claims(machine.engine, Guarantee.READS_CONFINED)
    with pytest.raises(SandboxViolation) as caught:
        machine.sandbox().call(reads, str(machine.victim))
    assert (caught.value.kind, caught.value.path) == ("read", str(machine.victim))


@pytest.mark.requirement("X1")
def test_a_call_that_may_start_nothing_starts_nothing(machine: Machine) -> None:
    sandbox = machine.sandbox(access=Access(subprocesses=0))
    with pytest.raises(SandboxViolation) as caught:
        sandbox.call(starts, "id")
    assert (caught.value.kind, caught.value.program) == ("subprocess", "id")
    assert sandbox.call(starts_by_hand) == (-1, -1)
    assert sandbox.call(threads) == 1


def test_a_call_finds_the_modules_of_its_caller(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "redoma_example_module.py").write_text("def ask():\n    return __name__\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import redoma_example_module  # type: ignore[import-not-found]

    try:
        assert machine.sandbox().call(redoma_example_module.ask) == "redoma_example_module"
    finally:
        del __import__("sys").modules["redoma_example_module"]
