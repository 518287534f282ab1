"""What stands in the way of an apply or an undo is named, and then nothing at all is done."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from redoma.model.change import Standing
from redoma.model.errors import (
    ApplyConflict,
    ChangeError,
    PreviewGone,
    UndoImpossible,
    UsageError,
)
from redoma.pipeline import stored_changes
from tests.unit.jail.overlay.applied import hold, populate, tree
from tests.unit.jail.overlay.places import own_places

pytestmark = pytest.mark.both_users
_ = own_places


@pytest.fixture
def work(own_places: Path) -> Path:
    return populate(own_places / "work")


def replace_file(path: Path, text: str) -> None:
    """As an editor saves: another file under the same name."""
    path.with_name("edited").write_text(text)
    path.with_name("edited").rename(path)


def rewrite_behind_its_times(path: Path) -> None:
    """Another content of the same length, with the old time put back."""
    status = path.stat()
    path.write_text("S" + path.read_text()[1:])
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


CONFLICTS = {
    "an edit": ("echo 1 >> notes", lambda w: replace_file(w / "notes", "mine\n"), ["notes"]),
    "an edit that hides": ("echo 1 >> notes", lambda w: rewrite_behind_its_times(w / "notes"), ["notes"]),
    "another mode": ("echo 1 >> notes", lambda w: (w / "notes").chmod(0o600), ["notes"]),
    "a file of the same name": ("echo 1 > new", lambda w: (w / "new").write_text("mine"), ["new"]),
    "a file that is gone": ("echo 1 >> notes", lambda w: (w / "notes").unlink(), ["notes"]),
    "a new file in what goes": ("rm -r src", lambda w: (w / "src/deep/mine").write_text("mine"), ["src/deep/mine"]),
    "an edit in what goes": ("rm -r src", lambda w: replace_file(w / "src/main.py", "mine"), ["src/main.py"]),
    "an edit in what moves": ("mv src lib", lambda w: (w / "src/deep/one").write_text("mine"), ["src/deep/one"]),
    "a new file in what becomes a file": (
        "rm -r src; echo 1 > src", lambda w: (w / "src/mine").write_text("mine"), ["src/mine"],
    ),
    "a parent that is gone": (
        "echo 1 > src/deep/new", lambda w: (w / "src/deep").rename(w / "moved"), ["src/deep/new"],
    ),
    "other rights of a directory": ("chmod 750 src", lambda w: (w / "src").chmod(0o711), ["src"]),
}  # fmt: skip


@pytest.mark.parametrize("case", CONFLICTS)
def test_a_path_that_changed_since_the_preview_began_is_a_conflict(work: Path, case: str) -> None:
    script, meddle, paths = CONFLICTS[case]
    found = hold(work, script + "; echo other > unrelated")
    meddle(work)
    before = tree(work, numbers=True)
    with pytest.raises(ApplyConflict) as error:
        stored_changes.apply(found.id)
    assert list(error.value.paths) == paths
    assert tree(work, numbers=True) == before
    stored_changes.apply(found.id, ["unrelated"])
    assert (work / "unrelated").read_text() == "other\n"


def test_a_file_changed_while_the_command_ran_is_a_conflict(work: Path) -> None:
    from threading import Thread

    def edit() -> None:
        for _ in range(400):
            time.sleep(0.01)
            (work / "notes").write_text(f"edited at {time.time()}\n")
            if done:
                return

    done: list[int] = []
    editor = Thread(target=edit)
    editor.start()
    found = hold(work, "sleep 0.3; echo 1 > notes; sleep 0.1")
    done.append(1)
    editor.join()
    with pytest.raises(ApplyConflict) as error:
        stored_changes.apply(found.id)
    assert error.value.paths == ("notes",)


@pytest.mark.parametrize("swapped", ["src", "src/deep"])
def test_a_parent_that_became_a_link_is_not_followed(
    own_places: Path, work: Path, swapped: str
) -> None:
    outside = own_places / "outside"
    (outside / "deep").mkdir(parents=True)
    (outside / "deep/one").write_text("not yours\n")
    (outside / "one").write_text("not yours\n")
    found = hold(work, "echo 1 >> src/deep/one; echo 2 > src/deep/new; rm src/deep/two")
    (work / swapped).rename(own_places / "aside")
    (work / swapped).symlink_to(outside)
    before = tree(outside, numbers=True)
    with pytest.raises(ApplyConflict):
        stored_changes.apply(found.id)
    assert tree(outside, numbers=True) == before


def test_a_link_in_the_layer_is_applied_as_a_link(own_places: Path, work: Path) -> None:
    secret = own_places / "secret"
    secret.write_text("secret\n")
    found = hold(work, f"rm -r src; ln -s {own_places} src; rm notes; ln -s {secret} notes")
    stored_changes.apply(found.id)
    assert (os.readlink(work / "src"), os.readlink(work / "notes")) == (
        str(own_places),
        str(secret),
    )
    stored_changes.undo(found.id)
    assert secret.read_text() == "secret\n"


def test_a_file_with_a_name_outside_is_replaced_and_never_written(
    own_places: Path, work: Path
) -> None:
    outside = own_places / "outside"
    os.link(work / "notes", outside)
    found = hold(work, "echo changed > notes; chmod 777 src/main.py")
    applied = stored_changes.apply(found.id)
    assert ((work / "notes").read_text(), outside.read_text()) == ("changed\n", "some notes\n")
    assert applied.notes == ("other names of notes keep the old content (hard links)",)


def test_a_pipe_in_the_way_is_a_conflict_and_nobody_waits_for_it(work: Path) -> None:
    found = hold(work, "echo 1 >> notes; mkfifo made")
    (work / "notes").unlink()
    os.mkfifo(work / "notes")
    with pytest.raises(ApplyConflict):
        stored_changes.apply(found.id)
    stored_changes.apply(found.id, ["made"])
    assert (work / "made").is_fifo()


def test_a_workspace_that_is_gone_or_another_is_an_error(own_places: Path, work: Path) -> None:
    found = hold(work, "echo 1 > new")
    work.rename(own_places / "aside")
    with pytest.raises(ChangeError, match="is not there any more"):
        stored_changes.apply(found.id)
    populate(work)
    with pytest.raises(ChangeError, match="another directory stands in its place"):
        stored_changes.apply(found.id)
    assert not (work / "new").exists()


def test_what_would_be_undone_and_has_changed_is_refused_by_name(work: Path) -> None:
    found = hold(work, "echo 1 >> notes; mkdir new; echo 2 > new/two; rm src/main.py")
    stored_changes.apply(found.id)
    (work / "notes").write_text("mine\n")
    (work / "new/mine").write_text("mine\n")
    (work / "src/main.py").write_text("mine\n")
    before = tree(work, numbers=True)
    with pytest.raises(UndoImpossible) as error:
        stored_changes.undo(found.id)
    assert set(error.value.paths) == {"notes", "new/mine", "src/main.py"}
    assert tree(work, numbers=True) == before


def test_transactions_are_undone_out_of_order_where_they_do_not_overlap(work: Path) -> None:
    before = tree(work, numbers=True)
    one = hold(work, "echo 1 >> notes; echo 1 > src/new")
    stored_changes.apply(one.id)
    two = hold(work, "echo 2 >> src/main.py; rm src/deep/one")
    stored_changes.apply(two.id)
    stored_changes.undo(one.id)
    assert ((work / "notes").read_text(), (work / "src/deep/one").exists()) == (
        "some notes\n",
        False,
    )
    stored_changes.undo(two.id)
    assert tree(work, times=False) == {
        p: (*v[:4], 0, 0, *v[6:]) if isinstance(v, tuple) else v for p, v in before.items()
    }


def test_the_later_of_two_that_overlap_is_undone_first(work: Path) -> None:
    before = tree(work, numbers=True)
    one = hold(work, "echo 1 >> notes")
    stored_changes.apply(one.id)
    two = hold(work, "echo 2 >> notes")
    stored_changes.apply(two.id)
    with pytest.raises(UndoImpossible) as error:
        stored_changes.undo(one.id)
    assert (error.value.paths, error.value.hint) == (("notes",), f"redoma undo {two.id} first")
    stored_changes.undo()
    stored_changes.undo()
    assert tree(work, numbers=True) == before


def test_a_preview_made_before_another_was_applied_sees_the_conflict(work: Path) -> None:
    one = hold(work, "echo 1 >> notes")
    two = hold(work, "echo 2 >> notes")
    stored_changes.apply(one.id)
    with pytest.raises(ApplyConflict):
        stored_changes.apply(two.id)
    stored_changes.undo(one.id)
    stored_changes.apply(two.id)
    assert (work / "notes").read_text() == "some notes\n2\n"


def test_what_is_over_says_how_it_ended(work: Path) -> None:
    found = hold(work, "echo 1 > new")
    stored_changes.apply(found.id)
    with pytest.raises(PreviewGone, match="is applied already"):
        stored_changes.apply(found.id)
    with pytest.raises(ChangeError, match="is applied"):
        stored_changes.discard(found.id)
    stored_changes.undo(found.id)
    stored_changes.discard(found.id)
    with pytest.raises(PreviewGone, match="is discarded"):
        stored_changes.apply(found.id)
    with pytest.raises(UndoImpossible, match="nothing that was applied"):
        stored_changes.undo()
    with pytest.raises(PreviewGone, match="there is no transaction"):
        stored_changes.apply("nosuchname")
    with pytest.raises(UsageError, match="no transaction's name"):
        stored_changes.apply("../../etc")
    assert [entry.standing for entry in stored_changes.history()] == [Standing.DISCARDED]
