"""The one recording of a session: switched on and off by its host, in one file."""

from __future__ import annotations

import os
import time

from redoma.sessions.asciicast import Recording

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.sessions.session import Session


class SessionRecorder:
    """What a session shows while this is on; what is typed as well where that was chosen."""

    def __init__(self, session: Session, directory: str, *, with_input: bool) -> None:
        self.path = os.path.join(directory, f"{session.id}.cast")
        self.with_input = with_input
        self.on = False
        self._session = session
        self._file: Recording | None = None

    def switch(self, *, on: bool, screen: Callable[[], bytes]) -> None:
        """Begins, goes on where it stopped, or stops; `screen` draws what is seen now."""
        if on == self.on:
            return
        self.on = on
        if not on:
            self.settle()
            return
        session = self._session
        if self._file is None:
            self._file = Recording(
                self.path,
                columns=session.columns,
                rows=session.rows,
                began=time.time(),
                title=session.title,
                redact=_redact,
                with_input=self.with_input,
            )
        self._file.output(session.at, b"\x1bc" + screen())

    def output(self, data: bytes) -> None:
        if self.on and self._file is not None:
            self._file.output(self._session.at, data)

    def typed(self, data: bytes) -> None:
        """What somebody typed; it stays only where that was chosen."""
        if self.on and self._file is not None:
            self._file.input(self._session.at, data)

    def resized(self) -> None:
        if self.on and self._file is not None:
            self._file.resized(self._session.at, self._session.columns, self._session.rows)

    def mark(self, label: str) -> None:
        """Something that happened, in the timeline."""
        if self.on and self._file is not None:
            self._file.marker(self._session.at, label)

    def settle(self) -> None:
        """Writes what there is."""
        if self._file is not None:
            self._file.settle()

    def close(self, status: int | None) -> None:
        """Nothing is recorded any more."""
        self.on = False
        if self._file is not None:
            self._file.close(self._session.at, status)


def _redact(text: str) -> str:
    from redoma.pipeline.secrets import redact

    return redact(text)
