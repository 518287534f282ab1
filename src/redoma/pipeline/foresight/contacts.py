"""Whom a command would contact: HTTP requests and SQL statements, as far as its words tell.

No server is ever contacted. A database in a file of the workspace is another matter: its client
really runs, on the overlay.
"""

from __future__ import annotations

import os
from functools import cache

from redoma.judge.interpret.arg import UNKNOWN
from redoma.judge.programs.options import split
from redoma.model.decision import Effect
from redoma.model.message import Message
from redoma.model.value import Value
from redoma.pipeline.decisions.knowledge import knowledge
from redoma.pipeline.foresight.commands import Edit, Instead

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from redoma.judge.interpret.arg import Arg
    from redoma.pipeline.foresight.commands import Seen, Written

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


REPORT = "redoma: git push: "
_FORCE = {"-f": "force", "--force": "force", "--force-if-includes": "lease"}
_WHAT = {
    "--all": "all",
    "--branches": "all",
    "--mirror": "mirror",
    "--tags": "tags",
    "-d": "delete",
    "--delete": "delete",
}
_IGNORED = frozenset(
    "-u --set-upstream -n --dry-run -v --verbose -q --quiet --progress --no-progress --no-verify "
    "--verify --porcelain --atomic --no-atomic --follow-tags --no-follow-tags --thin --no-thin "
    "--no-signed -4 -6 --ipv4 --ipv6 --prune".split()
)
_TAKES = frozenset("-o --push-option --receive-pack --exec".split())


@cache
def script() -> str:
    """The shell script that tells, as one word of a command line."""
    from shlex import quote

    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "git_push.sh")
    with open(path, encoding="utf-8") as file:
        return quote(file.read())


def push(seen: Seen) -> Instead | None:
    """A look at what would be pushed, in the place of the push."""
    written = seen.written
    if seen.name != "git" or written is None:
        return None
    at, directory = _verb(written)
    if at < 0 or written.literals[at] != "push":
        return None
    read = _read(written, at + 1)
    if read is None:
        return None
    force, what, words = read
    remote = words[0] if words else "''"
    given = " ".join((directory, f"'{force}'", what, remote, *words[1:]))
    # The directory and the refs are the very words that were written: the shell makes of them
    # what it would have made of them for git.
    return Instead(
        edits=(
            Edit(
                place=written.place,
                text=f"/bin/sh -c {script()} redoma {given}",
                judged=f"true {given}",
            ),
        ),
        runs="a look at what git push would send",
        calls=(written.text[slice(*written.place)],),
        reports=True,
    )


def reported(stderr: bytes) -> tuple[str, ...]:
    """What the look told; the lines come from inside and are only ever shown."""
    lines = stderr.decode("utf-8", "replace").split("\n")
    found = [line.removeprefix("redoma: ") for line in lines if line.startswith(REPORT)]
    return tuple(dict.fromkeys(found))


def _verb(written: Written) -> tuple[int, str]:
    """Where git's subcommand stands, and the directory it works in; -1 where that is not plain."""
    directory = "."
    number = 1
    while number < len(written.literals):
        word = written.literals[number]
        if word == "-C" and directory == "." and number + 1 < len(written.literals):
            if written.literals[number + 1] is None and not written.quoted(number + 1):
                return -1, ""  # may become several words
            directory = written.source(number + 1)
            number += 2
        elif word in ("--no-pager", "-P"):
            number += 1
        elif word is None or word.startswith("-"):
            return -1, ""
        else:
            return number, directory
    return -1, ""


def _read(written: Written, start: int) -> tuple[str, str, list[str]] | None:
    """(force, what, the words as written); nothing where an option is not known."""
    force, what = "", "refs"
    words: list[str] = []
    number = start
    while number < len(written.literals):
        word = written.literals[number]
        if word is None or not word.startswith("-"):
            # Whatever a variable holds, an option of git included, is only a name to the script.
            words.append(written.source(number))
        elif word in _FORCE:
            force = force or _FORCE[word]
        elif word.startswith("--force-with-lease"):
            force = "lease"
        elif word in _WHAT:
            what = _WHAT[word]
        elif word in _TAKES:
            number += 1
        elif word.partition("=")[0] not in _IGNORED and word.partition("=")[0] not in _TAKES:
            return None
        number += 1
    return force, what, words
