"""What is kept of one session of an agent while its commands run enclosed.

The hook judges a command before the agent runs it, and another process, which the agent starts in
place of its shell, encloses it. They meet here: the hook leaves what it expects to arrive and
whether the agent asks a person about it, the other one takes it. What is never taken although the
agent says that it ran did not run enclosed. All of it lies where no command can write.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress

from redoma.base import own_directories
from redoma.model.value import Value

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_LASTS_S = 86_400.0
_KEPT_S = 30 * 86_400.0
_MOST = 1000
_ASKED, _BACKGROUND = "asked", "background"


class ExpectedCommand(Value):
    """A command that the hook has judged and that has to arrive."""

    asked: bool = False  # the agent puts it to a person before it runs it
    background: bool = False


class AgentSession:
    """One session of one agent, by the agent's own name for it."""

    def __init__(self, agent: str, id: str) -> None:
        self.agent = agent
        self.id = id
        known = _NAME.fullmatch(id) is not None
        self._place = f"{own_directories.state()}/agents/{agent}/{id}" if known else ""

    @property
    def project(self) -> str:
        """The directory that the agent was started in; nothing where nobody said."""
        return self._text("project")

    @property
    def is_proven(self) -> bool:
        """Whether a command of this session has arrived, and none ran past us."""
        return self._has("arrived") and not self.is_bare

    @property
    def is_bare(self) -> bool:
        """Whether a command of this session ran that never arrived."""
        return self._has("bare")

    def begin(self, project: str) -> None:
        """Remembers where the session was started; the first word counts.

        Attack: a command that moves to another directory, whose project the next one is then in.
        """
        if self._place and os.path.isabs(project) and not self._has("project"):
            self._make()
            with suppress(FileExistsError):
                self._new("project", project)

    def expect(self, command: str, expected: ExpectedCommand) -> None:
        """Leaves word that this command is about to arrive."""
        if not self._place:
            return
        self._make()
        marks = [_ASKED] * expected.asked + [_BACKGROUND] * expected.background
        name = f"expected/{time.time_ns()}.{os.getpid()}"
        self._new(name, f"{' '.join(marks)}\n{command}")

    def arrive(self, command: str) -> ExpectedCommand | None:
        """Takes what the hook left about this command; None where it left nothing.

        Attack: one answer, used for two commands; so whoever removes the file has it.
        """
        for name, marks in self._expected(command):
            with suppress(FileNotFoundError):
                os.unlink(f"{self._place}/{name}")
                if not self._has("arrived"):
                    with suppress(FileExistsError):
                        self._new("arrived", "")
                return ExpectedCommand(asked=_ASKED in marks, background=_BACKGROUND in marks)
        return None

    def ran(self, command: str) -> bool:
        """Whether this command, which the agent has run, had arrived; remembers if it had not."""
        waiting = self._expected(command)
        if not waiting:
            return True
        with suppress(FileNotFoundError):
            os.unlink(f"{self._place}/{waiting[0][0]}")
        self.lose()
        return False

    def lose(self) -> bool:
        """Remembers that commands of this session run past us; whether that is news."""
        if not self._place:
            return True
        self._make()
        try:
            self._new("bare", "")
        except FileExistsError:
            return False
        return True

    def _expected(self, command: str) -> list[tuple[str, list[str]]]:
        """What was left about this command, the oldest first, with its marks."""
        if not self._place:
            return []
        try:
            names = os.listdir(f"{self._place}/expected")
        except FileNotFoundError:
            return []
        found, now = [], time.time_ns()
        for name in sorted(names):
            path = f"expected/{name}"
            if now - int(name.split(".")[0]) > _LASTS_S * 1e9:
                with suppress(OSError):
                    os.unlink(f"{self._place}/{path}")
                continue
            marks, _, text = self._text(path).partition("\n")
            if text == command:
                found.append((path, marks.split()))
        return found

    def _make(self) -> None:
        if os.path.isdir(f"{self._place}/expected"):
            return
        own_directories.made_state()
        base = os.path.dirname(os.path.dirname(self._place))
        _sweep(os.path.dirname(self._place))
        for path in (base, os.path.dirname(self._place), self._place, f"{self._place}/expected"):
            with suppress(FileExistsError):
                os.mkdir(path, 0o700)

    def _has(self, name: str) -> bool:
        return bool(self._place) and os.path.exists(f"{self._place}/{name}")

    def _text(self, name: str) -> str:
        try:
            with open(f"{self._place}/{name}", "rb") as stream:
                return stream.read().decode("utf-8", "surrogatepass")
        except FileNotFoundError:
            return ""

    def _new(self, name: str, text: str) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(f"{self._place}/{name}", flags, 0o600)
        try:
            data = text.encode("utf-8", "surrogatepass")
            while data:
                data = data[os.write(handle, data) :]
        finally:
            os.close(handle)


def _sweep(place: str) -> None:
    """Lets go of sessions that nobody has touched for long, when a new one begins."""
    try:
        names = os.listdir(place)
    except FileNotFoundError:
        return
    for name in names[:_MOST]:
        path = f"{place}/{name}"
        with suppress(OSError):
            if time.time() - os.stat(path, follow_symlinks=False).st_mtime < _KEPT_S:
                continue
            from shutil import rmtree

            rmtree(path)
