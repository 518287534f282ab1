"""That something is about to change is on disk before anything moves: no record, no change."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from redoma import Sandbox
from redoma.audit.log import AuditLog
from redoma.model.change import Standing
from redoma.model.errors import ApplyConflict, RecordError, UndoImpossible
from redoma.model.event import Event, Kind
from redoma.pipeline import audit_log, stored_changes
from tests.pipeline.place import Place
from tests.unit.jail.overlay.applied import tree

pytestmark = pytest.mark.both_users


def broken(place: Place) -> None:
    """The audit log cannot be written from here on."""
    for record in audit_log._open_logs.values():
        record.close()
    audit_log._open_logs.clear()
    os.rename(place.record, f"{place.record}.aside")
    place.record.write_text("no directory\n")


def test_nothing_is_applied_where_that_cannot_be_written(place: Place) -> None:
    preview = place.sandbox().preview("echo 1 > new; rm -f old")
    before = tree(place.workspace, numbers=True)
    broken(place)
    with pytest.raises(RecordError):
        preview.apply()
    assert tree(place.workspace, numbers=True) == before
    assert stored_changes.history()[0].standing is Standing.HELD


def test_nothing_is_undone_or_discarded_where_that_cannot_be_written(place: Place) -> None:
    one, two = (place.sandbox().preview(f"echo 1 > {name}") for name in ("new", "other"))
    one.apply()
    after = tree(place.workspace, numbers=True)
    broken(place)
    sandbox = place.sandbox()
    with pytest.raises(RecordError):
        sandbox.undo(one.id)
    with pytest.raises(RecordError):
        sandbox.undo()
    with pytest.raises(RecordError):
        sandbox.discard(two.id)
    assert tree(place.workspace, numbers=True) == after
    standings = {entry.id: entry.standing for entry in stored_changes.history()}
    assert standings == {one.id: Standing.APPLIED, two.id: Standing.HELD}


class Failing(AuditLog):
    """A record that cannot write some kinds of rows."""

    fails: frozenset[Kind] = frozenset()

    def _write(self, events: tuple[Event, ...], **how: object) -> int:
        if self.fails & {event.kind for event in events}:
            raise RecordError("the disk is full")
        return super()._write(events, **how)  # type: ignore[arg-type]


def failing(place: Place, *kinds: Kind) -> tuple[Sandbox, Failing]:
    record = Failing(str(place.record))
    record.fails = frozenset(kinds)
    return Sandbox(str(place.workspace), audit=record), record


def test_a_run_whose_apply_cannot_be_written_down_first_changes_nothing(place: Place) -> None:
    sandbox, _ = failing(place, Kind.APPLY_STARTING)
    with pytest.raises(RecordError):
        sandbox.run("echo 1 > new")
    assert os.listdir(place.workspace) == []
    assert [entry.standing for entry in stored_changes.history()] == [Standing.HELD]


def test_what_was_done_is_told_as_done_where_only_its_end_cannot_be_written(place: Place) -> None:
    sandbox, _ = failing(place, Kind.APPLIED, Kind.UNDONE)
    result = sandbox.run("echo 1 > new")
    assert result.applied
    assert "could not be written down" in result.notes[-1]
    assert result.changes is not None
    undone = sandbox.undo(result.changes.id)
    assert "could not be written down" in undone.notes[-1]
    assert os.listdir(place.workspace) == []
    assert place.kinds()[-2:] == ["apply-starting", "undo-starting"]


def test_the_record_says_how_each_apply_and_undo_ended(place: Place) -> None:
    file = Path(place.workspace, "notes")
    file.write_text("mine\n")
    sandbox = place.sandbox()
    preview = sandbox.preview("echo 1 > notes")
    file.write_text("changed\n")
    with pytest.raises(ApplyConflict):
        preview.apply()
    preview.discard()
    other = sandbox.preview("echo 1 > notes")
    other.apply()
    file.write_text("changed again\n")
    with pytest.raises(UndoImpossible):
        sandbox.undo(other.id)
    rows = [(row.kind, json.loads(row.details)) for row in place.rows()]
    told = [
        (kind, details.get("error"), details["changes"] == other.id)
        for kind, details in rows
        if "changes" in details
    ]
    assert told == [
        ("previewed", None, False),
        ("apply-starting", None, False),
        ("apply-failed", "apply-conflict", False),
        ("discarded", None, False),
        ("previewed", None, True),
        ("apply-starting", None, True),
        ("applied", None, True),
        ("undo-starting", None, True),
        ("undo-failed", "undo-impossible", True),
    ]


def test_a_preview_that_is_left_without_being_applied_is_written_down_as_discarded(
    place: Place,
) -> None:
    with place.sandbox().preview("echo 1 > new"):
        pass
    assert place.kinds()[-1] == "discarded"
