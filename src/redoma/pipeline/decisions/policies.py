"""Finds the `sandbox.yaml` files that apply, refuses what cannot be trusted, and keeps the rest.

Layers, the outermost first: what is built in; the user's own file, `$XDG_CONFIG_HOME/redoma/` or
`~/.config/redoma/`; then, from the top of the repository down to the workspace, each directory's
`sandbox.yaml` and `.redoma/sandbox.yaml`. Beside the user's own file and in a project's `.redoma/`
may lie `cards/*.yaml`, which tell what programs do. Every file that is there has to be readable
and right, or nothing is decided at all.

Reading YAML costs a cold process more than judging a command; so what was read is kept in the
user's cache, under the identity of every file, and is looked at again whenever one changes.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from binascii import crc32
from enum import Enum

from redoma.base import cache
from redoma.base.paths import cache_home, is_below, xdg_directory
from redoma.model import policy as nouns
from redoma.model.decision import Verdict
from redoma.model.errors import PolicyError, UsageError
from redoma.model.message import Message
from redoma.model.policy import BUILT_IN, Policy
from redoma.model.request import Choice
from redoma.model.value import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from redoma.model.decision import Decision
    from redoma.model.grant import Grant

    Stamp = tuple[tuple[str, str, int, int, int, int, int, int, int], ...]

_KINDS: dict[str, Any] = {
    name: kind
    for name, kind in vars(nouns).items()
    if isinstance(kind, type) and issubclass(kind, Value | Enum)
} | {"Verdict": Verdict, "Choice": Choice}
_VALUE, _ENUM, _TUPLE = 0, 1, 2


def plain(value: Any) -> Any:
    """Numbers, texts and tuples, each tuple with a mark of what it was."""
    if isinstance(value, Value):
        return (_VALUE, type(value).__name__, *map(plain, value._content()))
    if isinstance(value, Enum):
        return (_ENUM, type(value).__name__, value.value)
    if isinstance(value, tuple):
        return (_TUPLE, *map(plain, value))
    return value


def whole(data: Any) -> Any:
    """What `plain` was given; anything else is a KeyError, TypeError or ValueError."""
    if type(data) is not tuple:
        return data
    mark = data[0]
    if mark == _TUPLE:
        return tuple(map(whole, data[1:]))
    kind = _KINDS[data[1]]
    if mark == _ENUM:
        return kind(data[2])
    return kind(**dict(zip(kind._fields, map(whole, data[2:]), strict=True)))


FORMAT = 3
# A file changed so lately could change again without its times telling.
_SETTLED_NS = 100_000_000


class Moved(Exception):
    """A file is no longer the one that was looked at."""


def compiled(stamp: Stamp) -> tuple[Policy, bool]:
    """The policy of these files, and whether it may be held for as long as they stay the same."""
    head = (FORMAT, sys.version_info[:2], stamp)
    settled = time.time_ns() - max(max(row[4], row[5]) for row in stamp) > _SETTLED_NS
    place = _place(stamp)
    kept = _kept(place, head) if settled and place else None
    if kept is not None:
        return kept, True
    policy = _read(stamp)
    if settled and place:
        cache.keep(place, head, plain(policy))
    return policy, settled


def _read(stamp: Stamp) -> Policy:
    from hashlib import sha256

    from redoma.judge.policy.layers import merge
    from redoma.judge.policy.sandbox_yaml import read
    from redoma.judge.policy.tree import LARGEST

    digest = sha256()
    layers = []
    cards: list[tuple[str, str, bytes]] = []
    for path, origin, *identity in stamp:
        content = _content(path, identity, LARGEST + 1)
        digest.update(f"{origin}\0{path}\0{len(content)}\0".encode(errors="surrogateescape"))
        digest.update(content)
        if is_card_file(path):
            cards.append((path, origin, content))
        else:
            layers.append(read(content, path=path, origin=origin))
    policy = merge(layers, digest=digest.hexdigest())
    if not cards:
        return policy
    from redoma.pipeline.decisions.own_rules import packed

    return replace(policy, cards=packed(cards, "user"), project_cards=packed(cards, "project"))


def _content(path: str, identity: list[int], most: int) -> bytes:
    """The bytes of the very file that was looked at.

    Attack: the file is exchanged between the look and the reading, or while it is read.
    """
    try:
        with open(path, "rb") as file:
            before = _stamp(file.fileno())
            content = file.read(most)
            after = _stamp(file.fileno())
    except OSError as error:
        raise unusable(path, Message("cannot be read: {why}", why=error.strerror)) from None
    if not before == after == identity:
        raise Moved(path)
    return content


def _stamp(fd: int) -> list[int]:
    s = os.fstat(fd)
    return [s.st_dev, s.st_ino, s.st_mtime_ns, s.st_ctime_ns, s.st_size, s.st_mode, s.st_uid]


def _place(stamp: Stamp) -> str:
    """Where it is kept; nowhere for someone whose home directory does not exist."""
    base = cache_home()
    if not base or not os.path.isdir(os.path.dirname(base)):
        return ""
    names = "\0".join(row[0] for row in stamp).encode(errors="surrogateescape")
    return os.path.join(base, "redoma", "policies", f"{crc32(names):08x}.compiled")


def _kept(path: str, head: tuple[object, ...]) -> Policy | None:
    """The policy that is kept, if it is still the one of these files."""
    try:
        policy = whole(cache.read(path, head))
    except (ValueError, TypeError, LookupError):
        return None
    return policy if isinstance(policy, Policy) else None


NAME = "sandbox.yaml"
CARDS = "cards"
MOST_CARD_FILES = 64
FIX = "redoma policy lint"
_TRIES = 3
_MOST_HELD = 256
_held: dict[tuple[str, str], tuple[Stamp, Policy]] = {}


def load_policy(workspace: str, *, home: str | None = None) -> Policy:
    """The policy for a workspace; PolicyError where a file of it cannot be used."""
    key = (workspace, home or "")
    for _ in range(_TRIES):
        stamp = found(workspace, home=home)
        if not stamp:
            return BUILT_IN
        held = _held.get(key)
        if held is not None and held[0] == stamp:
            return held[1]

        try:
            policy, settled = compiled(stamp)
        except Moved:
            continue  # an editor put another file in its place: that one is the policy now
        policy = _rooted(policy, project_folders(workspace or ".")[0])
        if settled:
            if len(_held) >= _MOST_HELD:
                _held.clear()
            _held[key] = (stamp, policy)
        return policy
    raise unusable(stamp[0][0], "changes all the time", "try again")


load_policy.__module__ = "redoma"


def shipped_policy(name: str, *, pack: str = "default") -> Policy:
    """A policy that ships, by its name, over a pack; no file is looked at."""
    from redoma.judge.policy.shipped import POLICIES, named

    if name not in POLICIES:
        raise UsageError(
            "there is no policy {text}",
            text=repr(name),
            hint=Message("policies: {policies}", policies=", ".join(POLICIES)),
        )
    return named(name, pack)


shipped_policy.__module__ = "redoma"


def _rooted(policy: Policy, top: str) -> Policy:
    """The user's own paths start at the top of the project they are asked about."""
    floor = _rooted(policy.floor, top) if policy.floor is not None else None
    return replace(policy, root=policy.root or top, floor=floor)


