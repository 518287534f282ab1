"""Commands of the database clients themselves, and of stores that speak no SQL."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import UNKNOWN, Arg, Stream, arg
from redoma.judge.programs.card_actions import do, names_production
from redoma.judge.programs.cards import card_of, options_of
from redoma.judge.programs.sql import MOST
from redoma.model.decision import Effect, Place, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.invocation import Invocation

_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"|(\S+)")
_BACKTICKS = re.compile(r"`([^`]*)`")


_ENDS_DATA = ("drop", "truncate", "wipe", "destroy", "purge", "reset", "nuke")


def unseen(call: Invocation, word: Arg | str) -> None:
    """SQL from a file nobody has read: its name may tell, its content cannot."""
    name = str(word).rpartition("/")[2].lower()
    tags = ("migration",) if _at_home(call, word) else ("unseen",)
    if any(part in name for part in _ENDS_DATA):
        tags = ("destroy",)
    call.fact(
        Effect.SCHEMA_CHANGE,
        tags=tags,
        at=getattr(word, "span", None),
        detail=f"the statements in {word}",
    )


_FILES = frozenset(("sqlite3", "sqlite", "duckdb"))
_HOSTS = re.compile(r"(?:^|[=@/])(?:localhost|127\.0\.0\.1|\[?::1\]?)(?:[:/]|$)")


def _at_home(call: Invocation, word: Arg | str) -> bool:
    """Whether a project's own file is run against a database that is surely on this machine."""
    path = word if isinstance(word, Arg) else call.word.like(word)
    target, _ = call.written_target(path)
    if target.place is not Place.WORKSPACE or call.stdin.taint or names_production(call):
        return False
    if call.name in _FILES:
        stores = [w for w in call.args if w[:1] != "-"]
        return all(call.written_target(w)[0].place is Place.WORKSPACE for w in stores)
    return any(_HOSTS.search(each) for each in call.args)


def run_meta(call: Invocation, dialect: str, line: str, at: Arg) -> None:
    """Notes what one client command does; `line` begins with its sign."""
    line = line.strip()
    if dialect == "postgres":
        _psql(call, line, at)
    elif dialect == "mysql":
        _mysql(call, line, at)
    elif dialect in ("sqlite", "duckdb"):
        _dot(call, line, at)
    elif dialect == "tsql":
        _sqlcmd(call, line, at)


def client_lines(text: str, dialect: str) -> tuple[list[str], str]:
    """The lines that are the client's own commands, and the rest, which is SQL."""
    if dialect in ("sqlite", "duckdb"):
        signs: tuple[str, ...] = (".",)
    elif dialect == "tsql":
        signs = (":", "!!")
    elif dialect == "mysql":
        signs = ("system ", "source ", "tee ", "pager ", "edit", "notee", "delimiter ")
    else:
        return [], text
    own: list[str] = []
    rest: list[str] = []
    for line in text.split("\n"):
        shown = line.strip()
        (own if shown.lower().startswith(signs) else rest).append(shown if shown else line)
    return own, "\n".join(rest)


def _words(text: str) -> list[str]:
    return [a or b or c for a, b, c in _QUOTED.findall(text)]


def _shell(call: Invocation, text: str, at: Arg) -> None:
    call.fact(Effect.EXECUTES, tags=("flag", "arbitrary"), at=at.span)
    if text.strip():
        call.run_shell(arg(text.strip(), at.span, at.taint))


def _file(call: Invocation, text: str, at: Arg, *, write: bool) -> None:
    """A file, or a program behind a bar."""
    if text.startswith("|"):
        _shell(call, text[1:], at)
    elif text:
        word = arg(text, at.span, at.taint)
        if write:
            call.writes(word)
        else:
            call.reads(word)


