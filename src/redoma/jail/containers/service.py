"""Containers that stay: made, started, talked to and removed; by calls and by awaiting."""

from __future__ import annotations

import asyncio

from redoma.jail.containers import lifecycle
from redoma.jail.containers.create_request import run_arguments
from redoma.jail.containers.discovery import find_engine
from redoma.jail.containers.engine_socket import drive, drive_async
from redoma.jail.containers.exec_stream import AsyncExecStream, ExecStream
from redoma.jail.containers.images import detect_image
from redoma.model.errors import RedomaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from redoma.jail.containers.engine_socket import EngineSocket
    from redoma.model.container import ContainerConfig, ContainerEngine, ContainerInfo

    Infos: TypeAlias = list[ContainerInfo]


class _EngineFinder:
    """The engine of this machine, looked for when it is first needed."""

    def __init__(self, socket: str = "") -> None:
        """`socket` is where an engine listens; without it the first that answers is used."""
        self._given = socket
        self._found: tuple[EngineSocket, ContainerEngine] | None = None

    def _engine(self) -> tuple[EngineSocket, ContainerEngine]:
        if self._found is None:
            self._found = find_engine(self._given)
        return self._found

    @staticmethod
    def detect_image(project_path: str) -> str:
        """The image for a project by its files, or `build:PATH` where it has a Dockerfile."""
        return detect_image(project_path)

    @staticmethod
    def run_args(config: ContainerConfig) -> list[str]:
        """The `docker run` that a configuration stands for, for people to read."""
        return run_arguments(config)


class ContainerOperations(_EngineFinder):
    """The operations on containers that stay; nothing here judges what is started in them."""

    @property
    def socket(self) -> EngineSocket:
        """Where the engine is spoken to."""
        return self._engine()[0]

    def is_available(self) -> bool:
        """Whether an engine answers."""
        try:
            self._engine()
        except RedomaError:
            return False
        return True

    @property
    def engine(self) -> ContainerEngine:
        """Which engine it is."""
        return self._engine()[1]

    def create(
        self, config: ContainerConfig, *, progress: Callable[[str], None] | None = None
    ) -> str:
        """Makes a container and gives its id; `progress` hears of a build or a download.

        UsageError for a project that no container may have, ImageMissing where its image cannot be
        had.
        """
        socket, engine = self._engine()
        return drive(lifecycle.create(config, engine, progress), socket)

    def start(self, container_id: str) -> None:
        """Starts it; NoEngine, and it is removed, where something asked for does not hold."""
        socket, engine = self._engine()
        drive(lifecycle.start(container_id, engine), socket)

    def stop(self, container_id: str, *, grace: float = lifecycle.GRACE) -> None:
        """Asks every process to end, and kills what has not after `grace` seconds."""
        socket, engine = self._engine()
        drive(lifecycle.stop(container_id, engine, grace), socket)

    def remove(self, container_id: str) -> None:
        """Ends it at once and removes it; one that is gone already is no error."""
        socket, engine = self._engine()
        drive(lifecycle.remove(container_id, engine), socket)

    def restart(self, container_id: str, *, grace: float = lifecycle.GRACE) -> None:
        """Stops it and starts it again."""
        socket, engine = self._engine()
        drive(lifecycle.restart(container_id, engine, grace), socket)

    def status(self, container_id: str) -> str:
        """`created`, `running`, `paused`, `exited` or `dead`."""
        return drive(lifecycle.status(container_id), self._engine()[0])

    def list(self) -> Infos:
        """The containers of ours, and no others."""
        return drive(lifecycle.listed(), self._engine()[0])

    def exec_unjudged(
        self, container_id: str, argv: Sequence[str], *, terminal: bool = False
    ) -> ExecStream:
        """Starts a command in a container that runs; nobody judges it, and it is in no log."""
        socket, _ = self._engine()
        steps = lifecycle.prepared_exec(container_id, tuple(argv), terminal=terminal)
        exec_id, first = drive(steps, socket)
        return ExecStream(socket, exec_id, first, terminal=terminal)

    def collect(self, *, dry_run: bool = False) -> Infos:
        """Removes the containers of processes that have ended; which those are."""
        socket, engine = self._engine()
        return drive(lifecycle.collected(engine, dry_run=dry_run), socket)


class AsyncContainerOperations(_EngineFinder):
    """The same operations, awaited."""

    async def _found_engine(self) -> tuple[EngineSocket, ContainerEngine]:
        return await asyncio.to_thread(self._engine)

    async def is_available(self) -> bool:
        """Whether an engine answers."""
        try:
            await self._found_engine()
        except RedomaError:
            return False
        return True

    async def create(
        self, config: ContainerConfig, *, progress: Callable[[str], None] | None = None
    ) -> str:
        """Makes a container and gives its id; `progress` is called from another thread."""
        socket, engine = await self._found_engine()
        return await drive_async(lifecycle.create(config, engine, progress), socket)

    async def start(self, container_id: str) -> None:
        """Starts it; NoEngine, and it is removed, where something asked for does not hold."""
        socket, engine = await self._found_engine()
        await drive_async(lifecycle.start(container_id, engine), socket)

    async def stop(self, container_id: str, *, grace: float = lifecycle.GRACE) -> None:
        """Asks every process to end, and kills what has not after `grace` seconds."""
        socket, engine = await self._found_engine()
        await drive_async(lifecycle.stop(container_id, engine, grace), socket)

    async def remove(self, container_id: str) -> None:
        """Ends it at once and removes it."""
        socket, engine = await self._found_engine()
        await drive_async(lifecycle.remove(container_id, engine), socket)

    async def restart(self, container_id: str, *, grace: float = lifecycle.GRACE) -> None:
        """Stops it and starts it again."""
        socket, engine = await self._found_engine()
        await drive_async(lifecycle.restart(container_id, engine, grace), socket)

    async def status(self, container_id: str) -> str:
        """`created`, `running`, `paused`, `exited` or `dead`."""
        return await drive_async(lifecycle.status(container_id), (await self._found_engine())[0])

    async def list(self) -> Infos:
        """The containers of ours, and no others."""
        return await drive_async(lifecycle.listed(), (await self._found_engine())[0])

    async def exec_unjudged(
        self, container_id: str, argv: Sequence[str], *, terminal: bool = False
    ) -> AsyncExecStream:
        """Starts a command in a container that runs; nobody judges it, and it is in no log."""
        socket, _ = await self._found_engine()
        steps = lifecycle.prepared_exec(container_id, tuple(argv), terminal=terminal)
        exec_id, first = await drive_async(steps, socket)
        made = await asyncio.to_thread(ExecStream, socket, exec_id, first, terminal=terminal)
        return AsyncExecStream(made)

    async def collect(self, *, dry_run: bool = False) -> Infos:
        """Removes the containers of processes that have ended; which those are."""
        socket, engine = await self._found_engine()
        return await drive_async(lifecycle.collected(engine, dry_run=dry_run), socket)
