"""Work in repositories goes on as ever, and nothing but that work is left behind."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.escape.inside import Box, Redoma, claims
from tests.escape.promises import P
from tests.escape.repositories import Project
from tests.escape.test_promises import REQUIRED
from tests.escape.world import World

pytestmark = pytest.mark.both_users

STANDARD = Redoma()
WORK = """
set -e
cd {place}
echo two >> tracked
echo new > added
git add -A .
git commit -q -m second
git checkout -q -b topic
echo three >> tracked
git commit -q -a -m third
git checkout -q -
git merge -q topic
git branch -d topic
git tag v1
echo four >> tracked
git stash -q
git stash pop -q
git diff --stat
git status --short
git log --oneline | wc -l
"""


@pytest.fixture
def world() -> Iterator[World]:
    missing = claims(STANDARD.level, STANDARD.engine, P.STUBS.guarantee)
    if missing:
        if P.STUBS.guarantee in REQUIRED:
            pytest.fail(f"required, and not held here: {missing}", pytrace=False)
        pytest.skip(f"not claimed here: {missing}")
    made = World()
    try:
        yield made
    finally:
        made.close()


def names(top: Path) -> set[str]:
    """Every path below a directory, but git's own objects and records of what it did."""
    return {
        str(path.relative_to(top))
        for path in top.rglob("*")
        if "/.git/" not in f"/{path.relative_to(top)}/" or path.parent.name in (".git", "hooks")
    }


@pytest.mark.parametrize("which", ["top", "nested", "worktree"])
def test_commits_branches_merges_and_stashes_work(world: World, which: str) -> None:
    project = Project(world)
    place = getattr(project, which)
    ran = Box(STANDARD, world).shell(WORK.format(place=place))
    assert (ran.status, ran.out.split()[-1:]) == (0, [b"3"]), ran.err.decode()
    assert project.git(place, "log", "--format=%s").split() == ["third", "second", "first"]


def test_a_commit_works_in_a_worktree_whose_repository_lies_outside(world: World) -> None:
    project = Project(world)
    main = world.home / "main"
    project.made(main)
    world.workspace = world.home / "linked"
    project.git(main, "worktree", "add", "-q", "-b", "linked", str(world.workspace))
    ran = Box(STANDARD, world).shell("echo two >> tracked && git commit -q -a -m second")
    assert ran.status == 0, ran.err.decode()
    assert project.git(main, "log", "--format=%s", "linked").split() == ["second", "first"]
    ran = Box(STANDARD, world).shell(
        f"for n in hooks/pre-commit config HEAD.lock/x; do echo x > {main}/.git/$n; done; "
        f"echo x > {main}/tracked"
    )
    assert not (main / ".git/hooks/pre-commit").exists()
    assert "x" not in (main / ".git/config").read_text().split()
    assert (main / "tracked").read_text() == "one\n"


def test_a_command_that_does_nothing_leaves_nothing(world: World) -> None:
    project = Project(world)
    before = world.trace(project.top), world.trace(world.home)
    ran = Box(STANDARD, world).shell("true")
    assert ran.status == 0, ran.err.decode()
    assert (world.trace(project.top), world.trace(world.home)) == before


def test_no_stray_file_is_there_while_a_command_runs(world: World) -> None:
    Project(world)
    before = names(world.home)
    with world.environment(), ThreadPoolExecutor() as beside:
        ran = beside.submit(Box(STANDARD, world).shell, "touch running; sleep 0.4")
        while not (world.workspace / "running").exists() and not ran.done():
            time.sleep(0.01)
        meanwhile = names(world.home)
        assert ran.result().status == 0, ran.result().err.decode()
    assert meanwhile - before == {"project/running"}
    assert before - meanwhile == set()


def test_work_leaves_only_itself(world: World) -> None:
    Project(world)
    before = names(world.home)
    ran = Box(STANDARD, world).shell("echo x > made; git add made; git commit -q -m made")
    assert ran.status == 0, ran.err.decode()
    own = {"project/made", "project/.git/COMMIT_EDITMSG"}
    assert names(world.home) - before <= own | {"project/.git/ORIG_HEAD"}
    assert before - names(world.home) == set()


def test_a_clone_and_a_new_repository_work(world: World) -> None:
    project = Project(world)
    ran = Box(STANDARD, world).shell(
        # A layer gives a new name of an old file another number, and git takes that amiss.
        "git clone -q --no-hardlinks vendor/lib copy && cd copy && git commit -q --allow-empty -m more && "
        "git init -q ../fresh && cd ../fresh && git commit -q --allow-empty -m first"
    )
    assert ran.status == 0, ran.err.decode()
    assert project.git(project.top / "copy", "log", "--format=%s").split() == ["more", "first"]
    assert project.git(project.top / "fresh", "log", "--format=%s").split() == ["first"]
