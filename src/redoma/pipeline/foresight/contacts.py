"""Whom a command would contact: HTTP requests and SQL statements, as far as its words tell.

No server is ever contacted. A database in a file of the workspace is another matter: its client
really runs, on the overlay.
"""

from __future__ import annotations

from redoma.judge.interpret.arg import UNKNOWN
from redoma.judge.programs.options import split
from redoma.model.message import Message
from redoma.model.risk import Effect
from redoma.model.value import Value
from redoma.pipeline.decisions.knowledge import knowledge
from redoma.pipeline.foresight.commands import Edit, Instead

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from redoma.judge.interpret.arg import Arg
    from redoma.pipeline.foresight.commands import Seen

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
    card = knowledge().cards.get(seen.name, {})
    serves = card.get("handler") == "database.client"
    own = card if serves else knowledge().cards.get(f"{seen.name} sql")
    return None if own is None else _to_a_server(seen, own, read)


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
        cut = [*cut[:MOST_STATEMENTS], Message("and {count} more statements", count=more)]
    return cut


def _to_a_server(seen: Seen, card: dict[str, Any], read: ReadFile) -> Sent | None:
    from redoma.judge.programs.database import Client

    client = Client(card)
    none: frozenset[str] = frozenset()
    options = split(seen.args, card["takes"], card["known"], optional=card.get("optional", none))
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
        warnings=(
            Message("{seen}: no server was contacted, {what}", seen=seen.name, what=Message(what)),
        ),
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
            found.append(Message("{name}: statements that are only known when it runs", name=name))
        elif len(text) > LONGEST_TEXT:
            found.append(
                Message("{name}: {count} characters of statements", name=name, count=len(text))
            )
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
    from redoma.judge.programs.sql import actions

    if seen.written is None or not texts:
        return None
    for text in texts:
        if text is None or UNKNOWN in text or not text.strip():
            return None
        kinds = {kind for kind, _ in actions(text, dialect)}
        if not kinds or not kinds <= {"rows", "create", "alter", "drop", "session", "several"}:
            return None
    nothing = "cat >/dev/null" if piped else "true"
    return Instead(
        edits=(Edit(place=seen.written.place, text=nothing),),
        runs=Message("nothing in the place of {seen}", seen=seen.name),
    )


_WGET_TAKES = frozenset(
    "--method --post-data --post-file --body-data --body-file -O -o -P -U --user-agent --header "
    "--output-document --directory-prefix -t -T".split()
)
_METHODS = frozenset("GET POST PUT PATCH DELETE HEAD OPTIONS".split())
_CLIENTS = frozenset("curl wget wget2 http https httpie xh xhs curlie".split())


def requests(seen: Seen) -> list[str]:
    """`POST https://host/path` for each address, where the program is one of the web."""
    if seen.name not in _CLIENTS:
        return []
    method = _method(seen)
    addresses = [
        str(target.text)
        for fact in seen.facts
        if fact.effect is Effect.NETWORK and fact.program == seen.name
        for target in fact.targets
    ]
    return [f"{method} {_without_login(address)}" for address in dict.fromkeys(addresses)]


def _method(seen: Seen) -> str:
    sends = any("upload" in fact.tags for fact in seen.facts if fact.program == seen.name)
    if seen.name in ("curl", "curlie"):
        options = split(seen.args, knowledge().cards["curl"]["takes"])
        named = options.value("-X", "--request")
        if options.has("-G", "--get"):
            sends = False
        told = "HEAD" if options.has("-I", "--head") else ""
        told = "PUT" if options.has("-T", "--upload-file") else told
    elif seen.name.startswith("wget"):
        options = split(seen.args, _WGET_TAKES)
        named = options.value("--method")
        told = "HEAD" if options.has("--spider") else ""
    else:
        named = next((word for word in seen.args if word.upper() in _METHODS), None)
        told = ""
    if named is not None and named.known:
        return named.upper()
    return told or ("POST" if sends else "GET")


def _without_login(address: str) -> str:
    """The address without a name and password in it: a report is kept and shown."""
    scheme, separator, rest = address.rpartition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}"
