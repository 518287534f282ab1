"""Stores that speak no SQL: Redis and MongoDB, whose commands are words or JavaScript."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import UNKNOWN, Arg, Stream, arg
from redoma.judge.programs.cards import options_of
from redoma.judge.programs.database import unseen
from redoma.judge.programs.deeds import do
from redoma.judge.programs.sql import MOST
from redoma.model.risk import Effect, Place, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.call import Call

_REDIS: dict[str, str] = {}
for _deed, _names in {
    "read": (
        "get mget strlen getrange exists type ttl pttl keys scan sscan hscan zscan hget hmget "
        "hgetall hkeys hvals hlen hexists "
        "hstrlen lrange llen lindex lpos smembers sismember smismember scard srandmember sinter "
        "sunion sdiff sintercard zrange "
        "zrangebyscore zrevrange zrevrangebyscore zrangebylex zscore zmscore zcard zcount zrank "
        "zrevrank zlexcount xrange xrevrange "
        "xlen xinfo xread xpending info ping echo time dbsize lastsave object memory command "
        "latency pubsub bitcount bitpos getbit "
        "pfcount geopos geodist georadius_ro geosearch geohash randomkey dump role hello wait "
        "monitor subscribe psubscribe ssubscribe "
        "lolwut expiretime pexpiretime readonly select quit auth touch ft.search ft.info ft._list "
        "json.get json.type ts.get ts.range "
        "ft.aggregate sort_ro bitfield_ro eval_ro evalsha_ro fcall_ro substr hrandfield "
        "zrandmember lcs module-list help"
    ),
    "remote": "",
    "destroy": (
        "del unlink expire pexpire expireat pexpireat getdel rename renamenx move copy migrate "
        "restore restore-asking hdel lrem ltrim "
        "lpop rpop spop srem zrem zremrangebyrank zremrangebyscore zremrangebylex xdel xtrim "
        "swapdb persist json.del ft.dropindex "
        "cluster failover replicaof slaveof reset ft.alter zpopmin zpopmax blpop brpop hgetdel"
    ),
    "security": "config acl client debug bgrewriteaof slowlog psync sync sentinel",
    "exec": "eval evalsha script function fcall module",
    "drop": "flushall flushdb shutdown",
}.items():  # fmt: skip
    _REDIS.update(dict.fromkeys(_names.split(), _deed))
_REDIS_PAIRS: dict[str, str] = {}
for _deed, _names in {
    "read": (
        "config get, acl whoami, acl users, acl cat, acl log, acl genpass, client list, "
        "client info, client id, client getname, client setname, slowlog get, slowlog len, "
        "slowlog help, cluster info, cluster nodes, cluster slots, cluster shards, cluster "
        "keyslot, cluster myid, cluster countkeysinslot, script exists, function list, "
        "function dump, function stats, module list, debug object, sentinel masters, sentinel "
        "get-master-addr-by-name, object encoding, xinfo stream"
    ),
    "remote": "config resetstat, memory purge, debug sleep, latency reset",
    "secret": "acl list, acl getuser",
    "drop": "cluster reset, cluster flushslots, debug flushall, debug segfault",
    "destroy": "function flush, script flush",
    "exec": "module load",
    "security": "config rewrite",
}.items():
    _REDIS_PAIRS.update(dict.fromkeys(_names.split(", "), _deed))


def redis(call: Call) -> Stream:
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


def _redis_lines(call: Call) -> None:
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


def _redis_command(call: Call, words: list[str]) -> None:
    while len(words) > 1 and words[0].isdigit():
        words = words[1:]
    first = words[0].lower()
    pair = " ".join(words[:2]).lower()
    deed = (
        _REDIS_PAIRS.get(pair) or _REDIS.get(first) or ("unknown" if UNKNOWN in first else "remote")
    )
    if first in ("sort", "georadius", "georadiusbymember") and "STORE" not in (
        w.upper() for w in words
    ):
        deed = "read"
    do(call, deed, detail=" ".join(words[:3]).replace(UNKNOWN, "…"))


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


def read_mongo(call: Call, text: Arg) -> None:
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


def mongo(call: Call) -> Stream:
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


def _mongo_stdin(call: Call) -> None:
    stdin = call.stdin
    if stdin.text is not None:
        read_mongo(call, arg(stdin.text, call.span, stdin.taint))
    elif stdin.source or stdin.taint or call.walker.forks:
        unseen(call, stdin.source or "what flows in")
    else:
        target = Target(text=call.name, place=Place.WORKSPACE)
        call.fact(Effect.EXECUTES, target, tags=("interactive",))
