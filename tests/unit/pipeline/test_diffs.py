"""Differences of held changes, and choosing among them, on a real layer."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from redoma.jail.overlay.changes import read_changes
from redoma.jail.overlay.store import make_overlay, remove_overlay
from redoma.model.change import Changes
from redoma.model.errors import ApplyConflict, PreviewGone
from redoma.pipeline.preview import chosen_content, diff_of, unified

LINES = [b"%d\n" % n for n in range(40)]


@pytest.fixture
def held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Changes:
    """A file of forty lines, its first and last changed in a layer."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    workspace = tmp_path / "project"
    workspace.mkdir()
    (workspace / "f").write_bytes(b"".join(LINES))
    layer = make_overlay(str(workspace))
    Path(layer.upper, "f").write_bytes(b"".join([b"first\n", *LINES[1:39], b"last\n"]))
    return read_changes(layer)


def test_one_of_two_hunks_gives_the_file_with_one_change(held: Changes) -> None:
    found = diff_of(held, held.items[0])
    first, last = found.hunks
    assert chosen_content(held, found, [last]) == b"".join([*LINES[:39], b"last\n"])
    assert chosen_content(held, found, [first]) == b"".join([b"first\n", *LINES[1:]])
    assert chosen_content(held, found, []) == b"".join(LINES)


def test_a_file_that_changed_between_question_and_answer_is_a_conflict(held: Changes) -> None:
    found = diff_of(held, held.items[0])
    path = Path(held.workspace, "f")
    before = path.stat()
    path.write_bytes(b"".join([b"X\n", *LINES[1:]]))
    with pytest.raises(ApplyConflict) as caught:
        chosen_content(held, found, found.hunks[:1])
    assert caught.value.paths == ("f",)
    # Attack: the same size and time as before.
    path.write_bytes(b"".join([b"9\n", *LINES[1:]]))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(ApplyConflict):
        chosen_content(held, found, found.hunks[:1])


def test_the_whole_as_text(held: Changes) -> None:
    assert unified(held).count("\n@@ ") == 2


def test_what_is_not_held_any_more_says_so(held: Changes) -> None:
    from redoma.jail.overlay.store import find_overlay

    layer = find_overlay(held.id)
    assert layer is not None
    remove_overlay(layer)
    with pytest.raises(PreviewGone):
        unified(held)
