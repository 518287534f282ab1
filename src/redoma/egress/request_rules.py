"""Reads the part of a rule that is about requests: `GET,POST api.example.com/v1/**`."""

from __future__ import annotations

import re

from redoma.egress.addresses import canonical
from redoma.model.errors import UsageError
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.network import Reach

_METHODS = re.compile(r"([A-Z]{1,20}(?:,[A-Z]{1,20})*)[ \t]+(\S.*)\Z")
_PATH = re.compile(r"[\x21-\x7e]*\Z")
_NOT_IN_A_PATH = frozenset('?#;\\"<>^`{|}')
_PINNED = re.compile(r"(.*)=(\[?[0-9A-Fa-f.:]+\]?(?::[0-9]{1,5})?)\Z")
_MOST_OF_ANY = 3
_FORM = "[METHOD[,METHOD]] HOST[:PORT][/PATH], as in GET api.example.com/repos/**"


class Parts(Value):
    """A rule taken apart: what is about the host, and what is about requests to it."""

    host: str
    methods: tuple[str, ...] = ()
    path: str = ""


def split(text: str) -> Parts:
    """The parts of a rule; a path or a method that cannot be read is an error."""
    rest = text.strip()
    methods: tuple[str, ...] = ()
    found = _METHODS.match(rest)
    if found is not None:
        methods, rest = tuple(dict.fromkeys(found[1].split(","))), found[2].strip()
    slash = rest.find("/")
    # After an equals sign stands an address, or a network, which has a slash of its own.
    if slash <= 0 or "=" in rest[:slash] or rest[slash - 1 :].startswith("://"[1:]):
        return Parts(host=rest, methods=methods)
    host, path = rest[:slash], rest[slash:]
    if host.endswith(":"):
        return Parts(host=rest, methods=methods)  # a scheme: said so by whoever reads hosts
    pinned = _PINNED.match(path)
    if pinned is not None and canonical(_address(pinned[2])):
        path, host = pinned[1], f"{host}={pinned[2]}"
    return Parts(host=host, methods=methods, path=_pattern(path, text))


def _address(text: str) -> str:
    if text.startswith("["):
        return text.partition("]")[0][1:]
    return text.partition(":")[0] if text.count(":") == 1 else text


def _pattern(path: str, text: str) -> str:
    parts = path.split("/")
    plain = _PATH.match(path) and _NOT_IN_A_PATH.isdisjoint(path) and "//" not in path
    if not plain or any(part in (".", "..") for part in parts):
        raise UsageError(f"the path of {text!r} cannot be read", hint=f"a rule is {_FORM}")
    if any("**" in part and part != "**" for part in parts):
        raise UsageError(
            f"in {text!r} two stars stand beside something else",
            hint="/** is everything below, and a single star one part of a path",
        )
    if parts.count("**") > _MOST_OF_ANY:
        raise UsageError(f"{text!r} has more than {_MOST_OF_ANY} parts of any length")
    return path


def held(reach: Reach) -> None:
    """An error where requests would have to be read for a rule or a credential, and are not."""
    if reach.inspect:
        return
    from redoma.model.remedies import Help, Remedy

    named = [rule.text for rule in reach.hosts if rule.by_request]
    if named:
        raise UsageError(
            f"{named[0]!r} grants some requests only, and requests are not read here",
            hint=Remedy(help=Help.INSPECT),
        )
    if reach.credentials:
        raise UsageError(
            f"the credential for {reach.credentials[0].host} cannot be added: requests are not"
            " read here",
            hint=Remedy(help=Help.INSPECT),
        )
