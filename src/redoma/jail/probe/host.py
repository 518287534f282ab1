"""What this machine can enforce: each engine tried once per boot, and remembered.

A probe starts real enclosures; a cold `redoma run` cannot pay for that each time. What was found
holds for one boot, kernel, user, set of engines and version of Redoma.
"""

from __future__ import annotations

import os
from contextlib import suppress

from redoma.base import cache, own_directories
from redoma.base.process_identity import boot_id
from redoma.jail.engines.catalog import Catalog
from redoma.jail.kernel.cgroups import Groups, find
from redoma.jail.plan import CAPS_ITSELF
from redoma.model.guarantee import EngineReport, Guarantee

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.jail.engines.base import Engine

_VERSION = "redoma-probe-6"
_RIGHTS = ("CapEff", "CapBnd", "NoNewPrivs", "Seccomp")


class Host:
    """Engines, their reports, and the control groups of this process."""

    def __init__(self) -> None:
        self._owner = os.getpid()
        self.catalog = Catalog()
        self._reports: dict[str, EngineReport] = {}
        self._groups: Groups | None = None
        self._looked_for_groups = False
        # Whether this process has run a command: from then on it pays to keep a launcher.
        self.has_run = False

    def engine(self, name: str) -> Engine:
        return self.catalog.engine(name)

    def report(self, name: str, *, anew: bool = False) -> EngineReport:
        """What an engine enforces here: as remembered, or by trying it."""
        if name not in self._reports or anew:
            engine = self.catalog.engine(name)
            key = f"{_identity()} {self.catalog.identity(name)}"
            if name in CAPS_ITSELF:
                key += f" {os.environ.get('XDG_RUNTIME_DIR', '')}"
            known = None if anew else _recall(f"engine-{name}", key)
            report = _parse(name, known) if known is not None else None
            if report is None:
                report = engine.probe()
                # What does not work may be mended at any moment; but where memory can only be
                # watched, every start would ask systemd anew. `redoma doctor` does.
                if report.usable or name in CAPS_ITSELF:
                    _remember(f"engine-{name}", key, _lines(report))
            self._reports[name] = report
            if report.program and hasattr(engine, "binary"):
                engine.binary = report.program
                engine.overlays = "without overlays" not in report.version  # type: ignore[attr-defined]
        return self._reports[name]

    def groups(self) -> Groups | None:
        """The control groups that this process may make, or None."""
        if not self._looked_for_groups:
            self._looked_for_groups = True
            key = f"{_identity()} {_own_group()}"
            known = _recall("groups", key)
            if known is None:
                from redoma.jail.kernel.cgroups import can_enter

                self._groups = find(can_enter)
                lines = []
                if self._groups is not None:
                    lines = [f"version\t{self._groups.version}"]
                    lines += [f"{k}\t{v}" for k, v in self._groups.places.items()]
                _remember("groups", key, lines)
            elif known:
                pairs = dict(line.split("\t", 1) for line in known)
                version = int(pairs.pop("version"))
                self._groups = Groups(pairs, version)
            if self._groups is not None:
                self._groups.clean()
        return self._groups

    def controllers(self) -> frozenset[str]:
        """What control groups can limit here."""
        groups = self.groups()
        return groups.controllers if groups is not None else frozenset()

    def forget(self, name: str) -> None:
        """Has an engine tried again next time, since it failed where it was trusted."""
        self._reports.pop(name, None)
        with suppress(OSError):
            os.unlink(f"{own_directories.cache()}/probe-engine-{name}")

    def close(self) -> None:
        """Removes what this process keeps ready for runs; a forked child leaves it alone."""
        if os.getpid() != self._owner:
            return
        self.catalog.close()
        if self._groups is not None:
            self._groups.close()


def _identity() -> str:
    return f"{_VERSION} {boot_id()} {os.uname().release} {os.geteuid()} {_around()}"


def _around() -> str:
    """What holds this process itself: in a container or a namespace engines enforce other things.

    Without it, what was found outside of one would be believed inside, where the cache is the same.
    """
    status = _text("/proc/self/status")
    rights = [status.partition(f"\n{name}:")[2].split(None, 1)[0:1] for name in _RIGHTS]
    try:
        users = os.readlink("/proc/self/ns/user")
    except OSError:
        users = ""
    inside = "inside" if os.path.exists("/etc/redoma/certificates.pem") else ""
    return " ".join([users, *(each[0] for each in rights if each), inside])


def _own_group() -> str:
    return _text("/proc/self/cgroup").replace("\n", " ")


def _text(path: str) -> str:
    try:
        with open(path) as file:
            return file.read().strip()
    except OSError:
        return ""


def _recall(name: str, key: str) -> list[str] | None:
    try:
        found: list[str] | None = cache.read(f"{own_directories.cache()}/probe-{name}", key)
    except OSError:
        return None
    return found


def _remember(name: str, key: str, lines: list[str]) -> None:
    with suppress(OSError):  # it will be found out again
        cache.keep(f"{own_directories.made_cache()}/probe-{name}", key, lines)


def _lines(report: EngineReport) -> list[str]:
    made = [f"version\t{report.version}", f"program\t{report.program}"]
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
    version, program = "", ""
    holds, missing, mechanisms, hints = set(), [], [], []
    try:
        for line in lines:
            kind, _, rest = line.partition("\t")
            value, _, more = rest.partition("\t")
            if kind == "version":
                version = rest
            elif kind == "program":
                program = rest
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
        guarantees=frozenset(holds),
        missing=tuple(missing),
        mechanisms=tuple(mechanisms),
        hints=tuple(hints),
    )
