"""An overlay tells exactly what a command did, and the workspace does not know of it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from redoma.jail.overlay.store import find_overlay, overlays
from redoma.model.change import Change, Did, FileKind
from tests.unit.jail.overlay.applied import populate
from tests.unit.jail.overlay.held import (
    changes,
    git,
    needs_python,
    python,
    run,
    sandbox,
    snapshot,
    told,
)
from tests.unit.jail.overlay.places import own_places

pytestmark = pytest.mark.both_users
_ = own_places


@pytest.fixture
def work(own_places: Path) -> Iterator[Path]:
    place = populate(own_places / "work")
    os.link(place / "notes", place / "notes-too")
    yield place


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("true", {}),
        ("cat notes src/main.py; ls -R", {}),
        ("echo more > new", {"new": "created"}),
        ("echo more >> src/main.py", {"src/main.py": "modified"}),
        ("rm src/main.py", {"src/main.py": "deleted"}),
        ("chmod 600 src/main.py", {"src/main.py": "attributes"}),
        ("touch src/main.py", {"src/main.py": "attributes"}),
        ("chmod 700 src", {"src": "attributes"}),
        ("chmod 750 .", {".": "attributes"}),
        ("echo x > new; chmod 000 .", {".": "attributes", "new": "created"}),
        ("touch -d @1000 src", {"src": "attributes"}),
        (": >> src/main.py", {}),
        ("cp src/main.py x && cat x > src/main.py", {"x": "created", "src/main.py": "attributes"}),
        ("echo 1 > src/t; rm src/t", {}),
        ("ln -sf main.py src/short", {"src/short": "created"}),
        ("ln -sfn src link", {"link": "modified"}),
        ("rm link; echo file > link", {"link": "modified"}),
        ("mkfifo pipe", {"pipe": "created"}),
        ("mkdir -p a/b", {"a": "created", "a/b": "created"}),
        ("mv src/main.py src/app.py", {"src/app.py": "renamed from src/main.py"}),
        ("mv src/deep moved", {"moved": "renamed from src/deep with 2"}),
        ("mkdir x; mv src/deep x/", {"x": "created", "x/deep": "renamed from src/deep with 2"}),
        ("ln src/main.py src/other", {"src/other": "created link of src/main.py"}),
        ("echo x > p; ln p q; ln p r", {"p": "created", "q": "created link of p",
                                        "r": "created link of p"}),
        ("rm -r src/deep", {"src/deep": "deleted", "src/deep/one": "deleted",
                            "src/deep/two": "deleted"}),
        ("rm -r src/deep; echo x > src/deep",
         {"src/deep": "modified", "src/deep/one": "deleted", "src/deep/two": "deleted"}),
        ("rm src/main.py; mkdir src/main.py; echo > src/main.py/a",
         {"src/main.py": "modified", "src/main.py/a": "created"}),
        ("cp -a src/deep keep && rm -r src/deep && mv keep src/deep", {}),
        ("rm -r src/deep; mkdir src/deep; echo new > src/deep/one",
         {"src/deep": "modified tree", "src/deep/one": "modified", "src/deep/two": "deleted"}),
        ("mv src/deep/one src/deep/uno; echo x > src/deep/one",
         {"src/deep/one": "modified", "src/deep/uno": "created"}),
        ("truncate -s 3 src/main.py", {"src/main.py": "modified"}),
        ("sed -i s/hello/bye/ src/main.py", {"src/main.py": "modified"}),
    ],
)  # fmt: skip
def test_a_script_is_told_by_what_it_did(work: Path, script: str, expected: dict[str, str]) -> None:
    before = snapshot(work)
    assert told(changes(work, script)) == expected
    assert snapshot(work) == before


def test_a_change_has_both_sides(work: Path) -> None:
    was = (work / "src/main.py").stat()
    found = changes(work, "echo more >> src/main.py; chmod 640 src/main.py")
    (item,) = found.items
    assert item.before is not None
    assert item.after is not None
    assert item == Change(
        path="src/main.py", did=Did.MODIFIED, before=item.before, after=item.after
    )
    before, after = item.before, item.after
    assert (before.kind, before.mode, before.size) == (FileKind.FILE, 0o644, 15)
    assert (before.inode, before.mtime_ns, before.ctime_ns) == (
        was.st_ino,
        was.st_mtime_ns,
        was.st_ctime_ns,
    )
    assert (after.kind, after.mode, after.size) == (FileKind.FILE, 0o640, 20)
    assert (after.uid, after.gid) == (was.st_uid, was.st_gid)
    assert found.began_ns <= after.ctime_ns
    overlay = find_overlay(found.id)
    assert overlay is not None
    assert Path(overlay.upper, "src/main.py").read_text() == "print('hello')\nmore\n"


def test_a_layer_that_holds_nothing_is_not_kept(work: Path) -> None:
    before = overlays()
    found = changes(work, "cat notes")
    assert (found.items, find_overlay(found.id), overlays()) == ((), None, before)


def test_one_name_of_several_is_written_and_that_is_said(work: Path) -> None:
    found = changes(work, "echo more >> notes")
    assert told(found) == {"notes": "modified"}
    assert found.warnings == (
        "only one name changes of a file that has several (hard links): notes",
    )


def test_a_commit_is_held_and_the_repository_is_as_it_was(work: Path) -> None:
    git(work, "init", "-q")
    git(work, "add", "src")
    git(work, "commit", "-qm", "first")
    before = snapshot(work)
    result = run(
        work,
        "echo x >> src/main.py; git -c user.name=a -c user.email=a@b commit -qam second;"
        " git log --format=%s",
    )
    assert result.stdout == b"second\nfirst\n"
    assert snapshot(work) == before
    assert result.changes is not None
    assert {"src/main.py", ".git/index"} <= set(result.changes.paths(Did.MODIFIED))


@needs_python
def test_names_that_are_no_text_come_back_as_they_were(work: Path) -> None:
    odd = [b"new\nline", b"\xff\xfe", b" leading", b"quo'te\"", "ünï".encode(), b"\x1b[31m"]
    code = f"for name in {odd!r}: open(name, 'w').close()"
    found = changes(work, python(code))
    assert sorted(os.fsencode(item.path) for item in found.items) == sorted(odd)


@needs_python
def test_a_file_written_and_given_its_old_time_is_no_secret(work: Path) -> None:
    code = (
        "import os\n"
        "was = os.stat('src/main.py')\n"
        "open('src/main.py', 'r+').write('PRINT')\n"
        "os.utime('src/main.py', ns=(was.st_atime_ns, was.st_mtime_ns))\n"
    )
    assert told(changes(work, python(code))) == {"src/main.py": "modified"}


@needs_python
def test_marks_of_the_kernel_cannot_be_forged(work: Path) -> None:
    code = (
        "import os\n"
        "os.chmod('src/deep', 0o700)\n"
        "os.setxattr('src/deep', 'user.overlay.opaque', b'y')\n"
        "os.setxattr('src/main.py', 'user.overlay.whiteout', b'y')\n"
        "os.setxattr('src/main.py', 'user.own', b'1')\n"
        "for flags in (4,):\n"
        "    try: os.mknod('notes-x', 0o020600, 0)\n"
        "    except PermissionError: print('refused')\n"
    )
    result = run(work, python(code))
    assert result.stdout == b"refused\n"
    assert result.changes is not None
    assert told(result.changes) == {"src/deep": "attributes", "src/main.py": "attributes"}
    deep, main = result.changes.items
    assert deep.after is not None
    assert main.after is not None
    assert deep.after.xattrs == (("user.overlay.opaque", b"y"),)
    assert main.after.xattrs == (("user.overlay.whiteout", b"y"), ("user.own", b"1"))


@needs_python
def test_directories_in_each_other_by_the_thousand_are_told(work: Path) -> None:
    code = (
        "import os\n"
        "for _ in range(2000):\n"
        "    os.mkdir('d'); os.mkdir('e'); os.chdir('d')\n"
        "open('bottom', 'w').close()\n"
    )
    found = changes(work, python(code))
    assert len(found.items) == 4001
    overlay = find_overlay(found.id)
    assert overlay is not None
    from redoma.jail.overlay.store import remove_overlay

    remove_overlay(overlay)
    assert (os.path.exists(overlay.directory), find_overlay(found.id)) == (False, None)


def test_a_huge_file_of_holes_costs_nothing(work: Path) -> None:
    with open(work / "sparse", "wb") as file:
        file.truncate(1 << 36)
        file.seek(1 << 35)
        file.write(b"middle")
    found = changes(work, "touch sparse", limits={"file_size": None, "total_written": 1 << 40})
    assert told(found) == {"sparse": "attributes"}


def test_what_someone_else_changes_in_the_run_is_seen_by_its_time(work: Path) -> None:
    def meddle(_: int, data: bytes) -> None:
        if b"ready" in data:
            (work / "notes").write_text("by someone else\n")

    result = sandbox(work).run("echo mine > notes; echo ready; sleep 0.3", sink=meddle)
    assert result.changes is not None
    (item,) = result.changes.items
    assert item.before is not None
    assert item.before.ctime_ns > result.changes.began_ns


@pytest.mark.parametrize("mode", ["000", "500", "600"])
def test_what_a_command_closes_to_its_owner_is_told_and_stays_closed(work: Path, mode: str) -> None:
    script = f"mkdir -p shut/in; echo 1 > shut/in/x; chmod 000 shut/in/x; chmod {mode} shut/in shut"
    found = changes(work, script + "; chmod 400 src/main.py; chmod 500 src/deep")
    assert told(found) == {
        "shut": "created",
        "shut/in": "created",
        "shut/in/x": "created",
        "src/deep": "attributes",
        "src/main.py": "attributes",
    }
    modes = {item.path: item.after.mode for item in found.items if item.after}
    assert modes == {
        "shut": int(mode, 8),
        "shut/in": int(mode, 8),
        "shut/in/x": 0,
        "src/deep": 0o500,
        "src/main.py": 0o400,
    }
    overlay = find_overlay(found.id)
    assert overlay is not None
    assert stat.S_IMODE(os.stat(f"{overlay.upper}/shut").st_mode) == int(mode, 8)
    assert stat.S_IMODE(os.stat(f"{overlay.upper}/src/deep").st_mode) == 0o500