def found(workspace: str, *, home: str | None = None) -> Stamp:
    """Every file that applies with its identity; one that cannot be trusted is an error."""
    from_user = user_file(home)
    rows = [row for row in (_identity(from_user, "user", ""),) if row is not None]
    for path in _card_files(f"{os.path.dirname(from_user)}/{CARDS}"):
        rows += [row for row in (_identity(path, "user", ""),) if row is not None]
    top, folders = project_folders(workspace or ".")
    for folder in folders:
        cards = _card_files(f"{folder}/.redoma/{CARDS}")
        for path in (f"{folder}/{NAME}", f"{folder}/.redoma/{NAME}", *cards):
            row = _identity(path, "project", top)
            # Whoever works on their own configuration has it as a project's file, too.
            if row is not None and row[2:4] not in [other[2:4] for other in rows]:
                rows.append(row)
    return tuple(rows)


def _card_files(folder: str) -> list[str]:
    """The card files of a folder, which need not be there."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".yaml"))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise unusable(folder, Message("cannot be looked at: {why}", why=error.strerror)) from None
    if len(names) > MOST_CARD_FILES:
        raise unusable(folder, Message("has more than {most} card files", most=MOST_CARD_FILES))
    return [f"{folder}/{name}" for name in names]


def is_card_file(path: str) -> bool:
    """Whether a file holds cards, and no policy: its folder says so."""
    return os.path.basename(os.path.dirname(os.path.abspath(path))) == CARDS


def user_file(home: str | None = None) -> str:
    """Where the user's own policy lies."""
    here = os.environ.get("HOME")
    if not home or home == here:
        found = xdg_directory("XDG_CONFIG_HOME", ".config")
        if found:
            return f"{found}/redoma/{NAME}"
    # Attack: a caller without HOME would leave the user's own policy behind.
    base = home or here or os.path.expanduser("~")
    return f"{base.rstrip('/')}/.config/redoma/{NAME}"


