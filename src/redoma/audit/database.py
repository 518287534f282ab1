"""Opens the database of an audit log, and says in words what SQLite says in codes.

`sqlite3` itself also loads `datetime` and more; its core is all that is needed here.

The tables of an audit log.
"""

from __future__ import annotations

import os

from redoma.base.cores import Connection, DatabaseError, Error, connect
from redoma.base.private_file import Key, is_own_directory, is_own_file, make_directory
from redoma.model.errors import RecordUnavailable
from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType


VERSION = 1
APPLICATION = 0x5245446D

# `audit_log` is the audit log. `gaps` says which of its rows were let go, `head` where it ends.
# The others are the ledger: counts that limits and estimates need, which no row depends on.
TABLES = (
    """CREATE TABLE audit_log (
        seq INTEGER PRIMARY KEY,   -- 1, 2, 3 … without a hole, but for those in `gaps`
        at INTEGER NOT NULL,       -- microseconds since 1970, UTC
        kind TEXT NOT NULL,
        run TEXT NOT NULL,
        session TEXT NOT NULL,
        caller TEXT NOT NULL,
        command TEXT NOT NULL,     -- secrets taken out
        digest TEXT NOT NULL,      -- of the command as it was, under the audit log's key
        details TEXT NOT NULL,     -- JSON
        link BLOB NOT NULL         -- covers all of the above and the link of the row before
    )""",
    "CREATE INDEX audit_log_by_session ON audit_log (session)",
    """CREATE TABLE gaps (
        first INTEGER PRIMARY KEY,
        last INTEGER NOT NULL,
        before BLOB NOT NULL,
        after BLOB NOT NULL,
        mac BLOB NOT NULL
    )""",
    "CREATE UNIQUE INDEX gaps_by_last ON gaps (last)",
    """CREATE TABLE head (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        record TEXT NOT NULL,
        keyed_by TEXT NOT NULL,
        seq INTEGER NOT NULL,
        link BLOB NOT NULL,
        ledger INTEGER NOT NULL,
        boot TEXT NOT NULL,
        uptime INTEGER NOT NULL,
        wall INTEGER NOT NULL,
        mac BLOB NOT NULL
    )""",
    """CREATE TABLE runs (
        run TEXT PRIMARY KEY,
        seq INTEGER NOT NULL,
        caller TEXT NOT NULL,
        session TEXT NOT NULL,
        digest TEXT NOT NULL,
        maker TEXT NOT NULL,
        started INTEGER NOT NULL,  -- by the ledger's clock
        going INTEGER NOT NULL,    -- 1 until its end is written
        cpu_seconds REAL NOT NULL,
        bytes INTEGER NOT NULL,
        took REAL                  -- seconds, where it came to its own end
    ) WITHOUT ROWID""",
    """CREATE TABLE spent (
        scope TEXT NOT NULL,
        hour INTEGER NOT NULL,     -- by the ledger's clock
        cpu_seconds REAL NOT NULL,
        bytes INTEGER NOT NULL,
        PRIMARY KEY (scope, hour)
    ) WITHOUT ROWID""",
    """CREATE TABLE commands (
        digest TEXT PRIMARY KEY,
        last INTEGER NOT NULL,     -- by the ledger's clock
        durations TEXT NOT NULL    -- seconds of its last runs that came to their own end
    ) WITHOUT ROWID""",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {VERSION}",
)
COLUMNS = "seq, at, kind, run, session, caller, command, digest, details"


