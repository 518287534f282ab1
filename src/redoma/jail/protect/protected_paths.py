"""Holds the protected paths of a writable directory: by mounts in a run, by a look after it."""

from __future__ import annotations

import os
import stat
from _thread import allocate_lock

from redoma.base.paths import is_below, is_within
from redoma.jail.protect import installation
from redoma.jail.protect.covers import opened
from redoma.jail.protect.git_repository import obeyed_beside, programs_of_a_rebase
from redoma.jail.protect.run_journal import ProtectedState, others_at
from redoma.jail.protect.survey import Survey
from redoma.model.errors import EngineFailed
from redoma.model.grant import SHARED
from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.grant import Grant
    from redoma.model.result import Quarantined

_MOST_MOUNTS = 1500


class ProtectedPaths:
    """What is protected below `root`, remembered from run to run."""

    def __init__(
        self,
        root: str,
        allowed: tuple[str, ...],
        names: tuple[str, ...] = (),
        *,
        as_nobody: bool = False,
    ) -> None:
        """`names` are those that a policy protects beside what is known."""
        self.root = root
        self.allowed = allowed
        self.as_nobody = as_nobody
        self.names = names
        self.survey = Survey(root, installation.inodes(), names)
        self.lock = allocate_lock()
        self._going = 0
        self._known: dict[str, int] = {}
        self._repositories: dict[str, int] = {}

    def begin(self, hidden: tuple[str, ...] = ()) -> RunProtection:
        """The protection of one run that is about to begin; what is `hidden` stays away."""
        with self.lock:
            self.survey.look()
            if not self._going:
                self._known = dict(self.survey.protected())
                self._repositories = self.survey.git_directories()
            self._going += 1
            try:
                return RunProtection(self, *self._trusted(), hidden)
            except BaseException:
                self._going -= 1
                raise

    def end(self) -> None:
        """One run less."""
        self._going -= 1

    def _trusted(self) -> tuple[dict[str, int], dict[str, int]]:
        """What was there before any run that is going on now.

        Attack: one run plants a file, the next takes it for known and keeps it.
        """
        known, repositories = dict(self._known), dict(self._repositories)
        for theirs, their_repositories in others_at(self.root):
            known = _both(known, theirs)
            repositories = _both(repositories, their_repositories)
        return (
            _both(known, dict(self.survey.protected())),
            _both(repositories, self.survey.git_directories()),
        )

    def may(self, path: str) -> bool:
        """Whether someone allowed this path to be written by name."""
        return any(place != "/" and is_within(path, place) for place in self.allowed)


