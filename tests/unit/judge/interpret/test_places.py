"""Where a path lies, told from its name and from where the command is given."""

from __future__ import annotations

import pytest

from redoma.judge.interpret.places import normal, place_of, root_if_empty
from redoma.judge.interpret.state import Ground
from redoma.model.decision import Place

USUAL = Ground("/home/user/project", "/home/user")
IN_TEMP = Ground("/tmp/build/work", "/tmp/build/home")
AT_ROOT = Ground("/", "/root")
AT_HOME = Ground("/home/user", "/home/user")


@pytest.mark.parametrize(
    ("path", "ground", "place"),
    [
        ("/", USUAL, Place.ROOT),
        ("/*", USUAL, Place.ROOT),
        ("/[a-z]*", USUAL, Place.ROOT),
        ("/etc", USUAL, Place.SYSTEM_TREE),
        ("/etc/hostname", USUAL, Place.SYSTEM),
        ("/home", USUAL, Place.SYSTEM_TREE),
        ("/home/user", USUAL, Place.HOME_ROOT),
        ("/home/user/*", USUAL, Place.HOME_ROOT),
        ("/home/other", USUAL, Place.HOME_ROOT),
        ("/Users/ana", USUAL, Place.HOME_ROOT),
        ("/root", USUAL, Place.HOME_ROOT),
        ("/home/user/notes", USUAL, Place.HOME),
        ("/home/user/project", USUAL, Place.WORKSPACE),
        ("/home/user/project/src", USUAL, Place.WORKSPACE),
        ("/home/user/project/.git/HEAD", USUAL, Place.REPOSITORY),
        ("/home/user/project2", USUAL, Place.HOME),
        ("/tmp/x", USUAL, Place.TEMP),
        ("/var/tmp/x", USUAL, Place.TEMP),
        ("/data/x", USUAL, Place.OUTSIDE),
        ("/dev/null", USUAL, Place.NOWHERE),
        ("/dev/sda", USUAL, Place.DEVICE),
        ("/dev/tcp/h/80", USUAL, Place.HOST),
        ("\0", USUAL, Place.UNKNOWN),
        ("/etc/\0", USUAL, Place.SYSTEM),
        ("/tmp/\0", USUAL, Place.TEMP),
        ("/tmp/build/home", IN_TEMP, Place.HOME_ROOT),
        ("/tmp/build/home/x", IN_TEMP, Place.HOME),
        ("/tmp/build", IN_TEMP, Place.SYSTEM_TREE),
        ("/tmp/build/work/x", IN_TEMP, Place.WORKSPACE),
        ("/tmp/other", IN_TEMP, Place.TEMP),
        ("/etc", AT_ROOT, Place.SYSTEM_TREE),
        ("/build", AT_ROOT, Place.OUTSIDE),
        ("/home/user", AT_HOME, Place.HOME_ROOT),
        ("/home/user/x", AT_HOME, Place.HOME),
    ],
)
def test_a_path_lies_where_it_lies(path: str, ground: Ground, place: Place) -> None:
    assert place_of(path, ground) is place


@pytest.mark.parametrize(
    ("path", "cwd", "expected"),
    [
        ("a", "/w", "/w/a"),
        ("./a/../b", "/w", "/w/b"),
        ("../../../..", "/w/x", "/"),
        ("/a//b/./c/", "/w", "/a/b/c"),
        ("a", "\0", "\0/a"),
        ("\0/a", "/w", "\0/a"),
    ],
)
def test_a_path_is_made_absolute_by_its_name(path: str, cwd: str, expected: str) -> None:
    assert normal(path, cwd) == expected


def test_an_empty_variable_can_make_a_path_the_root() -> None:
    assert [root_if_empty(p) for p in ("\0/", "\0/*", "\0\0/", "\0", "\0/x", "/tmp/\0", "/")] == [
        True,
        True,
        True,
        False,
        False,
        False,
        False,
    ]
