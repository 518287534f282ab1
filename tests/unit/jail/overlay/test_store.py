"""An overlay lies where applying it is a rename, or says why not; and leaves nothing behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from redoma.jail.overlay.placement import place_for
from redoma.jail.overlay.store import (
    Overlay,
    find_overlay,
    make_overlay,
    overlays,
    remove_overlay,
)
from redoma.jail.protect.untrusted_paths import remove_tree
from redoma.model.errors import NoEngine, UsageError
from redoma.model.request import Mode
from redoma.model.result import Outcome
from redoma.pipeline.this_host import this_host
from tests.unit.jail.overlay.held import changes, git, run, sandbox, snapshot, told
from tests.unit.jail.overlay.places import own_places

_ = own_places

DONE = {
    "a": "modified",
    "a2": "created link of a",
    "c": "renamed from b",
    "d": "modified tree",
    "d/new": "created",
    "d/old": "deleted",
    "e": "attributes",
}
WITHOUT_TREE = {**DONE}
del WITHOUT_TREE["d"]


@pytest.fixture
def work(own_places: Path) -> Path:
    place = own_places / "work"
    place.mkdir()
    (place / "a").write_text("a\n")
    return place


@pytest.fixture
def in_memory() -> Iterator[Path]:
    place = Path(tempfile.mkdtemp(prefix="rdm-", dir="/dev/shm"))
    yield place
    remove_tree(str(place))


@pytest.mark.both_users
def test_a_layer_is_found_by_its_name_and_removed_without_a_trace(work: Path) -> None:
    overlay = make_overlay(str(work))
    assert (find_overlay(overlay.id), overlays()) == (overlay, [overlay])
    assert overlay == Overlay(
        id=overlay.id,
        workspace=str(work),
        directory=f"{work.parent}/state/redoma/layers/{overlay.id}",
        began_ns=overlay.began_ns,
        maker=overlay.maker,
    )
    assert os.stat(overlay.upper).st_mode == os.stat(work).st_mode
    remove_overlay(overlay)
    assert (find_overlay(overlay.id), overlays()) == (None, [])
    assert os.listdir(work.parent / "state/redoma/layers") == []


@pytest.mark.both_users
@pytest.mark.parametrize("name", ["", "../x", "a/b", "nothere", "..", "a\0b"])
def test_a_name_that_is_none_finds_nothing(work: Path, name: str) -> None:
    assert find_overlay(name) is None


@pytest.mark.both_users
@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"version": 2}', '{"version": 1, "id": 3}', "\udc80"]
)
def test_a_record_that_cannot_be_read_is_no_layer(work: Path, text: str) -> None:
    overlay = make_overlay(str(work))
    record = Path(overlay.directory + ".json")
    record.write_bytes(text.encode(errors="surrogateescape"))
    assert find_overlay(overlay.id) is None


@pytest.mark.both_users
def test_a_workspace_in_memory_has_its_layer_beside_it(own_places: Path, in_memory: Path) -> None:
    (in_memory / "a").write_text("a\n")
    found = changes(in_memory, "echo more >> a; rm -f nothing; mkdir b")
    overlay = find_overlay(found.id)
    assert overlay is not None
    assert (told(found), overlay.renames, overlay.in_memory) == (
        {"a": "modified", "b": "created"},
        True,
        True,
    )
    assert overlay.directory.startswith(f"/dev/shm/.redoma-{os.geteuid()}/layers/")
    remove_overlay(overlay)


@pytest.mark.both_users
@pytest.mark.parametrize("engine", ["bubblewrap", "forkserver"])
def test_what_is_written_into_memory_counts_as_written(
    own_places: Path, in_memory: Path, engine: str
) -> None:
    box = sandbox(in_memory, engine=engine, limits={"total_written": 4 << 20})
    result = box.run("head -c 20M /dev/zero > big; sleep 5")
    assert result.outcome is Outcome.DISK_FULL
    assert result.changes is not None
    overlay = find_overlay(result.changes.id)
    assert overlay is not None
    remove_overlay(overlay)


@pytest.mark.both_users
def test_what_is_written_into_a_layer_counts_as_written(work: Path) -> None:
    box = sandbox(work, limits={"total_written": 4 << 20})
    result = box.run("head -c 40M /dev/zero > big; sync big; sleep 5")
    assert (result.outcome, os.listdir(work)) == (Outcome.DISK_FULL, ["a"])


@pytest.mark.both_users
def test_a_state_directory_in_the_workspace_is_not_where_its_layer_lies(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(work / "state"))
    base = place_for(str(work))
    assert not base.directory.startswith(str(work))


@pytest.mark.both_users
def test_without_mounts_nothing_is_run(work: Path) -> None:
    box = sandbox(work, engine="direct")
    with pytest.raises(NoEngine, match="changes-held"):
        box.run("echo x > a")
    assert (work / "a").read_text() == "a\n"


@pytest.mark.both_users
def test_a_run_that_cannot_start_leaves_no_layer(work: Path) -> None:
    with pytest.raises(UsageError):
        sandbox(work, env={"A": "b\0c"}).run("true")
    assert overlays() == []


@pytest.mark.both_users
def test_what_may_be_written_outside_is_written_and_that_is_said(work: Path) -> None:
    outside = work.parent / "outside"
    outside.mkdir()
    found = changes(work, f"echo x > {outside}/x; echo y > y", allow_write=[str(outside)])
    assert (told(found), (outside / "x").read_text()) == ({"y": "created"}, "x\n")
    assert found.warnings == (f"{outside} is written directly: not held",)


@pytest.mark.both_users
def test_the_repository_of_a_worktree_is_written_and_that_is_said(work: Path) -> None:
    git(work, "init", "-q")
    git(work, "add", "a")
    git(work, "commit", "-qm", "first")
    tree = work.parent / "tree"
    git(work, "worktree", "add", "-q", str(tree))
    found = changes(tree, "echo x >> a; git -c user.name=a -c user.email=a@b commit -qam second")
    assert told(found) == {"a": "modified"}
    assert f"{work}/.git is written directly: not held" in found.warnings


@pytest.mark.both_users
def test_of_a_preview_nothing_lasts_not_even_in_the_repository_of_a_worktree(work: Path) -> None:
    git(work, "init", "-q")
    git(work, "add", "a")
    git(work, "commit", "-qm", "first")
    tree = work.parent / "tree"
    git(work, "worktree", "add", "-q", str(tree))
    before = (snapshot(work), snapshot(tree))
    script = "echo x >> a; git -c user.name=a -c user.email=a@b commit -qam second"
    result = sandbox(tree).run(f"{script}; git log --format=%s", mode=Mode.PREVIEW)
    assert (result.stdout, result.stderr) == (b"second\nfirst\n", b"")
    assert (snapshot(work), snapshot(tree)) == before
    assert result.changes is not None
    assert told(result.changes) == {"a": "modified"}
    assert result.changes.warnings == (f"{work}/.git is written in memory only: not shown",)


@pytest.mark.both_users
def test_runs_beside_each_other_have_layers_of_their_own(work: Path) -> None:
    box = sandbox(work)
    one, two = box.run("echo 1 > one"), box.run("ls; echo 2 > two")
    assert one.changes is not None
    assert two.changes is not None
    assert (told(one.changes), told(two.changes), two.stdout) == (
        {"one": "created"},
        {"two": "created"},
        b"a\n",
    )


@pytest.mark.both_users
def test_other_names_of_the_workspace_and_its_letters_are_no_trouble(own_places: Path) -> None:
    work = own_places / "a:b,c\\d \"e' f\n"
    work.mkdir()
    (work / "a").write_text("a\n")
    assert told(changes(work, "echo more >> a")) == {"a": "modified"}


@pytest.mark.root
def test_what_root_runs_belongs_to_the_owner_of_the_workspace(work: Path) -> None:
    os.chown(work, 1234, 2345)
    os.chown(work / "a", 1234, 2345)
    before = snapshot(work)
    found = changes(work, "id -u; echo x >> a; mkdir d; echo y > d/y; chmod 750 .")
    assert told(found) == {".": "attributes", "a": "modified", "d": "created", "d/y": "created"}
    assert {(i.after.uid, i.after.gid) for i in found.items if i.after} == {(1234, 2345)}
    assert snapshot(work) == before


def elsewhere(scenario: str, base: Path, user: int) -> dict[str, object]:
    """What came of a run among mounts of its own."""
    script = str(Path(__file__).with_name("elsewhere.py"))
    ran = subprocess.run(
        ["unshare", "-m", sys.executable, script, scenario, str(base), str(user)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    found: dict[str, object] = json.loads(ran.stdout)
    return found


ELSEWHERE = "the overlay is on another file system than the workspace: applying it copies"
IN_MEMORY = "the overlay is in memory, since no disk here takes one: it is lost at a restart"
UNMAPPED = "the whole workspace was copied, since overlay cannot show its files as another user's"
NOWHERE = "the whole workspace was copied, since no file system here takes an overlay"
GROUP = "the whole workspace was copied, since it belongs to another user or group than yours"
NESTED = "the whole workspace was copied, since BASE/work/m is mounted inside the workspace"
ASIDE = "BASE/work/m is another file system: it cannot be written in this run"


@pytest.mark.root
@pytest.mark.parametrize(
    ("user", "scenario", "expected"),
    [
        (0, "tmpfs", ("overlay", "renames", "memory")),
        (0, "tmpfs-itself", ("overlay", "copies", "disk", ELSEWHERE)),
        (0, "overlay", ("copy", "copies", "disk", UNMAPPED)),
        (0, "container", ("copy", "copies", "memory", UNMAPPED)),
        (0, "nested", ("copy", "renames", "disk", NESTED, ASIDE)),
        (12345, "tmpfs", ("overlay", "renames", "memory")),
        (12345, "tmpfs-itself", ("overlay", "copies", "disk", ELSEWHERE)),
        (12345, "overlay", ("overlay", "copies", "disk", ELSEWHERE)),
        (12345, "container", ("overlay", "copies", "memory", IN_MEMORY)),
        (12345, "container-without-memory", ("copy", "copies", "disk", NOWHERE)),
        (12345, "nested", ("copy", "renames", "disk", NESTED, ASIDE)),
        (12345, "group", ("copy", "renames", "disk", GROUP)),
    ],
)
def test_wherever_the_workspace_lies_its_changes_are_held(
    own_places: Path, user: int, scenario: str, expected: tuple[str, ...]
) -> None:
    found = elsewhere(scenario, own_places, user)
    kind, applied, place, *warnings = expected
    assert found == {
        "told": DONE if kind == "overlay" else WITHOUT_TREE,
        "same": True,
        "kind": kind,
        "renames": applied == "renames",
        "in_memory": place == "memory",
        "warnings": warnings,
    }


@pytest.mark.root
@pytest.mark.parametrize("user", [0, 12345])
def test_a_disk_that_is_full_is_said_and_nothing_is_run(own_places: Path, user: int) -> None:
    said = str(elsewhere("full", own_places, user)["refused"])
    assert said.startswith("what is written in BASE/fs/work cannot be held: [Errno 28]")


@pytest.mark.root
@pytest.mark.parametrize("user", [0, 12345])
def test_a_disk_that_fills_up_ends_a_write_and_what_was_done_is_told(
    own_places: Path, user: int
) -> None:
    found = elsewhere("small", own_places, user)
    assert (found["told"], found["same"]) == ({**DONE, "big": "created"}, True)


@pytest.mark.root
def test_where_changes_cannot_be_held_nothing_is_run(own_places: Path) -> None:
    assert elsewhere("container-without-memory", own_places, 0) == {
        "refused": "the changes of a command in BASE/fs/work cannot be held,"
        " since overlay cannot show its files as another user's"
    }


@pytest.mark.both_users
def test_a_command_sees_the_workspace_as_it_is(work: Path) -> None:
    (work / "dir").mkdir(mode=0o710)
    os.setxattr(work, "user.own", b"1")
    work.chmod(0o751)
    result = run(work, "stat -c '%a %n' . dir a; ls")
    assert result.stdout == b"751 .\n710 dir\n644 a\na\ndir\n"
    assert result.changes is not None
    assert result.changes.items == ()


@pytest.mark.both_users
def test_a_layer_that_stayed_empty_serves_the_next_run_under_another_name(work: Path) -> None:
    box = sandbox(work)
    first = box.run("cat a").changes
    time.sleep(0.6)
    (work / "b").write_text("b\n")
    second = box.run("ls; echo x > c")
    assert first is not None
    assert second.changes is not None
    assert (second.stdout, told(second.changes)) == (b"a\nb\n", {"c": "created"})
    assert first.id != second.changes.id
    assert (find_overlay(first.id), len(overlays())) == (None, 1)
    assert second.changes.began_ns > first.began_ns
    this_host().close()
    names = os.listdir(work.parent / "state/redoma/layers")
    assert sorted(names) == [second.changes.id, f"{second.changes.id}.json"]


@pytest.mark.both_users
def test_mounts_are_given_up_after_the_result_and_not_before(work: Path) -> None:
    sandbox(work).run("true")  # what is kept ready for the next run is open from here on
    time.sleep(1)
    before = len(os.listdir("/proc/self/fd"))
    sandbox(work).run("true")
    assert len(os.listdir("/proc/self/fd")) > before
    deadline = time.monotonic() + 20
    while len(os.listdir("/proc/self/fd")) > before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(os.listdir("/proc/self/fd")) == before