def _psql(call: Invocation, line: str, at: Arg) -> None:
    for inner in _BACKTICKS.findall(line):
        # psql runs what stands in backticks in any of its own commands.
        _shell(call, inner, at)
    name, _, rest = line[1:].partition(" ")
    if line.startswith("\\!"):
        _shell(call, line[2:], at)
    elif name in ("o", "out", "g", "gx", "w", "write", "s", "log") or line.startswith("\\o|"):
        words = rest if rest.startswith("|") else (_words(rest) or [""])[0]
        _file(call, words or line[2:], at, write=True)
    elif name == "copy":
        found = re.search(r"\b(?:from|to)\s+program\s+('([^']*)'|\S+)", rest, re.IGNORECASE)
        if found:
            _shell(call, found.group(2) or found.group(1), at)
            return
        target = re.search(r"\bto\s+('[^']*'|\S+)", rest, re.IGNORECASE)
        source = re.search(r"\bfrom\s+('[^']*'|\S+)", rest, re.IGNORECASE)
        if target:
            _file(call, target.group(1).strip("'"), at, write=True)
        elif source:
            call.fact(Effect.REMOTE, tags=("rows",), at=at.span, detail="\\copy")
            _file(call, source.group(1).strip("'"), at, write=False)
    elif name in ("i", "ir", "include", "include_relative", "gexec", "e", "edit", "ef", "ev"):
        call.fact(Effect.SCHEMA_CHANGE, tags=("unseen",), at=at.span, detail=line[:60])
    elif name.startswith("lo_"):
        call.fact(Effect.REMOTE, tags=("rows",), at=at.span, detail=line[:60])
    elif name in ("password", "setenv"):
        call.fact(Effect.PRIVILEGE, tags=("grant",), at=at.span)


def _mysql(call: Invocation, line: str, at: Arg) -> None:
    lower = line.lower()
    if line.startswith("\\!") or lower.startswith("system "):
        _shell(call, line.partition(" ")[2] if lower.startswith("system ") else line[2:], at)
    elif line.startswith("\\.") or lower.startswith("source "):
        call.fact(Effect.SCHEMA_CHANGE, tags=("unseen",), at=at.span, detail=line[:60])
    elif line.startswith("\\T") or lower.startswith("tee "):
        _file(call, line.partition(" ")[2] or line[2:], at, write=True)
    elif line.startswith("\\P") or lower.startswith("pager "):
        _shell(call, line.partition(" ")[2] or line[2:], at)
    elif line.startswith("\\e") or lower.startswith("edit"):
        call.fact(Effect.EXECUTES, tags=("flag", "arbitrary"), at=at.span)


_DOT_SHELL = frozenset((".shell", ".system", ".sh"))
_DOT_WRITES = frozenset(
    (".output", ".once", ".save", ".backup", ".log", ".clone", ".trace", ".cd", ".excel")
)


def _dot(call: Invocation, line: str, at: Arg) -> None:
    name, _, rest = line.partition(" ")
    rest = rest.strip()
    # A dot command may be shortened as long as it stays its own.
    if (
        name in _DOT_SHELL
        or (len(name) > 3 and ".shell".startswith(name))
        or (len(name) > 3 and ".system".startswith(name))
    ):
        _shell(call, " ".join(_words(rest)) if '"' in rest[:1] else rest, at)
    elif name in _DOT_WRITES or name in (".out", ".outp"):
        words = _words(rest)
        target = words[-1] if words else ""
        _file(call, rest if rest.startswith("|") else target, at, write=True)
    elif name in (".read", ".import", ".restore"):
        words = _words(rest)
        source = next((w for w in words if not w.startswith("-")), "")
        if source.startswith("|"):
            _shell(call, source[1:], at)
        elif name == ".import":
            call.fact(Effect.REMOTE, tags=("rows",), at=at.span, detail=".import")
            _file(call, source, at, write=False)
        else:
            unseen(call, at.like(source))
    elif name in (".load", ".edit"):
        call.fact(Effect.EXECUTES, tags=("library",), at=at.span)
    elif name in (".open", ".archive", ".ar"):
        words = [w for w in _words(rest) if not w.startswith("-")]
        if words:
            _file(call, words[0], at, write=True)


