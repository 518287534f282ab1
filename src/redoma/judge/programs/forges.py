"""`gh` and `glab`: their raw API calls by method and body, and the files that they send away."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import UNKNOWN, Arg, Stream
from redoma.judge.programs.cards import follow, options_of
from redoma.model.risk import Effect, Place, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.call import Call
    from redoma.judge.programs.options import Options

_HOMES = {"gh": "github.com", "glab": "gitlab.com", "hub": "github.com"}
_CREDENTIALS = frozenset(
    "GH_TOKEN GITHUB_TOKEN GH_ENTERPRISE_TOKEN GH_HOST GITLAB_TOKEN GITLAB_HOST GITLAB_URI".split()
)
_MUTATION = re.compile(r"\bmutation\b")


def forge(call: Call) -> Stream:
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


def _send_files(call: Call, words: list[Arg], options: Options) -> None:
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


def _api(call: Call) -> Stream:
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
