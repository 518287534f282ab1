"""Encloses with util-linux alone: `unshare` makes the namespaces, our inner step does the rest.

The description of the enclosure is the very one that bubblewrap gets, so both hold the same; a
Python process more for each run is what it costs.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager

from redoma.jail.engines.bubblewrap import Bubblewrap
from redoma.model.access import Network
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from redoma.jail.engines.bubblewrap import Enclosure
    from redoma.model.guarantee import EngineReport
    from redoma.model.plan import Plan

PROGRAMS = ("/usr/bin/unshare", "/bin/unshare")
_START = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from redoma.jail.inner.enclose import main; main(sys.argv[2:])"
)


class Unshare:
    """Namespaces of util-linux around a root that our own inner step builds."""

    name = "unshare"

    def __init__(self) -> None:
        self.description = Bubblewrap()
        self.description.binary = "unshare"

    def probe(self) -> EngineReport:
        from redoma.jail.probe.unshare import report

        return report(self)

    @contextmanager
    def prepare(self, plan: Plan) -> Iterator[Enclosure]:
        """Bubblewrap's own preparation, performed by someone else."""
        with self.description.prepare(plan) as enclosure:
            launch = enclosure.launch
            enclosure.launch = replace(
                launch,
                argv=(*_namespaces(plan.grant.network), *inner_step(), *launch.argv[1:]),
                complaint="redoma: ",
            )
            yield enclosure

    def close(self) -> None:
        """Ends what is kept ready, and any run that still uses it."""
        self.description.close()


def program() -> str:
    """Where `unshare` is, or nothing."""
    return next((path for path in PROGRAMS if os.access(path, os.X_OK)), "")


def _namespaces(network: Network) -> tuple[str, ...]:
    made = [program() or PROGRAMS[0], "--mount", "--propagation", "private", "--pid", "--fork"]
    made += ["--kill-child=KILL", "--ipc", "--uts", "--cgroup"]
    if os.geteuid() != 0:
        # Root keeps its own while it builds, and gives it up for a nobody's before the command.
        made += ["--user", "--map-current-user", "--keep-caps"]
    if network is Network.CLOSED:
        made.append("--net")
    return (*made, "--")


def inner_step() -> tuple[str, ...]:
    """The interpreter that runs us, with nothing in it but its own library and our package."""
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return (sys.executable, "-I", "-S", "-c", _START, os.path.dirname(package))