def _sqlcmd(call: Invocation, line: str, at: Arg) -> None:
    bare = line.lstrip(":")
    name, _, rest = bare.partition(" ")
    if bare.startswith("!!"):
        _shell(call, bare[2:], at)
    elif name.lower() == "r":
        call.fact(Effect.SCHEMA_CHANGE, tags=("unseen",), at=at.span, detail=line[:60])
    elif name.lower() in ("out", "error", "perftrace"):
        _file(call, rest.strip(), at, write=True)
    elif name.lower() == "ed":
        call.fact(Effect.EXECUTES, tags=("flag", "arbitrary"), at=at.span)


def redis(call: Invocation) -> Stream:
    """`redis-cli`: commands as words, or a line each from a pipe."""
    options = options_of(call)
    words = options.operands
    for script in options.values("--eval"):
        call.executes_file(script, "lua")
        do(call, "exec", detail="--eval")
    for target in options.values("--rdb", "--functions-rdb"):
        call.writes(target)
    if options.has("--cluster"):
        told = str(options.value("--cluster") or "")
        do(
            call,
            "read" if told in ("check", "info", "help") else "destroy",
            detail=f"--cluster {told}",
        )
    elif options.has(
        "--scan",
        "--bigkeys",
        "--memkeys",
        "--hotkeys",
        "--stat",
        "--latency",
        "--help",
        "--version",
    ):
        do(call, "read")
    elif words:
        _redis_command(call, [str(w) for w in words])
    elif not options.has("--eval", "--rdb", "--functions-rdb"):
        _redis_lines(call)
    return Stream(None, call.stdin.taint)


def _redis_lines(call: Invocation) -> None:
    text = call.stdin.text
    if text is None:
        if call.stdin.source or call.stdin.taint or call.walker.forks:
            unseen(call, call.stdin.source or "what flows in")
        else:
            target = Target(text=call.name, place=Place.WORKSPACE)
            call.fact(Effect.EXECUTES, target, tags=("interactive",))
        return
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) > MOST:
        unseen(call, "more lines than can be followed")
    for line in lines[:MOST]:
        _redis_command(call, line.split())


def _redis_command(call: Invocation, words: list[str]) -> None:
    while len(words) > 1 and words[0].isdigit():
        words = words[1:]
    first = words[0].lower()
    pair = " ".join(words[:2]).lower()
    listed = card_of(call)["words"]
    action = next((a.removesuffix("-pairs") for a, words in listed.items() if pair in words), "")
    action = action or next((a for a, words in listed.items() if first in words), "")
    action = action or ("unknown" if UNKNOWN in first else "remote")
    if first in ("sort", "georadius", "georadiusbymember") and "STORE" not in (
        w.upper() for w in words
    ):
        action = "read"
    do(call, action, detail=" ".join(words[:3]).replace(UNKNOWN, "…"))


