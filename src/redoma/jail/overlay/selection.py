"""Which changes an apply takes: those chosen, those they cannot be without, less the quarantine.

An apply first refuses what the workspace's owner alone may do: a workspace of another owner is
copied for a run, and in the copy everything is the user's own. So what worked inside may be
forbidden outside; none of it is begun then.
"""

from __future__ import annotations

import os
import stat
from bisect import bisect_left, bisect_right

from redoma.base import own_directories
from redoma.base.paths import is_below
from redoma.jail.overlay.failure import Conflict, at, conflict_lines
from redoma.jail.overlay.spool import CHANGES, Spooler, found_in
from redoma.model.change import Change, Did, FileKind
from redoma.model.errors import ApplyConflict, UsageError
from redoma.model.message import Message
from redoma.model.result import Quarantined
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from redoma.jail.overlay.beneath import Beneath
    from redoma.model.change import Changes


_CLOSED = "lies in a directory of another user in which you may not write"
_STICKY = "belongs to another user, and in its directory only they may remove it"
_OWNER = "belongs to another user, and would become yours"
_ATTRIBUTES = "belongs to another user, who alone may change its attributes"
_MOVED = "belongs to another user, and could not be removed again from where it is kept"


class Selection(Value):
    """What an apply takes, in the order of the tree: a directory, then what is in it."""

    items: Sequence[Change]
    brought: tuple[str, ...] = ()
    held_back: tuple[Quarantined, ...] = ()


def choose(
    changes: Changes,
    paths: Iterable[str] | None,
    *,
    why: Mapping[str, str],
    kept_in: str = "",
) -> Selection:
    """Everything, or what lies at or below `paths`; `why` says which stay in quarantine."""
    if paths is None:
        return _everything(changes, dict(why), kept_in)
    by_path = {item.path: item for item in changes.items}
    chosen = _named(changes, paths)
    wanted = _with_needs(by_path, chosen)
    left_out = _left_out(by_path.get, (by_path[path] for path in wanted), why)
    items = sorted(
        (by_path[path] for path in wanted if path not in left_out), key=lambda i: in_order(i.path)
    )
    return Selection(
        items=tuple(items),
        brought=tuple(sorted(path for path in wanted - chosen if path not in left_out)),
        held_back=_quarantined(changes, left_out, kept_in),
    )


def _everything(changes: Changes, why: dict[str, str], kept_in: str) -> Selection:
    """All that no quarantine holds; the very same values, where it holds nothing."""
    if not why:
        return Selection(items=changes.items)
    left_out = _left_out(found_in(changes.items), changes.items, why)
    items = Spooler(CHANGES, own_directories.made_state())
    items.extend(item for item in changes.items if item.path not in left_out)
    return Selection(items=items.sealed(), held_back=_quarantined(changes, left_out, kept_in))


def _quarantined(changes: Changes, why: Mapping[str, str], kept_in: str) -> tuple[Quarantined, ...]:
    return tuple(
        Quarantined(path=f"{changes.workspace}/{path}", why=reason, kept=f"{kept_in}/{path}")
        for path, reason in sorted(why.items())
    )


def _named(changes: Changes, paths: Iterable[str]) -> set[str]:
    chosen: set[str] = set()
    for path in paths:
        place = _relative(changes.workspace, path)
        found = {
            item.path
            for item in changes.items
            if _within(item.path, place)
            or (item.renamed_from and _within(item.renamed_from, place))
        }
        if not found:
            raise UsageError(
                "nothing changed at {path}", path=path, hint=f"redoma history {changes.id}"
            )
        chosen |= found
    return chosen


def _relative(workspace: str, path: str) -> str:
    full = os.path.normpath(os.path.join(workspace, path))
    if full == workspace:
        return "."
    if not is_below(full, workspace):
        raise UsageError(
            "{path} lies outside the workspace {workspace}", path=path, workspace=workspace
        )
    return full.removeprefix(workspace + "/")


def _within(path: str, place: str) -> bool:
    return place in (".", path) or is_below(path, place)


