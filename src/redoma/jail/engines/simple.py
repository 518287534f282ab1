"""What engines without bubblewrap share: the shim that runs before the command, and its orders."""

from __future__ import annotations

import os

from redoma.jail import environment, own, view
from redoma.jail.engines import program
from redoma.jail.engines.shield import Raised
from redoma.model.plan import Launch, RunPlan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.jail.overlay.store import Overlay
    from redoma.model.result import HeldBack


class Plain:
    """An enclosure that takes nothing back but what its shields say."""

    def __init__(self, launch: Launch, raised: list[Raised], notes: tuple[str, ...] = ()) -> None:
        self.launch = launch
        self.layer: Overlay | None = None  # without mounts changes cannot be held
        self.notes = notes
        self._raised = raised

    def settle(self) -> tuple[HeldBack, ...]:
        from redoma.jail.engines.bubblewrap import quarantine

        taken: list[HeldBack] = []
        while self._raised:
            taken += self._raised.pop(0).settle(quarantine)
        return tuple(taken)


def seen_by(plan: RunPlan) -> tuple[view.View, dict[str, str]]:
    """The view and the environment for engines that show the machine's own paths."""
    grant = plan.grant
    home = environment.home_directory()
    roots = (grant.workspace, *grant.writable, *grant.readable)
    seen = view.build(grant.home, home=home, path=os.environ.get("PATH", ""), keep=roots)
    env = environment.clean(
        environment.passing(grant.variables),
        home=home,
        path=seen.path,
        user=environment.user_name(os.geteuid()),
        given=grant.env,
        visible=tuple(place for _, place in seen.binds) + roots,
    )
    return seen, env


def shim(orders: list[str], plan: RunPlan, env: dict[str, str]) -> tuple[str, ...]:
    """The command line of the inner shim: its orders, `--`, and the command."""
    visible = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt", plan.grant.workspace)
    command = program.command(plan.request.workload, env["PATH"], visible)
    source = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    start = (
        "import sys; sys.path.append(sys.argv[1]); "
        "from redoma.jail.forkserver.direct_shim import main; main(sys.argv[2:])"
    )
    return (
        own.INTERPRETER,
        "-I",
        "-S",
        "-c",
        start,
        os.path.dirname(source),
        *orders,
        "--",
        *command,
    )
