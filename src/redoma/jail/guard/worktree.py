"""Finds the repository that a linked worktree or a submodule keeps outside its own directory."""

from __future__ import annotations

import os


def outside(workspace: str) -> tuple[str, ...]:
    """Directories outside the workspace that git has to write for a commit in it.

    Attack: the `.git` file lies in the workspace, so a command of an earlier run may have written
    it to have any directory opened. The repository itself, which it could not write, must name
    this workspace back.
    """
    link = f"{workspace}/.git"
    try:
        if os.path.islink(link) or not os.path.isfile(link):
            return ()
        text = _line(link)
    except (OSError, UnicodeDecodeError):
        return ()
    if not text.startswith("gitdir:"):
        return ()
    own = os.path.realpath(os.path.join(workspace, text.removeprefix("gitdir:").strip()))
    if own.startswith(workspace + "/"):
        return ()
    try:
        common = _common(own, workspace)
    except (OSError, UnicodeDecodeError):
        return ()
    return (common,) if common and not common.startswith(workspace + "/") else ()


def _common(own: str, workspace: str) -> str:
    if os.path.basename(os.path.dirname(own)) == "worktrees":
        back = os.path.realpath(os.path.join(own, _line(f"{own}/gitdir")))
        common = os.path.realpath(os.path.join(own, _line(f"{own}/commondir")))
        if back == os.path.realpath(f"{workspace}/.git") and own.startswith(f"{common}/worktrees/"):
            return common if _is_repository(common) else ""
        return ""
    if "/modules/" in own and _is_repository(own):
        with open(f"{own}/config", opener=_without_a_trace) as file:
            for line in file:
                key, _, value = line.partition("=")
                if key.strip().lower() == "worktree":
                    tree = os.path.realpath(os.path.join(own, value.strip()))
                    return own if tree == os.path.realpath(workspace) else ""
    return ""


def _is_repository(path: str) -> bool:
    owner = os.stat(path).st_uid
    return owner in (os.geteuid(), os.stat(os.path.dirname(path)).st_uid) and all(
        os.path.exists(f"{path}/{name}") for name in ("HEAD", "objects", "refs")
    )


def _line(path: str) -> str:
    with open(path, opener=_without_a_trace) as file:
        return file.read(4096).strip()


def _without_a_trace(path: str, flags: int) -> int:
    """Opens a file whose access time stays as it is, where it is one's own."""
    try:
        return os.open(path, flags | os.O_NOATIME)
    except PermissionError:
        return os.open(path, flags)
