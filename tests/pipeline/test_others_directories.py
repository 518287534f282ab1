"""A directory that may be written holds somebody else's closed one: it is nobody's business."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

import pytest

from redoma import Access

if TYPE_CHECKING:
    from pathlib import Path

    from tests.pipeline.place import Place

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes files of another user")

SOMEBODY = 4242


def theirs(given: Path, *, mode: int) -> Path:
    """A repository and a socket of another user's, in a directory that is theirs."""
    closed = given / "theirs"
    for name in ("hooks", "objects", "refs"):
        (closed / ".git" / name).mkdir(parents=True)
    for name in ("HEAD", "config"):
        (closed / ".git" / name).write_text("theirs")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(closed / "socket"))
    for directory, _, names in os.walk(given):
        for path in (directory, *(os.path.join(directory, name) for name in names)):
            if path != str(given):
                os.chown(path, SOMEBODY, SOMEBODY)
    closed.chmod(mode)
    return closed


@pytest.mark.parametrize("run", ["first", "later"])
def test_what_only_another_may_enter_is_left_alone(place: Place, tmp_path: Path, run: str) -> None:
    given = tmp_path / "given"
    given.mkdir()
    closed = theirs(given, mode=0o700)
    sandbox = place.sandbox(access=Access(write=[str(given)]))
    if run == "later":
        sandbox.run("true")
    result = sandbox.run(f"cat {closed}/.git/config; echo mine > {given}/new")
    assert (result.exit_code, result.stdout) == (0, b"")
    assert b"Permission denied" in result.stderr
    assert (given / "new").read_text() == "mine\n"
    assert (closed / ".git/config").read_text() == "theirs"


def test_what_anybody_may_enter_is_protected_as_ever(place: Place, tmp_path: Path) -> None:
    given = tmp_path / "given"
    given.mkdir()
    opened = theirs(given, mode=0o755)
    for path in (opened, opened / ".git", opened / ".git/hooks"):
        path.chmod(0o777)
    sandbox = place.sandbox(access=Access(write=[str(given)]))
    for _ in range(2):
        result = sandbox.run(f"echo evil > {opened}/.git/hooks/pre-commit")
        assert result.exit_code != 0
        assert not (opened / ".git/hooks/pre-commit").exists()
