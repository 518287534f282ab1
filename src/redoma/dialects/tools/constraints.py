"""What a tool is held to, by the names of its document; the profiles that ship."""

from __future__ import annotations

import math
import os
from collections.abc import Set
from dataclasses import dataclass, fields
from typing import Any

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
