"""Moves what a command planted in places that only a person may write into quarantine.

Read-only mounts protect what existed when the run began. What did not exist has nothing to mount
on, and an empty stand-in would be a stub left in someone's repository; so a sweep takes new things
away when the command has ended, before its result is given. It destroys none of them: a clone may
bring an honest `.vscode`.
"""

from __future__ import annotations

import os
import shutil
import stat
import time
from contextlib import suppress
from itertools import count

from redoma.base import own_directories
from redoma.base.paths import is_below, is_within
from redoma.jail.protect import survey
from redoma.jail.protect.git_repository import harmless, leads_out, text_of
from redoma.jail.protect.untrusted_paths import opened_below, remove, size_of
from redoma.model.errors import GuaranteeLost
from redoma.model.message import Message
from redoma.model.result import Quarantined

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.jail.protect.run_journal import ProtectedState
    from redoma.jail.protect.survey import Survey

# What older runs left goes, the oldest first, until no more than this is left.
MOST_RUNS = 100
MOST_BYTES = 1 << 30
_numbers = count(1)


def quarantine_directory(name: str = "") -> str:
    """A directory of its own for what one run made and may not keep; room is made for it."""
    quarantine = f"{own_directories.made_state()}/held-back"
    trim(quarantine, runs=MOST_RUNS - 1, size=MOST_BYTES)
    moment = time.strftime("%Y%m%d-%H%M%S")
    return f"{quarantine}/{moment}-{os.getpid()}-{next(_numbers)}{name}"


def trim(directory: str, *, runs: int, size: int) -> None:
    """Removes what is oldest in `directory` until so many are left, and so many bytes.

    Attack: each run may leave as much here as it may write, and nobody looks for it.
    """
    found: list[tuple[int, str]] = []
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            with suppress(OSError):
                found.append((entry.stat(follow_symlinks=False).st_mtime_ns, entry.path))
    used = 0
    for number, (_, path) in enumerate(sorted(found, reverse=True), 1):
        used += size_of(path)
        if number > runs or used > size:
            with suppress(OSError):  # what cannot be removed now is tried again next time
                remove(path)


_MOST_PASSES = 5
_OBEYED = "a repository's configuration makes git obey it"
_LEADS_GIT = "it would lead git to configuration of the command's own making"


