"""Clouds' programs where a card cannot see far enough: files, SQL, commands, every right."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import NETWORK, SECRET, Stream
from redoma.judge.programs.cards import card_of, deed_of, follow, options_of
from redoma.judge.programs.deeds import do
from redoma.judge.programs.offsite import all_rights, remote_shell
from redoma.judge.programs.transfers import carries_files, copies, says_sent
from redoma.model.risk import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.call import Call
    from redoma.judge.programs.options import Options

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


def aws(call: Call) -> Stream:
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
    deed = deed_of(card, options)
    out = follow(call)
    if pair in ("s3 cp", "s3 mv", "s3 sync"):
        return copies(call, options.operands[2:])
    if pair == "s3 ls":
        return out
    says_sent(call, carries_files(call) if deed != "read" else 0, pair)
    all_rights(call, deed)
    _aws_files(call, options)
    if pair in ("ssm send-command", "ecs execute-command"):
        _aws_commands(call, options)
    if deed == "secret":
        return Stream(None, SECRET, pair)
    return out


def _aws_sql(call: Call, options: Options) -> bool:
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
    from redoma.judge.programs.sql import deeds

    return bool(deeds(text))


def _aws_files(call: Call, options: Options) -> None:
    verb = str(options.operands[1]) if len(options.operands) > 1 else ""
    last = call.args[-2:]
    if verb in _AWS_OUTFILE and len(options.operands) > 2 and last[0][:2] != "--":
        call.writes(options.operands[-1], content=Stream(None, NETWORK, verb))
    if verb == "put-object":
        for word, value in zip(call.args, call.args[1:], strict=False):
            if word == "--body":
                call.sends(call.reads(value).taint, "s3")


def _aws_commands(call: Call, options: Options) -> None:
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


def az(call: Call) -> Stream:
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
    deed = deed_of(card, options)
    out = follow(call)
    verbs = {str(word) for word in operands[:6]}
    if deed == "fetch":
        named = options.values(*_AZ_WRITES)
        for value in named:
            call.writes(value, content=Stream(None, NETWORK, "az"))
        if not named:
            do(call, "write", detail="download")
    elif verbs & {"upload", "upload-batch", "config-zip", "copy"} and "storage" in verbs:
        for value in options.values("--file", "-f", "--source", "-s"):
            if "://" not in value:
                call.sends(call.reads(value).taint, "storage")
    elif deed == "exec":
        for value in options.values(*_AZ_COMMANDS):
            remote_shell(call, value.like(value.removeprefix("@")), "azure")
    says_sent(call, carries_files(call) if deed not in ("read", "fetch") else 0, "az")
    all_rights(call, deed)
    return Stream(None, SECRET, "az") if deed == "secret" else out


def gcloud(call: Call) -> Stream:
    """`gcloud`: copies, commands over ssh, SQL for its databases."""
    card = card_of(call)
    options = options_of(call)
    operands = [w for w in options.operands if w not in ("alpha", "beta")]
    pair = " ".join(operands[:2])
    deed = deed_of(card, options)
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
    all_rights(call, deed)
    return Stream(None, SECRET, "gcloud") if deed == "secret" else out