def project_folders(workspace: str) -> tuple[str, list[str]]:
    """The top of the project, and the directories from there down to the workspace.

    The top is the outermost directory with a `.git`, so that a repository made inside of another
    does not get rid of the policy around it. A directory that anyone may write is nobody's top.
    """
    here = os.path.realpath(workspace)
    top, folder = here, here
    while folder != "/":
        try:
            if folder != here and os.stat(folder).st_mode & stat.S_IWOTH:
                break
            os.lstat(f"{folder}/.git")
            top = folder
        except OSError:
            pass
        folder = os.path.dirname(folder)
    folders = [top]
    rest = here[len(top) :].strip("/")
    for name in rest.split("/") if rest else ():
        folders.append(f"{folders[-1].rstrip('/')}/{name}")
    return top, folders


def _identity(
    path: str, origin: str, top: str
) -> tuple[str, str, int, int, int, int, int, int, int] | None:
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        hint = "HOME must be your own home directory" if origin == "user" else FIX
        raise unusable(
            path, Message("cannot be looked at: {why}", why=error.strerror), hint
        ) from None
    if stat.S_ISLNK(status.st_mode):
        status = _behind(path, top)
    real = os.path.dirname(os.path.realpath(path))
    try:
        around = os.stat(real)
    except OSError as error:
        raise unusable(path, Message("cannot be looked at: {why}", why=error.strerror)) from None
    _trusted(path, status, around, origin)
    return (
        path,
        origin,
        status.st_dev,
        status.st_ino,
        status.st_mtime_ns,
        status.st_ctime_ns,
        status.st_size,
        status.st_mode,
        status.st_uid,
    )


def _behind(path: str, top: str) -> os.stat_result:
    """What a link leads to; a project's must stay inside of it.

    Attack: a repository's link to a file elsewhere would let that file's owner write the policy.
    """
    real = os.path.realpath(path)
    if top and not is_below(real, top):
        raise unusable(path, Message("is a link out of the project, to {real}", real=real))
    try:
        return os.stat(path)
    except OSError as error:
        raise unusable(path, Message("leads nowhere: {why}", why=error.strerror)) from None


def _trusted(path: str, status: os.stat_result, around: os.stat_result, origin: str) -> None:
    mine = {0, os.geteuid()}
    if not stat.S_ISREG(status.st_mode):
        raise unusable(path, "is not a file")
    if origin == "project":
        # Root in someone's checkout: the checkout's owner wrote it, and it can only tighten.
        mine.add(around.st_uid)
    if status.st_uid not in mine:
        raise unusable(
            path,
            Message("belongs to another user (uid {owner})", owner=status.st_uid),
            f"chown it: {path}",
        )
    if status.st_mode & stat.S_IWOTH:
        raise unusable(path, "can be written by everyone", f"chmod o-w {path}")
    if around.st_mode & stat.S_IWOTH and not around.st_mode & stat.S_ISVTX:
        place = os.path.dirname(path)
        raise unusable(path, "lies where everyone can replace it", f"chmod o-w {place}")


def unusable(path: str, why: str, hint: str = FIX) -> PolicyError:
    """The error for a file that is there and cannot be used."""
    return PolicyError(
        "the policy {path} {why}; nothing runs until it is right",
        path=path,
        why=Message(why),
        hint=hint,
    )


def tightened(
    grant: Grant, policy: Policy, decision: Decision | None = None, home: str | None = None
) -> Grant:
    """What one run may do, made smaller by a policy and its decision."""
    if policy is BUILT_IN:
        return grant
    from redoma.pipeline.decisions import policy_grant

    return policy_grant.tightened(grant, policy, decision, home)
