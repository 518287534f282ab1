"""Runs that are in the middle of their work when others are applied."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Event, Thread
from typing import Self

from redoma.model.change import Changes
from redoma.model.result import Result
from redoma.pipeline.stored_changes import store
from tests.unit.jail.overlay.held import sandbox


class Going:
    """A command in its overlay: what stands before `PAUSE` is done when it is entered."""

    def __init__(self, workspace: Path, script: str) -> None:
        first, _, rest = script.partition("PAUSE")
        self._script = f"{first}\necho ready; read -r _\n{rest}"
        self._workspace = workspace
        self._ready = Event()
        self.failed = False  # whether a part of it found nothing to work on
        self._result: Result | None = None
        self._read, self._write = os.pipe()
        self._thread = Thread(target=self._run)

    def _run(self) -> None:
        try:
            self._result = sandbox(self._workspace).run(
                self._script, stdin=self._read, sink=lambda *_: self._ready.set()
            )
        finally:
            self._ready.set()

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(60)
        return self

    def __exit__(self, *_: object) -> None:
        if self._result is None:
            self.ended()

    def ended(self) -> Changes:
        """Lets it go on to its end; what it changed, held and remembered."""
        os.write(self._write, b"go\n")
        self._thread.join(60)
        os.close(self._read)
        os.close(self._write)
        assert self._result is not None
        assert self._result.changes is not None
        self.failed = bool(self._result.stderr) or self._result.exit_code != 0
        store(self._result.changes, self._script)
        return self._result.changes
