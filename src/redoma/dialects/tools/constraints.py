"""What a tool is held to, by the names of its document; the profiles that ship.

Proposes what would have been allowed in the place of what was not, and says why that.
"""

from __future__ import annotations

import math
import os
from collections.abc import Set
from dataclasses import dataclass, fields
from difflib import SequenceMatcher
from pathlib import PurePath
from typing import Any

from redoma import SandboxViolation
from redoma.base.paths import is_within
from redoma.model.arguments import WrongType, WrongValue, flag, paths, shown, texts, whole

DEFAULT_TIME = 30.0
"""Seconds, where no limit is said or what is said is none."""
DEFAULT_MEMORY_MB, DEFAULT_FILE_SIZE_MB = 1024, 100
MOST_MB = 1 << 30
SYSTEM = ("/etc", "/sys", "/proc", "/boot")
CREDENTIALS = tuple(
    f"~/{name}"
    for name in (
        *(".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".git-credentials"),
        *(".config/gcloud", ".config/gh", ".password-store", ".npmrc", ".pypirc"),
        *(".local/share/keyrings", ".mozilla", ".thunderbird"),
    )
)
FORBIDDEN = frozenset((*SYSTEM, *CREDENTIALS))
"""What no tool touches unless its constraints say otherwise."""
SCRATCH = "~/.zenus/tmp"
_PATHS = ("allowed_read_paths", "allowed_write_paths", "forbidden_paths")


def resolved(path: object) -> str | None:
    """A path absolute, with every link followed; None where it cannot be known, which is a no."""
    try:
        text = os.fsdecode(path)  # type: ignore[arg-type] # what is no path is a TypeError
        if not text or "\0" in text:
            return None
        whole = os.path.abspath(os.path.expanduser(text))
        try:
            return os.path.realpath(whole, strict=True)
        except FileNotFoundError:
            return os.path.realpath(whole)  # what is not there yet lies where its parent does
    except (TypeError, ValueError, OSError):
        # Attack: a circle of links, a part that may not be looked at: it could lead anywhere.
        return None


def lies_in(path: str, parents: Set[str]) -> bool:
    """Whether a resolved path is one of these or lies below one."""
    return any(is_within(path, each) for each in parents)


@dataclass(frozen=True, kw_only=True)
class SandboxConstraints:
    """What a tool may touch and use. Paths are made absolute and resolved when they are given.

    `allowed_read_paths` of None is anywhere; an empty `allowed_hosts` with `allow_network` is any
    host. `max_memory_mb` and `max_file_size_mb` of None is no limit. What is forbidden stays
    forbidden, whatever else is allowed. A value of another type is an error, never a guess.
    """

    allowed_read_paths: Set[str] | None = None
    allowed_write_paths: Set[str] = frozenset()
    forbidden_paths: Set[str] = FORBIDDEN
    max_execution_time: float = DEFAULT_TIME
    max_memory_mb: int | None = DEFAULT_MEMORY_MB
    max_file_size_mb: int | None = DEFAULT_FILE_SIZE_MB
    allow_network: bool = False
    allowed_hosts: Set[str] = frozenset()
    allow_subprocess: bool = False
    max_subprocesses: int = 5

    def __post_init__(self) -> None:
        for name in _PATHS:
            given = getattr(self, name)
            if given is not None or name != "allowed_read_paths":
                object.__setattr__(self, name, _paths(name, given))
        object.__setattr__(self, "allowed_hosts", _hosts(self.allowed_hosts))
        object.__setattr__(self, "max_execution_time", _time(self.max_execution_time))
        for name in ("allow_network", "allow_subprocess"):
            flag(name, getattr(self, name))
        for name in ("max_memory_mb", "max_file_size_mb"):
            if getattr(self, name) is not None:
                whole(name, getattr(self, name), least=1, most=MOST_MB)
        whole("max_subprocesses", self.max_subprocesses)

    def why_not(self, path: object, *, writing: bool) -> str:
        """The constraint that keeps a tool from this path; empty where none does."""
        real = resolved(path)
        if real is None or lies_in(real, self.forbidden_paths):
            return "forbidden_paths"
        if writing:
            return "" if lies_in(real, self.allowed_write_paths) else "allowed_write_paths"
        if self.allowed_read_paths is None or lies_in(real, self.allowed_read_paths):
            return ""
        return "" if lies_in(real, self.allowed_write_paths) else "allowed_read_paths"

    def can_read(self, path: object) -> bool:
        """Whether a tool may read here; what cannot be resolved is a no."""
        return not self.why_not(path, writing=False)

    def can_write(self, path: object) -> bool:
        """Whether a tool may write here; what cannot be resolved is a no."""
        return not self.why_not(path, writing=True)

    def why_not_host(self, host: str) -> str:
        """The constraint that keeps a tool from this host; empty where none does."""
        if not self.allow_network:
            return "allow_network"
        name = host.lower().rstrip(".")
        known = not self.allowed_hosts or any(_names(rule, name) for rule in self.allowed_hosts)
        return "" if known else "allowed_hosts"

    def relaxed(self, **changes: Any) -> SandboxConstraints:
        """These and more: sets are added to, everything else is as given now.

        What is forbidden is let go only by giving `forbidden_paths` itself.
        """
        known = {each.name: getattr(self, each.name) for each in fields(self)}
        for name, value in changes.items():
            if name not in known:
                raise TypeError(f"SandboxConstraints has no {name!r}")
            adds = name in ("allowed_read_paths", "allowed_write_paths", "allowed_hosts")
            if adds and value is not None and known[name] is not None:
                own = _paths(name, value) if name in _PATHS else _hosts(value)
                value = known[name] | own  # noqa: PLW2901 — the same value, made whole
            known[name] = value
        return SandboxConstraints(**known)


def _hosts(given: Any) -> frozenset[str]:
    return frozenset(texts("allowed_hosts", given, "host names"))


def _names(rule: str, host: str) -> bool:
    """Whether a rule such as `api.example.com`, `*.example.com` or `host:443` names this host."""
    rule = rule.lower().partition("=")[0].partition(":")[0]
    return rule == host or (rule.startswith("*.") and host.endswith(rule[1:]))


def _paths(name: str, given: Any) -> frozenset[str]:
    found = []
    for path in paths(name, given):
        real = resolved(path)
        if real is None:
            raise WrongValue(f"{name}: {path!r} is no path that can be resolved")
        found.append(real)
    return frozenset(found)


def _time(given: object) -> float:
    """The limit, or the usual one where a number or None says none."""
    if given is None:
        return DEFAULT_TIME
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise WrongType(f"max_execution_time: a number is needed, not {shown(given)}")
    return float(given) if math.isfinite(given) and given > 0 else DEFAULT_TIME


def given_or_safe(given: object) -> SandboxConstraints:
    """The constraints that were given; the safe defaults where there are none."""
    if given is None:
        return get_safe_defaults()
    if not isinstance(given, SandboxConstraints):
        raise WrongType(f"constraints: SandboxConstraints are needed, not {shown(given)}")
    return given


def get_safe_defaults() -> SandboxConstraints:
    """Reads anywhere, writes home and /tmp, no network, 30 seconds."""
    return SandboxConstraints(
        allowed_write_paths=frozenset(("~", "/tmp")), allow_subprocess=True, max_subprocesses=10
    )


def get_restricted() -> SandboxConstraints:
    """Reads home only, writes one scratch directory only, no network, 10 seconds."""
    return SandboxConstraints(
        allowed_read_paths=frozenset(("~",)),
        allowed_write_paths=frozenset((SCRATCH,)),
        max_execution_time=10,
    )


def get_permissive() -> SandboxConstraints:
    """Reads anywhere, writes home and /tmp, any host, 300 seconds."""
    return SandboxConstraints(
        allowed_write_paths=frozenset(("~", "/tmp")),
        allow_network=True,
        max_execution_time=300,
        allow_subprocess=True,
        max_subprocesses=50,
    )


def get_filesystem_only() -> SandboxConstraints:
    """Reads and writes home only, no network, no other process."""
    home = frozenset(("~",))
    return SandboxConstraints(allowed_read_paths=home, allowed_write_paths=home)


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
