"""Clouds and forges where a card cannot see far enough: files, SQL, commands, every right."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import NETWORK, SECRET, UNKNOWN, Arg, Stream
from redoma.judge.programs.card_actions import do
from redoma.judge.programs.cards import action_of, card_of, follow, options_of
from redoma.judge.programs.transfers import carries_files, copies, says_sent
from redoma.model.decision import Effect, Place, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.arg import Arg
    from redoma.judge.interpret.invocation import Invocation
    from redoma.judge.programs.options import ProgramOptions

_AWS_SQL = ("--query-string", "--sql", "--statement", "--sqls", "--query-statement")
_AWS_SQL_VERBS = frozenset(
    (
        "athena start-query-execution",
        "rds-data execute-statement",
        "rds-data batch-execute-statement",
        "redshift-data execute-statement",
        "redshift-data batch-execute-statement",
        "dynamodb execute-statement",
        "timestream-query query",
    )
)
_AWS_OUTFILE = frozenset(
    "get-object get-object-torrent invoke get-export select-object-content get-job-output "
    "get-snapshot-block get-package-version-asset download-archive".split()
)


def aws(call: Invocation) -> Stream:
    """`aws`: copies of S3, SQL of its data services, commands sent to machines."""
    card = card_of(call)
    options = options_of(call)
    pair = " ".join(options.operands[:2])
    if call.args[-1:] == ["help"] and not options.given and len(options.operands) < 4:
        call.fact(Effect.READS, tags=("about",))
        return Stream(None)
    if options.has("--help", "--dry-run", "--dryrun", "--generate-cli-skeleton"):
        return follow(call)
    if pair in _AWS_SQL_VERBS and _aws_sql(call, options):
        return Stream(None)
    action = action_of(card, options)
    out = follow(call)
    if pair in ("s3 cp", "s3 mv", "s3 sync"):
        return copies(call, options.operands[2:])
    if pair == "s3 ls":
        return out
    says_sent(call, carries_files(call) if action != "read" else 0, pair)
    all_rights(call, action)
    _aws_files(call, options)
    if pair in ("ssm send-command", "ecs execute-command"):
        _aws_commands(call, options)
    if action == "secret":
        return Stream(None, SECRET, pair)
    return out


def _aws_sql(call: Invocation, options: ProgramOptions) -> bool:
    from redoma.judge.programs.database import read_sql

    texts = options.values(*_AWS_SQL)
    # These options are not in the card's list for every service: their values stand as operands.
    for index, word in enumerate(call.args[:-1]):
        if word in _AWS_SQL and call.args[index + 1] not in texts:
            texts.append(call.args[index + 1])
    known = [text for text in texts if text.strip()]
    for text in known:
        read_sql(call, text, "athena" if options.operands[:1] == ["athena"] else "postgres")
    return bool(known) and any(_says_something(text) for text in known)


def _says_something(text: str) -> bool:
    from redoma.judge.programs.sql import actions

    return bool(actions(text))


def _aws_files(call: Invocation, options: ProgramOptions) -> None:
    verb = str(options.operands[1]) if len(options.operands) > 1 else ""
    last = call.args[-2:]
    if verb in _AWS_OUTFILE and len(options.operands) > 2 and last[0][:2] != "--":
        call.writes(options.operands[-1], content=Stream(None, NETWORK, verb))
    if verb == "put-object":
        for word, value in zip(call.args, call.args[1:], strict=False):
            if word == "--body":
                call.sends(call.reads(value).taint, "s3")


def _aws_commands(call: Invocation, options: ProgramOptions) -> None:
    for index, word in enumerate(call.args[:-1]):
        if word in ("--parameters", "--command"):
            text = call.args[index + 1]
            for found in _commands(str(text)):
                remote_shell(call, text.like(found), "ssm")


def _commands(text: str) -> list[str]:
    """The commands in `commands=…`, `commands=["a","b"]` or the JSON form of it."""
    quoted = re.findall(r"\"((?:[^\"\\]++|\\.)*+)(?:\"|\\?\Z)", text)
    listed = [q.replace('\\"', '"') for q in quoted if q not in ("commands", "workingDirectory")]
    if listed:
        return listed
    return [text.partition("=")[2] or text]


_AZ_WRITES = ("--file", "-f", "--destination", "-d", "--output-folder", "--dest")
_AZ_COMMANDS = ("--scripts", "--exec-command", "--command", "-c")


def az(call: Invocation) -> Stream:
    """`az`: downloads, commands run on machines, `az rest`."""
    card = card_of(call)
    options = options_of(call)
    operands = options.operands
    if operands[:1] == ["rest"]:
        method = str(options.value("--method", "-m") or "get").lower()
        do(
            call,
            {"get": "query", "head": "query", "delete": "destroy"}.get(method, "remote"),
            detail=f"rest {method}",
        )
        return Stream(None)
    action = action_of(card, options)
    out = follow(call)
    verbs = {str(word) for word in operands[:6]}
    if action == "fetch":
        named = options.values(*_AZ_WRITES)
        for value in named:
            call.writes(value, content=Stream(None, NETWORK, "az"))
        if not named:
            do(call, "write", detail="download")
    elif verbs & {"upload", "upload-batch", "config-zip", "copy"} and "storage" in verbs:
        for value in options.values("--file", "-f", "--source", "-s"):
            if "://" not in value:
                call.sends(call.reads(value).taint, "storage")
    elif action == "exec":
        for value in options.values(*_AZ_COMMANDS):
            remote_shell(call, value.like(value.removeprefix("@")), "azure")
    says_sent(call, carries_files(call) if action not in ("read", "fetch") else 0, "az")
    all_rights(call, action)
    return Stream(None, SECRET, "az") if action == "secret" else out


def gcloud(call: Invocation) -> Stream:
    """`gcloud`: copies, commands over ssh, SQL for its databases."""
    card = card_of(call)
    options = options_of(call)
    operands = [w for w in options.operands if w not in ("alpha", "beta")]
    pair = " ".join(operands[:2])
    action = action_of(card, options)
    if operands[2:3] == ["execute-sql"] and options.values("--sql"):
        from redoma.judge.programs.database import read_sql

        for text in options.values("--sql"):
            read_sql(call, text, "bigquery")
        return Stream(None)
    out = follow(call)
    if pair in ("storage cp", "storage mv", "storage rsync", "compute scp"):
        return copies(call, operands[2:])
    if pair == "storage cat":
        return Stream(None, NETWORK, "gs://")
    if pair in ("compute ssh", "app instances", "cloud-shell ssh", "workstations ssh"):
        for text in options.values("--command"):
            remote_shell(call, text, "gcloud")
        after = list(options.rest or [])
        while after and after[0].startswith("-"):
            after.pop(0)
        if after:
            remote_shell(call, after[0].like(" ".join(after)), "gcloud")
    if "keys create" in " ".join(operands[:5]):
        at = [str(word) for word in operands].index("create")
        for word in operands[at + 1 : at + 2]:
            call.writes(word)
    for value in options.values("--plaintext-file"):
        (call.writes if "decrypt" in operands else call.reads)(value)
    for value in options.values("--data-file"):
        says_sent(call, call.reads(value).taint, "gcloud")
    all_rights(call, action)
    return Stream(None, SECRET, "gcloud") if action == "secret" else out


_ALL = re.compile(
    r"AdministratorAccess|roles/owner|^(?:--role=)?Owner$|cluster-admin|\"Action\"\s*:\s*\"\*\""
)


def all_rights(call: Invocation, action: str) -> None:
    """A grant of every right there is, said in one of the clouds' own names for it."""
    if action != "grant":
        return
    for word in call.args:
        found = _ALL.search(word)
        if found:
            call.fact(
                Effect.PRIVILEGE,
                tags=("grant", "administrator"),
                at=word.span,
                detail=found.group(),
            )


