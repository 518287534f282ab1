"""Remembers what probes found: for one boot, kernel, user, set of engines and version of Redoma.

A probe starts real sandboxes; a cold `redoma run` cannot pay for that each time.
"""

from __future__ import annotations

import os
from contextlib import suppress

from redoma.base import cache, own_directories
from redoma.base.identity import boot_id
from redoma.model.grant import EngineReport, Guarantee

_VERSION = "redoma-probe-7"
_RIGHTS = ("CapEff", "CapBnd", "NoNewPrivs", "Seccomp")


def recalled(name: str, key: str) -> list[str] | None:
    """The lines that were remembered under a name; None where they hold no longer."""
    try:
        place = f"{own_directories.cache()}/probe-{name}"
    except OSError:
        return None
    found: list[str] | None = cache.read(place, f"{_surroundings()} {key}")
    return found


def remember(name: str, key: str, lines: list[str]) -> None:
    """Keeps lines for as long as the machine, and `key`, are what they are."""
    with suppress(OSError):  # it will be found out again
        place = f"{own_directories.made_cache()}/probe-{name}"
        cache.keep(place, f"{_surroundings()} {key}", lines)


def forget(name: str) -> None:
    """Has it found out again next time."""
    with suppress(OSError):
        os.unlink(f"{own_directories.cache()}/probe-{name}")


def recalled_report(name: str, key: str) -> EngineReport | None:
    """The report of an engine, if it was remembered and still holds."""
    lines = recalled(f"engine-{name}", key)
    return _parse(name, lines) if lines is not None else None


def remember_report(report: EngineReport, key: str) -> None:
    """Keeps the report of an engine."""
    remember(f"engine-{report.name}", key, _lines(report))


def _surroundings() -> str:
    return f"{_VERSION} {boot_id()} {os.uname().release} {os.geteuid()} {_around()}"


def _around() -> str:
    """What holds this process itself: in a container or a namespace engines enforce other things.

    Without it, what was found outside of one would be believed inside, where the cache is the same.
    """
    status = text_of("/proc/self/status")
    rights = [status.partition(f"\n{name}:")[2].split(None, 1)[0:1] for name in _RIGHTS]
    try:
        users = os.readlink("/proc/self/ns/user")
    except OSError:
        users = ""
    inside = "inside" if os.path.exists("/etc/redoma/certificates.pem") else ""
    return " ".join([users, *(each[0] for each in rights if each), inside])


def text_of(path: str) -> str:
    """What a file of /proc says; nothing where it cannot be read."""
    try:
        with open(path) as file:
            return file.read().strip()
    except OSError:
        return ""


def _lines(report: EngineReport) -> list[str]:
    made = [f"version\t{report.version}", f"program\t{report.program}"]
    made += ["overlays\tnone"] if not report.overlays else []
    made += [
        f"holds\t{guarantee.value}" for guarantee in Guarantee if guarantee in report.guarantees
    ]
    made += [f"missing\t{g.value}\t{_flat(why)}" for g, why in report.missing]
    made += [f"mechanism\t{g.value}\t{_flat(how)}" for g, how in report.mechanisms]
    made += [f"hint\t{_flat(hint)}" for hint in report.hints]
    return made


def _flat(text: str) -> str:
    return " ".join(text.split())


def _parse(name: str, lines: list[str]) -> EngineReport | None:
    version, program, overlays = "", "", True
    holds, missing, mechanisms, hints = set(), [], [], []
    try:
        for line in lines:
            kind, _, rest = line.partition("\t")
            value, _, more = rest.partition("\t")
            if kind == "version":
                version = rest
            elif kind == "program":
                program = rest
            elif kind == "overlays":
                overlays = rest != "none"
            elif kind == "holds":
                holds.add(Guarantee(rest))
            elif kind == "missing":
                missing.append((Guarantee(value), more))
            elif kind == "mechanism":
                mechanisms.append((Guarantee(value), more))
            elif kind == "hint":
                hints.append(rest)
    except ValueError:
        return None
    return EngineReport(
        name=name,
        version=version,
        program=program,
        overlays=overlays,
        guarantees=frozenset(holds),
        missing=tuple(missing),
        mechanisms=tuple(mechanisms),
        hints=tuple(hints),
    )
