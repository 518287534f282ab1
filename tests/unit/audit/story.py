"""A small record to look at, and a way to change it that is not ours."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from redoma.audit.entries import AuditEntry, AuditReader
from redoma.audit.log import AuditLog
from redoma.model.event import Event, Kind


def judged(number: int, session: str = "", caller: str = "", command: str = "") -> Event:
    """A command that was judged."""
    return Event(
        kind=Kind.JUDGED,
        run=f"run-{number}",
        session=session,
        caller=caller,
        command=command or f"make target-{number}",
        details={"verdict": "allow", "risk": "safe", "rules": []},
    )


def starting(run: str, command: str = "make", caller: str = "", session: str = "") -> Event:
    """A run that begins."""
    return Event(kind=Kind.RUN_STARTING, run=run, command=command, caller=caller, session=session)


def ended(run: str, **details: object) -> Event:
    """A run that is over."""
    return Event(
        kind=Kind.RUN_ENDED,
        run=run,
        details={"outcome": "exited", "code": 0, "wall_seconds": 0.5, **details},
    )


def written(directory: Path, rows: int = 6) -> Path:
    """A record with some rows, closed, so that all of it is in one file."""
    with AuditLog(str(directory)) as record:
        for number in range(1, rows + 1):
            record.append(judged(number))
    return directory


def entries(directory: Path) -> list[AuditEntry]:
    """Everything in a record."""
    with AuditReader(str(directory)) as reader:
        return list(reader.all())


def tamper(directory: Path, *statements: str | tuple[str, tuple[Any, ...]]) -> None:
    """Changes the database as anybody with an SQLite could."""
    with closing(sqlite3.connect(directory / "audit.db")) as connection, connection:
        for statement in statements:
            if isinstance(statement, str):
                connection.execute(statement)
            else:
                connection.execute(*statement)