DATABASE = "audit.db"
HEAD = "audit.head"
_KEY_FILE = "audit.key"
_FILES = (DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", HEAD, _KEY_FILE)
# Who has the key can write a past that verifies.
KEY = Key(
    file=_KEY_FILE,
    service="redoma audit",
    fails=RecordUnavailable,
    lost=RecordUnavailable,
    hint="put it back, or keep the audit log aside and begin anew: mv {directory} {directory}.old",
)


def prepare(directory: str) -> None:
    """The directory exists and it and every file of the audit log is ours alone."""
    make_directory(directory, RecordUnavailable)
    inspect(directory)


def inspect(directory: str) -> bool:
    """Whether there is a record; an error where anything of it is not ours alone."""
    if not is_own_directory(directory, RecordUnavailable):
        return False
    files = [os.path.join(directory, name) for name in _FILES]
    found = [path for path in files if is_own_file(path, RecordUnavailable)]
    return files[0] in found


__all__ = ["Connection", "DatabaseError", "Error"]
_BUSY_SECONDS = 10.0
# Frames of the log that a cold start has to read before it can write.
_CHECKPOINT_PAGES = 128
_WORDS = {
    "SQLITE_FULL": ("the disk is full", "free some space; nothing runs without a record"),
    "SQLITE_READONLY": ("it cannot be written", "make it writable; nothing runs without a record"),
    "SQLITE_CANTOPEN": ("it cannot be opened", "look at its directory's owner and mode"),
    "SQLITE_BUSY": ("another process keeps it", "try again; see who: fuser -v {path}"),
    "SQLITE_CORRUPT": ("it is damaged", "redoma audit verify"),
    "SQLITE_NOTADB": ("it is damaged", "redoma audit verify"),
    "SQLITE_IOERR": ("the disk does not take it", "look for space, quotas and file size limits"),
}


def path_of(directory: str) -> str:
    """The database file of an audit log."""
    return os.path.join(directory, DATABASE)


def open_to_write(directory: str) -> Connection:
    """A connection to write with; `Log.force` puts its commits on disk. Made if needed."""
    path = path_of(directory)
    with WordedErrors(path):
        if not os.path.exists(path):
            flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
            os.close(os.open(path, flags, 0o600))
        connection = _connected(path)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version == 0:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("BEGIN IMMEDIATE")
            for statement in TABLES:
                connection.execute(statement)
            connection.execute("COMMIT")
        elif version != VERSION:
            raise RecordUnavailable(
                "{path} is of version {version}, and this Redoma writes version {ours}",
                path=path,
                version=version,
                ours=VERSION,
                hint="use the Redoma that wrote it, or move it aside",
            )
        return connection


def open_to_read(directory: str) -> Connection:
    """A connection for looking; works in a directory that cannot be written as well."""
    path = path_of(directory)
    with WordedErrors(path):
        if os.access(directory, os.W_OK) and os.access(path, os.W_OK):
            connection = _connected(path)
            connection.execute("PRAGMA query_only = ON")
            return connection
        log = f"{path}-wal"
        whole = not os.path.exists(log) or os.stat(log).st_size == 0
        from urllib.parse import quote

        mode = "mode=ro&immutable=1" if whole else "mode=ro"
        return connect(
            f"file:{quote(path)}?{mode}", uri=True, isolation_level=None, check_same_thread=False
        )


def lenient(text: bytes) -> str:
    """Text as it is stored, even where somebody stored what is no UTF-8.

    Attack: one such byte in one row, and a reader that insists stops before all later ones.
    """
    return text.decode("utf-8", "surrogateescape")


def is_ours(connection: Connection) -> bool:
    """Whether the file says of itself that it is a record."""
    return bool(connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION)


def _connected(path: str) -> Connection:
    # Each call is under the audit log's own lock, so a connection may go from thread to thread.
    connection = connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    # Attack: a prepared database makes SQLite call functions by its schema.
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


class Statements:
    """The log that commits go to first.

    SQLite would force it to disk with each commit or with none, and changing its mind takes as
    long as a commit. So it is told not to, and who needs it forces the log.
    """

    def __init__(self, database: str) -> None:
        self._path = f"{database}-wal"
        self._descriptor = -1
        self._is_new = not os.path.exists(self._path)

    def force(self) -> None:
        """Everything that was committed is on disk when this returns."""
        if self._descriptor < 0:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
            self._descriptor = os.open(self._path, flags)
            if self._is_new:
                force_names(os.path.dirname(self._path))
        os.fdatasync(self._descriptor)

    def close(self) -> None:
        """Closes the log; the connection keeps its own."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def force_names(directory: str) -> None:
    """The names of new files in a directory are on disk when this returns."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class WordedErrors:
    """Turns what SQLite and the system say into RecordUnavailable with a hint.

    A class: `contextlib` would be loaded by every check, for this alone.
    """

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, (Error, OSError)):
            raise unavailable(self._path, error) from error


def unavailable(path: str, error: Exception) -> RecordUnavailable:
    """What SQLite or the system said, in words, with a hint."""
    if isinstance(error, OSError):
        words = error.strerror or str(error)
        hint = "make its directory writable; nothing runs without a record"
    else:
        name = getattr(error, "sqlite_errorname", "") or ""
        said, hint = _WORDS.get("_".join(name.split("_")[:2]), ("", "redoma audit verify"))
        words = Message("{what} ({name})", what=Message(said), name=name) if said else str(error)
    return RecordUnavailable(
        "the audit log {path} is not available: {words}",
        path=path,
        words=Message(words),
        hint=hint.format(path=path),
    )
