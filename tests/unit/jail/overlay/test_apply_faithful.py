"""What a command leaves is what is applied: rights, attributes and times included."""

from __future__ import annotations

import os
import stat
import struct
from pathlib import Path

import pytest

from redoma.pipeline import stored_changes
from tests.unit.jail.overlay.applied import hold, populate, tree
from tests.unit.jail.overlay.held import needs_python, python, told
from tests.unit.jail.overlay.places import own_places

pytestmark = pytest.mark.both_users
_ = own_places

ACCESS, DEFAULT = "system.posix_acl_access", "system.posix_acl_default"
_NOBODY = 0xFFFFFFFF


def acl(*named: int, mask: int = 7) -> bytes:
    """An access control list: its owner all, the group and others nothing, some users by number."""
    rows = [(0x01, 7, _NOBODY), *((0x02, 5, number) for number in named), (0x04, 0, _NOBODY)]
    rows += [(0x10, mask, _NOBODY), (0x20, 0, _NOBODY)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *row) for row in rows)


@pytest.fixture
def work(own_places: Path) -> Path:
    return populate(own_places / "work")


def there_and_back(work: Path, script: str) -> None:
    """Applies what a script does, and takes it back: nothing is left of it."""
    before = tree(work)
    found = hold(work, script)
    stored_changes.apply(found.id)
    after = tree(work, times=False)
    stored_changes.undo(found.id)
    assert tree(work) == before
    stored_changes.apply(found.id)
    assert tree(work, times=False) == after


@pytest.mark.parametrize("mode", ["400", "444", "500"])
def test_a_file_without_its_owners_right_to_write_is_applied(work: Path, mode: str) -> None:
    there_and_back(work, f"echo key > key.pem; chmod {mode} notes key.pem")
    assert stat.S_IMODE((work / "notes").stat().st_mode) == int(mode, 8)
    assert stat.S_IMODE((work / "key.pem").stat().st_mode) == int(mode, 8)


def test_a_read_only_file_that_is_replaced_is_applied(work: Path) -> None:
    (work / "notes").chmod(0o444)
    there_and_back(work, "chmod u+w notes; echo more >> notes; chmod 444 notes; ln notes again")
    assert (work / "notes").read_text() == "some notes\nmore\n"
    assert stat.S_IMODE((work / "notes").stat().st_mode) == 0o444


@needs_python
@pytest.mark.parametrize("bits", [0o4755, 0o2755, 0o6755])
@pytest.mark.parametrize("then", ["", "mv tool other", "mv tool notes", "ln tool again"])
def test_a_set_id_file_changed_by_a_shared_mapping_loses_the_bit(
    work: Path, bits: int, then: str
) -> None:
    (work / "tool").write_bytes(b"#!/bin/sh\nexit 0\n" * 100)
    (work / "tool").chmod(bits)
    write = python(
        "import mmap, os\n"
        "fd = os.open('tool', os.O_RDWR)\n"
        "mapped = mmap.mmap(fd, 0)\n"
        "mapped[:8] = b'attacked'\n"
        "mapped.flush()\n"
    )
    found = hold(work, f"{write}\n{then}")
    assert any("set-id" in warning for warning in found.warnings)
    stored_changes.apply(found.id)
    for path in work.iterdir():
        assert not path.lstat().st_mode & 0o6000 or path.is_dir(), path
    name = then.rsplit(maxsplit=1)[-1] if then.startswith("mv") else "tool"
    assert (work / name).read_bytes().startswith(b"attacked")
    assert stat.S_IMODE((work / name).stat().st_mode) == 0o755


def test_a_set_id_file_that_is_only_moved_keeps_the_bit(work: Path) -> None:
    (work / "src/tool").write_bytes(b"#!/bin/sh\nexit 0\n" * 100)
    (work / "src/tool").chmod(0o4755)
    found = hold(work, "mv src/tool tool; touch -d @1000 tool")
    assert told(found)["tool"] == "renamed from src/tool"
    stored_changes.apply(found.id)
    assert stat.S_IMODE((work / "tool").stat().st_mode) == 0o4755


