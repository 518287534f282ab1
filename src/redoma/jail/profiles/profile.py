"""Reads a profile: one of the shipped levels by name, or a person's own file.

A profile is YAML, and reading YAML costs a cold start more than the whole sandbox; so what was
read is kept beside the other caches, and used as long as the file has not changed.
"""

from __future__ import annotations

import os
from contextlib import suppress

from redoma.base import cache, own_directories
from redoma.base.levels import LEVELS, level_file
from redoma.jail.engines.registry import DEFAULTS
from redoma.jail.profiles.limits import read_limit
from redoma.jail.protect import installation
from redoma.model.errors import UsageError
from redoma.model.grant import (
    Apply,
    Grant,
    Guarantee,
    Home,
    Limits,
    NetworkMode,
    Syscalls,
    Variables,
    Writes,
)
from redoma.model.network import Reach
from redoma.model.value import Value

_VERSION = "4"


class Profile(Value):
    """A level in full: how files, network and limits are, and what must be enforced."""

    level: str
    writes: Writes
    apply: Apply
    home: Home
    network: NetworkMode
    syscalls: Syscalls
    variables: Variables
    limits: Limits
    require: frozenset[Guarantee]
    # Whether hosts may be granted to a run under it.
    network_grants: bool = True
    prefer: tuple[str, ...] = DEFAULTS
    # Whom a gated network lets through.
    reach: Reach = Reach()

    def grant(self, workspace: str) -> Grant:
        """What a run in this workspace may do under this profile."""
        return Grant(
            level=self.level,
            workspace=workspace,
            writes=self.writes,
            apply=self.apply,
            home=self.home,
            network=self.network,
            network_grants=self.network_grants,
            reach=self.reach,
            syscalls=self.syscalls,
            variables=self.variables,
            limits=self.limits,
            require=self.require,
            prefer=self.prefer,
        )


def load(name: str) -> Profile:
    """The profile with this name or in this file."""
    if "/" in name or name.endswith((".yaml", ".yml")):
        path = os.path.realpath(name)
        if not os.path.isfile(path):
            raise UsageError(f"there is no profile {name}", hint="levels: " + ", ".join(LEVELS))
        # Attack: a command that runs under a profile of the project makes the next run's milder.
        installation.believe(os.path.abspath(name))
    elif name in LEVELS:
        path = level_file(name)
    else:
        raise UsageError(f"there is no level {name!r}", hint="levels: " + ", ".join(LEVELS))
    return _profile(_entries(path), path)


def _entries(path: str) -> list[tuple[str, str]]:
    """(key, value) pairs of a profile, from what was kept if the file is still the same."""
    status = os.stat(path)
    stamp = (_VERSION, status.st_ino, status.st_mtime_ns, status.st_size, path)
    try:
        place = f"{own_directories.cache()}/profile-{path.strip('/').replace('/', '-')[-150:]}"
    except OSError:
        place = ""
    kept: list[tuple[str, str]] | None = cache.read(place, stamp) if place else None
    if kept is not None:
        return kept
    from redoma.jail.profiles.profile_yaml import read

    entries = read(path)
    with suppress(OSError):  # it will be read again next time
        own_directories.made_cache()
        cache.keep(place, stamp, entries)
    return entries


def _profile(entries: list[tuple[str, str]], path: str) -> Profile:
    single = dict(entries)
    limits = {
        key.removeprefix("limits."): read_limit(key.removeprefix("limits."), value)
        for key, value in entries
        if key.startswith("limits.")
    }
    level = single.get("level", os.path.basename(path).rpartition(".")[0])
    return Profile(
        level=level,
        writes=Writes(single.get("workspace", "direct").replace("read-only", "none")),
        apply=Apply(single.get("apply", "on_success")),
        home=Home(single.get("home", "nothing")),
        network=NetworkMode(single.get("network", "closed")),
        network_grants=_network_grants(single.get("network_grants", ""), level, path),
        syscalls=Syscalls(single.get("syscalls", "usual")),
        variables=Variables(single.get("variables", "few")),
        limits=Limits(**limits),  # type: ignore[arg-type] # each by its own name
        require=frozenset(Guarantee(value) for key, value in entries if key == "require"),
        prefer=tuple(value for key, value in entries if key == "prefer") or DEFAULTS,
        reach=_reach([value for key, value in entries if key == "hosts"]),
    )


def _network_grants(said: str, level: str, path: str) -> bool:
    """What the file says; else what is said of the shipped level whose name it has."""
    if not said and level in LEVELS and path != level_file(level):
        return load(level).network_grants
    return said != "never"


def _reach(hosts: list[str]) -> Reach:
    if not hosts:
        return Reach()
    from redoma.egress.host_rules import read

    return read(hosts)
