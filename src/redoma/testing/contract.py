"""The contract of an engine: what it says that it holds, it holds against a try.

Each check runs a command in a sandbox on the engine and looks at what it could do. An engine that
does not claim a guarantee is not tried for it: what is not claimed is not promised.
"""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING

from redoma import Access, Sandbox
from redoma.model.grant import Guarantee

if TYPE_CHECKING:
    from collections.abc import Callable

    Check = Callable[[Sandbox, str], str]


def writes_confined(sandbox: Sandbox, outside: str) -> str:
    """A file beside the workspace stays as it was."""
    victim = f"{outside}/victim"
    with open(victim, "w") as file:
        file.write("as it was")
    sandbox.run(f"echo changed > {victim}; rm -f {victim}; echo new > {outside}/new")
    with open(victim) as file:
        said = file.read()
    made = sorted(os.listdir(outside))
    return "" if (said, made) == ("as it was", ["victim"]) else f"{said!r}, {made}"


def network_closed(sandbox: Sandbox, outside: str) -> str:
    """Nobody who listens on this machine is reached."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        port = server.getsockname()[1]
        sandbox.run(["bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{port}"])
        try:
            server.accept()[0].close()
        except TimeoutError:
            return ""
    return "a listener on the host was reached"


def processes_hidden(sandbox: Sandbox, outside: str) -> str:
    """This process is not seen from inside."""
    result = sandbox.run(["cat", f"/proc/{os.getpid()}/comm"])
    with open("/proc/self/comm") as file:
        own = file.read().strip()
    return "this process was seen" if own in result.stdout.decode().split() else ""


def no_new_privileges(sandbox: Sandbox, outside: str) -> str:
    """No program that is started inside gains rights."""
    said = sandbox.run(["grep", "NoNewPrivs", "/proc/self/status"]).stdout.decode()
    return "" if said.split()[-1:] == ["1"] else said or "nothing was said"


def syscalls_filtered(sandbox: Sandbox, outside: str) -> str:
    """The kernel filters system calls of the command."""
    said = sandbox.run(["grep", "Seccomp:", "/proc/self/status"]).stdout.decode()
    return "" if said.split()[-1:] == ["2"] else said or "nothing was said"


def tree_killed(sandbox: Sandbox, outside: str) -> str:
    """Nothing that a command started goes on after it was ended."""
    sandbox.run("(setsid sh -c 'while :; do : > beat; sleep 0.1; done' &) ; sleep 30", timeout=1)
    beat = f"{sandbox.workspace}/beat"
    if os.path.exists(beat):
        os.unlink(beat)
    import time

    time.sleep(0.5)
    return "a process goes on" if os.path.exists(beat) else ""


CONTRACT: dict[Guarantee, Check] = {
    Guarantee.WRITES_CONFINED: writes_confined,
    Guarantee.NETWORK_CLOSED: network_closed,
    Guarantee.PROCESSES_HIDDEN: processes_hidden,
    Guarantee.NO_NEW_PRIVILEGES: no_new_privileges,
    Guarantee.SYSCALLS_FILTERED: syscalls_filtered,
    Guarantee.TREE_KILLED: tree_killed,
}
"""What can be tried, guarantee by guarantee; a check gives "" where it holds, else what it saw."""


def check_engine(engine: str, *, level: str = "") -> dict[Guarantee, str]:
    """Tries every guarantee that an engine claims here; what did not hold, with what was seen.

    `engine` is its name, `level` the level to run under. An empty result is a kept contract.
    NoEngine where the engine does not work on this machine.

    >>> from redoma.testing import check_engine
    >>> check_engine("bubblewrap")  # doctest: +SKIP
    {}
    """
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="redoma-contract-") as base:
        workspace, outside = f"{base}/work", f"{base}/outside"
        os.mkdir(workspace)
        os.mkdir(outside)
        sandbox = Sandbox(
            workspace,
            level=level,
            engine=engine,
            access=Access(direct=True),
            policy="isolation-only",
            audit=f"{base}/audit",
        )
        enforced = sandbox.run(["true"]).enforcement
        claimed = enforced.held if enforced is not None else frozenset()
        tried = {kept: CONTRACT[kept](sandbox, outside) for kept in CONTRACT if kept in claimed}
    return {kept: seen for kept, seen in tried.items() if seen}


check_engine.__module__ = "redoma.testing"
