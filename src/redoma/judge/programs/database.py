"""Database clients: the SQL in an option, an operand, a file or a pipe is read and judged."""

from __future__ import annotations

from redoma.judge.interpret.arg import ANYTHING, UNKNOWN, Arg, Stream, arg
from redoma.judge.programs.cards import card_named, card_of, card_words, follow, options_of
from redoma.judge.programs.database_shells import client_lines, run_meta, unseen
from redoma.judge.programs.options import ProgramOptions
from redoma.model.decision import Effect, Place, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from redoma.judge.interpret.invocation import Invocation

_EFFECTS: dict[str, tuple[Effect, tuple[str, ...]]] = {
    "read": (Effect.READS, ()),
    "several": (Effect.READS, ("several",)),
    "session": (Effect.WRITES, ("settings-of-session",)),
    "rows": (Effect.REMOTE, ("rows",)),
    "procedure": (Effect.REMOTE, ("procedure",)),
    "maintain": (Effect.REMOTE, ("rows",)),
    "create": (Effect.SCHEMA_CHANGE, ("create",)),
    "alter": (Effect.SCHEMA_CHANGE, ()),
    "drop": (Effect.SCHEMA_CHANGE, ("destroy",)),
    "grant": (Effect.PRIVILEGE, ("grant",)),
    "kill": (Effect.KILLS, ()),
    "library": (Effect.EXECUTES, ("library",)),
    "unknown": (Effect.UNKNOWN, ("sql",)),
}
_ON_A_FILE = frozenset(("session", "rows", "maintain", "create", "alter"))


def read_sql(
    call: Invocation,
    text: Arg,
    dialect: str = "",
    *,
    store: Arg | None = None,
    readonly: bool = False,
) -> None:
    """Notes what SQL given to a client would do; `store` is the file of a local database."""
    from redoma.judge.programs.sql import actions

    if text.strip(UNKNOWN + " ;\n") == "" and UNKNOWN in text:
        call.fact(
            Effect.SCHEMA_CHANGE,
            tags=("unseen",),
            at=text.span,
            detail="what is not known before it runs",
        )
        return
    own, rest = client_lines(text, dialect)
    for line in own:
        run_meta(call, dialect, line, text)
    for kind, told in actions(rest, dialect):
        if kind == "meta":
            run_meta(call, dialect, told, text)
        else:
            _note(call, kind, told, text, store, readonly=readonly)
    if UNKNOWN in text:
        call.fact(Effect.UNKNOWN, tags=("sql",), at=text.span, detail="part of the SQL")


def _note(
    call: Invocation, kind: str, told: str, text: Arg, store: Arg | None, *, readonly: bool
) -> None:
    if kind == "shell":
        call.fact(Effect.EXECUTES, tags=("flag", "arbitrary"), at=text.span)
        call.run_shell(arg(told, text.span, text.taint))
    elif kind == "writes":
        call.writes(arg(told, text.span, text.taint))
    elif kind == "reads":
        call.reads(arg(told, text.span, text.taint))
    elif kind == "reaches":
        call.sends(text.taint, arg(told, text.span, text.taint))
    elif readonly and kind in (*_ON_A_FILE, "drop", "grant", "procedure"):
        call.fact(Effect.READS, at=text.span)
    elif store is not None and kind in (*_ON_A_FILE, "drop") and store == ":memory:":
        call.fact(Effect.WRITES, tags=("settings-of-session",), at=text.span, detail=told)
    elif store is not None and kind in _ON_A_FILE:
        call.writes(store)
        if kind in ("create", "alter"):
            effect, tags = _EFFECTS[kind]
            call.fact(effect, tags=(*tags, "local"), at=text.span, detail=told)
    else:
        effect, tags = _EFFECTS[kind]
        call.fact(effect, tags=tags, at=text.span, detail=told)


def from_file(
    call: Invocation, word: Arg, dialect: str, store: Arg | None = None, *, readonly: bool = False
) -> None:
    """Runs the statements of a file: read when they are known, said when they are not."""
    if word in ("-", "/dev/stdin", "/dev/fd/0"):
        from_stdin(call, dialect, store, readonly=readonly)
        return
    held = call.reads(word)
    if held.text is not None:
        read_sql(
            call, arg(held.text, word.span, held.taint), dialect, store=store, readonly=readonly
        )
    elif readonly:
        call.fact(Effect.UNKNOWN, tags=("sql",), at=word.span, detail=str(word))
    else:
        unseen(call, word)


def from_stdin(
    call: Invocation, dialect: str, store: Arg | None = None, *, readonly: bool = False
) -> None:
    """Runs what flows in; with nothing flowing in, a person types."""
    stdin = call.stdin
    if stdin.text is not None:
        read_sql(
            call, arg(stdin.text, call.span, stdin.taint), dialect, store=store, readonly=readonly
        )
    elif stdin.source or stdin.taint or call.walker.forks:
        if readonly:
            call.fact(Effect.UNKNOWN, tags=("sql",), detail="what flows in")
        else:
            unseen(call, stdin.source or "what flows in")
    else:
        target = Target(text=call.name, place=Place.WORKSPACE)
        tags = ("reading",) if readonly else ("interactive",)
        call.fact(Effect.READS if readonly else Effect.EXECUTES, target, tags=tags)


class Client:
    """How a client takes its SQL: which options carry it, name a file of it, or write elsewhere."""

    __slots__ = ("dialect", "files", "libraries", "shells", "sql", "telling", "writes")

    def __init__(self, card: dict[str, Any]) -> None:
        words = card["words"]
        none: frozenset[str] = frozenset()
        self.dialect: str = next(iter(words.get("dialect", ())), "")
        self.sql: frozenset[str] = words["sql"]
        self.files: frozenset[str] = words.get("files", none)
        self.writes: frozenset[str] = words.get("writes", none)
        self.shells: frozenset[str] = words.get("shells", none)
        self.libraries: frozenset[str] = words.get("libraries", none)
        self.telling: frozenset[str] = words["telling"]


