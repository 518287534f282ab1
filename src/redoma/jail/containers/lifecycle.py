"""The life of a container, as steps: once driven by plain calls, once by awaiting.

Every operation is a generator that yields what it asks of the engine and does nothing to it itself.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from urllib.parse import quote

from redoma.base import signals
from redoma.base.identity import boot_id, is_running
from redoma.jail.containers import create_request, held, images, project_path
from redoma.jail.containers.engine_socket import ApiCall, Pause
from redoma.model.container import ContainerError, ContainerGone, ContainerInfo
from redoma.model.errors import NoEngine, UsageError
from redoma.model.grant import Guarantee
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from redoma.jail.containers.engine_socket import Reply, Steps
    from redoma.model.container import ContainerConfig, ContainerEngine

_TICK = 0.1
GRACE = 10.0
_WITHOUT = "without"
_FIXES = {
    "podman": "run it as root, or on a machine with control groups of version 2 that are delegated"
    " to you (systemd does: loginctl enable-linger)",
    "docker": "start the engine with control groups: docker info says what it lacks",
}


def create(
    config: ContainerConfig,
    engine: ContainerEngine,
    progress: Callable[[str], None] | None = None,
) -> Steps[str]:
    """Makes a container that does not run yet; its id."""
    project, identity = project_path.project_directory(config.project_path, engine.socket)
    config = replace(config, project_path=project)
    create_request.network_mode(config)
    image = yield from images.present_image(config, engine, progress)
    body = create_request.create_body(
        config, engine, image=image, user=project_path.user_of(project)
    )
    # What the start has to find again: the directory that was looked at, and what may be missing.
    body["Labels"] |= {
        f"{create_request.LABEL}.directory": "{}:{}".format(*identity),
        f"{create_request.LABEL}.memory": str(body["HostConfig"]["Memory"]),
        f"{create_request.LABEL}.{_WITHOUT}": " ".join(sorted(g.value for g in config.without)),
    }
    name = create_request.NAME + create_request.short_id()
    reply: Reply = yield ApiCall(method="POST", path=f"/containers/create?name={name}", body=body)
    if not reply.ok:
        raise _refused("made", reply, engine)
    return str(reply.json["Id"])


def start(container: str, engine: ContainerEngine) -> Steps[None]:
    """Starts it, and sees that everything holds; where it does not, it is ended and removed."""
    told = yield from inspected(container)
    if told["State"].get("Running"):
        return
    reply: Reply = yield ApiCall(method="POST", path=f"/containers/{told['Id']}/start")
    if not reply.ok:
        raise _refused("started", reply, engine)
    yield from verified(container, engine)


def verified(container: str, engine: ContainerEngine) -> Steps[int]:
    """The first process of a container for which everything holds; else it is removed."""
    told = yield from inspected(container)
    pid = int(told["State"].get("Pid") or 0)
    try:
        missing = _missing(told, pid)
    except (OSError, ValueError) as error:
        missing = {Guarantee.WRITES_CONFINED: f"nothing can be seen of it: {error}"}
    if not missing:
        return pid
    # One that ends at once shows less and less of itself: that is another fault than a weak one.
    yield Pause(seconds=_TICK)
    told = yield from inspected(container)
    if not told["State"].get("Running"):
        raise ContainerError(
            f"the container ended as it began: {told['State'].get('Error') or 'no shell?'}",
            hint="see that the image has the shell: shell=…",
        )
    yield ApiCall(method="DELETE", path=f"/containers/{told['Id']}?force=1&v=1")
    raise NoEngine(
        required=sorted(g.value for g in missing),
        tried={engine.kind: "; ".join(f"{g.words}: {why}" for g, why in missing.items())},
        hint=f"{_FIXES[engine.kind]}; or say what you can do without: without=",
    )


def _missing(told: dict[str, Any], pid: int) -> dict[Guarantee, str]:
    """What was asked for and does not hold, without what the caller can do without."""
    labels, host = told["Config"]["Labels"], told["HostConfig"]
    with_it = str(labels.get(f"{create_request.LABEL}.{_WITHOUT}", "")).split()
    found = held.lost(
        pid,
        # Not what the engine says it took: one that ignores limits says 0.
        memory=int(labels[f"{create_request.LABEL}.memory"]),
        pids=create_request.PIDS,
        closed=host.get("NetworkMode") == "none",
    )
    device, _, inode = str(labels[f"{create_request.LABEL}.directory"]).partition(":")
    # Attack: the project becomes a link between our look and the engine's mount.
    if not held.same_directory(pid, create_request.WORKSPACE, (int(device), int(inode))):
        found[Guarantee.WRITES_CONFINED] = "another directory than the project is mounted"
    return {g: why for g, why in found.items() if g.value not in with_it}


def stop(container: str, engine: ContainerEngine, grace: float = GRACE) -> Steps[None]:
    """Asks every process to end, waits as long as `grace` says, then kills what is left."""
    told = yield from inspected(container)
    pid = int(told["State"].get("Pid") or 0)
    if not told["State"].get("Running"):
        return
    asked = [each for each in held.processes_inside(pid) if each != pid]
    for each in asked:
        with suppress(OSError):
            os.kill(each, signals.SIGTERM)
    left = grace
    while left > 0:
        # The shell of the container itself stays: it ignores this, and hears the hang-up below.
        if len(held.processes_inside(pid)) <= 2:
            break
        yield Pause(seconds=_TICK)
        left -= _TICK
    reply: Reply = yield ApiCall(
        method="POST", path=f"/containers/{told['Id']}/stop?t=1", patience=60
    )
    if not reply.ok:
        raise _refused("stopped", reply, engine)


def restart(container: str, engine: ContainerEngine, grace: float = GRACE) -> Steps[None]:
    """Stops it and starts it again, with everything seen to anew."""
    yield from stop(container, engine, grace)
    yield from start(container, engine)


def remove(container: str, engine: ContainerEngine) -> Steps[None]:
    """Ends it at once and removes it with all it kept; one that is gone already is no error."""
    try:
        told = yield from inspected(container)
    except ContainerGone:
        return
    path = f"/containers/{told['Id']}?force=1&v=1"
    reply: Reply = yield ApiCall(method="DELETE", path=path)
    if not reply.ok and reply.status not in (404, 409):
        raise _refused("removed", reply, engine)
    for _ in range(int(GRACE / _TICK)):
        reply = yield ApiCall(method="GET", path=f"/containers/{told['Id']}/json")
        if reply.status == 404:
            return
        yield Pause(seconds=_TICK)
    raise ContainerError(f"{container} is still there", hint="redoma gc")


def status(container: str) -> Steps[str]:
    """`created`, `running`, `paused`, `exited` or `dead`."""
    told = yield from inspected(container)
    return str(told["State"].get("Status") or "unknown")


def listed() -> Steps[list[ContainerInfo]]:
    """Every container of ours and of this user's, whoever made it."""
    rows = yield from _rows()
    return [_info(each) for each in rows]


