"""Requests that a command would make, as far as its words tell: method and address."""

from __future__ import annotations

from redoma.model.risk import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.flow.kinds.calls import Seen

_POSTS = frozenset(
    "-d --data --data-raw --data-binary --data-ascii --data-urlencode --json -F --form "
    "--form-string --post-data --post-file".split()
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
    words = [str(word) for word in seen.args]
    for number, word in enumerate(words):
        following = words[number + 1] if number + 1 < len(words) else ""
        if word in ("-X", "--request", "--method"):
            return following.upper() or "GET"
        if word.startswith(("-X", "--request=", "--method=")) and not word.startswith("-Xp"):
            return word.partition("=")[2].upper() or word[2:].upper()
    if seen.name not in ("curl", "wget", "wget2"):
        named = next((word for word in words if word.upper() in _METHODS), "")
        sends = any("=" in word and not word.startswith(("-", "http")) for word in words)
        return named.upper() or ("POST" if sends else "GET")
    names = {word.partition("=")[0] for word in words}
    if names & {"-G", "--get"}:
        return "GET"
    if names & {"-T", "--upload-file"}:
        return "PUT"
    if names & _POSTS or any(w[:2] in ("-d", "-F") and w[:2] != w for w in words):
        return "POST"
    return "HEAD" if names & {"-I", "--head", "--spider"} else "GET"


def _without_login(address: str) -> str:
    """The address without a name and password in it: a report is kept and shown."""
    scheme, separator, rest = address.rpartition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}"
