"""The tables of an audit log."""

from __future__ import annotations

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
