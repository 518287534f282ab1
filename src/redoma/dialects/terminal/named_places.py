"""What a sandbox has to show so that the paths a command names are the real ones.

Inside, /tmp is empty and home has only toolchains. What a command names there is opened to it by
name: a file or a directory to be read, the directory around what it changes. Only what changes
/tmp itself, such as the removal of a directory right below it, needs the whole of it: held in a
layer for root, and for anyone else shared with programs that can do nothing but work on files. A
command that works in a home has all of it but what is hidden there by its name.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from dataclasses import dataclass, replace

from redoma import Effect, Fact, check
from redoma.base.paths import is_within

TEMPORARY = "/tmp"


def allowed(path: str | os.PathLike[str], *, start: str = "") -> bool:
    """Whether a path is home, /tmp or below, links followed, and keeps no credential."""
    real = resolved(path, start=start)
    if not real or not any(is_within(real, root) for root in roots()):
        return False
    # Attack: keys and passwords lie below home, too.
    return check("cat -- " + _quoted(real), pack="terminal").level != "blocked"


def roots() -> tuple[str, ...]:
    """Home and /tmp as they really are; a home that is everything allows nothing."""
    found = [resolved("~"), resolved(TEMPORARY)]
    return tuple(root for root in found if root not in ("", "/"))


def resolved(path: str | os.PathLike[str], *, start: str = "") -> str:
    """The path without links and `..`; empty where that cannot be said."""
    text = os.path.expanduser(os.fsdecode(path))
    if not text or "\0" in text or text.startswith("~"):
        return ""
    text = os.path.join(start or _here(), text)
    try:
        return os.path.realpath(text, strict=True)
    except FileNotFoundError:
        return os.path.realpath(text)  # it may be made there
    except (OSError, ValueError):
        return ""  # a loop of links, a directory that cannot be entered: nobody knows


def _quoted(text: str) -> str:
    from shlex import quote

    return quote(text)


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:
        return "/nonexistent"


_CHANGES = frozenset((Effect.WRITES, Effect.DELETES))
_MOST_LOOKED_AT = 20_000
# These open no socket, run no other program, and obey no file of the workspace.
_PLAIN_PROGRAMS = frozenset(
    """
    : [ basename cat cd cmp cp cut date diff dirname du echo false head ln ls mkdir mv printf pwd rm
    rmdir seq stat tail tee test touch true uniq unlink wc
    """.split()
)
_PLAIN_EFFECTS = frozenset((Effect.CALLS, Effect.READS, Effect.WRITES, Effect.DELETES))
_OBEYED = (
    *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".inputrc"),
    *(".zshrc", ".zshenv", ".zprofile", ".zlogin", ".cshrc", ".tcshrc", ".kshrc", ".login"),
    *(".gitconfig", ".ssh", ".gnupg", ".config", ".local", ".vimrc", ".exrc", ".emacs", ".npmrc"),
    *(".pypirc", ".netrc", ".aws", ".kube", ".docker", ".xinitrc", ".xprofile", ".xsession"),
    *(".pam_environment", ".forward", ".rhosts", ".tmux.conf", ".screenrc", ".wgetrc", ".curlrc"),
)
_ASSIGNMENT = re.compile(r"(?:^|[\s;&|(])\w+\+?=")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedPlaces:
    """What a command names outside of its working directory."""

    # The whole of /tmp, held in a layer; or as it is.
    temporary: bool = False
    shared: bool = False
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    # The first path that it would change and may not.
    outside: str = ""
    # What is not there for it, where the whole of a home is.
    hidden: tuple[str, ...] = ()


def place(command: str, facts: tuple[Fact, ...], where: str) -> tuple[NamedPlaces, str]:
    """What has to be opened to a command that runs in a directory, and its workspace.

    A home and /tmp are no workspaces: a command there starts from an empty directory of its own,
    and is given the one that it works in. `leave` takes that directory away.
    """
    found = reach(command, facts, where)
    if where not in roots():
        return found, where
    room = tempfile.mkdtemp(prefix="redoma-terminal-", dir="/var/tmp")
    if where == TEMPORARY:
        if whole_temporary():
            return replace(found, temporary=True), room
        if _is_plain(command, facts):
            return replace(found, shared=True), room
        # Whatever else listens there leads nowhere: it can only be read.
        return replace(found, reads=(TEMPORARY, *found.reads)), room
    outside = "" if is_within(found.outside, where) else found.outside
    return (
        replace(
            found,
            reads=tuple(path for path in found.reads if not is_within(path, where)),
            writes=(where, *(path for path in found.writes if not is_within(path, where))),
            outside=outside,
            hidden=tuple(sorted(_private(where))),
        ),
        room,
    )


def leave(room: str, where: str) -> None:
    """Takes away the empty directory that a command started from."""
    if room != where:
        shutil.rmtree(room, ignore_errors=True)


def _private(home: str) -> set[str]:
    """What keeps settings and secrets in a home, there now or not: it is not there for a command.

    Attack: a script that nobody read writes what the next shell obeys, or reads a token under a
    name that nobody lists.
    """
    with os.scandir(home) as entries:
        found = {entry.path for entry in entries if entry.name.startswith(".")}
    return {path for path in (*found, *(f"{home}/{name}" for name in _OBEYED)) if path != home}


def reach(command: str, facts: tuple[Fact, ...], workspace: str) -> NamedPlaces:
    """What has to be opened to a command that does these things."""
    reads: list[str] = []
    writes: list[str] = []
    outside = ""
    temporary = shared = False
    for path, change in _named(facts, workspace):
        if path == TEMPORARY or (change and os.path.dirname(_place(path)) == TEMPORARY):
            if whole_temporary():
                temporary = True
            elif _is_plain(command, facts):
                shared = True
            elif change and path != TEMPORARY and _is_its_own(path):
                writes.append(path)
            elif change and (change is Effect.WRITES or os.path.lexists(path)):
                outside = outside or path
        elif change is None:
            reads += [path] if _shown(path) else []
        elif _shown(os.path.dirname(_place(path))):
            writes.append(os.path.dirname(_place(path)))
        else:
            outside = outside or path
    return NamedPlaces(
        temporary=temporary,
        shared=shared,
        reads=tuple(dict.fromkeys(reads)),
        writes=tuple(dict.fromkeys(writes)),
        outside=outside,
    )


def whole_temporary() -> bool:
    """Whether a layer can lie over /tmp: the kernel lets only its owner have one."""
    try:
        return os.stat(TEMPORARY).st_uid == os.geteuid()
    except OSError:
        return False


def _is_plain(command: str, facts: tuple[Fact, ...]) -> bool:
    """Whether a command does nothing but work on files, by programs of the system.

    Attack: /tmp has sockets of terminals and key agents, and gets new ones while a command runs.
    A variable such as PATH or LD_PRELOAD would make another program of a plain one.
    """
    called = [fact.detail.split("\x1f")[0] for fact in facts if fact.effect is Effect.CALLS]
    return (
        _PLAIN_PROGRAMS.issuperset(called)
        and _PLAIN_EFFECTS.issuperset(fact.effect for fact in facts)
        and not _ASSIGNMENT.search(command)
    )


def _is_its_own(path: str) -> bool:
    """Whether something is there and no link: what a link leads to may be anywhere."""
    return os.path.exists(path) and resolved(path) == path


def _named(facts: tuple[Fact, ...], workspace: str) -> list[tuple[str, Effect | None]]:
    """Every path outside of the workspace that a command names, and how it changes it."""
    found: list[tuple[str, Effect | None]] = []
    for fact in facts:
        change = fact.effect if fact.effect in _CHANGES else None
        if fact.effect is Effect.CALLS:
            found += [(word, None) for word in fact.detail.split("\x1f")[1:]]
            continue
        for target in fact.targets:
            # What has no path of its own is told as it is written, by programs that make files.
            path = target.real or target.path or (target.text if change else "")
            found.append((path, change))
    return [
        (os.path.normpath(path), change)
        for path, change in found
        if path.startswith("/") and not is_within(os.path.normpath(path), workspace)
    ]


def _place(path: str) -> str:
    """The path itself; of a pattern, or below a directory that is to be made, what is first new."""
    known = next((at for at, char in enumerate(path) if char in "*?["), len(path))
    if known < len(path):
        path = path[: path.rfind("/", 0, known) + 1] + "*"
    parent = os.path.dirname(path)
    while parent != "/" and not os.path.isdir(parent):
        path, parent = parent, os.path.dirname(parent)
    return os.path.join(resolved(parent), os.path.basename(path))


def _shown(path: str) -> bool:
    """Whether something that is there may be opened to a command because it names it.

    Attack: hidden directories of a home keep tokens under names that nobody lists.
    """
    home = resolved("~")
    if not path or path in roots() or not allowed(path) or not _harmless(path):
        return False
    return not is_within(path, home) or not os.path.relpath(path, home).startswith(".")


def _harmless(path: str) -> bool:
    """Whether there are files and directories only.

    Attack: a socket leads to whoever listens there, also where it can only be read: an agent with
    keys, a terminal that takes commands. A directory too large to be looked at may have one.
    """
    pending, looked = [path], 0
    while pending:
        place = pending.pop()
        try:
            mode = os.lstat(place).st_mode
            if stat.S_ISDIR(mode):
                with os.scandir(place) as entries:
                    pending += [entry.path for entry in entries if not entry.is_file()]
        except PermissionError:
            continue  # the command cannot look there either
        except OSError:
            return False
        looked += 1
        if stat.S_ISSOCK(mode) or stat.S_ISFIFO(mode) or looked > _MOST_LOOKED_AT:
            return False
    return True
