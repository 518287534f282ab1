"""A project with policies and a record of its own, for whole runs on this machine."""

from __future__ import annotations

import os
from pathlib import Path

from redoma import Sandbox
from redoma.audit.entries import AuditEntry, AuditReader, EntryFilter


class Place:
    """A project, a home for policies, and a record of its own."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.workspace = base / "work"
        self.record = base / "record"
        self.workspace.mkdir()

    def sandbox(self, **how: object) -> Sandbox:
        return Sandbox(str(self.workspace), audit=str(self.record), **how)  # type: ignore[arg-type]

    def policy(self, text: str) -> None:
        """The project's policy, from here on."""
        (self.workspace / "sandbox.yaml").write_text(f'version: "1.0"\n{text}')

    def user_policy(self, text: str) -> None:
        """The user's own policy, from here on."""
        own = Path(os.environ["XDG_CONFIG_HOME"]) / "redoma"
        own.mkdir(parents=True, exist_ok=True)
        (own / "sandbox.yaml").write_text(f'version: "1.0"\n{text}')

    def rows(self) -> list[AuditEntry]:
        with AuditReader(str(self.record)) as reader:
            return list(reader.all(EntryFilter()))

    def kinds(self) -> list[str]:
        return [row.kind for row in self.rows()]
