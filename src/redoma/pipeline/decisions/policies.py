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

from redoma.base.paths import is_below, xdg_directory
from redoma.model.errors import PolicyError, UsageError
from redoma.model.message import Message
from redoma.model.policy import BUILT_IN
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.access import Grant
    from redoma.model.decision import Decision
    from redoma.model.policy import Policy

    Stamp = tuple[tuple[str, str, int, int, int, int, int, int, int], ...]

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
        from redoma.pipeline.decisions.policy_cache import Moved, compiled

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
