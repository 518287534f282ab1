"""Requests that a command would make, as far as its words tell: method and address."""

from __future__ import annotations

from redoma.judge.programs.curl import TAKES as CURL_TAKES
from redoma.judge.programs.options import split
from redoma.model.risk import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.pipeline.kinds.calls import Seen

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
        options = split(seen.args, CURL_TAKES)
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
