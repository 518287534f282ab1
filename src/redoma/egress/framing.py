"""Reads the head of one request so strictly that no two readers can differ over it.

Attack: a request that the gate reads as one and the host as two, the second of which nobody has
judged (request smuggling). What is not written as everybody writes it is refused, and what passes
is written anew before the host gets it.
"""

from __future__ import annotations

import re

from redoma.egress.names import normal
from redoma.model.network import HTTP_2, NO_NAME, OTHER_NAME, TUNNEL, UNREADABLE
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    Fields: TypeAlias = list[tuple[bytes, bytes]]

LARGEST_HEAD = 1 << 16
PREFACE = b"PRI * HTTP/2.0"
_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}) ([\x21-\x7e]+) HTTP/1\.([01])\Z")
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_VALUE = re.compile(rb"[\x09\x20-\x7e\x80-\xff]*\Z")
_ABSOLUTE = re.compile(r"(https?)://([^/?#@]+)([/?][^#]*)?\Z", re.I)
_LENGTH = re.compile(rb"[0-9]{1,18}\Z")
_MOST_FIELDS = 200


class Head(Value):
    """What a request asks for, or why it is refused."""

    refusal: str = ""
    method: str = ""
    # In the form that a host gets: a path and a query, or `*`.
    target: str = ""
    fields: tuple[tuple[bytes, bytes], ...] = ()
    old: bool = False
    length: int | None = None
    chunked: bool = False


def read(head: bytes, name: str, port: int, scheme: str) -> Head:
    """The request whose head this is, up to its empty line, to a host on a connection of `name`."""
    if head.startswith(PREFACE):
        return Head(refusal=HTTP_2)
    lines = head.split(b"\r\n")
    if any(mark in line for line in lines for mark in (b"\r", b"\n", b"\0")):
        return Head(refusal=UNREADABLE)
    asked = _LINE.match(lines[0])
    fields = _fields(lines[1:])
    if asked is None or fields is None:
        return Head(refusal=UNREADABLE)
    made = Head(
        method=asked[1].decode(),
        target=asked[2].decode(),
        fields=tuple(fields),
        old=asked[3] == b"0",
    )
    return _framed(_meant_for(made, name, port, scheme))


def _fields(lines: list[bytes]) -> Fields | None:
    if len(lines) > _MOST_FIELDS:
        return None
    found: Fields = []
    for line in lines:
        # A line that begins with a space continues the one before for some, and not for others.
        name, colon, value = line.partition(b":")
        if not colon or not _NAME.match(name) or not _VALUE.match(value):
            return None
        found.append((name.lower(), value.strip(b" \t")))
    return found


def _meant_for(head: Head, name: str, port: int, scheme: str) -> Head:
    """The same, where everything in it names the host that the connection is for."""
    from redoma.model.value import replace

    hosts = [value for key, value in head.fields if key == b"host"]
    if len(hosts) != 1:
        return Head(refusal=UNREADABLE if hosts else NO_NAME)
    if head.method.upper() == "CONNECT":
        return Head(refusal=TUNNEL)
    usual = 443 if scheme == "https" else 80
    if not is_right(hosts[0].decode("latin-1"), name, port, usual):
        return Head(refusal=OTHER_NAME)
    if head.target.startswith("/"):
        # Attack: `//other.example/` is a path to some, and another host to others.
        return head if "#" not in head.target else Head(refusal=UNREADABLE)
    if head.target == "*" and head.method == "OPTIONS":
        return head
    absolute = _ABSOLUTE.match(head.target)
    if absolute is None:
        return Head(refusal=UNREADABLE)
    if absolute[1].lower() != scheme or not is_right(absolute[2], name, port, usual):
        return Head(refusal=OTHER_NAME)
    rest = absolute[3] or "/"
    return replace(head, target=rest if rest.startswith("/") else f"/{rest}")


def is_right(authority: str, name: str, port: int, usual: int) -> bool:
    """Whether `HOST` or `HOST:PORT` is this host at this port."""
    host, colon, given = authority.partition(":")
    if normal(host) != name or host != host.strip():
        return False
    # Without a port it is the scheme's own; on a port of its own some clients leave it out.
    return not colon or given == str(port) or (port == usual and given == "")


def _framed(head: Head) -> Head:
    """The same, with how long its body is; one of two lengths is refused."""
    from redoma.model.value import replace

    if head.refusal:
        return head
    lengths = [value for key, value in head.fields if key == b"content-length"]
    codings = [value.lower() for key, value in head.fields if key == b"transfer-encoding"]
    if codings:
        if lengths or head.old or codings != [b"chunked"]:
            return Head(refusal=UNREADABLE)
        return replace(head, chunked=True)
    if len(lengths) > 1 or (lengths and not _LENGTH.match(lengths[0])):
        return Head(refusal=UNREADABLE)
    return replace(head, length=int(lengths[0])) if lengths else head