class RunProtection:
    """The protection of one run: what was there when it began."""

    def __init__(
        self,
        protected: ProtectedPaths,
        known: dict[str, int],
        repositories: dict[str, int],
        hidden: tuple[str, ...] = (),
    ) -> None:
        self.protected = protected
        self.known = known
        self.repositories = repositories
        self.links: dict[str, str] = {}
        self.read_only: list[str] = []
        # Attack: what is hidden is reached by another name in the next run, once a directory above
        # it was renamed in this one.
        there = [path for path in hidden if os.path.lexists(path)]
        self.pinned: list[str] = installation.ways_to(there, protected.root)
        # What git would obey there, though nothing is there yet.
        self.awaited: list[str] = [path for path in hidden if not os.path.lexists(path)]
        # Sockets and named pipes: whoever listens there is no part of the run.
        self.endpoints = list(protected.survey.endpoints())
        if protected.root in self.endpoints:
            raise EngineFailed(
                "{root} cannot be listed, so nobody can tell what listens in it",
                root=protected.root,
                hint=Message("chmod +r {root}, by its owner", root=protected.root),
            )
        self.steps = {path: programs_of_a_rebase(path) for path in repositories}
        self._plan()

    def _plan(self) -> None:
        root = self.protected.root
        # Attack: `mv .git old; cp -r old .git` would leave the protected parts behind; what is a
        # mount itself cannot be renamed.
        kept = [p for p in self.repositories if p != root and not self.protected.may(p)]
        self.pinned += [path for path in kept if path not in self.pinned]
        paths = [path for path in self.known if not self.protected.may(path)]
        # Attack: what we import or start later, outside, is changed by a command before that.
        ours = installation.parts_below(root)
        paths += ours
        # What would be ours if it were there: the way to it keeps its name, too.
        self.missing = installation.missing_below(root)
        self.awaited += [*self.missing, *installation.modules_below(root)]
        ways = installation.ways_to([*ours, *self.missing], root)
        self.pinned += [path for path in ways if path not in self.pinned and _is_place(path)]
        for repository in self.repositories:
            awaited = [path for path in obeyed_beside(repository) if not self.protected.may(path)]
            paths += awaited
            self.awaited += [path for path in awaited if not os.path.lexists(path)]
        for path in paths:
            if not is_below(path, root):
                continue
            try:
                mode = os.lstat(path).st_mode
            except OSError:
                continue
            if stat.S_ISLNK(mode):
                # Attack: mounting what a link leads to would show it; only a target inside counts.
                self.links[path] = os.readlink(path)
                target = os.path.realpath(path)
                if is_below(target, root) and os.path.exists(target):
                    self.read_only.append(target)
            elif stat.S_ISDIR(mode) or stat.S_ISREG(mode):
                self.read_only.append(path)
        if self.protected.as_nobody:
            self._leave_out_what_is_closed()
        if len(self.read_only) + len(self.pinned) + len(self.endpoints) > _MOST_MOUNTS:
            from redoma.model.remedies import Help, Remedy

            raise EngineFailed(
                "{root} has more than {most} protected paths",
                root=root,
                most=_MOST_MOUNTS,
                hint=Remedy(help=Help.SMALLER_WORKSPACE),
            )

    def _leave_out_what_is_closed(self) -> None:
        from redoma.jail.protect.covers import ClosedDirectories

        closed = ClosedDirectories(self.protected.root)
        for paths in (self.pinned, self.read_only, self.endpoints):
            paths[:] = [path for path in paths if not closed.holds(path)]

    def covers(self) -> list[str]:
        """The mounts that put nothing where something listens."""
        if not self.endpoints:
            return []
        from redoma.jail.protect.covers import covered

        return covered(self.endpoints)

    @property
    def needs_mounts(self) -> bool:
        return bool(self.pinned or self.read_only)

    def mounts(self, source: str) -> list[tuple[str, int, str]]:
        """(option, descriptor, place) for each mount; `source` is where the root is found."""
        wanted = [("--bind-fd", path) for path in sorted(self.pinned)]
        for path in sorted(set(self.read_only)):
            if not any(is_below(path, other) for other in self.read_only):
                wanted.append(("--ro-bind-fd", path))
        return opened(source, self.protected.root, wanted)

    def _new_steps(self) -> list[str]:
        """Rebases in the middle that got programs to run since.

        Attack: a person who goes on with a rebase runs what its list of steps says. The list
        itself is left to commands, since solving conflicts is work for them.
        """
        return [
            f"{path}/rebase-merge"
            for path in self.protected.survey.git_directories()
            if programs_of_a_rebase(path) - self.steps.get(path, frozenset())
        ]

    def settle(self, keep_in: str = "") -> tuple[Quarantined, ...]:
        """Takes back what is new and protected; what was there and changed is put right."""
        protected = self.protected
        with protected.lock:
            protected.end()
            protected.survey.look()
            if (
                dict(protected.survey.protected()) == self.known
                and protected.survey.git_directories() == self.repositories
                and not any(os.path.lexists(path) for path in self.awaited)
                and not self._new_steps()
                and not installation.links_to(self.missing, protected.root)
                and all(_leads_to(path, target) for path, target in self.links.items())
            ):
                return ()
            from redoma.jail.protect.quarantine import Sweep, quarantine_directory

            awaited = [
                *installation.links_to(self.missing, protected.root),
                *self.awaited,
                *self._new_steps(),
            ]
            return Sweep(
                protected.survey, self.state(awaited), keep_in=keep_in or quarantine_directory()
            ).run()

    def state(self, awaited: list[str] | None = None) -> ProtectedState:
        """What was there when the run began, as the journal and the sweep need it."""
        protected = self.protected
        return ProtectedState(
            root=protected.root,
            known=self.known,
            repositories=self.repositories,
            links=self.links,
            awaited=self.awaited if awaited is None else awaited,
            allowed=protected.allowed,
            names=protected.names,
        )


def _is_place(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _leads_to(path: str, target: str) -> bool:
    """Whether a link is as it was.

    Attack: a file that is made where a link was removed often has the number that the link had.
    """
    try:
        return os.readlink(path) == target
    except OSError:
        return False


def _both(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    return {path: inode for path, inode in one.items() if other.get(path) == inode}


class SharedDirectory(ProtectedPaths):
    """No project of anybody's is protected here; sockets and pipes are covered."""

    def begin(self, hidden: tuple[str, ...] = ()) -> RunProtection:
        with self.lock:
            self.survey.look()
            return SharedProtection(self, {}, {}, hidden)


class SharedProtection(RunProtection):
    """The protection of one run in a directory that others change meanwhile."""

    def settle(self, keep_in: str = "") -> tuple[Quarantined, ...]:
        """Takes back only what was made where something is hidden."""
        if not any(map(os.path.lexists, self.awaited)):
            return ()
        from redoma.jail.protect.quarantine import Sweep, quarantine_directory

        with self.protected.lock:
            survey = self.protected.survey
            survey.look()
            state = ProtectedState(
                root=self.protected.root,
                known=dict(survey.protected()),
                repositories=survey.git_directories(),
                awaited=self.awaited,
                allowed=self.protected.allowed,
            )
            return Sweep(survey, state, keep_in=keep_in or quarantine_directory()).run()


def protected_paths_of(path: str, grant: Grant, *, as_nobody: bool) -> ProtectedPaths:
    """The protection of one directory that may be written under a grant."""
    allowed = tuple(place for place in grant.writable if place != path)
    kind = SharedDirectory if path in SHARED else ProtectedPaths
    return kind(path, allowed, grant.protected, as_nobody=as_nobody)
