"""Which lines of a repository's configuration cannot make git run a program."""

from __future__ import annotations

import re

_HEADER = re.compile(r'\s*\[([A-Za-z0-9-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\]\s*')
_PAIR = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*?)\s*)?")

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
    kept: list[str] = []
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
        if header := _HEADER.fullmatch(line):
            section = header[1].lower()
            kept.append(line)
        elif (pair := _PAIR.fullmatch(line)) and _runs_nothing(section, pair[1], pair[2] or ""):
            kept.append(line)
        else:
            dropped.append(f"{section}.{line.strip()}")
    return "\n".join(kept) + "\n", tuple(dropped)


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
    section = ""
    hooks: list[str] = []
    includes: list[str] = []
    for line in text.split("\n"):
        if header := _HEADER.match(line):
            section = header[1].lower()
            line = line[header.end() :]  # noqa: PLW2901 — a key may follow on the same line
        if pair := _PAIR.fullmatch(line):
            value = (pair[2] or "").strip('"')
            if section == "core" and pair[1].lower() == "hookspath":
                hooks.append(value)
            elif section in ("include", "includeif") and pair[1].lower() == "path":
                includes.append(value)
    return hooks, includes
