"""What a repository makes git obey: settings that run programs, hooks, rebases, linked worktrees.

Whoever writes a repository's configuration decides what a person's next git command runs. So the
lines that run nothing are listed; whatever is not on the list counts as running something.
"""

from __future__ import annotations

import os
import stat

from redoma.base.paths import is_below, is_within
from redoma.jail.protect.untrusted_paths import open_unmarked

# Compiled where they are needed: a plain run reads no configuration, and does without `re`.
_HEADER = r'\s*\[([A-Za-z0-9-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\]\s*'
_PAIR = r"\s*([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*?)\s*)?"
_LARGEST_CONFIG = 1 << 20
_PERSONS_OWN = ("~/.gitconfig", "~/.config/git/config", "/etc/gitconfig")

_HARMLESS = {
    "core": """repositoryformatversion filemode bare logallrefupdates ignorecase symlinks
        precomposeunicode autocrlf eol longpaths worktree sparsecheckout
        sparsecheckoutcone""".split(),
    "remote": "url fetch pushurl tagopt promisor partialclonefilter mirror".split(),
    "branch": "remote merge rebase description".split(),
    "submodule": "url active branch path".split(),
    "user": "name email".split(),
    "init": ["defaultbranch"],
    "extensions": "objectformat partialclone refstorage worktreeconfig".split(),
    "index": ["sparse"],
    "pull": ["rebase"],
    "push": ["default"],
    "lfs": ["repositoryformatversion"],
}


def harmless(text: str) -> tuple[str, tuple[str, ...]]:
    """The text with only lines that run nothing, and the keys that were left out.

    An allow-list: fsmonitor, sshCommand, pager, hooksPath, filters, aliases, credential helpers
    and whatever git learns next are not on it.
    """
    import re

    lines: list[str] = []
    dropped: list[str] = []
    section = ""
    # Attack: git ends a line at a newline alone; other readers also at a form feed.
    for line in text.split("\n"):
        if not line.strip(" \t"):
            continue
        if not line.isprintable() and not line.replace("\t", "").isprintable():
            dropped.append(f"{section}.{ascii(line)[:60]}")
            continue
        if line.lstrip()[0] in "#;":
            continue
        if header := re.fullmatch(_HEADER, line):
            section = header[1].lower()
            lines.append(line)
        elif (pair := re.fullmatch(_PAIR, line)) and _runs_nothing(section, pair[1], pair[2] or ""):
            lines.append(line)
        else:
            dropped.append(f"{section}.{line.strip()}")
    return "\n".join(lines) + "\n", tuple(dropped)


def _runs_nothing(section: str, key: str, value: str) -> bool:
    if key.lower() not in _HARMLESS.get(section, ()) or value.endswith("\\"):
        return False
    # Attack: `ext::command` and `-option` as an address run a program of the writer's choice.
    if key.lower() in ("url", "pushurl"):
        return not (value.startswith("-") or "::" in value)
    # Attack: a work tree outside the workspace, where the person's next checkout writes. Git's own
    # submodules have one a few steps up; it is looked at where the repository lies.
    return key.lower() != "worktree" or not value.strip('"').startswith(("/", "~"))


def obeyed_places(text: str) -> tuple[list[str], list[str]]:
    """What a configuration leads git to: directories of hooks, and further configurations."""
    import re

    section = ""
    hooks: list[str] = []
    includes: list[str] = []
    for line in text.split("\n"):
        if header := re.match(_HEADER, line):
            section = header[1].lower()
            line = line[header.end() :]  # noqa: PLW2901 — a key may follow on the same line
        if pair := re.fullmatch(_PAIR, line):
            value = (pair[2] or "").strip('"')
            if section == "core" and pair[1].lower() == "hookspath":
                hooks.append(value)
            elif section in ("include", "includeif") and pair[1].lower() == "path":
                includes.append(value)
    return hooks, includes


def obeyed_beside(repository: str) -> list[str]:
    """What a repository's configuration, or the person's own, makes git obey beside its parts."""
    found: list[str] = []
    tree = os.path.dirname(repository)
    for path in (f"{repository}/config", f"{repository}/config.worktree", *_PERSONS_OWN):
        try:
            with open(os.path.expanduser(path), "rb") as file:
                text = file.read(1 << 20)
        except OSError:
            continue
        lower = text.lower()
        if b"hookspath" not in lower and b"include" not in lower:
            continue
        hooks, includes = obeyed_places(text.decode(errors="replace"))
        found += [
            os.path.normpath(os.path.join(tree, place)) for place in hooks if _is_plain(place)
        ]
        beside = os.path.dirname(os.path.expanduser(path))
        found += [os.path.normpath(os.path.join(beside, p)) for p in includes if _is_plain(p)]
    return found


def _is_plain(place: str) -> bool:
    return bool(place) and not place.startswith(("~", "%"))


def programs_of_a_rebase(repository: str) -> frozenset[bytes]:
    """The lines by which a rebase in the middle runs programs."""
    try:
        with open(f"{repository}/rebase-merge/git-rebase-todo", "rb") as file:
            lines = file.read().split(b"\n")
    except OSError:
        return frozenset()
    return frozenset(line for line in lines if line.lstrip()[:2] in (b"x ", b"x\t", b"ex"))


def leads_out(root: str, path: str, text: str) -> bool:
    """Whether the work tree that a configuration at `path` names lies outside of `root`."""
    for line in text.split("\n"):
        key, equals, value = line.partition("=")
        if equals and key.strip().lower() == "worktree":
            tree = os.path.realpath(os.path.join(os.path.dirname(path), value.strip(' \t"')))
            if not is_within(tree, root):
                return True
    return False


def text_of(path: str) -> str:
    """The text of a small regular file; an error for anything else."""
    # Attack: a link to a file of the person's, or a pipe that never ends.
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError("not a regular file")
        # Attack: settings behind a megabyte of nothing, for a reader that stops there.
        if os.fstat(file.fileno()).st_size > _LARGEST_CONFIG:
            raise OSError("too long to be read")
        return file.read().decode()


def repository_outside(workspace: str) -> tuple[str, ...]:
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
    if is_below(own, workspace):
        return ()
    try:
        common = _common_directory(own, workspace)
    except (OSError, UnicodeDecodeError):
        return ()
    return (common,) if common and not is_below(common, workspace) else ()


def _common_directory(own: str, workspace: str) -> str:
    if os.path.basename(os.path.dirname(own)) == "worktrees":
        back = os.path.realpath(os.path.join(own, _line(f"{own}/gitdir")))
        common = os.path.realpath(os.path.join(own, _line(f"{own}/commondir")))
        if back == os.path.realpath(f"{workspace}/.git") and own.startswith(f"{common}/worktrees/"):
            return common if _is_repository(common) else ""
        return ""
    if "/modules/" in own and _is_repository(own):
        with open(f"{own}/config", opener=open_unmarked) as file:
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
    with open(path, opener=open_unmarked) as file:
        return file.read(4096).strip()