def remote_shell(call: Invocation, text: Arg, where: str) -> None:
    """A command line that runs on another machine: judged like one here, marked as elsewhere."""
    walker = call.walker
    before = walker.elsewhere
    walker.elsewhere = where
    try:
        call.run_shell(text)
    finally:
        walker.elsewhere = before


_HOMES = {"gh": "github.com", "glab": "gitlab.com", "hub": "github.com"}
_CREDENTIALS = frozenset(
    "GH_TOKEN GITHUB_TOKEN GH_ENTERPRISE_TOKEN GH_HOST GITLAB_TOKEN GITLAB_HOST GITLAB_URI".split()
)
_MUTATION = re.compile(r"\bmutation\b")


def forge(call: Invocation) -> Stream:
    """What a forge's command line does, the raw `api` included."""
    options = options_of(call)
    for host in options.values("--hostname"):
        if host != _HOMES[call.name]:
            # Which forge is asked, and with whose token, is not the usual one.
            call.fact(Effect.UNKNOWN, tags=("host",), at=host.span, detail=f"--hostname {host}")
    for name in _CREDENTIALS.intersection(call.environment):
        call.fact(Effect.SECRETS, tags=("credentials",), at=call.environment[name].span)
    words = options.operands
    if words and words[0] == "api":
        return _api(call)
    if words[:2] == ["auth", "status"] and options.has("-t", "--show-token"):
        call.fact(Effect.SECRETS, Target(text="token", place=Place.SECRET), detail="auth status")
    _send_files(call, words, options)
    if words[:2] == ["alias", "set"] and (options.has("--shell") or _runs_shell(words)):
        call.fact(Effect.EXECUTES, tags=("hooked",), detail="alias set --shell")
    return follow(call)


