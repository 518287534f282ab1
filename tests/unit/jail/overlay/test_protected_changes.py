"""What a person's tools would obey is told among held changes, and ordinary work is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from redoma.jail.overlay.protected_changes import protected
from redoma.jail.overlay.store import find_overlay
from tests.unit.jail.overlay.held import changes, git
from tests.unit.jail.overlay.places import own_places

pytestmark = pytest.mark.both_users
_ = own_places

COMMIT = "git -c user.name=a -c user.email=a@b commit -qm"


@pytest.fixture
def work(own_places: Path) -> Path:
    place = own_places / "work"
    place.mkdir()
    git(place, "init", "-q")
    (place / "a").write_text("some content to be told apart\n")
    (place / ".vscode").mkdir()
    (place / ".vscode/tasks.json").write_text("{}")
    (place / "settings").mkdir()
    (place / "settings/rc").write_text("alias a=b\n")
    (place / ".bashrc").symlink_to("settings/rc")
    (place / "almost").mkdir()
    for name in ("objects", "refs", "hooks"):
        (place / "almost" / name).mkdir()
    (place / "almost/hooks/post-checkout").write_text("#!/bin/sh\n")
    git(place, "add", "a")
    git(place, "commit", "-qm", "first")
    (place / ".git/hooks/pre-commit").parent.mkdir(exist_ok=True)
    (place / ".git/hooks/pre-commit").write_text("#!/bin/sh\nexit 0\n")
    (place / ".git/hooks/pre-commit").chmod(0o755)
    return place


def held_back(work: Path, script: str, *allowed: str) -> list[str]:
    found = changes(work, script)
    overlay = find_overlay(found.id)
    assert overlay is not None
    names = tuple(f"{work}/{name}" for name in allowed)
    return sorted(protected(found, overlay.upper, names))


@pytest.mark.parametrize(
    "script",
    [
        "echo x > b; mkdir c; echo y > c/hooks; mkdir -p src/hooks; echo z > src/hooks/use.ts",
        f"echo x >> a; git add a; {COMMIT} second",
        "git checkout -qb branch; git tag v1; git stash list",
        "git init -q inner; git -C inner config user.name someone",
        "git remote add origin https://example.invalid/a.git",
        "git worktree add -q tree",
        "git clone -q --no-hardlinks . copied",
        "mv a b; git add b",
    ],
)
def test_ordinary_work_is_not_held_back(work: Path, script: str) -> None:
    assert held_back(work, script) == []


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("echo x > .git/hooks/post-commit", [".git/hooks/post-commit"]),
        ("echo x > .git/hooks/pre-commit", [".git/hooks/pre-commit"]),
        ("rm .git/hooks/pre-commit", [".git/hooks/pre-commit"]),
        ("chmod -x .git/hooks/pre-commit", [".git/hooks/pre-commit"]),
        ("git config core.fsmonitor ./evil", [".git/config"]),
        ("rm .git/config", [".git/config"]),
        ("echo x > .envrc; mkdir d; echo x > d/.envrc", [".envrc", "d/.envrc"]),
        ("echo x > sandbox.yaml", ["sandbox.yaml"]),
        ("mkdir -p d/.claude; echo x > d/.claude/settings.json",
         ["d/.claude", "d/.claude/settings.json"]),
        ("echo x > .vscode/tasks.json", [".vscode/tasks.json"]),
        ("mv .vscode away", ["away"]),
        ("mkdir -p p/q; mv .vscode p/q/away", ["p/q/away"]),
        ("echo 'alias ls=evil' > settings/rc", ["settings/rc"]),
        ("echo 'ref: refs/heads/x' > almost/HEAD", ["almost/HEAD"]),
        ("git init -q i; echo x > i/.git/hooks/post-checkout", ["i/.git/hooks/post-checkout"]),
        ("git init -q --bare b.git; git -C b.git config core.pager evil", ["b.git/config"]),
        ("git worktree add -q t; echo /tmp/evil > .git/worktrees/t/commondir",
         [".git/worktrees/t/commondir", ".git/worktrees/t/gitdir"]),
        ("mkdir e; echo 'gitdir: /tmp/evil' > e/.git", ["e/.git"]),
        ("mkdir .hg; echo x > .hg/hgrc", [".hg/hgrc"]),
        ("mkdir -p p/.git/hooks; echo x > p/.git/hooks/pre-push", ["p/.git/hooks/pre-push"]),
        ("mkdir -p p/.git; echo '[core]fsmonitor = x' > p/.git/config", ["p/.git/config"]),
        ("mkdir -p p/.GIT/HOOKS; echo x > p/.GIT/HOOKS/pre-push", ["p/.GIT/HOOKS/pre-push"]),
        ("echo x > .DevContainer.json; mkdir .cargo; echo x > .cargo/config.toml",
         [".DevContainer.json", ".cargo/config.toml"]),
        ("mkdir -p .venv/bin .venv/lib; echo x > .venv/bin/git; echo x > .venv/lib/a.py",
         [".venv/bin", ".venv/bin/git"]),
        ("mkdir x; echo y > x/a.pth; mv x y", ["y/a.pth"]),
        ("mkdir -p .git/rebase-merge; echo 'exec evil' > .git/rebase-merge/git-rebase-todo",
         [".git/rebase-merge/git-rebase-todo"]),
        ("mkdir h; cp .git/hooks/pre-commit h/post-merge; git init -q n; rm -r n/.git/hooks;"
         " mv h n/.git/hooks", ["n/.git/hooks/post-merge"]),
    ],
)  # fmt: skip
def test_what_a_tool_would_obey_is_held_back(work: Path, script: str, expected: list[str]) -> None:
    assert held_back(work, script) == expected


def test_a_directory_of_hooks_that_moved_is_looked_into(work: Path) -> None:
    (work / "template").mkdir()
    (work / "template/post-merge").write_text("#!/bin/sh\necho some program\n")
    script = "git init -q n; rm -r n/.git/hooks; mv template n/.git/hooks"
    assert held_back(work, script) == ["n/.git/hooks"]


def test_where_hooks_are_elsewhere_that_place_is_protected(work: Path) -> None:
    git(work, "config", "core.hooksPath", "githooks")
    assert held_back(work, "mkdir githooks; echo x > githooks/pre-push") == [
        "githooks",
        "githooks/pre-push",
    ]


def test_what_was_allowed_by_name_is_not_held_back(work: Path) -> None:
    script = "git config core.pager less; echo x > .envrc"
    assert held_back(work, script, ".git/config") == [".envrc"]