def _rows() -> Steps[list[dict[str, Any]]]:
    ours = {"label": [f"{create_request.USER}={os.geteuid()}"]}
    path = f"/containers/json?all=1&filters={quote(json.dumps(ours))}"
    reply: Reply = yield ApiCall(method="GET", path=path)
    if not reply.ok:
        raise ContainerError(f"the containers cannot be listed: {reply.message}")
    return [each for each in reply.json or [] if create_request.LABEL in (each["Labels"] or {})]


def prepared_exec(
    container: str, argv: tuple[str, ...], *, terminal: bool
) -> Steps[tuple[str, int]]:
    """The id of a command that has not begun, and the first process of its container."""
    if not argv or any("\0" in word for word in argv):
        raise UsageError("a command is one word or more, without a NUL", hint='("ls", "-l")')
    told = yield from inspected(container)
    if not told["State"].get("Running"):
        raise ContainerError(f"{container} does not run", hint="start it first")
    body = {
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "Tty": terminal,
        "Cmd": list(argv),
        "WorkingDir": create_request.WORKSPACE,
        "User": told["Config"].get("User") or "",
        "Privileged": False,
    }
    reply: Reply = yield ApiCall(method="POST", path=f"/containers/{told['Id']}/exec", body=body)
    if not reply.ok:
        raise ContainerError(f"{argv[0]} cannot be started: {reply.message}")
    return str(reply.json["Id"]), int(told["State"]["Pid"])


def inspected(container: str) -> Steps[dict[str, Any]]:
    """What the engine knows of a container of ours; ContainerError for any other."""
    if not container or not container.replace("-", "").replace("_", "").isalnum():
        raise UsageError(f"{container!r} is not the id of a container")
    reply: Reply = yield ApiCall(method="GET", path=f"/containers/{container}/json")
    if reply.status == 404:
        raise ContainerGone(f"there is no container {container}", hint="list shows those of ours")
    if not reply.ok:
        raise ContainerError(f"nothing is known of {container}: {reply.message}")
    told: dict[str, Any] = reply.json
    labels = told["Config"].get("Labels") or {}
    # Attack: the name of a database's container, handed to what stops and removes.
    if create_request.LABEL not in labels or labels.get(create_request.USER) != str(os.geteuid()):
        raise ContainerError(f"{container} is none of ours", hint="list shows those of ours")
    return told


def collected(engine: ContainerEngine, *, dry_run: bool) -> Steps[list[ContainerInfo]]:
    """Removes what a host that crashed left behind; which those are."""
    rows = yield from _rows()
    left = [_info(each) for each in rows if _is_orphan(each["Labels"])]
    if not dry_run:
        for each in left:
            yield from remove(each.id, engine)
    return left


def _is_orphan(labels: dict[str, str]) -> bool:
    """Whether a container's owner has ended; of another process namespace nobody here can tell."""
    if labels.get(create_request.BOOT) != boot_id():
        return True
    here = os.readlink("/proc/self/ns/pid")
    same = labels.get(create_request.PROCESSES) == here
    return same and not is_running(labels.get(create_request.OWNER, ""))


def _info(told: dict[str, Any]) -> ContainerInfo:
    labels = told["Labels"]
    return ContainerInfo(
        id=str(told["Id"]),
        name=str((told.get("Names") or [""])[0]).lstrip("/"),
        image=str(told.get("Image") or ""),
        status=str(told.get("State") or "unknown"),
        project_path=str(labels.get(create_request.PROJECT, "")),
        owner=str(labels.get(create_request.OWNER, "")),
    )


def _refused(done: str, reply: Reply, engine: ContainerEngine) -> ContainerError:
    said = reply.message
    hint = f"{engine.kind} info says how the engine stands"
    if "subuid" in said or "keep-id" in said:
        hint = (
            "sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 $(id -un);"
            " podman system migrate"
        )
    elif "init" in said and ("catatonit" in said or "container-init" in said):
        hint = "sudo apt-get install catatonit"
    return ContainerError(f"the container cannot be {done}: {said}", hint=hint)
