"""Work after a run is bounded: it grows with the changes, not with memory, and a policy ends it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from redoma import Limits
from redoma.jail.overlay import spool
from redoma.jail.overlay.selection import Roots
from redoma.jail.overlay.spool import CHANGES, Spool, Spooler, found_in, stored
from redoma.model.change import Change, Did, FileKind, FileState
from redoma.pipeline import stored_changes
from redoma.pipeline.sandbox import Sandbox
from tests.unit.jail.overlay.applied import hold, populate, tree
from tests.unit.jail.overlay.held import needs_python, python
from tests.unit.jail.overlay.places import own_places

pytestmark = pytest.mark.both_users
_ = own_places

NEST = """import os
for n in range({depth}):
    os.mkdir('d'); os.chdir('d')
open('f', 'w').close()"""


@pytest.fixture
def work(own_places: Path) -> Path:
    return populate(own_places / "work")


def changes_of(count: int) -> list[Change]:
    state = FileState(kind=FileKind.FILE, mode=0o644, uid=1, gid=2, xattrs=(("user.a", b"\xff"),))
    paths = [f"d{n // 10:04}/e/f\udcff{n % 10}" for n in range(count)]
    return [Change(path=path, did=Did.CREATED, after=state) for path in paths]


def test_a_long_row_is_read_from_disk_as_it_was_written(tmp_path: Path) -> None:
    made = changes_of(3000)
    spooler = Spooler(CHANGES, str(tmp_path))
    spooler.extend(made)
    row = spooler.sealed()
    assert isinstance(row, Spool)
    assert (len(row), row[0], row[-1], row[1234]) == (3000, made[0], made[-1], made[1234])
    assert (list(row), list(reversed(row))) == (made, made[::-1])
    assert (row[250:260], row == tuple(made), hash(row)) == (
        tuple(made[250:260]),
        True,
        hash(tuple(made)),
    )
    assert [found_in(row)(change.path) for change in made[::97]] == made[::97]
    assert found_in(row)("d0001/e") is None
    with (tmp_path / "rows").open("wb") as file:
        where = row.store(file.fileno())
    assert list(stored(CHANGES, str(tmp_path / "rows"), where)) == made
    (tmp_path / "rows").write_bytes(b"")
    with pytest.raises(ValueError, match="cut off"):
        stored(CHANGES, str(tmp_path / "rows"), where)


def test_a_path_lies_in_the_outermost_of_some_directories() -> None:
    roots = Roots(["a/b", "a", "c.d", "e/f"])
    inside = {"a": "a", "a/x/y": "a", "a.b": "", "c.d/x": "c.d", "c": "", "e": "", "e/f/g": "e/f"}
    assert {path: roots.over(path) for path in inside} == inside
    assert [roots.around(path) for path in ("a", "a/b", "e/f")] == ["", "a", ""]
    assert [roots.below(path) for path in ("e", "e/f", "e/f/g", "c")] == [True, True, False, False]


def test_what_is_spooled_applies_and_is_taken_back(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool, "FEW", 2)
    monkeypatch.setattr(spool, "_BLOCK", 3)
    before = tree(work)
    script = "rm -r src/deep; mv notes n2; for i in $(seq 20); do mkdir a$i; echo > a$i/f; done"
    found = hold(work, f"{script}; echo 1 >> src/main.py; ln src/main.py again; chmod 700 src")
    assert isinstance(found.items, Spool)
    stored_changes.apply(found.id)
    assert (work / "a7/f").exists()
    assert (work / "again").stat().st_nlink == 2
    stored_changes.undo(found.id)
    assert tree(work) == before
    stored_changes.apply(found.id, ["a3"])
    stored_changes.apply(found.id)
    assert (work / "n2").exists()


@needs_python
def test_directories_deeper_than_any_path_are_previewed_applied_and_taken_back(work: Path) -> None:
    before = tree(work)
    found = hold(work, python(NEST.format(depth=3000)))
    assert len(found.items) == 3001
    stored_changes.apply(found.id)
    assert (work / "d/d/d").is_dir()
    stored_changes.undo(found.id)
    assert tree(work) == before


@needs_python
@pytest.mark.parametrize(
    ("limit", "most", "script", "said"),
    [
        ("changes", 20, "for i in $(seq 30); do echo > f$i; done", "changed more than 20 paths"),
        ("changes", 3, "rm -r src", "changed more than 3 paths"),
        ("depth", 20, python(NEST.format(depth=30)), "worked more than 20 directories deep"),
    ],
)
def test_what_passes_a_bound_is_held_and_applied_when_a_person_asks(
    work: Path, limit: str, most: int, script: str, said: str
) -> None:
    before = tree(work)
    sandbox = Sandbox(str(work), limits=Limits(**{limit: most}), policy="isolation-only")
    result = sandbox.run(script)
    assert (result.applied, result.ok) == (False, False)
    assert result.exit is not None
    assert result.exit.limits_reached == (limit,)
    assert result.changes is not None
    assert any(said in warning for warning in result.changes.warnings)
    assert tree(work) == before
    stored_changes.apply(result.changes.id)
    assert tree(work) != before
    stored_changes.undo(result.changes.id)
    assert tree(work) == before


def test_what_is_within_the_bounds_is_applied_by_itself(work: Path) -> None:
    result = Sandbox(str(work), limits=Limits(changes=3, depth=3), policy="isolation-only").run(
        "mkdir -p a/b; echo > a/b/c"
    )
    assert result.applied
    assert os.path.exists(work / "a/b/c")


def test_a_preview_past_a_bound_does_not_say_that_nothing_changed(work: Path) -> None:
    from redoma.cli.preview import preview_report

    with Sandbox(str(work), limits=Limits(changes=2), policy="isolation-only").preview(
        "rm -r src"
    ) as found:
        assert found.id
        assert "".join(preview_report(found.found, stat=True)) == ""
