"""Proposes what would have been allowed in the place of what was not, and says why that."""

from __future__ import annotations

import os
from difflib import SequenceMatcher
from pathlib import PurePath
from typing import Any

from redoma import SandboxViolation
from redoma.dialects.tools.constraints import (
    SandboxConstraints,
    given_or_safe,
    lies_in,
    resolved,
)

_MOST_TRIED = 1000


class Alternative(str):
    """A path or a host to use instead, and the reason; an empty text where there is none."""

    __slots__ = ("reason",)
    reason: str

    def __new__(cls, value: str, reason: str) -> Alternative:
        made = super().__new__(cls, value)
        made.reason = reason
        return made

    @property
    def value(self) -> str:
        """The path or the host as plain text."""
        return str.__str__(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return str, (self.value,)  # what is sent into a sandbox is a text like any other

    def __repr__(self) -> str:
        return f"Alternative({self.value!r}, reason={self.reason!r})"


def adapt_on_sandbox_violation(
    violation: SandboxViolation | str | os.PathLike[str],
    constraints: SandboxConstraints | None = None,
) -> Alternative:
    """What to use instead of a path or a host that was refused; the same for the same question.

    The constraints are those that were violated, where an executor raised it; else the safe
    defaults.
    """
    own = getattr(violation, "constraints", None)
    held_to = given_or_safe(own if constraints is None else constraints)
    if not isinstance(violation, SandboxViolation):
        return _path(os.fspath(violation), held_to, writing=True)
    if violation.path:
        return _path(violation.path, held_to, writing=violation.kind != "read")
    if violation.host:
        return _host(violation.host, held_to)
    return Alternative("", "only a path or a host has another in its place")


def _path(path: str, held_to: SandboxConstraints, *, writing: bool) -> Alternative:
    if not held_to.why_not(path, writing=writing):
        return Alternative(path, f"{path} is allowed")
    name = os.path.basename(path.rstrip("/")) or "root"
    allowed = set(held_to.allowed_write_paths)
    if not writing:
        allowed |= held_to.allowed_read_paths or frozenset()
    whole = resolved(path) or path
    for directory in sorted(allowed, key=lambda each: _distance(whole, each)):
        if not os.path.isdir(directory) or lies_in(directory, held_to.forbidden_paths):
            continue
        found = _free(directory, name, held_to) if writing else f"{directory}/{name}"
        if not writing and not (os.path.exists(found) and held_to.can_read(found)):
            continue
        if found:
            kind = "written" if writing else "read"
            return Alternative(
                found, f"{directory} is the nearest directory to {path} that may be {kind}"
            )
    if writing:
        return Alternative("", f"there is no directory in which {name} may be written")
    return Alternative("", f"there is no {name} in any directory that may be read")


def _distance(path: str, directory: str) -> tuple[int, int, str]:
    """How far a directory is from a path: by the parts they share, then by its depth, its name."""
    shared = 0
    for one, other in zip(PurePath(path).parts, PurePath(directory).parts, strict=False):
        if one != other:
            break
        shared += 1
    temporary = directory in ("/tmp", "/var/tmp")  # what lies there may be gone tomorrow
    return -shared, int(temporary), directory


def _free(directory: str, name: str, held_to: SandboxConstraints) -> str:
    """A name in a directory that nothing has yet, so that nothing is overwritten."""
    stem, dot, ending = name.rpartition(".") if not name.startswith(".") else (name, "", "")
    if not stem:
        stem, dot, ending = name, "", ""
    for number in range(1, _MOST_TRIED):
        tried = name if number == 1 else f"{stem}-{number}{dot}{ending}"
        found = os.path.join(directory, tried)
        if held_to.can_write(found) and not os.path.lexists(found):
            return found
    return ""


def _host(host: str, held_to: SandboxConstraints) -> Alternative:
    if not held_to.allow_network:
        return Alternative("", "the network is disabled, so no host can be reached")
    if not held_to.why_not_host(host):
        return Alternative(host, f"{host} is allowed")
    name = host.lower().rstrip(".")
    plain = [rule for rule in held_to.allowed_hosts if not rule.startswith("*")]
    known = [rule.partition("=")[0].partition(":")[0].lower() for rule in plain]
    same = [each for each in known if _shared_labels(name, each) >= 2]
    if not same:
        domain = ".".join(name.split(".")[-2:])
        return Alternative("", f"no allowed host belongs to {domain}")
    nearest = min(same, key=lambda each: (-_shared_labels(name, each), -_like(name, each), each))
    return Alternative(nearest, f"{nearest} is the nearest allowed host of the same domain")


def _shared_labels(one: str, other: str) -> int:
    shared = 0
    for a, b in zip(reversed(one.split(".")), reversed(other.split(".")), strict=False):
        if a != b:
            break
        shared += 1
    return shared


def _like(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other, autojunk=False).ratio()