class Sweep:
    """Compares a workspace with what was there before a run, and quarantines what is new."""

    def __init__(self, survey: Survey, before: ProtectedState, *, keep_in: str) -> None:
        self.survey = survey
        self.before = before
        self.keep_in = keep_in
        self.taken: list[Quarantined] = []
        self._failed: dict[str, OSError] = {}

    def run(self) -> tuple[Quarantined, ...]:
        """What was found and taken away; the survey has just looked.

        Attack: a run beside this one swaps a directory while we are at it. Then that place is
        looked at again; what will not be taken away is an error, never a result without it.
        """
        for _ in range(_MOST_PASSES):
            self._failed = {}
            self._once()
            if self.taken or self._failed:
                self.survey.look()
            if not self._failed:
                return tuple(self.taken)
        path, error = next(iter(self._failed.items()))
        what, more = path, len(self._failed) - 1
        if more:
            what = Message("{shown} and {count} more", shown=path, count=more)
        raise GuaranteeLost(
            "{what} could not be taken away: {why}",
            what=what,
            why=error.strerror or error,
            hint="look at it before a tool of yours obeys it; end other runs in this workspace",
        )

    def _once(self) -> None:
        repositories = self.survey.git_directories()
        for path, inode in list(self.survey.protected()):
            parent, _, name = path.rpartition("/")
            if self.before.known.get(path) == inode or self._may(path):
                continue
            if survey.folded(name) in survey.GIT_PARTS and parent in repositories:
                continue  # judged with its repository
            if survey.is_git(name):
                self._try(path, self._judge_link)
            else:
                self._try(path, lambda p: self._take(p, "a tool of yours would obey it"))
        for path, inode in repositories.items():
            self._judge_repository(path, known=self.before.repositories.get(path) == inode)
        for path in self.before.awaited:
            if real := self._found(path):
                self._try(real, lambda p: self._take(p, _OBEYED))
        for path in self.before.links:
            self._try(path, self._restore_link)

    def _try(self, path: str, judge: Callable[[str], None]) -> None:
        try:
            judge(path)
        except OSError as error:
            self._failed[path] = error

    def _restore_link(self, path: str) -> None:
        """Protected links cannot be mounts, so they are put back as they were."""
        target = self.before.links[path]
        if real := self._found(path):
            if os.path.islink(real) and os.readlink(real) == target:
                return
            self._take(real, "it stood in the place of a protected link")
        # Its directory may be gone with everything in it; that is the command's to do.
        gone = suppress(FileNotFoundError, NotADirectoryError)
        with gone, opened_below(self.survey.root, os.path.dirname(path)) as parent:
            os.symlink(target, os.path.basename(path), dir_fd=parent)

    def _found(self, path: str) -> str:
        """Where something in the workspace is that git would find at `path`; nothing where none is.

        Attack: a directory on the way was replaced by a link to another one of the workspace.
        """
        directory, name = os.path.split(path)
        real = f"{os.path.realpath(directory)}/{name}"
        inside = is_below(real, self.survey.root)
        return real if inside and os.path.lexists(real) else ""

    def _may(self, path: str) -> bool:
        return any(place != "/" and is_within(path, place) for place in self.before.allowed)

    def _judge_link(self, path: str) -> None:
        """A new `.git` that is a file or a link: it may only lead into a repository's own part."""
        target = ""
        with suppress(OSError, UnicodeDecodeError):
            text = text_of(path)
            if text.startswith("gitdir:"):
                target = os.path.realpath(
                    os.path.join(os.path.dirname(path), text.removeprefix("gitdir:").strip())
                )
        within = any(
            target.startswith((f"{repository}/worktrees/", f"{repository}/modules/"))
            for repository in self.survey.git_directories()
        )
        if not within:
            self._take(path, "it would lead git to a repository of the command's own making")

    def _judge_repository(self, path: str, *, known: bool) -> None:
        if self._may(path):
            return
        try:
            entries = os.listdir(path)
        except OSError:
            entries = list(survey.GIT_PARTS)
        for entry in entries:
            part, name = f"{path}/{entry}", survey.folded(entry)
            if name not in survey.GIT_PARTS:
                continue
            try:
                inode = os.lstat(part).st_ino
            except OSError:
                continue
            if (known and self.before.known.get(part) == inode) or self._may(part):
                continue
            if name == "hooks":
                self._try(part, self._judge_hooks)
            elif name in ("config", "config.worktree"):
                self._try(part, self._judge_config)
            elif not self._usual_worktree(path):
                self._try(part, lambda p: self._take(p, _LEADS_GIT))

    def _usual_worktree(self, path: str) -> bool:
        """Whether a linked worktree's directory is one that git itself would make."""
        parent, _, _ = path.rpartition("/")
        with suppress(OSError, UnicodeDecodeError):
            inside = parent.endswith("/worktrees") and not os.path.islink(f"{path}/commondir")
            return inside and text_of(f"{path}/commondir").strip() == "../.."
        return False

    def _judge_hooks(self, path: str) -> None:
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            self._take(path, "git would run it")
            return
        for name in os.listdir(path):
            if not name.endswith(".sample"):
                self._take(f"{path}/{name}", "git would run it")

    def _judge_config(self, path: str) -> None:
        try:
            lines, dropped = harmless(text_of(path))
        except (OSError, UnicodeDecodeError):
            self._take(path, "it is no configuration")
            return
        if not dropped and leads_out(self.survey.root, path, lines):
            dropped = ("core.worktree leads out of the workspace",)
            lines = "\n".join(line for line in lines.split("\n") if "worktree" not in line.lower())
        if dropped:
            mode = stat.S_IMODE(os.lstat(path).st_mode)
            owner = os.lstat(path)
            self._take(path, f"git would obey {', '.join(dropped)[:200]}")
            with opened_below(self.survey.root, os.path.dirname(path)) as parent:
                flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW
                fd = os.open(os.path.basename(path), flags, mode, dir_fd=parent)
            with open(fd, "w") as file:
                file.write(lines)
                if os.geteuid() == 0:
                    os.fchown(file.fileno(), owner.st_uid, owner.st_gid)

    def _take(self, path: str, why: str) -> None:
        os.makedirs(self.keep_in, mode=0o700, exist_ok=True)
        name = os.path.basename(path)
        place = f"{self.keep_in}/{len(self.taken)}-{name}"
        with opened_below(self.survey.root, os.path.dirname(path)) as parent:
            with suppress(OSError):  # a parent that was closed to its owner
                mode = stat.S_IMODE(os.fstat(parent).st_mode)
                if mode & 0o300 != 0o300:
                    os.chmod(f"/proc/self/fd/{parent}", mode | 0o700)
            planted = f"/proc/self/fd/{parent}/{name}"
            _open_up(parent, name)
            try:
                os.rename(name, place, src_dir_fd=parent)
            except OSError:  # another file system
                _copy(planted, place)
                remove(planted)
        where = place if os.path.lexists(place) else ""
        self.taken.append(Quarantined(path=path, why=why, kept=where))


def _open_up(parent: int, name: str) -> None:
    """Gives directories back to their owner.

    Attack: what lies in a directory that its owner may not write can be neither moved nor removed;
    and a run beside this one swaps a directory for a link to one of the person's own.
    """
    with suppress(OSError, RecursionError):
        place = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY, dir_fd=parent)
        try:
            here = f"/proc/self/fd/{place}"
            mode = stat.S_IMODE(os.fstat(place).st_mode)
            if mode & 0o700 != 0o700:
                os.chmod(here, mode | 0o700)
            with os.scandir(here) as entries:
                below = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
            for one in below:
                _open_up(place, one)
        finally:
            os.close(place)


def _copy(path: str, place: str) -> None:
    with suppress(OSError, shutil.Error, RecursionError):
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.copytree(path, place, symlinks=True)
        elif os.path.isfile(path) or os.path.islink(path):
            shutil.copy2(path, place, follow_symlinks=False)
