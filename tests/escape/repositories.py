"""A project as people have them: a repository, one inside it, a worktree, and settings of tools.

What was planted is found as it would be found in life: by using git there, and looking whether it
ran something.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.escape.world import World

# Files that a shell, an editor, an agent or Redoma itself obeys where it finds them.
OBEYED = """
    .bashrc .bash_profile .profile .zshrc .zshenv .inputrc .gitconfig .vimrc .exrc .gdbinit
    .vscode/tasks.json .vscode/settings.json .idea/workspace.xml .zed/tasks.json
    .devcontainer/devcontainer.json .claude/settings.json .claude/settings.local.json
    .codex/config.toml .gemini/settings.json .cursor/mcp.json .mcp.json .redoma/policy.yaml
    sandbox.yaml .envrc .hg/hgrc .devcontainer.json open.code-workspace .cargo/config.toml
    .pre-commit-config.yaml .venv/bin/python lib/evil.pth sitecustomize.py opencode.json
    .jj/repo/config.toml .npmrc .yarnrc.yml lefthook.yml .mise.toml
    .VSCode/tasks.json .mvn/extensions.xml
""".split()
HOOKS = """
    pre-commit post-commit prepare-commit-msg commit-msg post-checkout pre-push post-merge
    post-index-change reference-transaction fsmonitor-watchman
""".split()


class Project:
    """Repositories in a world's workspace, and whether git obeys something new in them."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.top = world.workspace
        self.nested = self.top / "vendor/lib"
        self.worktree = self.top / "trees/feature"
        self.marker = world.outside / "obeyed"
        # What a planted hook or setting would run; it must lie where a command may write.
        self.evil = self.top / "evil.sh"
        self.evil.write_text(f"#!/bin/sh\necho obeyed >> {self.marker}\n")
        self.evil.chmod(0o755)
        (world.home / ".gitconfig").write_text(
            "[user]\nname = Ana\nemail = ana@example.org\n[init]\ndefaultBranch = main\n"
            "[safe]\ndirectory = *\n[advice]\ndetachedHead = false\n"
        )
        self.made(self.top)
        self.made(self.nested)
        self.git(self.top, "worktree", "add", "-q", "-b", "feature", str(self.worktree))
        self.before = self.obeyed_files()

    def made(self, place: Path) -> None:
        """A repository with one commit."""
        place.mkdir(parents=True, exist_ok=True)
        self.git(place, "init", "-q", ".")
        (place / "tracked").write_text("one\n")
        self.git(place, "add", "tracked")
        self.git(place, "commit", "-q", "-m", "first")

    def git(self, place: Path, *arguments: str) -> str:
        """Runs git outside, as the person does."""
        done = subprocess.run(
            ["git", *arguments],
            cwd=place,
            env=self.world.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return done.stdout + done.stderr

    def obeyed_files(self) -> dict[str, object]:
        """Every file of the workspace that a tool obeys by its name, as it is now."""
        found = {}
        for name, trace in self.world.trace(self.top).items():
            if any(f"/{name}".endswith(f"/{known}") for known in OBEYED):
                found[name] = trace
        return found

    def obeyed(self, *places: Path) -> str:
        """What a person's tools would now do that they did not do before."""
        after = self.obeyed_files()
        planted = sorted(n for n in after if after[n] != self.before.get(n))
        if planted:
            return f"planted {', '.join(planted)[:200]}"
        for place in (self.top, self.nested, self.worktree, *places):
            for arguments in (
                ("status",),
                ("commit", "-q", "--allow-empty", "-m", "after"),
                ("checkout", "-q", "HEAD"),
                ("diff",),
            ):
                if place.is_dir():
                    self.git(place, *arguments)
                if self.marker.exists():
                    where = os.path.relpath(place, self.top)
                    return f"git {arguments[0]} in {where} ran what was planted"
        return ""


def evil_configuration(evil: Path | str) -> str:
    """Settings that make git run a program at its next call."""
    return (
        f"[core]\n\trepositoryformatversion = 0\n\tfsmonitor = {evil}\n\tpager = {evil}\n"
        f"\thooksPath = {os.path.dirname(evil)}\n[diff]\n\texternal = {evil}\n"
        f"[alias]\n\tstatus = !{evil}\n"
    )