def _with_needs(by_path: dict[str, Change], chosen: set[str]) -> set[str]:
    gone: list[tuple[str, str]] = []  # what goes when a directory goes, in order
    links: dict[str, list[str]] = {}
    for path, item in by_path.items():
        left = path if item.did is Did.DELETED else item.renamed_from
        if left:
            gone.append((in_order(left), path))
        if item.hard_link_of in by_path:
            links.setdefault(item.hard_link_of, [item.hard_link_of]).append(path)
    gone.sort()
    made = Roots(path for path, item in by_path.items() if makes_directory(item))
    emptied: set[str] = set()  # directories of which everything is chosen already
    wanted: set[str] = set()
    pending = sorted(chosen, key=in_order, reverse=True)  # the outermost is taken first
    while pending:
        path = pending.pop()
        if path in wanted:
            continue
        wanted.add(path)
        item = by_path[path]
        if item.did is not Did.DELETED and made.around(path):
            for parent in parents(path):
                above = by_path.get(parent)
                if above is not None and makes_directory(above):
                    pending.append(parent)  # which asks for those above it in turn
                    break
        leaves = item.did is Did.DELETED or replaces_kind(item)
        if was_directory(item) and leaves and path not in emptied:
            key = in_order(path)
            first, last = bisect_left(gone, (f"{key}\0",)), bisect_left(gone, (f"{key}\1",))
            below = [inner for _, inner in gone[first:last]]
            emptied.update(below)
            pending += below
        pending += links.get(item.hard_link_of or path, [])
    return wanted


def _left_out(
    find: Callable[[str], Change | None], wanted: Iterable[Change], reasons: Mapping[str, str]
) -> dict[str, str]:
    """Which of the wanted changes stay in quarantine, and why: what they need may stay there."""
    not_made = Roots(path for path in reasons if (item := find(path)) and is_directory(item))
    why: dict[str, str] = {}
    removed: dict[str, Change] = {}  # directories that would go
    for item in wanted:
        if item.path in reasons:
            why[item.path] = reasons[item.path]
        # Nothing can lie in a directory that is not made.
        elif item.did is not Did.DELETED and (above := not_made.around(item.path)):
            why[item.path] = reasons[above]
        elif was_directory(item) and (item.did is Did.DELETED or replaces_kind(item)):
            removed[item.path] = item
    stay: set[str] = set()
    for path in why:
        stays = find(path)
        for parent in _left_standing(stays) if stays is not None else ():
            if parent in stay:
                break
            stay.add(parent)
    for path in stay.intersection(removed):
        why[path] = "something protected stays in it"
    return why


def _left_standing(item: Change) -> Iterator[str]:
    """The directories that cannot go while what this change would have removed stays."""
    if item.did is Did.DELETED:
        yield from parents(item.path)
    elif item.renamed_from:
        yield from parents(item.renamed_from)
    elif item.before is not None:
        yield from parents(item.path)


def parents(path: str) -> Iterator[str]:
    """The directories that a path lies in, the nearest first; not the workspace itself."""
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def is_directory(item: Change) -> bool:
    """Whether a change leaves a directory."""
    return item.after is not None and item.after.kind is FileKind.DIRECTORY


def was_directory(item: Change) -> bool:
    """Whether there was a directory before a change."""
    return item.before is not None and item.before.kind is FileKind.DIRECTORY


def replaces_kind(item: Change) -> bool:
    """Whether a directory stands where none stood, or the reverse."""
    return (
        item.did is Did.MODIFIED
        and item.before is not None
        and item.after is not None
        and is_directory(item) != was_directory(item)
    )


def makes_directory(item: Change) -> bool:
    """Whether what lies below a path can only come with this change."""
    return item.did is Did.CREATED or replaces_kind(item)


def goes(item: Change) -> bool:
    """Whether a directory that was there goes with a change, and all that lies in it."""
    moves = item.did is Did.DELETED or item.did is Did.RENAMED
    return was_directory(item) and (moves or replaces_kind(item))


def leaves_directory(item: Change) -> bool:
    """Whether a change keeps a directory where one was: only its attributes are set."""
    return is_directory(item) and was_directory(item) and item.did is not Did.RENAMED


def in_order(path: str) -> str:
    """What to sort paths by, so that a directory is followed by what is in it."""
    return "" if path == "." else path.replace("/", "\0")


