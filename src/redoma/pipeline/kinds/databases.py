"""SQL that a command would send: its statements, parsed; servers are never contacted.

A database in a file of the workspace is another matter: its client really runs, on the layer.
"""

from __future__ import annotations

from redoma.judge.interpret.arg import UNKNOWN
from redoma.judge.programs.clients import CLIENTS, SAME
from redoma.judge.programs.options import split
from redoma.model.value import Value
from redoma.pipeline.kinds.instead import Edit, Instead

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.judge.interpret.arg import Arg
    from redoma.judge.programs.clients import Client
    from redoma.pipeline.kinds.calls import Seen

    ReadFile = Callable[[str, str], str | None]  # directory, path -> text, where it may be read

MOST_STATEMENTS = 100
LONGEST = 400
LONGEST_TEXT = 64 << 10
_IN_A_FILE = {"sqlite3": "sqlite", "sqlite": "sqlite", "duckdb": "duckdb"}
_FILE_TAKES = frozenset(
    "-cmd -separator -newline -nullvalue -init -vfs -maxsize -mmap -heap -c -s -f".split()
)
_STDIN = ("-", "/dev/stdin", "/dev/fd/0")
_DIALECTS = ("postgres", "mysql", "sqlite", "duckdb", "clickhouse", "snowflake", "trino", "hive")


class Sent(Value):
    """What one call of a database client would do there."""

    operations: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    instead: Instead | None = None


def sent(seen: Seen, read: ReadFile) -> Sent | None:
    """The statements of a call; nothing for what is no client of a database."""
    if seen.name in _IN_A_FILE:
        return _to_a_file(seen, read)
    client = CLIENTS.get(SAME.get(seen.name, seen.name))
    return None if client is None else _to_a_server(seen, client, read)


def statements(text: str, dialect: str) -> list[str]:
    """Each statement on one line, as the parser understands it; as written where it does not."""
    import logging

    import sqlglot
    from sqlglot.errors import SqlglotError

    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    known = dialect if dialect in _DIALECTS else None
    try:
        trees = sqlglot.parse(text, read=known)
        found = [tree.sql(dialect=known) for tree in trees if tree is not None]
    except (SqlglotError, RecursionError, ValueError, TypeError, AttributeError, LookupError):
        found = [" ".join(part.split()) for part in text.split(";")]
    shown = [one.replace(UNKNOWN, "…") for one in found if one.strip()]
    cut = [one if len(one) <= LONGEST else f"{one[:LONGEST]}…" for one in shown]
    if len(cut) > MOST_STATEMENTS:
        more = len(cut) - MOST_STATEMENTS
        cut = [*cut[:MOST_STATEMENTS], f"and {more} more statements"]
    return cut


def _to_a_server(seen: Seen, client: Client, read: ReadFile) -> Sent | None:
    options = split(
        seen.args, client.takes, client.telling, long=client.long, optional=client.optional
    )
    if options.has(*client.telling) and not options.has(*client.sql, *client.files):
        return None
    texts: list[str | None] = [str(text) for text in options.values(*client.sql)]
    texts += [_file(seen, word, read) for word in options.values(*client.files)]
    piped = not texts or any(word in _STDIN for word in options.values(*client.files))
    if not texts:
        texts = [_flowing_in(seen, read)]
    operations = _operations(seen.name, texts, client.dialect)
    instead = _taken_to_succeed(seen, texts, client.dialect, piped=piped)
    what = "its statements were taken to succeed" if instead else "so it could not succeed"
    return Sent(
        operations=operations,
        warnings=(f"{seen.name}: no server was contacted, {what}",),
        instead=instead,
    )


def _to_a_file(seen: Seen, read: ReadFile) -> Sent:
    words = [w.like(w[1:]) if w.startswith("--") and len(w) > 3 else w for w in seen.args]
    options = split(words, _FILE_TAKES, long=True)
    store = str(options.operands[0]) if options.operands else ":memory:"
    texts: list[str | None] = [str(text) for text in options.values("-cmd", "-c", "-s")]
    texts += [str(word) for word in options.operands[1:]]
    texts += [_file(seen, word, read) for word in options.values("-init", "-f")]
    if not texts:
        texts = [_flowing_in(seen, read)]
    name = f"{seen.name} {store}".replace(UNKNOWN, "…")
    return Sent(operations=_operations(name, texts, _IN_A_FILE[seen.name]))


def _operations(name: str, texts: list[str | None], dialect: str) -> tuple[str, ...]:
    found: list[str] = []
    for text in texts:
        if text is None:
            found.append(f"{name}: statements that are only known when it runs")
        elif len(text) > LONGEST_TEXT:
            found.append(f"{name}: {len(text)} characters of statements")
        elif text.strip():
            found += [f"{name}: {statement}" for statement in statements(text, dialect)]
    return tuple(dict.fromkeys(found))


def _file(seen: Seen, word: Arg, read: ReadFile) -> str | None:
    if word in _STDIN:
        return _flowing_in(seen, read)
    return read(seen.cwd, str(word)) if word.known else None


def _flowing_in(seen: Seen, read: ReadFile) -> str | None:
    """What comes by standard input: from the text itself, or from the file it is taken from.

    What a filter made of a file is not the file: only `< FILE` is read.
    """
    if seen.stdin.text is not None or seen.written is None:
        return seen.stdin.text
    path = seen.written.input_file
    return read(seen.cwd, path) if path else None


def _taken_to_succeed(
    seen: Seen, texts: list[str | None], dialect: str, *, piped: bool
) -> Instead | None:
    """Nothing in the place of statements that only change: what follows is then previewed too.

    A statement that reads has an answer that nobody here knows: it runs, and fails.
    """
    from redoma.judge.programs.sql import deeds

    if seen.written is None or not texts:
        return None
    for text in texts:
        if text is None or UNKNOWN in text or not text.strip():
            return None
        kinds = {kind for kind, _ in deeds(text, dialect)}
        if not kinds or not kinds <= {"rows", "create", "alter", "drop", "session", "several"}:
            return None
    nothing = "cat >/dev/null" if piped else "true"
    return Instead(
        edits=(Edit(place=seen.written.place, text=nothing),),
        runs=f"nothing in the place of {seen.name}",
    )
