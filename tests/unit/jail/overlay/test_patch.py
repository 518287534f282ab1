"""A patch of the changes is accepted by `git apply` and gives what the command made."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from redoma.jail.overlay.patch import PatchPiece, pieces, quoted
from redoma.model.change import Change, Did
from tests.unit.jail.overlay.sides_of import Pair, Tree, read_back, state

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


def applied(pair: Pair, changes: list[Change], root: Path) -> tuple[Tree, list[PatchPiece]]:
    """The workspace's copy after `git apply`, and the pieces of the patch."""
    made = list(pieces(changes, pair.sides))
    copy = root / "copy"
    shutil.copytree(pair.workspace, copy, symlinks=True)
    patch = root / "whole.patch"
    patch.write_bytes(b"".join(piece.patch for piece in made))
    env = {"PATH": os.environ["PATH"], "HOME": str(root), "LC_ALL": "C.UTF-8"}
    for command in (["git", "init", "-q"], ["git", "apply", "--whitespace=nowarn", str(patch)]):
        done = subprocess.run(command, cwd=copy, env=env, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
    return read_back(copy), made


CASES: dict[str, tuple[Tree, Tree]] = {
    "edit": ({"a": b"1\n2\n3\n"}, {"a": b"1\nzwei\n3\n"}),
    "create": ({"keep": b"k\n"}, {"keep": b"k\n", "new": b"n\n", "deep/er/new": b"n"}),
    "create-empty": ({"keep": b"k\n"}, {"keep": b"k\n", "empty": b""}),
    "delete": ({"a": b"1\n", "b": b"2\n"}, {"b": b"2\n"}),
    "delete-empty": ({"a": b"", "b": b"2\n"}, {"b": b"2\n"}),
    "empty-it": ({"a": b"1\n"}, {"a": b""}),
    "no-newline": ({"a": b"1\n2"}, {"a": b"1\n2\n"}),
    "lose-newline": ({"a": b"1\n2\n"}, {"a": b"1\n2"}),
    "crlf": ({"a": b"1\r\n2\r\n"}, {"a": b"1\r\nzwei\r\n"}),
    "latin-1": ({"a": b"caf\xe9\n"}, {"a": b"caf\xe9s\n"}),
    "utf-16": ({"a": "een\n".encode("utf-16")}, {"a": "één\n".encode("utf-16")}),
    "binary": ({"a": bytes(range(256))}, {"a": bytes(range(255, -1, -1)) * 3}),
    "binary-new": ({"k": b""}, {"k": b"", "a": os.urandom(3000)}),
    "binary-gone": ({"k": b"", "a": b"\0\1\2"}, {"k": b""}),
    "executable": ({"a": b"#!/bin/sh\n"}, {"a": ("run", b"#!/bin/sh\n")}),
    "executable-edit": ({"a": ("run", b"1\n")}, {"a": b"2\n"}),
    "link": ({"k": b""}, {"k": b"", "l": ("link", b"k")}),
    "link-moved": ({"l": ("link", b"a")}, {"l": ("link", b"b")}),
    "link-gone": ({"k": b"", "l": ("link", b"a")}, {"k": b""}),
    "link-for-file": ({"x": b"content\n"}, {"x": ("link", b"y")}),
    "file-for-link": ({"x": ("link", b"y")}, {"x": b"content\n"}),
    "file-for-directory": ({"d/a": b"1\n", "d/b": b"2\n"}, {"d": b"content\n"}),
    "directory-for-file": ({"d": b"content\n"}, {"d/a": b"1\n", "d/b": b"2\n"}),
    "blank-name": ({"a b": b"1\n"}, {"a b": b"2\n"}),
    "odd-name": ({'q"\\\t': b"1\n"}, {'q"\\\t': b"2\n", "new\nline": b"n\n"}),
    "no-utf-8-name": ({"k": b""}, {"k": b"", os.fsdecode(b"\xff\xfe"): b"n\n"}),
    "unicode-name": ({"naïve": b"1\n"}, {"naïve": b"2\n"}),
    "dash-name": ({"-rf": b"1\n"}, {"-rf": b"2\n"}),
}


@pytest.mark.parametrize("case", CASES)
def test_git_applies_the_patch_and_the_tree_is_as_the_command_left_it(
    case: str, tmp_path: Path
) -> None:
    before, after = CASES[case]
    pair = Pair(tmp_path, before, after)
    tree, made = applied(pair, pair.changes(), tmp_path)
    assert tree == after
    assert {piece.left_out for piece in made} <= {""}


def test_a_rename_is_a_rename_to_git(tmp_path: Path) -> None:
    pair = Pair(tmp_path, {"old name": b"1\n2\n3\n"}, {"new": b"1\n2\n3\n"})
    tree, (piece,) = applied(pair, [pair.change("new", renamed_from="old name")], tmp_path)
    assert tree == {"new": b"1\n2\n3\n"}
    assert piece.patch == (
        b"diff --git a/old name b/new\nsimilarity index 100%\nrename from old name\nrename to new\n"
    )


def test_a_rename_with_an_edit_carries_the_edit(tmp_path: Path) -> None:
    pair = Pair(tmp_path, {"old": b"1\n2\n3\n"}, {"new": b"1\n2\nDREI\n"})
    tree, _ = applied(pair, [pair.change("new", renamed_from="old")], tmp_path)
    assert tree == {"new": b"1\n2\nDREI\n"}


def test_a_renamed_directory_is_a_rename_of_each_of_its_files(tmp_path: Path) -> None:
    before: Tree = {"old/a": b"1\n", "old/deep/b": b"2\n", "old/l": ("link", b"a"), "k": b""}
    pair = Pair(tmp_path, before, {})
    whole = state(pair.workspace / "old")
    change = Change(path="new", did=Did.RENAMED, before=whole, after=whole, renamed_from="old")
    tree, _ = applied(pair, [change], tmp_path)
    assert tree == {"new/a": b"1\n", "new/deep/b": b"2\n", "new/l": ("link", b"a"), "k": b""}


def test_a_deleted_directory_is_the_deletion_of_each_of_its_files(tmp_path: Path) -> None:
    pair = Pair(tmp_path, {"d/a": b"1\n", "d/e/b": b"\0", "k": b""}, {})
    change = Change(path="d", did=Did.DELETED, before=state(pair.workspace / "d"))
    tree, _ = applied(pair, [change], tmp_path)
    assert tree == {"k": b""}


def test_what_git_has_no_place_for_is_named(tmp_path: Path) -> None:
    pair = Pair(tmp_path, {"a": b"1\n"}, {"a": b"1\n"})
    (pair.upper / "empty").mkdir()
    os.mkfifo(pair.upper / "pipe")
    (pair.upper / "a").chmod(0o600)
    made = list(pieces([pair.change(p) for p in ("a", "empty", "pipe")], pair.sides))
    assert made == [
        PatchPiece(path="a", left_out="only attributes changed"),
        PatchPiece(path="empty", left_out="a directory by itself"),
        PatchPiece(path="pipe", left_out="a fifo"),
    ]


def test_a_name_is_quoted_as_git_quotes() -> None:
    assert quoted("plain-1.txt") == b"plain-1.txt"
    assert quoted("a\tb\n\x01", b"a/") == b'"a/a\\tb\\n\\001"'
    assert quoted("é") == b'"\\303\\251"'


@pytest.mark.parametrize("seed", range(12))
def test_any_edits_of_a_small_tree_survive_the_way_through_git(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)

    def content() -> bytes:
        if draw.random() < 0.2:
            return draw.randbytes(draw.randrange(1, 400))
        ending = draw.choice((b"\n", b"\r\n"))
        text = ending.join(b"line %d" % draw.randrange(9) for _ in range(draw.randrange(40)))
        return text + (ending if draw.random() < 0.5 else b"")

    def leaf() -> bytes | tuple[str, bytes]:
        kind = draw.random()
        if kind < 0.1:
            return "link", b"to-%d" % draw.randrange(3)
        return ("run", content()) if kind < 0.2 else content()

    names = [f"{d}f {n}" for d in ("", "d/", "d/é/") for n in range(6)]
    before: Tree = {name: leaf() for name in names if draw.random() < 0.7} | {"keep": b"k\n"}
    after = dict(before)
    for name in names:
        if draw.random() < 0.5:
            after[name] = leaf()
        elif draw.random() < 0.3:
            after.pop(name, None)
    pair = Pair(tmp_path, before, after)
    if pair.changes():
        assert applied(pair, pair.changes(), tmp_path)[0] == after
