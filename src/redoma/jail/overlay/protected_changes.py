"""Which pending changes stay in quarantine: what a person's tools would obey, what is Redoma's.

In an overlay a command may write anything; nothing obeys it there. The line is drawn when changes
are applied, by the same names and the same judgement as after a run that wrote directly.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from redoma.base.paths import is_below, is_within
from redoma.jail.overlay.beneath import Beneath
from redoma.jail.overlay.selection import Roots
from redoma.jail.overlay.spool import found_in
from redoma.jail.protect import installation, survey
from redoma.jail.protect.git_repository import (
    harmless,
    leads_out,
    obeyed_beside,
    programs_of_a_rebase,
    text_of,
)
from redoma.jail.protect.survey import Survey
from redoma.model.change import Change, Changes, Did, FileKind
from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


_OBEYED = "a tool of yours would obey it"
_RUN = "git would run it"
_RUNS_FROM_IT = "Redoma itself runs from it"
_LEADS = "it would lead git to a repository of the command's own making"
_TODO = "/rebase-merge/git-rebase-todo"
_MAKES_A_REPOSITORY = frozenset({"HEAD", "objects", "refs", "commondir"})


def protected(
    changes: Changes,
    upper: str,
    allowed: tuple[str, ...] = (),
    more: tuple[str, ...] = (),
) -> dict[str, str]:
    """The paths among the changes that must not be applied, each with the reason.

    `allowed` are absolute paths that a person gave by name: they and what is below may be written.
    `more` are names that a policy protects beside those that are known.
    """
    if not changes.items:
        return {}
    judge = _ProtectionCheck(changes, upper, allowed, more)
    found: dict[str, str] = {}
    for item in changes.items:
        why = judge.why(item)
        if why:
            found[item.path] = why
    return found


class _ProtectionCheck:
    """The workspace as it stands, which no pending change has touched, and the overlay over it."""

    def __init__(
        self, changes: Changes, upper: str, allowed: tuple[str, ...], more: tuple[str, ...]
    ) -> None:
        self._root = changes.workspace
        self._upper = upper
        self._allowed = allowed
        self._names = survey.obeyed().with_more(more)
        self._find = found_in(changes.items)
        surveyed = Survey(self._root, more=more)
        surveyed.look()
        self._repositories = frozenset(surveyed.git_directories())
        self._obeyed = self._obeyed_now(surveyed)
        self._known = Roots(self._obeyed)
        self._ours = OwnPartsCheck(self._root)

    def _obeyed_now(self, surveyed: Survey) -> frozenset[str]:
        """What a tool obeys already, and where the links among that lead."""
        found = {path for path, _ in surveyed.protected()}
        for repository in self._repositories:
            found.update(obeyed_beside(repository))
        # Attack: what stands behind a protected link is changed in its place.
        found |= {os.path.realpath(path) for path in found if os.path.islink(path)}
        return frozenset(path for path in found if is_below(path, self._root))

    def why(self, item: Change) -> str:
        """Why a change may not be applied, or nothing."""
        if item.path == ".":
            return ""
        # Before anything that a person may have allowed: nobody gives us away by name.
        if self._ours.touched_by(item, self._below):
            return _RUNS_FROM_IT
        if item.renamed_from:
            why = self._why_moved(item)
            if why:
                return why
        if item.did is not Did.RENAMED or item.moved_along == 0:
            return self._why_path(item.path, gone=item.did is Did.DELETED)
        # What moved along has no items of its own.
        for path in (item.path, *self._below(item.path)):
            why = self._why_path(path, gone=False)
            if why:
                return why
        return ""

    def _why_moved(self, item: Change) -> str:
        old = f"{self._root}/{item.renamed_from}"
        if old in self._obeyed or self._known.below(old):
            return "" if self._may(old) else "a tool of yours obeys what lies there"
        return self._within_known(old)

    def _why_path(self, path: str, *, gone: bool) -> str:
        place = f"{self._root}/{path}"
        if self._may(place):
            return ""
        parent, _, name = place.rpartition("/")
        settings = name in ("config", "config.worktree") and self._is_repository(parent)
        if settings and not gone:
            # Settings that run nothing may change, as a new remote does.
            why = self._within_known(parent) or self._why_config(path, place)
        else:
            why = self._within_known(place)
        return why or ("" if gone else self._why_new(path, place))

    def _within_known(self, place: str) -> str:
        return _OBEYED if self._known.over(place) else ""

    def _why_new(self, path: str, place: str) -> str:
        directory = self._kind(path) is FileKind.DIRECTORY
        row = self._names.of_path(path, directory=directory)
        if row is not None:
            return _by_policy(row) or Message("{tool} would obey it", tool=row.tool)
        last = path.rpartition("/")[2]
        if not directory and survey.is_git(last):
            return self._why_link(path, place)
        if place.endswith(_TODO) and self._is_repository(place.removesuffix(_TODO)):
            repository = place.removesuffix(_TODO)
            new = programs_of_a_rebase(f"{self._upper}/{path.removesuffix(_TODO)}")
            return _RUN if new - programs_of_a_rebase(repository) else ""
        if last in _MAKES_A_REPOSITORY:
            why = self._why_repository(place.rpartition("/")[0])
            if why:
                return why
        folded = survey.folded(path)
        if not _has_part(folded, survey.GIT_PARTS):
            return ""
        return self._why_part(path, folded, directory=directory)

    def _why_part(self, path: str, folded: str, *, directory: bool) -> str:
        """Parts of a repository that tell git what to do."""
        parts = path.split("/")
        for at, part in enumerate(folded.split("/")):
            if part not in survey.GIT_PARTS:
                continue
            repository = "/".join((self._root, *parts[:at]))
            if not self._is_repository(repository):
                continue
            if part == "hooks":
                sample = at == len(parts) - 2 and parts[-1].endswith(".sample")
                return "" if (sample or (at == len(parts) - 1 and directory)) else _RUN
            if at == len(parts) - 1 and part in ("commondir", "gitdir"):
                return "" if self._usual_worktree(path) else _LEADS
        return ""

    def _why_repository(self, place: str) -> str:
        """A directory that git would now take for a repository may hold nothing that runs.

        Attack: hooks and settings lie there already, harmless until the missing part is made.
        """
        if place in self._repositories or not self._is_repository(place):
            return ""
        for name in ("config", "config.worktree"):
            part = f"{place}/{name}".removeprefix(self._root + "/")
            there = self._find(part) is None and self._exists(part)
            if there and self._why_config(part, f"{place}/{name}"):
                return Message("it would make git obey {part}", part=part)
        hooks = f"{place}/hooks".removeprefix(self._root + "/")
        with suppress(OSError):
            for name in os.listdir(f"{self._root}/{hooks}"):
                if not name.endswith(".sample") and self._find(f"{hooks}/{name}") is None:
                    return Message("it would make git run what is in {hooks}", hooks=hooks)
        return ""

    def _why_config(self, path: str, place: str) -> str:
        try:
            lines, dropped = harmless(text_of(self._now(path)))
        except (OSError, UnicodeDecodeError):
            return "it is no configuration"
        if dropped:
            return f"git would obey {', '.join(dropped)[:200]}"
        return "its work tree lies outside" if leads_out(self._root, place, lines) else ""

    def _why_link(self, path: str, place: str) -> str:
        with suppress(OSError, UnicodeDecodeError):
            text = text_of(self._now(path))
            if text.startswith("gitdir:"):
                target = os.path.normpath(
                    os.path.join(os.path.dirname(place), text.removeprefix("gitdir:").strip())
                )
                for inside in ("/worktrees/", "/modules/"):
                    repository = target.partition(inside)[0]
                    if repository != target and self._is_repository(repository):
                        return ""
        return _LEADS

    def _usual_worktree(self, path: str) -> bool:
        above = path.rpartition("/")[0]
        with suppress(OSError, UnicodeDecodeError):
            usual = text_of(self._now(f"{above}/commondir")).strip() == "../.."
            return usual and above.rpartition("/")[0].endswith("/worktrees")
        return False

    def _is_repository(self, place: str) -> bool:
        """Whether git takes a directory for a repository, now or with the changes."""
        if place in self._repositories:
            return True
        if not is_within(place, self._root):
            return False
        # Attack: hooks and settings are planted where `git init` makes a repository only later.
        if survey.is_git(place.rpartition("/")[2]) or survey.is_gits_own(place):
            return True
        path = place.removeprefix(self._root).lstrip("/")
        wanted = ("HEAD", "objects", "refs", "commondir")
        there = {name for name in wanted if self._exists(f"{path}/{name}".lstrip("/"))}
        return survey.is_git_directory(there)

    def _exists(self, path: str) -> bool:
        item = self._find(path)
        if item is not None:
            return item.did is not Did.DELETED
        return os.path.lexists(self._now(path))

    def _now(self, path: str) -> str:
        """Where a path lies as it is with the changes."""
        written = f"{self._upper}/{path}"
        return written if os.path.lexists(written) else f"{self._root}/{path}"

    def _kind(self, path: str) -> FileKind | None:
        item = self._find(path)
        if item is not None and item.after is not None:
            return item.after.kind
        with suppress(OSError):
            if stat.S_ISDIR(os.lstat(f"{self._upper}/{path}").st_mode):
                return FileKind.DIRECTORY
        return None

    def _below(self, path: str) -> list[str]:
        with Beneath(self._upper) as tree:
            return [inner for inner, _ in tree.below(path, skip_closed=True)]

    def _may(self, place: str) -> bool:
        return any(given != "/" and is_within(place, given) for given in self._allowed)


class OwnPartsCheck:
    """What is ours below one workspace, asked about one change at a time."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._own = Roots(survey.folded(path) for path in installation.names_below(root))

    def has(self, path: str) -> bool:
        """Whether a path of the workspace is ours, or lies in what is."""
        return bool(self._own) and bool(self._own.over(survey.folded(f"{self._root}/{path}")))

    def _leads_to(self, path: str) -> bool:
        return self._own.below(survey.folded(f"{self._root}/{path}"))

    def touched_by(self, item: Change, below: Callable[[str], Iterable[str]]) -> bool:
        """Whether a change would touch what we run from, or what leads there by name.

        `below` gives the paths that moved along with a directory, which are no items.
        """
        if not self._own:
            return False
        old = [path for path in (item.renamed_from, item.hard_link_of) if path]
        if self.has(item.path) or any(self.has(path) or self._leads_to(path) for path in old):
            return True
        if item.moved_along and any(map(self.has, below(item.path))):
            return True
        if not self._leads_to(item.path):
            return False
        after = item.after
        if after is None or after.kind is not FileKind.DIRECTORY or item.replaces_tree:
            return True
        # Attack: a directory on the way that everybody may write from now on.
        return bool(after.mode & 0o022 & ~(item.before.mode if item.before else 0))


def _by_policy(row: survey.ObeyedRow) -> str:
    return "" if row.source else row.why


def _has_part(path: str, wanted: Iterable[str]) -> bool:
    """Whether a directory or file on the way has one of these names; a path may have many parts."""
    inside = f"/{path}/"
    return any(f"/{name}/" in inside for name in wanted)