def _runs_shell(words: list[Arg]) -> bool:
    return any(word.startswith("!") for word in words[3:])


_BODY_FILES = ("-F", "--body-file", "--notes-file", "--env-file")
_SENDS = {
    ("gist", "create"): 2,
    ("gist", "new"): 2,
    ("release", "upload"): 3,
    ("release", "create"): 3,
}


def _send_files(call: Invocation, words: list[Arg], options: ProgramOptions) -> None:
    carried: list[Arg] = []
    if len(words) >= 2:
        skip = _SENDS.get((str(words[0]), str(words[1])))
        if skip is not None:
            carried.extend(words[skip:])
        if str(words[0]) in ("pr", "issue", "release", "secret", "variable", "gist", "mr"):
            carried.extend(options.values(*_BODY_FILES))
            for name in options.values("-b", "--body", "-t", "--title", "-n", "--notes"):
                if name.taint:
                    call.sends(name.taint, _HOMES[call.name])
    for word in carried:
        taint = (
            call.stdin.taint if word == "-" else call.reads(word.like(word.partition("#")[0])).taint
        )
        call.sends(taint, _HOMES[call.name])


_API_TAKES = frozenset(
    "-X --method -H --header -f --raw-field -F --field --input --jq -q -t --template "
    "--cache --hostname -p --preview -R --repo".split()
)
_API_KNOWN = _API_TAKES | frozenset(
    "--paginate --slurp --include -i --silent --verbose --help".split()
)


def _api(call: Invocation) -> Stream:
    """A raw request: what it does is its method, a body makes it a POST."""
    from redoma.judge.programs.options import split

    options = split(call.args, _API_TAKES, _API_KNOWN)
    path = options.operands[1] if len(options.operands) > 1 else None
    if options.has("--help"):
        call.fact(Effect.READS, tags=("about",))
        return Stream(None)
    if path is None:
        call.fact(Effect.UNKNOWN, tags=("subcommand",), detail="api")
        return Stream(None)
    taint = path.taint
    fields = [*options.values("-f", "--raw-field", "-F", "--field")]
    for field in fields:
        taint |= field.taint
        value = field.partition("=")[2]
        if value.startswith("@"):
            taint |= call.stdin.taint if value == "@-" else call.reads(field.like(value[1:])).taint
    for name in options.values("--input"):
        taint |= call.stdin.taint if name == "-" else call.reads(name).taint
    method = options.value("-X", "--method")
    sends_body = bool(fields) or options.has("--input")
    verb = str(method).upper() if method is not None else "POST" if sends_body else "GET"
    detail = f"api {verb} {path}".replace(UNKNOWN, "…")
    if taint & 1:
        call.sends(taint, _HOMES[call.name])
    if path.rpartition("/")[2] == "graphql":
        query = " ".join(fields)
        unseen = UNKNOWN in query or "query=@" in query or options.has("--input") or not fields
        if _MUTATION.search(query) or unseen:
            call.fact(Effect.REMOTE, detail="api graphql")
        else:
            call.fact(Effect.NETWORK, tags=("query",), detail="api graphql")
    elif verb in ("GET", "HEAD"):
        call.fact(Effect.NETWORK, tags=("query",), detail=detail)
    elif verb == "DELETE":
        call.fact(Effect.REMOTE, tags=("destroy",), detail=detail)
    else:
        call.fact(Effect.REMOTE, detail=detail)
    if options.has("--hostname") or options.has("-H", "--header", "--cache", "-p", "--preview"):
        call.fact(Effect.UNKNOWN, tags=("host",), detail=detail)
    return Stream(None, 2, f"{call.name} api")
