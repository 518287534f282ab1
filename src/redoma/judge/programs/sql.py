"""Says what SQL would do: reading, changing rows, changing or dropping tables, running programs.

A statement that plainly only reads is known by its words alone. Everything else is also parsed
(by sqlglot, imported only then), which finds the DELETE inside a WITH and the WHERE that is
always true; of the two readings the worse counts.
"""

from __future__ import annotations

from itertools import pairwise

from redoma.judge.programs.sql_syntax import (
    LONGEST,
    META,
    QUOTED,
    SIGN,
    STRING,
    WORD,
    has_unknown,
    statements,
    words_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.programs.sql_syntax import Statement

    Action = tuple[str, str]

_READING = frozenset(
    "SELECT SHOW DESCRIBE DESC EXPLAIN VALUES TABLE FROM HELP LIST SUMMARIZE WITH PRINT GO ASSERT "
    "EXISTS QUIT EXIT WATCH CHECK PIVOT UNPIVOT".split()
)
_SESSION = frozenset(
    "USE BEGIN START COMMIT ROLLBACK END SAVEPOINT FETCH CLOSE DECLARE RELEASE ABORT".split()
)
_TOUCHES = frozenset(
    "NEXTVAL PG_SLEEP SLEEP BENCHMARK GET_LOCK RELEASE_LOCK PG_ADVISORY_LOCK PG_TRY_ADVISORY_LOCK "
    "PG_ADVISORY_UNLOCK PG_NOTIFY PG_STAT_RESET PG_EXPORT_SNAPSHOT".split()
)
_TELLTALE = frozenset(
    "INSERT UPDATE DELETE MERGE DROP TRUNCATE ALTER CREATE GRANT REVOKE INTO CALL EXEC EXECUTE "
    "COPY "
    "REPLACE UPSERT RENAME LOAD UNLOAD INFILE OUTFILE DUMPFILE PROGRAM KILL SHUTDOWN ATTACH DETACH "
    "VACUUM ANALYZE REINDEX CLUSTER LOCK SET RESET DENY BACKUP RESTORE IMPORT EXPORT INSTALL "
    "PREPARE "
    "PURGE OPTIMIZE".split()
)
_ROWS = frozenset("INSERT REPLACE UPSERT MERGE LOAD IMPORT".split())
_MAINTENANCE = frozenset(
    "VACUUM ANALYZE REINDEX CLUSTER OPTIMIZE REPAIR COMMENT REFRESH CHECKPOINT LOCK UNLOCK NOTIFY "
    "LISTEN "
    "UNLISTEN DISCARD FLUSH CACHE UNCACHE MSCK SYSTEM EXCHANGE RECLUSTER COMPUTE DEALLOCATE".split()
)
_PROCEDURES = frozenset("CALL EXEC EXECUTE DO PREPARE BATCH HANDLER BULK IF WHILE DBCC".split())
_RIGHTS = frozenset("GRANT REVOKE DENY REASSIGN".split())
_DROPPED_WITH_DATA = frozenset(
    "TABLE TABLES DATABASE DATABASES SCHEMA KEYSPACE TABLESPACE COLLECTION NAMESPACE CATALOG "
    "STREAM "
    "DICTIONARY BUCKET MEASUREMENT SERIES SHARD DATASET PARTITION".split()
)
_PEOPLE = frozenset("USER ROLE LOGIN PRINCIPAL GROUP".split())
_RUNS_PROGRAMS = frozenset(
    "XP_CMDSHELL SYS_EXEC SYS_EVAL SP_OACREATE SP_EXECUTE_EXTERNAL_SCRIPT".split()
)
_WRITES_FILES = frozenset(
    "LO_EXPORT PG_FILE_WRITE WRITEFILE PG_FILE_UNLINK PG_FILE_RENAME UTL_FILE".split()
)
_READS_FILES = frozenset(
    "PG_READ_FILE PG_READ_BINARY_FILE PG_LS_DIR LOAD_FILE READFILE LO_IMPORT READ_TEXT READ_BLOB "
    "READ_CSV "
    "READ_CSV_AUTO READ_JSON READ_JSON_AUTO READ_PARQUET PARQUET_SCAN OPENROWSET "
    "FILE GLOB PG_STAT_FILE".split()
)
_REACHES_OUT = frozenset(
    "DBLINK DBLINK_EXEC DBLINK_CONNECT DBLINK_CONNECT_U HTTP_GET HTTP_POST HTTP UTL_HTTP URL "
    "REMOTE "
    "OPENDATASOURCE OPENQUERY XP_DIRTREE XP_FILEEXIST".split()
)
_STOPS_OTHERS = frozenset("PG_TERMINATE_BACKEND PG_CANCEL_BACKEND".split())
_ALTERS = frozenset(
    "SET_CONFIG PG_RELOAD_CONF PG_SWITCH_WAL PG_PROMOTE PG_DROP_REPLICATION_SLOT "
    "PG_LOGICAL_SLOT_GET_CHANGES "
    "LOAD_EXTENSION PG_CREATE_RESTORE_POINT QUERY_TO_XML SETVAL LO_UNLINK LO_CREATE LO_PUT".split()
)

MOST = 200
_ENOUGH = 24
"""More findings than this in one statement tell nothing new and would cost too much."""
_ASKING = frozenset(
    "TABLE_INFO TABLE_XINFO TABLE_LIST INDEX_LIST INDEX_INFO INDEX_XINFO DATABASE_LIST "
    "FOREIGN_KEY_LIST "
    "FOREIGN_KEY_CHECK FOREIGN_KEYS INTEGRITY_CHECK QUICK_CHECK USER_VERSION APPLICATION_ID "
    "SCHEMA_VERSION PAGE_COUNT "
    "PAGE_SIZE FREELIST_COUNT JOURNAL_MODE SYNCHRONOUS ENCODING COMPILE_OPTIONS FUNCTION_LIST "
    "MODULE_LIST PRAGMA_LIST "
    "COLLATION_LIST CACHE_SIZE AUTO_VACUUM DATA_VERSION STATS SHOW_TABLES SHOW_DATABASES SHOW "
    "VERSION DATABASE_SIZE "
    "STORAGE_INFO METADATA_INFO PLATFORM WAL_CHECKPOINT_INFO FUNCTIONS SHOW_TABLES_EXPANDED".split()
)
_RANK = (
    "read several session rows procedure maintain create reads writes reaches kill alter grant "
    "unknown library shell drop"
).split()


def actions(text: str, dialect: str = "") -> list[Action]:
    """What each statement does, as (kind, the part that tells); an empty list for no statement."""
    found = _read(text, dialect, escapes=False)
    if "\\" in text:
        # Attack: '…\'; DROP TABLE t; --' is one string to one server and two statements to another.
        found += [action for action in _read(text, dialect, escapes=True) if action not in found]
    return found


def worst(found: list[Action]) -> str:
    """The most serious kind among actions."""
    return max((kind for kind, _ in found), key=_RANK.index, default="")


def _read(text: str, dialect: str, *, escapes: bool) -> list[Action]:
    found: list[Action] = []
    listed = statements(text, dialect, escapes=escapes)
    if len(listed) > MOST or len(text) > LONGEST:
        # Attack: what does the harm stands behind more text than is read.
        found.append(("alter", "more statements than can be followed"))
    if sum(any(kind != META for kind, _ in statement) for statement in listed) > 1:
        found.append(("several", "one after the other"))
    for statement in listed[:MOST]:
        metas = [t for kind, t in statement if kind == META]
        found += [("meta", meta) for meta in metas]
        rest = [token for token in statement if token[0] != META]
        if rest:
            found += _statement(rest, dialect)
    return found


def _statement(statement: Statement, dialect: str) -> list[Action]:
    words = words_of(statement)
    first = next((w for w in words if w not in "(),="), "")
    told = " ".join(w for w in words if w not in "(),=.")[:60]
    if has_unknown(statement) and "\0" in first:
        return [("unknown", "a statement that is not known before it runs")]
    extras = _functions(statement, words)
    if first in _READING and _TELLTALE.isdisjoint(words) and not extras:
        return [("read", told)]
    if first == "EXPLAIN" and {"ANALYZE", "ANALYSE"}.isdisjoint(words):
        return [("read", told), *extras]
    by_words = _by_first_word(first, words, statement, told)
    inner = _inside(words, told)
    parsed: list[Action] = []
    if first in ("DELETE", "UPDATE", "WITH", "EXPLAIN", "SELECT", "MERGE", "INSERT"):
        parsed = _parsed(statement, dialect, told)
    return [*by_words, *inner, *extras, *parsed]


def _by_first_word(first: str, words: list[str], statement: Statement, told: str) -> list[Action]:
    rest = words[words.index(first) + 1 :] if first in words else []
    following = rest[0] if rest else ""
    if first == "DELETE":
        return [("rows" if _bounded(words) else "drop", told)]
    if first == "UPDATE":
        return [("rows" if _bounded(words) else "drop", told)]
    if first == "DROP":
        return [_drop(rest, told)]
    if first == "TRUNCATE":
        return [("drop", told)]
    if first == "LOAD" and any(kind == STRING for kind, _ in statement[1:2]):
        return [("library", told)]
    if first in _ROWS:
        return [("drop" if following == "OVERWRITE" else "rows", told), *_files(words, statement)]
    if first in _RIGHTS:
        return [("grant", told)]
    if first == "CREATE":
        return [_create(rest, told)]
    if first in ("ALTER", "RENAME"):
        return [_alter(rest, told)]
    if first in ("COPY", "UNLOAD", "EXPORT", "BACKUP"):
        return _copy(words, statement, told)
    return _by_lesser_word(first, words, statement, told)


def _by_lesser_word(first: str, words: list[str], statement: Statement, told: str) -> list[Action]:
    if first in _READING:
        out: list[Action] = [("read", told)]
        if "INTO" in words:
            files = _files(words, statement)
            out += files or [("create", told)]
        if any(a == "FOR" and b in ("UPDATE", "SHARE", "NO", "KEY") for a, b in pairwise(words)):
            out.append(("session", told))
        return out
    if first in _SESSION:
        return [("session", told)]
    if first in _MAINTENANCE or first == "ANALYSE":
        return [("maintain", told)]
    if first in _PROCEDURES:
        return [("procedure", told), *_carried(statement)]
    if first in ("SET", "RESET"):
        loud = {"GLOBAL", "PERSIST", "PASSWORD", "PERSIST_ONLY"} & set(words)
        if {"ROLE", "AUTHORIZATION"} & set(words):
            return [("grant", told)]
        return [("alter" if loud else "session", told)]
    if first == "PRAGMA":
        asks = "=" not in words and (_pragma(words) in _ASKING or "(" in words)
        return [("read" if asks else "session", told)]
    if first in ("KILL",):
        return [("kill", told)]
    if first in ("SHUTDOWN", "PURGE", "RESTORE", "UNDROP", "DETACH"):
        return [("alter", told)]
    if first in ("ATTACH", "INSTALL"):
        strings = [t for kind, t in statement if kind == STRING]
        return [("writes", strings[0])] if strings and first == "ATTACH" else [("library", told)]
    return [("unknown", told or "text that is not SQL")]


DEEPEST = 3


def _pragma(words: list[str]) -> str:
    """The word that a PRAGMA names, past the name of a database."""
    plain = [w for w in words[1:4] if w not in "(),=."]
    return plain[1] if len(plain) > 1 and "." in words[1:4] else (plain[0] if plain else "")


def _carried(statement: Statement, depth: int = 0) -> list[Action]:
    """Statements in the strings of DO, EXECUTE, PREPARE and sp_executesql, which run them."""
    out: list[Action] = []
    for kind, text in statement:
        if kind == STRING:
            for inner in statements(text, "", escapes=False)[:MOST]:
                out += [d for d in _statement(inner, "") if d[0] not in ("unknown", "read")]
                if depth < DEEPEST:
                    out += _carried(inner, depth + 1)
    return out


def _drop(rest: list[str], told: str) -> Action:
    kinds = [w for w in rest[:4] if w in _DROPPED_WITH_DATA]
    if kinds or not rest:
        return ("drop", told)
    return ("grant" if rest[0] in _PEOPLE else "alter", told)


def _create(rest: list[str], told: str) -> Action:
    if _PEOPLE & set(rest[:3]):
        return ("grant", told)
    if {"EXTENSION", "LANGUAGE", "AGGREGATE", "SERVER", "SUBSCRIPTION", "ASSEMBLY", "EVENT"} & set(
        rest[:4]
    ):
        return ("alter", told)
    if {"FUNCTION", "PROCEDURE", "TRIGGER", "RULE"} & set(rest[:4]):
        return ("alter", told)
    if "REPLACE" in rest[:3] and "TABLE" in rest[:5]:
        return ("drop", told)
    return ("create", told)


def _alter(rest: list[str], told: str) -> Action:
    if _PEOPLE & set(rest[:2]):
        return ("grant", told)
    for index, word in enumerate(rest):
        if word == "DROP" and {"PARTITION", "DATABASE"} & set(rest[index + 1 : index + 3]):
            return ("drop", told)
        if word in ("DELETE", "UPDATE") and "WHERE" not in rest:
            return ("drop", told)
    return ("alter", told)


def _copy(words: list[str], statement: Statement, told: str) -> list[Action]:
    strings = [t for kind, t in statement if kind == STRING]
    if "PROGRAM" in words:
        return [("shell", strings[-1] if strings else "\0")]
    if "TO" in words:
        if "STDOUT" in words:
            return [("read", told)]
        start = next(i for i, (_, text) in enumerate(statement) if text == "TO")
        files = [t for kind, t in statement[start:] if kind == STRING]
        return [("writes", files[0])] if files else [("maintain", told)]
    out: list[Action] = [("rows", told)]
    if strings and "STDIN" not in words:
        out.append(("reads", strings[0]))
    return out


def _files(words: list[str], statement: Statement) -> list[Action]:
    for index, (kind, text) in enumerate(statement):
        if kind != WORD or text not in ("OUTFILE", "DUMPFILE", "INFILE"):
            continue
        for later, value in statement[index + 1 : index + 3]:
            if later in (STRING, QUOTED):
                return [("reads" if text == "INFILE" else "writes", value)]
        return [("writes" if text != "INFILE" else "reads", "\0")]
    return []


def _functions(statement: Statement, words: list[str]) -> list[Action]:
    """Functions and stored programs that do more than compute."""
    out: list[Action] = []
    for index, (kind, text) in enumerate(statement):
        if kind != WORD or len(out) >= _ENOUGH:
            continue
        called = statement[index + 1 : index + 2] == [(SIGN, "(")]
        name = text.rpartition(".")[2]
        if name in _RUNS_PROGRAMS:
            strings = [t for k, t in statement[index + 1 :] if k == STRING]
            out.append(("shell", strings[0] if strings else "\0"))
        if not called:
            continue
        argument = next((t for k, t in statement[index + 2 : index + 3] if k == STRING), "\0")
        if name == "EDIT":
            # sqlite's shell has a text changed by an editor, which the statement may name.
            strings = [t for k, t in statement[index + 1 :] if k == STRING]
            out.append(("shell", strings[1] if len(strings) > 1 else "\0"))
        elif name in _WRITES_FILES:
            out.append(("writes", argument))
        elif name in _READS_FILES:
            out.append(("reads", argument))
        elif name in _REACHES_OUT:
            out.append(("reaches", argument))
        elif name in _STOPS_OTHERS:
            out.append(("kill", name.lower()))
        elif name in _TOUCHES:
            out.append(("session", name.lower()))
        elif name in _ALTERS:
            out.append(("library" if name == "LOAD_EXTENSION" else "alter", name.lower()))
    if "FROM" in words:
        out += _files_as_tables(statement)
    return out


def _files_as_tables(statement: Statement) -> list[Action]:
    """`FROM 'file.csv'`: some engines read a file that is named like a table."""
    return [
        ("reads", text)
        for (_, word), (kind, text) in pairwise(statement)
        if word in ("FROM", "JOIN") and kind == STRING and text
    ]


def _inside(words: list[str], told: str) -> list[Action]:
    """Statements inside or right after another: in a WITH, after EXPLAIN ANALYZE, without `;`."""
    out: list[Action] = []
    for index, word in enumerate(words):
        if index == 0 or len(out) >= _ENOUGH:
            continue
        following = words[index + 1] if index + 1 < len(words) else ""
        if word == "DELETE" and following == "FROM":
            out.append(("rows" if _bounded(words[index:]) else "drop", told))
        elif (word == "DROP" and following in _DROPPED_WITH_DATA and words[0] != "ALTER") or (
            word == "TRUNCATE" and following == "TABLE"
        ):
            out.append(("drop", told))
        elif word == "INSERT" and following in ("INTO", "OVERWRITE") and words[0] != "CREATE":
            out.append(("rows", told))
        elif (
            word == "UPDATE" and "SET" in words[index + 2 : index + 8] and words[index - 1] != "FOR"
        ):
            own = words[0] in ("INSERT", "CREATE", "MERGE") or words[index - 1] in (
                "DO",
                "KEY",
                "THEN",
            )
            if not own:
                out.append(("rows" if _bounded(words[index:]) else "drop", told))
        elif word in ("EXEC", "EXECUTE") and following not in ("ON", "", ",", "("):
            out.append(("procedure", told))
    return out


def _bounded(words: list[str]) -> bool:
    """Whether a DELETE or UPDATE that begins here has a condition at its own depth."""
    depth = 0
    for word in words:
        if word == "(":
            depth += 1
        elif word == ")":
            depth -= 1
            if depth < 0:
                return False
        elif depth == 0 and word in ("WHERE", "LIMIT", "TOP"):
            return True
    return False


def _parsed(statement: Statement, dialect: str, told: str) -> list[Action]:
    from redoma.judge.programs.sql_syntax import parsed_actions

    return parsed_actions(_again(statement), dialect, told)


def _again(statement: Statement) -> str:
    shown = {STRING: "'{}'", QUOTED: '"{}"'}
    return " ".join(
        shown[kind].format(text.replace("'", "''").replace('"', '""'))
        if kind in shown
        else text.replace("\0", "x")
        for kind, text in statement
    )
