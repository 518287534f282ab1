"""Which engines can be held to the contract here, and a sandbox on each of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from redoma.jail.engines.registry import NAMES, EngineDeclaration, declared
from redoma.model.grant import EngineReport, Guarantee
from redoma.pipeline.sandbox import Sandbox
from redoma.pipeline.this_host import this_host

# Engines and guarantees whose absence is a failure here, as `REDOMA_REQUIRE=bubblewrap,forkserver`.
REQUIRED = frozenset(os.environ.get("REDOMA_REQUIRE", "").replace(",", " ").split())


def _worth_trying(name: str) -> bool:
    """Whether it can work at all; `test_choice` has the one line that says why not."""
    if name == "systemd":
        return os.path.isdir("/run/systemd/system")
    return name != "landlock" or os.geteuid() != 0


ENGINES = tuple(
    os.environ.get("REDOMA_CONTRACT_ENGINES", " ".join(filter(_worth_trying, NAMES))).split()
)

# Asks for nothing by name, so that an engine which holds less than others runs as well; what it
# says it holds is what `test_what_is_held` tries.
PROFILE = """
level: contract
workspace: {writes}
home: nothing
network: closed
syscalls: usual
limits:
  memory: 512M
  processes: 128
  open_files: 256
  file_size: 64M
  total_written: 512M
  temporary: 32M
  wall_seconds: 60
  output: 1M
  output_total: 64M
"""


def report(name: str) -> EngineReport:
    """What the engine says of itself here."""
    return this_host().report(name)


def usable(name: str) -> None:
    """Skips, or fails where the engine is required, with the engine's own reason."""
    found = report(name)
    if found.usable:
        return
    known = frozenset(Guarantee) - {Guarantee.NETWORK_ALLOW_LISTED}
    why = f"{name} cannot be used here: {found.why_not(known)}"
    if name in REQUIRED:
        pytest.fail(f"required: {why}", pytrace=False)
    pytest.skip(why)


def claims(name: str, guarantee: Guarantee) -> None:
    """Skips, or fails where the guarantee is required, when the engine does not claim it."""
    found = report(name)
    if guarantee in found.guarantees:
        return
    why = f"{name} does not claim {guarantee.words}: {dict(found.missing).get(guarantee, '?')}"
    if guarantee.value in REQUIRED:
        pytest.fail(f"required: {why}", pytrace=False)
    pytest.skip(why)


class Machine:
    """One engine, one workspace, and a home with something to lose."""

    def __init__(self, engine: str, base: Path) -> None:
        self.engine = engine
        self.base = base
        self.workspace = base / "work"
        self.workspace.mkdir()
        self.outside = base / "outside"
        self.outside.mkdir(mode=0o777)
        self.outside.chmod(0o777)
        self.victim = self.outside / "victim"
        self.victim.write_text("as it was")
        self.victim.chmod(0o666)
        for writes in ("direct", "layer", "memory", "read-only"):
            self.profile(writes).write_text(PROFILE.format(writes=writes))

    @property
    def declared(self) -> EngineDeclaration:
        """What the engine declares of itself."""
        return declared(self.engine)

    def profile(self, writes: str = "direct") -> Path:
        """A profile that requires nothing by name."""
        return self.base / f"{writes}.yaml"

    def sandbox(
        self, *, writes: str = "direct", workspace: Path | None = None, **how: object
    ) -> Sandbox:
        """A sandbox on this engine that requires nothing by name."""
        place, level = str(workspace or self.workspace), str(self.profile(writes))
        how = {"policy": "isolation-only", **how}
        return Sandbox(place, level=level, engine=self.engine, **how)  # type: ignore[arg-type]