def client(call: Invocation) -> Stream:
    """A client of a database server."""
    return _serve(call, Client(card_of(call)), options_of(call))


def _serve(call: Invocation, known: Client, options: ProgramOptions) -> Stream:
    for name, value, _ in options.order:
        if value is None:
            continue
        if name in known.writes:
            if value.startswith("|"):
                call.run_shell(value.like(value[1:]))
            else:
                call.writes(value)
        elif name in known.shells:
            call.fact(Effect.EXECUTES, tags=("flag", "arbitrary"), at=value.span)
            call.run_shell(value)
    for value in options.values(*known.libraries):
        # Attack: a plugin is a library that the client loads into itself.
        call.fact(Effect.EXECUTES, tags=("library",), at=value.span, detail=str(value))
    if options.has(*known.telling) and not options.has(*known.sql, *known.files):
        call.fact(Effect.READS, tags=("about",))
        return Stream(None)
    texts = options.values(*known.sql)
    files = options.values(*known.files)
    for text in texts:
        read_sql(call, text, known.dialect)
    for word in files:
        from_file(call, word, known.dialect)
    if not texts and not files:
        from_stdin(call, known.dialect)
    return Stream(None, call.stdin.taint)


def subcommand(call: Invocation) -> Stream:
    """`cockroach sql`, `dolt sql`, `clickhouse client`: a client among other subcommands."""
    words = [w for w in call.args if not w.startswith("-")]
    if (
        words
        and words[0] in ("sql", "client", "local")
        and call.name in ("cockroach", "dolt", "clickhouse")
    ):
        index = call.args.index(words[0])
        call.args = [*call.args[:index], *call.args[index + 1 :]]
        own = "clickhouse-client" if call.name == "clickhouse" else f"{call.name} sql"
        card = card_named(call, own)
        return _serve(call, Client(card), options_of(call, card=card))
    if "alone" in card_of(call):
        call.fact(Effect.UNKNOWN, tags=("subcommand",), detail=" ".join(words[:2]))
        return ANYTHING
    return follow(call)


_FILE_TELLING = ("-help", "--help", "-version", "--version", "-h")


def file_client(call: Invocation) -> Stream:
    """`sqlite3`, `duckdb`: a database in a file of this machine."""
    dialect = "duckdb" if call.name.startswith("duckdb") else "sqlite"
    words = [w.like(w[1:]) if w.startswith("--") and len(w) > 3 else w for w in call.args]
    for index, word in enumerate(words):
        if word in ("-lookaside", "-pagecache"):
            # Two numbers follow; the second must not be taken for the file.
            del words[index + 2 : index + 3]
            break
    options = options_of(call, words)
    if options.has(*_FILE_TELLING):
        call.fact(Effect.READS, tags=("about",))
        return Stream(None)
    readonly = options.has("-readonly", "-safe")
    operands = options.operands
    store = operands[0] if operands else call.word.like(":memory:")
    texts = options.values("-cmd", "-c", "-s")
    if operands and operands[0] != ":memory:":
        taint = call.reads(operands[0]).taint
    else:
        taint = 0
    sql = [*texts, *operands[1:]]
    for text in sql:
        read_sql(call, text, dialect, store=store, readonly=readonly)
    for word in options.values("-init", "-f"):
        from_file(call, word, dialect, store, readonly=readonly)
    flows_in = call.stdin.text is not None or bool(call.stdin.source)
    if not operands[1:] and not options.has("-c", "-s", "-f") and (flows_in or not texts):
        from_stdin(call, dialect, store, readonly=readonly)
    return Stream(None, taint | call.stdin.taint)


def _subcommand_action(call: Invocation, name: str) -> str | None:
    """What a subcommand of the newer `sqlcmd` does, as its card lists them; "" for a query."""
    for key, words in card_of(call)["words"].items():
        kind, dash, action = key.partition("-")
        if dash and kind == "subcommand" and name in words:
            return "" if action == "query" else str(action)
    return None


def sqlcmd(call: Invocation) -> Stream:
    """`sqlcmd`: options with SQL, or in its newer form subcommands."""
    options = options_of(call)
    operands = options.operands
    action = _subcommand_action(call, str(operands[0])) if operands else None
    if action is not None and not options.has("-Q", "-i"):
        from redoma.judge.programs.card_actions import do

        if options.has("--help", "-h", "-?"):
            action = "read"
        if action:
            do(call, action, detail=" ".join(operands[:2]))
            return Stream(None)
        texts = [*operands[1:], *options.values(*card_words(call, "sql"))]
        for text in texts:
            read_sql(call, text, "tsql")
        if not texts:
            from_stdin(call, "tsql")
        return Stream(None)
    return _serve(call, Client(card_of(call)), options)


def bq(call: Invocation) -> Stream:
    """`bq`: its `query` is SQL, the rest is as its card says."""
    options = options_of(call)
    if options.operands[:1] != ["query"] or options.has("--dry_run"):
        return follow(call)
    texts = options.operands[1:]
    for text in texts:
        read_sql(call, text, "bigquery")
    if not texts:
        from_stdin(call, "bigquery")
    if options.has("--replace", "--append_table") or options.value("--destination_table"):
        call.fact(Effect.REMOTE, tags=("rows",), detail="--destination_table")
    return Stream(None)


def osqueryi(call: Invocation) -> Stream:
    """`osqueryi`: reads only, by design."""
    call.fact(Effect.READS)
    return Stream(None)
