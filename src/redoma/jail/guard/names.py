"""What in a workspace a person's own tools obey without asking, and so no command may write."""

from __future__ import annotations

# Attack: a file that a shell, an editor or an agent reads at its next start runs as the person.
FILES = frozenset(
    """
    .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .kshrc
    .zshrc .zshenv .zprofile .zlogin .zlogout .cshrc .tcshrc .login .inputrc
    .envrc .Rprofile .pdbrc .irbrc .pryrc .dir-locals.el
    .gitconfig .gitmodules .ripgreprc .exrc .vimrc .nvimrc .nvim.lua .gdbinit .lldbinit
    .mcp.json .claude.json .aider.conf.yml sandbox.yaml sandbox.yml
    """.split()
)
DIRECTORIES = frozenset(
    """
    .vscode .idea .zed .fleet .devcontainer
    .claude .codex .gemini .cursor .windsurf .continue .opencode .roo .cline .kiro .amazonq
    .redoma .husky
    """.split()
)

# Inside a repository's own directory: what git runs or reads its orders from.
GIT_PARTS = ("hooks", "config", "config.worktree", "commondir", "gitdir")
# Mercurial's orders, in its own directory.
HG_PARTS = ("hgrc", "hgrc-not-shared")
# Never entered in git's own directory: its stores, where nothing is obeyed by name.
GIT_STORES = frozenset({"objects", "refs", "logs", "lfs", "info", "rr-cache"})


def is_git_directory(names: set[str] | frozenset[str]) -> bool:
    """Whether a directory with these entries is one that git takes for a repository.

    Attack: a repository needs no `.git` in its path; whoever stands in any directory with these
    three entries obeys the configuration beside them.
    """
    return "HEAD" in names and (("objects" in names and "refs" in names) or "commondir" in names)


def is_gits_own(path: str) -> bool:
    """Whether a directory is one that git itself keeps, by where it lies.

    Attack: a directory that only looks like a repository would hide what lies in its `logs`.
    """
    return path.endswith("/.git") or "/.git/modules/" in path or "/.git/worktrees/" in path
