"""Reads a profile: one of the shipped levels by name, or a person's own file.

A profile is YAML, and reading YAML costs a cold start more than the whole sandbox; so what was
read is kept beside the other caches, and used as long as the file has not changed.

Sizes, times and counts as people write them, and an error that names what cannot be meant.
"""

from __future__ import annotations

import os
from contextlib import suppress

from redoma.base import cache, own_directories
from redoma.base.levels import LEVELS, level_file
from redoma.jail.engines.registry import DEFAULTS
from redoma.jail.protect import installation
from redoma.model.arguments import WrongValue, number, whole
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
from redoma.model.message import Message
from redoma.model.network import Reach
from redoma.model.value import Value

_UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_TIMES = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "ms": 0.001}
SIZES = frozenset(
    "memory swap address_space file_size total_written keep_free temporary output"
    " output_total".split()
)
COUNTS = frozenset("processes open_files cpu_percent cpu_seconds changes depth".split())
TIMES = frozenset({"wall_seconds"})
MACHINE = "machine"
OF_MACHINE = frozenset({"memory", "temporary", "processes"})
_SMALLEST = {"memory": 1 << 20, "address_space": 16 << 20, "open_files": 8, "temporary": 4096}
_LARGEST = 1 << 50


def read_limit(name: str, text: str) -> int | float | None:
    """The value of the limit `name`; `none` is no limit, `machine` a share of what is here."""
    if text.strip().lower() in ("none", "unlimited"):
        return None
    if text.strip() == MACHINE:
        if name not in OF_MACHINE:
            hint = Message(
                "{name} is a value of: {places}", name=MACHINE, places=", ".join(sorted(OF_MACHINE))
            )
            raise UsageError("{name}: no value of the machine is known", name=name, hint=hint)

        return of_machine(name)
    if name in SIZES:
        value: float = _number(name, text, _UNITS, "a size such as 512M or 2G")
    elif name in TIMES:
        value = _number(name, text, _TIMES, "a time such as 30, 90s or 5m")
    else:
        value = _number(name, text.removesuffix("%"), {"": 1}, "a whole number")
        if value != int(value):
            raise UsageError("{name}: {text} is not a whole number", name=name, text=repr(text))
    if value <= 0 or value > _LARGEST:
        raise UsageError(
            "{name}: {text} is no sensible limit",
            name=name,
            text=repr(text),
            hint="a number above zero",
        )
    if value < _SMALLEST.get(name, 0):
        raise UsageError("{name}: {text} is too little to run anything", name=name, text=repr(text))
    return value if name in TIMES else int(value)


def checked_limit(name: str, given: object) -> int | float | None:
    """The limit `name` as a program gives it: a number in its unit, or None for no limit."""
    if name not in SIZES | COUNTS | TIMES:
        known = ", ".join(sorted(SIZES | COUNTS | TIMES))
        raise WrongValue(
            Message("limits: there is no limit {name}", name=repr(name)),
            hint=Message("limits: {known}", known=known),
        )
    if given is None:
        return None
    label = f"limits[{name!r}]"
    if name in TIMES:
        return number(label, given)
    return whole(label, given, least=_SMALLEST.get(name, 1), most=_LARGEST)


def _number(name: str, text: str, units: dict[str, float] | dict[str, int], wanted: str) -> float:
    stripped = text.strip().lower()
    digits = stripped.rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = stripped[len(digits) :].removesuffix("ib" if units is _UNITS else "")
    if units is _UNITS and len(unit) == 2:
        unit = unit.removesuffix("b")
    plain = digits.strip().replace(".", "", 1)
    if unit not in units or not plain.isascii() or not plain.isdigit():
        raise UsageError(
            "{name}: {text} is not {wanted}", name=name, text=repr(text), wanted=Message(wanted)
        )
    return float(digits) * units[unit]


_LEAST_MEMORY = 2 << 30
_PROCESSES = 4096
_PROCESSES_OF_A_CORE = 64
# A container's own limit counts before the machine's memory.
_OF_A_CONTAINER = (
    "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes",
)
_NUMBERS = ("/proc/sys/kernel/threads-max", "/proc/sys/kernel/pid_max")


def of_machine(name: str) -> int | None:
    """The limit with this name, by the size of the machine; None where it takes the caller's."""
    if name in ("memory", "temporary"):
        return max(_LEAST_MEMORY, _memory() // 2)
    if name == "processes":
        # As much as systemd leaves to a service, and no more than real work has shown to need.
        shares = [number * 15 // 100 for number in map(_number_in, _NUMBERS) if number]
        return min([max(_PROCESSES, _PROCESSES_OF_A_CORE * (os.cpu_count() or 1)), *shares])
    return None


def _memory() -> int:
    found = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min([found, *(limit for limit in map(_number_in, _OF_A_CONTAINER) if limit)])


def _number_in(path: str) -> int:
    try:
        with open(path) as file:
            return int(file.read())
    except (OSError, ValueError):  # `max`, or another machine's file
        return 0


_VERSION = "5"


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
            raise UsageError(
                "there is no profile {name}",
                name=name,
                hint=Message("levels: {levels}", levels=", ".join(LEVELS)),
            )
        # Attack: a command that runs under a profile of the project makes the next run's milder.
        installation.believe(os.path.abspath(name))
    elif name in LEVELS:
        path = level_file(name)
    else:
        raise UsageError(
            "there is no level {name}",
            name=repr(name),
            hint=Message("levels: {levels}", levels=", ".join(LEVELS)),
        )
    return _profile(_extended(path), path)


_DEEPEST = 8


def _extended(path: str, seen: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    """The entries of a profile, and of what it extends those that it says nothing about.

    Without `extends` a profile extends the level whose name it gives.
    """
    entries = _entries(path)
    single = dict(entries)
    base = single.get("extends", "")
    if not base:
        named = single.get("level", "")
        base = named if named in LEVELS and path != level_file(named) else ""
    if not base:
        return entries
    below = _below(base, path, (*seen, path))
    said = {name for name, _ in entries}
    kept = [(name, value) for name, value in below if name not in said and name != "extends"]
    if "require" not in said:
        # What is required of the level's own network and writes is not required of others.
        mode, writes = single.get("network", "closed"), single.get("workspace", "")
        dropped = set()
        if mode != "closed":
            dropped.add(Guarantee.NETWORK_CLOSED.value)
        if writes in ("direct", "read-only"):
            dropped.add(Guarantee.CHANGES_HELD.value)
        kept = [entry for entry in kept if entry[0] != "require" or entry[1] not in dropped]
    return [*kept, *entries]


def _below(base: str, path: str, seen: tuple[str, ...]) -> list[tuple[str, str]]:
    """The entries of a level, or of another profile beside this one."""
    if base in LEVELS:
        return _entries(level_file(base))
    place = os.path.realpath(os.path.join(os.path.dirname(path), os.path.expanduser(base)))
    if place in seen or len(seen) >= _DEEPEST:
        raise UsageError("{path} extends itself", path=path)
    if not os.path.isfile(place):
        raise UsageError(
            "{path} extends {name}, and there is no such profile",
            path=path,
            name=base,
            hint=Message("levels: {levels}", levels=", ".join(LEVELS)),
        )
    installation.believe(place)
    return _extended(place, seen)


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
        apply=Apply(single.get("apply", "on_end")),
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
