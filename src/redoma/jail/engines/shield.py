"""Holds protected paths of one writable directory: by mounts while it runs, by a look afterwards."""

from __future__ import annotations

import os
import stat
import threading

from redoma.jail.guard.below import open_below
from redoma.jail.guard.survey import Survey
from redoma.model.errors import EngineFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.model.result import HeldBack

_MOST_MOUNTS = 1500


class Shield:
    """What is protected below `root`, remembered from run to run."""

    def __init__(self, root: str, allowed: tuple[str, ...]) -> None:
        self.root = root
        self.allowed = allowed
        self.survey = Survey(root)
        self.lock = threading.Lock()

    def raised(self) -> Raised:
        """The protection of one run that is about to begin."""
        with self.lock:
            self.survey.look()
            return Raised(self)

    def may(self, path: str) -> bool:
        """Whether someone allowed this path to be written by name."""
        return any(path == place or path.startswith(place + "/") for place in self.allowed)


class Raised:
    """The protection of one run: what was there when it began."""

    def __init__(self, shield: Shield) -> None:
        self.shield = shield
        self.known = dict(shield.survey.protected())
        self.repositories = shield.survey.git_directories()
        self.links: dict[str, str] = {}
        self.read_only: list[str] = []
        self.pinned: list[str] = []
        self.sockets = list(shield.survey.sockets())
        self._plan()

    def _plan(self) -> None:
        root = self.shield.root
        # Attack: `mv .git old; cp -r old .git` would leave the protected parts behind; what is a
        # mount itself cannot be renamed.
        self.pinned = [p for p in self.repositories if p != root and not self.shield.may(p)]
        paths = [path for path in self.known if not self.shield.may(path)]
        for repository in self.repositories:
            paths += _other_hooks(repository)
        for path in paths:
            try:
                mode = os.lstat(path).st_mode
            except OSError:
                continue
            if stat.S_ISLNK(mode):
                # Attack: mounting what a link leads to would show it; only a target inside counts.
                self.links[path] = os.readlink(path)
                target = os.path.realpath(path)
                if target.startswith(root + "/") and os.path.exists(target):
                    self.read_only.append(target)
            elif stat.S_ISDIR(mode) or stat.S_ISREG(mode):
                self.read_only.append(path)
        if len(self.read_only) + len(self.pinned) + len(self.sockets) > _MOST_MOUNTS:
            raise EngineFailed(
                f"{root} has more than {_MOST_MOUNTS} protected paths",
                hint="run in a smaller workspace: --workspace DIR",
            )

    @property
    def needs_mounts(self) -> bool:
        return bool(self.pinned or self.read_only)

    def mounts(self, source: str) -> list[tuple[str, int, str]]:
        """(option, descriptor, place) for each mount; `source` is where the root is found."""
        made: list[tuple[str, int, str]] = []
        root = self.shield.root

        def add(option: str, path: str) -> None:
            try:
                fd = open_below(source, source + path.removeprefix(root))
            except OSError:
                return  # gone again, or a link on the way now: what is left is seen afterwards
            made.append((option, fd, path))

        for path in sorted(self.pinned):
            add("--bind-fd", path)
        for path in sorted(set(self.read_only)):
            if not any(path.startswith(other + "/") for other in self.read_only):
                add("--ro-bind-fd", path)
        return made

    def settle(self, keep_in: Callable[[], str]) -> tuple[HeldBack, ...]:
        """Takes back what is new and protected; what was there and changed is put right."""
        shield = self.shield
        with shield.lock:
            shield.survey.look()
            if (
                dict(shield.survey.protected()) == self.known
                and shield.survey.git_directories() == self.repositories
            ):
                return ()
            from redoma.jail.guard.sweep import Sweep

            return Sweep(
                shield.survey,
                known=self.known,
                repositories=self.repositories,
                links=self.links,
                keep_in=keep_in(),
                allowed=shield.allowed,
            ).run()


def _other_hooks(repository: str) -> list[str]:
    """Where a repository's own configuration says its hooks are, inside what can be written."""
    try:
        with open(f"{repository}/config", "rb") as file:
            text = file.read(1 << 20)
    except OSError:
        return []
    if b"hookspath" not in text.lower():
        return []
    from redoma.jail.guard.gitconfig import hooks_path

    place = hooks_path(text.decode(errors="replace"))
    if not place or place.startswith(("~", "%")):
        return []
    return [os.path.normpath(os.path.join(os.path.dirname(repository), place))]