_MONGO_DROPS = re.compile(
    r"\.\s*(?:dropDatabase|drop|dropAllUsersFromDatabase)\s*\(|"
    r"\.\s*(?:deleteMany|remove)\s*\(\s*(?:\{\s*\})?\s*[,)]|\bdropDatabase\s*:|[{,]\s*[\"']?drop[\"']?\s*:|"
    r"\[\s*[\"'](?:drop|dropDatabase|deleteMany|remove)[\"']\s*\]|shutdownServer|rs\.stepDown"
)
_MONGO_RIGHTS = re.compile(
    r"createUser|updateUser|grant\w+|changeUserPassword|createRole|updateRole|dropUser|dropRole|revoke\w+"
)
_MONGO_SHELL = re.compile(
    r"child_process|\brunProgram\b|\brun\s*\(|process\.(?:exit|kill|binding)|\brequire\s*\(|\bload\s*\(|\bfs\.|eval\s*\(|Function\s*\("
)
_MONGO_ROWS = re.compile(
    r"\.\s*(?:insert\w*|update\w*|replaceOne|deleteOne|deleteMany|remove|save|bulkWrite|findOneAnd\w+|findAndModify|"
    r"createIndex\w*|dropIndex\w*|createCollection|createView|renameCollection|copyTo|mapReduce|reIndex|convertToCapped|"
    r"initiate|reconfig|addShard\w*|enableSharding|shardCollection|setParameter|killOp|compact)\s*\(|\$out\b|\$merge\b|"
    r"runCommand|adminCommand|setFeatureCompatibilityVersion"
)
_MONGO_ADMIN = re.compile(
    r"runCommand|adminCommand|renameCollection|dropIndex|killOp|reconfig|setParameter|convertToCapped"
)
_MONGO_READS = re.compile(
    r"\.\s*(?:find|findOne|count\w*|estimatedDocumentCount|distinct|aggregate|explain|stats|getIndexes|getCollectionNames|"
    r"getCollectionInfos|serverStatus|hello|isMaster|version|currentOp|printjson|status|conf|getName|listDatabases|getUsers|"
    r"dataSize|storageSize|totalIndexSize|pretty|limit|sort|toArray|forEach|getSiblingDB|printReplicationInfo|hostInfo|getMongo|"
    r"getDBNames|getProfilingStatus|serverBuildInfo)\s*\(|^\s*show\s+\w+\s*;?\s*$|^\s*use\s+\w+"
)


def read_mongo(call: Invocation, text: Arg) -> None:
    """Notes what JavaScript for a MongoDB shell would do."""
    detail = " ".join(text.split())[:60].replace(UNKNOWN, "…")
    if _MONGO_DROPS.search(text):
        call.fact(Effect.SCHEMA_CHANGE, tags=("destroy",), at=text.span, detail=detail)
    if _MONGO_RIGHTS.search(text):
        call.fact(Effect.PRIVILEGE, tags=("grant",), at=text.span)
    if _MONGO_SHELL.search(text):
        call.fact(Effect.UNKNOWN, tags=("code",), at=text.span, detail=detail)
    if _MONGO_ADMIN.search(text):
        call.fact(Effect.SCHEMA_CHANGE, at=text.span, detail=detail)
    elif _MONGO_ROWS.search(text):
        call.fact(Effect.REMOTE, tags=("rows",), at=text.span, detail=detail)
    elif _MONGO_READS.search(text):
        call.fact(Effect.READS, at=text.span)
    elif text.strip():
        call.fact(Effect.UNKNOWN, tags=("sql",), at=text.span, detail=detail)
    if UNKNOWN in text:
        call.fact(Effect.UNKNOWN, tags=("sql",), at=text.span, detail="part of the script")


def mongo(call: Invocation) -> Stream:
    """`mongosh`, `mongo`: JavaScript from `--eval`, from files or from a pipe."""
    options = options_of(call)
    if options.has("--help", "--version"):
        call.fact(Effect.READS, tags=("about",))
        return Stream(None)
    texts = options.values("--eval")
    for text in texts:
        read_mongo(call, text)
    files = [
        *options.values("-f", "--file"),
        *(w for w in options.operands if w.endswith((".js", ".mongodb"))),
    ]
    for word in files:
        held = call.reads(word)
        if held.text is not None:
            read_mongo(call, arg(held.text, word.span, held.taint))
        else:
            unseen(call, word)
    if not texts and not files:
        _mongo_stdin(call)
    return Stream(None, call.stdin.taint)


def _mongo_stdin(call: Invocation) -> None:
    stdin = call.stdin
    if stdin.text is not None:
        read_mongo(call, arg(stdin.text, call.span, stdin.taint))
    elif stdin.source or stdin.taint or call.walker.forks:
        unseen(call, stdin.source or "what flows in")
    else:
        target = Target(text=call.name, place=Place.WORKSPACE)
        call.fact(Effect.EXECUTES, target, tags=("interactive",))