class Roots:
    """Some directories; of those in each other only the outermost, which has the others in it."""

    def __init__(self, paths: Iterable[str], *, ordered: bool = False) -> None:
        """`ordered` says that the paths come in order; they need not all be there at once then."""
        self._keys: list[str] = []
        keys: Iterable[str] = map(in_order, paths)
        for key in keys if ordered else sorted(keys):
            if not self._keys or not f"{key}\0".startswith(f"{self._keys[-1]}\0"):
                self._keys.append(key)

    def __bool__(self) -> bool:
        return bool(self._keys)

    def over(self, path: str) -> str:
        """The directory of these that a path lies in, or that it is; empty where in none."""
        if not self._keys:
            return ""
        key = in_order(path)
        at = bisect_right(self._keys, key) - 1
        if at < 0:
            return ""
        found = self._keys[at]
        if key == found or key.startswith(f"{found}\0"):
            return path[: len(found)]
        return ""

    def below(self, path: str) -> bool:
        """Whether any of these lies below a path, or is it."""
        key = in_order(path)
        at = bisect_left(self._keys, key)
        if at == len(self._keys):
            return False
        return self._keys[at] == key or self._keys[at].startswith(f"{key}\0")

    def around(self, path: str) -> str:
        """The same, but a directory does not lie in itself."""
        found = self.over(path)
        return "" if found == path else found


def refuse_forbidden(name: str, items: Iterable[Change], ground: Beneath) -> None:
    """ApplyConflict with every path that this user could not change as the command did."""
    if os.geteuid() == 0:
        return
    check = _RightsCheck(ground)
    found: list[Conflict] = []
    for item in items:
        with at(item.path, "looked at"):
            why = check.why(item)
        if why:
            found.append(Conflict(path=item.path, why=why))
    if found:
        raise ApplyConflict(
            Message("{conflicts}\nnothing was applied", conflicts=Message(conflict_lines(found))),
            paths=[conflict.path for conflict in found],
            hint=Message(
                "redoma apply {name} PATH… for the others, or run it as the workspace's owner",
                name=name,
            ),
        )


class _RightsCheck:
    """The workspace as it stands; what is said of a directory is remembered for its neighbours."""

    def __init__(self, ground: Beneath) -> None:
        self._ground = ground
        self._user = os.geteuid()
        self._last = ("", "")

    def why(self, item: Change) -> str:
        """Why a change may not be made, or nothing."""
        for path in (item.path, item.renamed_from):
            why = self._entry(path) if path and path != "." else ""
            if why:
                return why
        before = item.before
        if before is None or before.uid == self._user:
            return ""
        if is_directory(item) and was_directory(item) and item.did is not Did.RENAMED:
            return _ATTRIBUTES if self._not_ours(item.path) else ""
        if was_directory(item):
            return self._whole(item.renamed_from or item.path)
        return "" if item.did is Did.DELETED else _OWNER

    def _not_ours(self, path: str) -> bool:
        status = self._ground.status(path)
        return status is not None and status.st_uid != self._user

    def _entry(self, path: str) -> str:
        """Whether an entry of a directory may be made, replaced or removed."""
        parent = path.rpartition("/")[0]
        if parent != self._last[0] or not parent:
            self._last = (parent, self._directory(parent or "."))
        why = self._last[1]
        return why if why != _STICKY or self._not_ours(path) else ""

    def _directory(self, path: str) -> str:
        status = self._ground.status(path)
        if status is None or not stat.S_ISDIR(status.st_mode) or status.st_uid == self._user:
            return ""  # it comes with this apply; or it is ours, and opened where it is closed
        with self._ground.opened(path, os.O_PATH | os.O_DIRECTORY) as fd:
            if not os.access(f"/proc/self/fd/{fd}", os.W_OK | os.X_OK):
                return _CLOSED
        return _STICKY if status.st_mode & stat.S_ISVTX else ""

    def _whole(self, path: str) -> str:
        """Whether a directory of another user can go with everything that is in it."""
        if not self._not_ours(path):
            return ""
        if self._directory(path):
            return _MOVED
        for inner, status in self._ground.below(path):
            if stat.S_ISDIR(status.st_mode) and self._directory(inner):
                return _MOVED
        return ""