@needs_python
@pytest.mark.parametrize("kind", [ACCESS, DEFAULT])
@pytest.mark.parametrize("place", ["src", "src/main.py", "."])
def test_an_access_list_that_is_removed_is_gone_after_the_apply(
    work: Path, kind: str, place: str
) -> None:
    if kind == DEFAULT and place == "src/main.py":
        pytest.skip("only a directory has one")
    os.setxattr(work / place, kind, acl())
    there_and_back(work, python(f"import os\nos.removexattr({place!r}, {kind!r})"))
    assert kind not in os.listxattr(work / place)


@needs_python
@pytest.mark.parametrize("place", ["src", "src/main.py", "."])
def test_an_access_list_that_is_set_is_there_after_the_apply(work: Path, place: str) -> None:
    there_and_back(work, python(f"import os\nos.setxattr({place!r}, {ACCESS!r}, {acl()!r})"))
    assert os.getxattr(work / place, ACCESS) == acl()


def test_a_workspace_whose_access_lists_name_another_user_can_be_changed(work: Path) -> None:
    for kind in (ACCESS, DEFAULT):
        os.setxattr(work, kind, acl(4242))
        os.setxattr(work / "src", kind, acl(4242))
    os.setxattr(work / "src/main.py", ACCESS, acl(4242))
    there_and_back(work, "echo more >> src/main.py; echo new > src/new")
    assert (work / "src/main.py").read_text() == "print('hello')\nmore\n"
    assert os.getxattr(work / "src/main.py", ACCESS) == acl(4242)
    assert os.getxattr(work / "src", ACCESS) == acl(4242)
    assert ACCESS in os.listxattr(work / "src/new")


@pytest.mark.parametrize("moment", ["@-1", "@-0.000000001", "@-86400", "1950-01-01"])
def test_times_before_1970_are_applied_and_taken_back(work: Path, moment: str) -> None:
    os.utime(work / "src/deep", ns=(-5, -5))
    os.utime(work, ns=(-(10**10), -(10**10)))
    there_and_back(
        work,
        f"touch -d {moment} src notes; echo x > src/deep/x; touch -d {moment} src/deep; touch -d {moment} .",
    )
    assert (work / "src").stat().st_mtime_ns < 0
    assert (work / "src/deep").stat().st_mtime_ns < 0
    assert work.stat().st_mtime_ns < 0


@pytest.mark.parametrize(
    "script",
    [
        "chmod 700 shut; echo 1 >> shut/one; chmod 000 shut",
        "chmod 700 shut; echo 1 > shut/new; rm shut/one; chmod 000 shut",
        "chmod 700 shut shut/in; rm -r shut",
        "chmod 700 shut shut/in; rm -r shut/in; echo 1 > shut/in; chmod 000 shut",
        "chmod 700 shut shut/in; mv shut open; chmod 000 open",
        "chmod 755 shut",
        "chmod 700 shut shut/in; echo 2 >> shut/in/two; chmod 000 shut/in shut",
        "chmod 700 shut shut/in; chmod 755 shut/in; chmod 000 shut",
    ],
)
def test_a_directory_that_its_owner_closed_is_previewed_and_applied(
    work: Path, script: str
) -> None:
    shut = work / "shut"
    (shut / "in").mkdir(parents=True)
    (shut / "one").write_text("one\n")
    (shut / "in/two").write_text("two\n")
    (shut / "in").chmod(0)
    shut.chmod(0)
    there_and_back(work, script)


def test_what_a_preview_looked_into_is_as_closed_as_before(work: Path) -> None:
    shut = work / "shut"
    shut.mkdir()
    (shut / "one").write_text("one\n")
    shut.chmod(0)
    before = tree(work)
    hold(work, "chmod 700 shut; echo 1 >> shut/one; chmod 000 shut")
    assert tree(work) == before
