"""Encloses with util-linux alone: `unshare` makes the namespaces, our inner step does the rest.

The description of the enclosure is the very one that bubblewrap gets, so both hold the same; a
Python process more for each run is what it costs.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager

from redoma.jail import own
from redoma.jail.engines.bubblewrap import Bubblewrap
from redoma.jail.engines.frame import memory_file, words
from redoma.model.access import NetworkMode
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from redoma.jail.engines.bubblewrap import Enclosure
    from redoma.jail.engines.frame import Frame
    from redoma.model.guarantee import EngineReport
    from redoma.model.plan import RunPlan

PROGRAMS = ("/usr/bin/unshare", "/bin/unshare")
_START = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from redoma.jail.forkserver.unshare_init import main; main(sys.argv[2:])"
)


class Unshare:
    """Namespaces of util-linux around a root that our own inner step builds."""

    name = "unshare"

    def __init__(self) -> None:
        self.description = Bubblewrap()
        self.description.binary = program() or PROGRAMS[0]

    @property
    def binary(self) -> str:
        """The `unshare` that is used."""
        return self.description.binary

    @binary.setter
    def binary(self, path: str) -> None:
        self.description.binary = path

    @property
    def overlays(self) -> bool:
        """Whether what is shown is shown through overlays, as bubblewrap shows it."""
        return self.description.overlays

    @overlays.setter
    def overlays(self, value: bool) -> None:
        self.description.overlays = value

    def probe(self) -> EngineReport:
        from redoma.jail.probe.unshare import report

        return report(self)

    @contextmanager
    def prepare(self, plan: RunPlan) -> Iterator[Enclosure]:
        """Bubblewrap's own preparation, performed by someone else."""
        with self.description.prepared(plan, self) as enclosure:
            step, env = self._inner_step()
            launch = enclosure.launch
            argv = (self.binary, *_namespaces(plan.grant.network), *step, *launch.argv)
            enclosure.launch = replace(launch, argv=argv, env=env, complaint="redoma: ")
            yield enclosure

    def foresee(self, frame: Frame, plan: RunPlan) -> None:
        """Nothing stands ready here."""

    def start_of(
        self, frame: Frame, rest: list[str], command: tuple[str, ...], give: Callable[[int], str]
    ) -> tuple[tuple[str, ...], None]:
        """What the step inside is told: the same as bubblewrap, but it knows the end of a pipe."""
        told = words([*frame.base, *frame.before, *rest])
        return ("--args", give(memory_file(told)), "--", *command), None

    def close(self) -> None:
        """Ends what is kept ready, and any run that still uses it."""
        self.description.close()

    def _inner_step(self) -> tuple[tuple[str, ...], dict[str, str]]:
        """The interpreter that runs us, with nothing in it but its own library and our package."""
        python = own.INTERPRETER
        package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        place, env = os.path.dirname(package), {}
        if self.description.as_nobody:
            # What root runs is started as nobody, who may not reach root's own Python.
            stage = self.description.staged()
            place = stage.root(((package, "/redoma"),), (), ())
            if not python.startswith("/usr/"):
                library = stage.root(((sys.base_prefix, "/python"),), (), ()) + "/python"
                python = library + python.removeprefix(os.path.realpath(sys.base_prefix))
                env["LD_LIBRARY_PATH"] = f"{library}/lib"
        return (python, "-I", "-S", "-c", _START, place), env


def program() -> str:
    """Where `unshare` is, or nothing."""
    return next((path for path in PROGRAMS if os.access(path, os.X_OK)), "")


def _namespaces(network: NetworkMode) -> tuple[str, ...]:
    made = ["--user", "--map-current-user", "--keep-caps", "--mount"]
    made += ["--propagation", "private", "--pid", "--fork", "--kill-child=KILL", "--ipc", "--uts"]
    made.append("--cgroup")
    if network is not NetworkMode.OPEN:
        made.append("--net")
    return (*made, "--")
