"""Reads the audit log: entries by what they are about, one by its number, new ones as they come."""

from __future__ import annotations

import os

from redoma.audit import database
from redoma.audit.database import COLUMNS, WordedErrors, lenient, open_to_read, path_of
from redoma.model.errors import UsageError
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Self

    from redoma.audit.database import Connection

_PAGE = 500


class AuditEntry(Value):
    """One row of the audit log, as it is stored; `details` is JSON text."""

    seq: int
    at: int  # microseconds since 1970, UTC
    kind: str
    run: str
    session: str
    caller: str
    command: str
    digest: str
    details: str
    link: str

    def facts(self) -> dict[str, object]:
        """The details, read; nothing where somebody made them unreadable."""
        import json

        try:
            found = json.loads(self.details)
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}


class EntryFilter(Value):
    """Which entries; what is not given is not asked for."""

    session: str | None = None
    caller: str | None = None
    kinds: tuple[str, ...] = ()
    run: str | None = None
    since: int | None = None
    until: int | None = None
    text: str = ""  # somewhere in the command or the details; case does not matter in ASCII
    after: int = 0  # a number of an entry

    def conditions(self) -> tuple[str, list[Any]]:
        """The same for SQL: a condition and its values."""
        parts: list[str] = ["seq > ?"]
        values: list[Any] = [self.after]
        for column in ("session", "caller", "run"):
            wanted = getattr(self, column)
            if wanted is not None:
                parts.append(f"{column} = ?")
                values.append(wanted)
        if self.kinds:
            parts.append(f"kind IN ({', '.join('?' * len(self.kinds))})")
            values += self.kinds
        for bound, sign in ((self.since, ">="), (self.until, "<")):
            if bound is not None:
                parts.append(f"at {sign} ?")
                values.append(bound)
        if self.text:
            if len(self.text) > 1000:
                raise UsageError("the text to search for is longer than 1000 characters")
            escaped = self.text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
            parts.append("(command LIKE ? ESCAPE '\\' OR details LIKE ? ESCAPE '\\')")
            values += [f"%{escaped}%"] * 2
        return " AND ".join(parts), values


EVERYTHING = EntryFilter()


class AuditReader:
    """A record that is only looked at; it need not exist."""

    def __init__(self, directory: str) -> None:
        self._path = path_of(directory)
        self._connection: Connection | None = None
        if database.inspect(directory):
            self._connection = open_to_read(directory)
            self._connection.text_factory = lenient
            if not _has_begun(directory, self._connection):
                self.close()

    def newest(self, limit: int, wanted: EntryFilter = EVERYTHING) -> list[AuditEntry]:
        """At most `limit` entries, the newest ones, oldest first."""
        where, values = wanted.conditions()
        found = self._read(f"WHERE {where} ORDER BY seq DESC LIMIT ?", [*values, limit])
        return found[::-1]

    def all(self, wanted: EntryFilter = EVERYTHING) -> Iterator[AuditEntry]:
        """Every entry, oldest first, a page at a time, so that writers are not held up."""
        after = wanted.after
        while True:
            where, values = wanted.conditions()
            page = self._read(
                f"WHERE {where} AND seq > ? ORDER BY seq LIMIT ?", [*values, after, _PAGE]
            )
            yield from page
            if len(page) < _PAGE:
                return
            after = page[-1].seq

    def get(self, seq: int) -> AuditEntry | None:
        """One entry by its number."""
        found = self._read("WHERE seq = ?", [seq])
        return found[0] if found else None

    def last(self) -> int:
        """The number of the newest entry."""
        found = self._read("ORDER BY seq DESC LIMIT 1", [])
        return found[0].seq if found else 0

    def close(self) -> None:
        """Closes the database."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self, rest: str, values: list[Any]) -> list[AuditEntry]:
        if self._connection is None:
            return []
        with WordedErrors(self._path):
            rows = self._connection.execute(
                f"SELECT {COLUMNS}, link FROM audit_log {rest}",  # noqa: S608
                values,
            ).fetchall()
        return [_entry(row) for row in rows]


def follow(
    directory: str, wanted: EntryFilter = EVERYTHING, *, pause: float = 0.2
) -> Iterator[AuditEntry]:
    """Entries as they are written, from `wanted.after` on; it goes on until nobody asks."""
    import time

    from redoma.model.value import replace

    after = wanted.after
    reader = AuditReader(directory)
    try:
        while True:
            for entry in reader.all(replace(wanted, after=after)):
                after = entry.seq
                yield entry
            time.sleep(pause)
            if reader._connection is None:  # the audit log may begin while it is awaited
                reader = AuditReader(directory)
    finally:
        reader.close()


def _has_begun(directory: str, connection: Connection) -> bool:
    """False in the moment in which another process makes the tables.

    Attack: who drops the table must not make the audit log look as if it had not begun: the head
    file tells the one from the other.
    """
    with WordedErrors(path_of(directory)):
        told = os.path.join(directory, database.HEAD)
        begun = os.path.exists(told) and os.stat(told).st_size > 0
        made = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'audit_log'").fetchone()
    return begun or made is not None


def _entry(row: tuple[Any, ...]) -> AuditEntry:
    """A row as it is read; where somebody changed a column's type, as text."""
    seq, at, *texts, link = row
    return AuditEntry(
        seq=seq,
        at=at if isinstance(at, int) else 0,
        **{
            name: text if isinstance(text, str) else repr(text)
            for name, text in zip(_TEXTS, texts, strict=True)
        },
        link=link.hex() if isinstance(link, bytes) else repr(link),
    )


_TEXTS = tuple(COLUMNS.split(", ")[2:])
