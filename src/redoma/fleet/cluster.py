"""The one place that speaks to Ray: connects, lists nodes, makes actors of our plain classes."""

from __future__ import annotations

import logging
import os
import sys
import time
from contextlib import contextmanager

from redoma.fleet.items import ClusterError
from redoma.fleet.nodes import NodeSize
from redoma.fleet.worker import FleetWorker, NodeAgent
from redoma.jail.protect.installation import LIBRARY
from redoma.model.errors import RedomaError
from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from redoma.fleet.nodes import Share
    from redoma.fleet.worker import Orders

NEEDED = "pip install 'redoma[fleet]'"
_PATIENCE = 30.0
_LONGEST = 300
# No word to anybody about how Ray is used, and no web server beside it.
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_DEDUP_LOGS": "0",
}


def ray_library() -> Any:
    """Ray, imported now; an error with the command to type where it is not installed."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import ray  # type: ignore[import-untyped, unused-ignore]
    except ImportError as error:
        raise RedomaError(
            "a fleet needs {module}", module=error.name or "ray", hint=NEEDED
        ) from error
    return ray


class Cluster:
    """A connection to a cluster of Ray, or to one that was started here for it."""

    def __init__(self, address: str = "") -> None:
        """`address` is the head's; without one, and without RAY_ADDRESS, Ray is started here."""
        self._ray = ray_library()
        self._ours = not self._ray.is_initialized()
        if not self._ours:
            return
        wanted = address or os.environ.get("RAY_ADDRESS", "")
        how: dict[str, Any] = {"address": wanted} if wanted else {"include_dashboard": False}
        # Workers on this machine find this Redoma, whoever installed another one.
        job = self._ray.job_config.JobConfig(_py_driver_sys_path=[LIBRARY])
        try:
            with quiet(), _in_nobodys_directory(), _packages_for_children(self._ray):
                self._ray.init(
                    job_config=job,
                    log_to_driver=False,
                    configure_logging=False,
                    logging_level=logging.ERROR,
                    **how,
                )
        except (ConnectionError, OSError, RuntimeError, ValueError, TimeoutError) as error:
            raise ClusterError(
                "the cluster {address} cannot be reached: {why}",
                address=wanted or Message("on this machine"),
                why=str(error).partition("\n")[0],
                hint="`ray status` on its head says whether it is up",
            ) from error

    def nodes(self) -> dict[str, NodeSize]:
        """The nodes that live, each with what Ray may give away there."""
        return {
            node["NodeID"]: NodeSize(
                cpus=float(node["Resources"].get("CPU", 0.0)),
                memory=int(node["Resources"].get("memory", 0)),
            )
            for node in self._ray.nodes()
            if node["Alive"]
        }

    def agent(self, node: str) -> Any:
        """An agent on a node: it takes no processor from anybody."""
        return self._on(NodeAgent, node, num_cpus=0, concurrency_groups={"look": 1}).remote(node)

    def worker(self, node: str, name: str, orders: Orders, share: Share) -> Any:
        """A worker on a node, with its share of it reserved."""
        made = self._on(
            FleetWorker,
            node,
            num_cpus=share.cpus,
            memory=share.memory,
            concurrency_groups={"control": 1},
        )
        return made.remote(name, orders)

    def _on(self, kind: type, node: str, **resources: Any) -> Any:
        from ray.util.scheduling_strategies import (  # type: ignore[import-untyped, unused-ignore]
            NodeAffinitySchedulingStrategy,
        )

        groups = resources.pop("concurrency_groups")
        # Never begun anew by Ray, and no call repeated by it: who repeats what is decided here.
        return self._ray.remote(concurrency_groups=groups)(kind).options(
            scheduling_strategy=NodeAffinitySchedulingStrategy(node_id=node, soft=False),
            max_restarts=0,
            max_task_retries=0,
            **resources,
        )

    def send(self, pieces: Iterator[bytes], agent: Any) -> None:
        """Sends pieces through the object store, which never holds more than one of them."""
        for piece in pieces:
            reference = self._put(piece)
            self.wait(agent.receive.remote(reference))

    def _put(self, piece: bytes) -> Any:
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                return self._ray.put(piece)
            except self._ray.exceptions.ObjectStoreFullError as error:
                if time.monotonic() > until:
                    raise ClusterError(
                        "the object store of this node is full",
                        hint="`ray memory` shows what fills it",
                    ) from error
                time.sleep(0.5)

    def wait(self, reference: Any, seconds: float | None = None) -> Any:
        """What a call gives; ClusterError where its actor is gone, or gives nothing in time."""
        try:
            return self._ray.get(reference, timeout=seconds)
        except self._ray.exceptions.RayError as error:
            raise ClusterError("a node does not answer: {why}", why=said(error)) from error

    def when_done(self, reference: Any, then: Callable[[Any], None]) -> None:
        """Calls `then` with the future of a call, in a thread of Ray's, when it is done."""
        reference.future().add_done_callback(then)

    def end(self, actor: Any) -> None:
        """Ends an actor and whatever it runs, now."""
        self._ray.kill(actor, no_restart=True)

    def close(self) -> None:
        """Leaves the cluster; one that was started here ends."""
        if self._ours and self._ray.is_initialized():
            self._ray.shutdown()


@contextmanager
def quiet() -> Iterator[None]:
    """Ray tells whoever starts a cluster here how it is authenticated, each time: no error is."""
    logger = logging.getLogger("ray")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


@contextmanager
def _in_nobodys_directory() -> Iterator[None]:
    """Attack: Ray has its workers import from the driver's directory first, outside any sandbox.

    Who planted a module in a workspace would have it loaded on every node.
    """
    try:
        here = os.getcwd()
    except OSError:
        here = "/"
    os.chdir("/")
    try:
        yield
    finally:
        os.chdir(here)


@contextmanager
def _packages_for_children(ray: Any) -> Iterator[None]:
    """A driver without `site`, as `bin/redoma` is, has children without it: they need a path."""
    if not sys.flags.no_site:
        yield
        return
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.path.dirname(os.path.dirname(ray.__file__))
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


def said(error: BaseException) -> str:
    """What went wrong in Ray, in a line: its own texts have a traceback and advice."""
    cause = getattr(error, "cause", None)
    if cause is not None:
        return f"{type(cause).__name__}: {str(cause)[:_LONGEST]}"
    lines = [line for line in str(error).strip().split("\n") if line.strip()]
    # Of a traceback only its end says what it was.
    last = lines[-1] if any("Traceback" in line or "ray::" in line for line in lines) else lines[0]
    return f"{type(error).__name__}: {last.strip()[:_LONGEST]}"
