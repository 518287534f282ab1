"""What `git push` would send is told from the repository alone."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from redoma.pipeline.decisions.check import ground
from redoma.pipeline.foresight.contacts import reported
from redoma.pipeline.foresight.forecast import foresee

pytestmark = pytest.mark.requirement("K5")

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


class Repository:
    """A clone whose remote cannot be reached: it is only known by its tracking branches."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(root),
            "GIT_CONFIG_NOSYSTEM": "1",
            **{
                f"GIT_{who}_{what}": "ana@example.org"
                for who in ("AUTHOR", "COMMITTER")
                for what in ("NAME", "EMAIL")
            },
        }
        self.git("init", "-q", "-b", "main")
        self.git("remote", "add", "origin", "https://ana:token@example.org/x.git")
        self.commit("first")
        self.git("update-ref", "refs/remotes/origin/main", "HEAD")

    def git(self, *words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=self.root, env=self.env, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def commit(self, subject: str) -> str:
        self.git("commit", "-q", "--allow-empty", "-m", subject)
        return self.git("rev-parse", "--short", "HEAD")

    def told(self, command: str) -> tuple[int, tuple[str, ...]]:
        """The status and the report of what runs in the place of a push."""
        instead = foresee(command, ground(str(self.root), "/home/ana")).command
        assert "git push" not in instead.replace("redoma: git push: ", "").replace("`git push`", "")
        done = subprocess.run(
            ["bash", "-c", instead], cwd=self.root, env=self.env, capture_output=True, check=False
        )
        assert done.stdout == b""
        return done.returncode, reported(done.stderr)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


TO = "git push: origin (https://example.org/x.git): "


def test_commits_that_the_remote_has_not_are_listed_without_the_token(
    repository: Repository,
) -> None:
    second, third = repository.commit("second"), repository.commit("third; and more")
    assert repository.told("git push origin main") == (
        0,
        (f"{TO}main: 2 commits: {third} third; and more; {second} second",),
    )


@pytest.mark.parametrize("command", ["git push", "git push -u origin HEAD", "git push origin"])
def test_the_branch_that_is_checked_out_is_meant_where_none_is_named(
    repository: Repository, command: str
) -> None:
    name = repository.commit("second")
    assert repository.told(command) == (0, (f"{TO}main: 1 commit: {name} second",))


def test_nothing_new_is_said_to_be_so(repository: Repository) -> None:
    assert repository.told("git push origin main") == (0, (f"{TO}main: nothing new",))


def test_a_branch_that_the_remote_has_not_is_new(repository: Repository) -> None:
    repository.git("switch", "-q", "-c", "topic")
    name = repository.commit("idea")
    assert repository.told("git push -u origin topic") == (
        0,
        (f"{TO}new branch topic: 1 commit: {name} idea",),
    )


def test_a_push_that_is_no_fast_forward_would_be_rejected_and_fails(
    repository: Repository,
) -> None:
    theirs = repository.commit("theirs")
    repository.git("update-ref", "refs/remotes/origin/main", "HEAD")
    repository.git("reset", "-q", "--hard", "HEAD~1")
    mine = repository.commit("mine")
    assert repository.told("git push origin main") == (
        1,
        (
            f"{TO}main would be rejected, not a fast-forward: the remote has "
            f"1 commit: {theirs} theirs",
        ),
    )
    for forced in ("git push --force origin main", "git push origin +main"):
        assert repository.told(forced) == (
            0,
            (
                f"{TO}main FORCED, not a fast-forward: 1 commit: {mine} mine; "
                f"drops 1 commit: {theirs} theirs",
            ),
        )


def test_deleting_tags_and_other_names_are_told(repository: Repository) -> None:
    repository.git("tag", "v1")
    name = repository.commit("second")
    assert repository.told("git push origin :old")[1] == (f"{TO}delete old",)
    assert repository.told("git push origin --delete old")[1] == (f"{TO}delete old",)
    assert repository.told("git push origin v1")[1] == (f"{TO}tag v1",)
    assert repository.told("git push origin main:release")[1] == (
        f"{TO}new branch release: 1 commit: {name} second",
    )
    assert repository.told("git push origin nothing")[0] == 1


def test_names_in_variables_are_what_the_shell_makes_of_them(repository: Repository) -> None:
    name = repository.commit("second")
    said = (f"{TO}main: 1 commit: {name} second",)
    assert repository.told('b=main; git push origin "$b"')[1] == said
    assert repository.told("b=main; git push origin $b")[1] == said


def test_a_push_after_a_commit_tells_of_that_commit(repository: Repository) -> None:
    code, said = repository.told("git commit -q --allow-empty -m second && git push origin main")
    assert code == 0
    assert said == (f"{TO}main: 1 commit: {repository.git('rev-parse', '--short', 'HEAD')} second",)


def test_a_push_from_another_directory_looks_there(repository: Repository) -> None:
    sub = repository.root / "sub dir"
    sub.mkdir()
    other = Repository(sub)
    name = other.commit("there")
    assert repository.told("git -C 'sub dir' push origin main")[1] == (
        f"{TO}main: 1 commit: {name} there",
    )


def test_hooks_aliases_and_pagers_of_the_repository_do_not_run(repository: Repository) -> None:
    trap = repository.root / "trap"
    hook = repository.root / ".git/hooks/pre-push"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch '{trap}'\n")
    hook.chmod(0o755)
    for key in ("core.pager", "gpg.program", "core.sshCommand", "credential.helper"):
        repository.git("config", key, str(hook))
    repository.git("config", "log.showSignature", "true")
    name = repository.commit("second")
    assert repository.told("git push origin main")[1] == (
        f"{TO}main: 1 commit: {name} second",
        "git push: the pre-push hook was not run",
    )
    assert not trap.exists()


def test_no_repository_is_an_error_as_of_git(tmp_path: Path) -> None:
    instead = foresee("git push", ground(str(tmp_path), "/home/ana")).command
    env = {"PATH": os.environ["PATH"], "GIT_CEILING_DIRECTORIES": str(tmp_path.parent)}
    done = subprocess.run(
        ["bash", "-c", instead], cwd=tmp_path, env=env, capture_output=True, check=False
    )
    assert done.returncode == 128
