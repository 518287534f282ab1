"""The usual level on each engine: what a run writes is held, becomes real, and can be taken back."""

from __future__ import annotations

from pathlib import Path

import pytest

from redoma import Limits, Sandbox
from redoma.model.grant import Guarantee
from redoma.model.result import Outcome
from redoma.pipeline.stored_changes import undo
from tests.contract.machine import Machine, claims

pytestmark = pytest.mark.both_users


def standard(machine: Machine) -> Sandbox:
    claims(machine.engine, Guarantee.CHANGES_HELD)
    return Sandbox(
        str(machine.workspace), level="standard", engine=machine.engine, policy="isolation-only"
    )


def contents(workspace: Path) -> dict[str, str]:
    return {each.name: each.read_text() for each in workspace.iterdir()}


def test_what_a_run_that_succeeds_writes_becomes_real_and_can_be_taken_back(
    machine: Machine,
) -> None:
    sandbox = standard(machine)
    (machine.workspace / "old").write_text("as it was\n")
    (machine.workspace / "gone").write_text("still here\n")
    before = contents(machine.workspace)
    result = sandbox.run("echo more >> old; echo made > new; rm gone; cat old")
    assert (result.ok, result.applied, result.stdout) == (True, True, b"as it was\nmore\n")
    assert contents(machine.workspace) == {"old": "as it was\nmore\n", "new": "made\n"}
    assert result.enforcement is not None and result.enforcement.engine == machine.engine
    assert result.changes is not None
    undo(result.changes.id)
    assert contents(machine.workspace) == before


def test_what_a_run_that_fails_writes_is_real_and_can_be_taken_back(machine: Machine) -> None:
    sandbox = standard(machine)
    (machine.workspace / "old").write_text("as it was\n")
    result = sandbox.run("echo more >> old; exit 3")
    assert (result.exit_code, result.applied) == (3, True)
    assert contents(machine.workspace) == {"old": "as it was\nmore\n"}
    assert result.changes is not None
    undo(result.changes.id)
    assert contents(machine.workspace) == {"old": "as it was\n"}


def test_what_a_limit_cuts_short_never_becomes_real(machine: Machine) -> None:
    sandbox = standard(machine)
    (machine.workspace / "old").write_text("as it was\n")
    result = sandbox.run("echo more >> old; sleep 60", timeout=1)
    assert (result.exit_code, result.applied) == (124, False)
    assert contents(machine.workspace) == {"old": "as it was\n"}


def test_a_preview_changes_nothing_until_it_is_applied(machine: Machine) -> None:
    preview = standard(machine).preview("echo made > new")
    assert contents(machine.workspace) == {}
    preview.apply()
    assert contents(machine.workspace) == {"new": "made\n"}


def test_memory_is_capped_where_an_overlay_holds_what_is_written(machine: Machine) -> None:
    claims(machine.engine, Guarantee.MEMORY_WATCHED)
    claims(machine.engine, Guarantee.CHANGES_HELD)
    small = machine.sandbox(writes="layer", limits=Limits(memory=64 << 20))
    result = small.run(
        "echo made > new; dd if=/dev/zero of=/dev/null bs=300M count=1 iflag=fullblock"
        " && echo had it"
    )
    # Where the limit ends the run, nothing becomes real; where it refuses the program memory, the
    # program fails, and what it wrote is kept as after any failure.
    held = result.outcome is Outcome.OUT_OF_MEMORY
    assert (b"had it" in result.stdout, result.ok, result.applied) == (False, False, not held)
    assert contents(machine.workspace) == ({} if held else {"new": "made\n"})
