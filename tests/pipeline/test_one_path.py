"""Previews, their discarding and their applying walk the same path as runs: redacted, audited."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from redoma import Access, Sandbox
from redoma.cli import load as command
from redoma.jail.overlay import transaction_store
from redoma.pipeline import stored_changes
from redoma.pipeline.steps import AuditStep, BeginStep, ExecuteStep
from tests.pipeline.place import Place

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
pytestmark = pytest.mark.usefixtures("one_cache")


@pytest.mark.parametrize("how", ["run", "preview"])
def test_what_is_stored_of_a_command_has_no_secret_in_it(place: Place, how: str) -> None:
    sandbox = place.sandbox(access=Access(apply="never"))
    getattr(sandbox, how)(f"echo {SECRET} > new")
    [entry] = stored_changes.history()
    assert SECRET not in entry.command
    assert "echo" in entry.command
    whole = Path(transaction_store.directory(entry.id)).rglob("*.json")
    assert not any(SECRET in file.read_text() for file in whole)


def test_a_preview_that_is_discarded_is_in_the_audit_log(place: Place) -> None:
    place.sandbox().preview("echo 1 > new").discard()
    with place.sandbox().preview("echo 1 > new"):
        pass
    assert place.kinds().count("discarded") == 2


def test_a_preview_that_the_command_line_discards_is_in_the_audit_log(
    place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("redoma.pipeline.audit_log.own_directory", lambda: str(place.record))
    monkeypatch.chdir(place.workspace)
    assert command("preview")(["--discard", "-q", "--no-pager", "echo 1 > new"]) == 0
    assert place.kinds()[-1] == "discarded"


def test_what_is_applied_later_is_audited_as_what_a_run_applies(place: Place) -> None:
    place.sandbox().run("echo 1 > a")
    place.sandbox().preview("echo 1 > b").apply()
    rows = [row for row in place.rows() if row.kind == "applied"]
    ran, later = (json.loads(row.details) for row in rows)
    assert (ran["paths"], later["paths"]) == (["a"], ["b"])
    assert ran.keys() == later.keys()


def test_a_sandbox_applies_discards_and_undoes_by_name(place: Place) -> None:
    sandbox = place.sandbox()
    one, two = (sandbox.preview(f"echo 1 > {name}") for name in ("one", "two"))
    sandbox.apply(one.id)
    sandbox.discard(two.id)
    assert [path.name for path in place.workspace.iterdir()] == ["one"]
    assert list(sandbox.undo().paths) == ["one"]
    assert list(place.workspace.iterdir()) == []


def test_the_start_of_a_run_is_on_disk_before_the_command_starts(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The steps in the order in which they happen: begin, then execute with what begin gave."""
    from redoma.pipeline.steps import RunStepRunner

    order: list[str] = []
    begin, execute, audit = RunStepRunner.begin, RunStepRunner.execute, RunStepRunner.audit

    class Start:
        def __init__(self, start: object) -> None:
            self._start = start

        def wait(self) -> None:
            self._start.wait()  # type: ignore[attr-defined]
            order.append("on disk" if not marker.exists() else "too late")

    def begin_seen(runner: RunStepRunner, step: BeginStep) -> object:
        order.extend(event.kind.value for event in step.events)
        return Start(begin(runner, step))

    def execute_seen(runner: RunStepRunner, step: ExecuteStep) -> object:
        order.append("execute")
        return execute(runner, step)

    def audit_seen(runner: RunStepRunner, step: AuditStep) -> None:
        order.extend(event.kind.value for event in step.events)
        audit(runner, step)

    marker = place.workspace / "began"
    monkeypatch.setattr(RunStepRunner, "begin", begin_seen)
    monkeypatch.setattr(RunStepRunner, "execute", execute_seen)
    monkeypatch.setattr(RunStepRunner, "audit", audit_seen)
    Sandbox(str(place.workspace), audit=str(place.record), access=Access(direct=True)).run(
        "touch began"
    )
    assert order == ["judged", "run-starting", "execute", "on disk", "run-ended"]
