"""Tries to make one systemd scope with limits, which is the only way to know."""

from __future__ import annotations

import os

from redoma.jail.engines.systemd import command, manager_environment
from redoma.jail.run.supervise import run
from redoma.model.access import Limits
from redoma.model.errors import IsolationError
from redoma.model.plan import Launch


def scope_works() -> str:
    """Nothing where a scope with limits can be made, else the reason."""
    if not os.access("/usr/bin/systemd-run", os.X_OK):
        return "systemd-run is not installed"
    if not os.path.isdir("/run/systemd/system"):
        return "systemd is not the init of this machine"
    limits = Limits(memory=1 << 28, processes=16, wall_seconds=10)
    user = os.geteuid() != 0
    argv = (*command(limits, user=user), "/bin/cat", "/proc/self/cgroup")
    launch = Launch(
        argv=argv,
        env=manager_environment(),
        fds=[],
        own_process_namespace=False,
        limits=Limits(wall_seconds=10),
    )
    try:
        ended = run(launch)
    except (IsolationError, OSError) as error:
        return str(error)
    said = ended.stderr.decode(errors="replace").strip()
    if ended.code != 0:
        return f"systemd-run could not make a scope: {said[:200]}"
    if b"redoma" not in ended.stdout:
        return "systemd-run did not put the command into its slice"
    return ""
