"""Keeps answers of hosts for one user, in a file that nobody else can read.

What cannot be kept or read is a miss, never an error: the host is asked then.
"""

from __future__ import annotations

import json
import os
import sqlite3
import uuid
from contextlib import closing, suppress

from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    Headers: TypeAlias = tuple[tuple[bytes, bytes], ...]

NAME = "http-1.sqlite"
_PATIENCE = 1.0
_MOST_ANSWERS = 2000
_MOST_BYTES = 256 << 20
_TABLES = """
create table if not exists answers (
    id text primary key, key text not null, url text not null, status integer not null,
    headers text not null, body blob not null, checked real not null);
create index if not exists by_key on answers (key, checked);
create table if not exists waits (host text primary key, until real not null);
"""


class CachedResponse(Value):
    """An answer that was kept, and when its host last stood by it."""

    id: str
    url: str
    status: int
    headers: Headers
    body: bytes
    checked: float


class CacheStore:
    """The answers of one user."""

    def __init__(self, directory: str, *, most_bytes: int = _MOST_BYTES) -> None:
        self._path = os.path.join(directory, NAME)
        self._usable = _made(self._path)
        self._most_bytes = most_bytes

    def answers(self, key: str) -> list[CachedResponse]:
        """What is kept for a request, the newest first."""
        wanted = "select id, url, status, headers, body, checked from answers where key = ?"
        rows = self._asked(f"{wanted} order by checked desc limit 10", key)
        return [
            CachedResponse(
                id=row[0],
                url=row[1],
                status=row[2],
                headers=_headers(row[3]),
                body=bytes(row[4]),
                checked=row[5],
            )
            for row in rows
        ]

    def keep(self, key: str, answer: CachedResponse) -> None:
        """Puts an answer in the place of all that were kept for this request."""
        self._asked("delete from answers where key = ?", key)
        self._asked(
            "insert or replace into answers values (?, ?, ?, ?, ?, ?, ?)",
            answer.id,
            key,
            answer.url,
            answer.status,
            _text(answer.headers),
            answer.body,
            answer.checked,
        )
        # The oldest go first, where there are too many or they are too much.
        self._asked(
            "delete from answers where id in (select id from (select id,"
            " row_number() over newest as place, sum(size) over newest as total"
            " from (select id, checked, length(body) + length(headers) + length(url) as size"
            " from answers) window newest as (order by checked desc, id)) "
            "where place > ? or total > ?)",
            _MOST_ANSWERS,
            self._most_bytes,
        )

    def freshen(self, answer_id: str, headers: Headers, now: float) -> None:
        """Notes that a host stands by an answer, with what it said of it now."""
        self._asked(
            "update answers set headers = ?, checked = ? where id = ?",
            _text(headers),
            now,
            answer_id,
        )

    def drop(self, url: str) -> None:
        """Forgets what was kept of an address that somebody has changed."""
        self._asked("delete from answers where url = ?", url)

    def wait(self, host: str, until: float) -> None:
        """Notes that a host wants to be left alone until then."""
        self._asked(
            "insert into waits values (?, ?) on conflict (host)"
            " do update set until = max(until, excluded.until)",
            host,
            until,
        )

    def waits(self, host: str) -> float:
        """Until when a host wants to be left alone; 0 where it does not."""
        rows = self._asked("select until from waits where host = ?", host)
        return float(rows[0][0]) if rows else 0.0

    def _asked(self, text: str, *values: object) -> list[tuple[Any, ...]]:
        if not self._usable:
            return []
        try:
            # One for each question: a run that is killed leaves none open.
            with closing(sqlite3.connect(self._path, timeout=_PATIENCE)) as opened, opened:
                return list(opened.execute(text, values))
        except sqlite3.Error:
            return []


def new_id() -> str:
    """A name for one answer."""
    return str(uuid.uuid4())


def _made(path: str) -> bool:
    """Whether there is a file to keep answers in, made for its user alone where there was none."""
    try:
        # Attack: what is answered to one user is no other's, from the first byte on.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        with closing(sqlite3.connect(path, timeout=_PATIENCE)) as opened:
            opened.executescript(_TABLES)
    except (OSError, sqlite3.Error):
        return False
    return True


def _text(headers: Headers) -> str:
    return json.dumps([[n.decode("latin-1"), v.decode("latin-1")] for n, v in headers])


def _headers(text: str) -> Headers:
    with suppress(ValueError, TypeError):
        return tuple((n.encode("latin-1"), v.encode("latin-1")) for n, v in json.loads(text))
    return ()
