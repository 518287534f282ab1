"""Which machine an address or a URL names, and what its name gives away."""

from __future__ import annotations

from redoma.judge.interpret.arg import UNKNOWN
from redoma.model.risk import Place, Target

_LOOPBACK = ("localhost", "127.", "[::1]", "::1", "0.0.0.0", "host.docker.internal")
_METADATA = ("169.254.169.254", "metadata.google.internal", "metadata.goog", "100.100.100.200", "fd00:ec2::254", "169.254.170.2")


def host_of(text: str) -> str:
    """The host in a URL, `user@host:path`, `host:port` or plain name, in lower case."""
    rest = text.partition("://")[2] or text
    rest = rest.partition("/")[0].partition("?")[0].partition("#")[0]
    rest = rest.rpartition("@")[2]
    if not rest.startswith("["):
        rest = rest.partition(":")[0]
    return rest.lower().strip("[]")


def host_target(text: str) -> tuple[Target, tuple[str, ...]]:
    """The target that a text names, with marks such as `metadata` or `plain` (no encryption)."""
    host = host_of(text)
    marks: list[str] = []
    if UNKNOWN in host:
        marks.append("unknown-host")
    if host.startswith(_LOOPBACK) or host == "" and not text:
        return Target(text=text, place=Place.LOOPBACK), tuple(marks)
    if host in _METADATA:
        marks.append("metadata")
    if text.lower().startswith(("http://", "ftp://", "ws://")):
        marks.append("plain")
    if _is_number(host):
        marks.append("numeric")
    if not host.isascii() or host.startswith("xn--") or ".xn--" in host:
        marks.append("lookalike")
    return Target(text=text, place=Place.HOST), tuple(marks)


def _is_number(host: str) -> bool:
    return bool(host) and all(part.isdigit() or part.startswith("0x") for part in host.split("."))
