"""`AsyncFleet`: the same fleet, awaited; cancelling the task ends the item."""

from __future__ import annotations

import asyncio
import threading
from functools import wraps

from redoma.fleet.calls import call_item
from redoma.fleet.fleet import Fleet, item_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable
    from typing import Any, Self, TypeVar

    from redoma.fleet.dispatcher import PendingItem
    from redoma.fleet.fleet import Command
    from redoma.fleet.items import FleetItem, ItemResult

    T = TypeVar("T")


class AsyncFleet:
    """Sandboxes on the nodes of a cluster, for programs with an event loop.

    It takes the same arguments as `Fleet` and has the same methods, awaited. Cancelling the
    awaiting task ends what it awaits on its node.
    """

    __module__ = "redoma.fleet"

    @wraps(Fleet.__init__)  # type: ignore[misc] # the same arguments, documented once
    def __init__(self, address: str = "", **how: Any) -> None:
        self._fleet = Fleet(address, **how)

    async def run(self, command: Command, **how: Any) -> ItemResult:
        """Runs a command somewhere and returns its whole story."""
        return await self._ended(item_of(command, how))

    async def call(self, function: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
        """What a function returns, run in a sandbox somewhere; raises what it raised."""
        ended = await self._ended(call_item(function, args, kwargs))
        value: T = ended.raise_for_outcome().result.value  # type: ignore[union-attr, assignment]
        return value

    async def map(
        self, commands: Iterable[Command], *, ordered: bool = True, ahead: int = 64
    ) -> AsyncIterator[ItemResult]:
        """Runs commands as they are taken from `commands`, and gives each result once."""
        rest = iter(commands)
        tasks: dict[asyncio.Task[ItemResult], None] = {}
        try:
            while True:
                while len(tasks) < ahead and (made := next(rest, None)) is not None:
                    tasks[asyncio.create_task(self._ended(item_of(made, {})))] = None
                if not tasks:
                    return
                if ordered:
                    done = next(iter(tasks))
                    await asyncio.wait([done])
                else:
                    over, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                    done = next(iter(over))
                del tasks[done]
                yield done.result()
        finally:
            for task in tasks:
                task.cancel()
            if tasks:
                await asyncio.wait(tasks)

    async def close(self) -> None:
        """Ends what still runs and every worker."""
        loop = asyncio.get_running_loop()
        over: asyncio.Future[None] = loop.create_future()

        def close() -> None:
            try:
                self._fleet.close()
            finally:
                loop.call_soon_threadsafe(over.set_result, None)

        threading.Thread(target=close, name="redoma-fleet-close").start()
        await over

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _ended(self, item: FleetItem) -> ItemResult:
        loop = asyncio.get_running_loop()
        over: asyncio.Future[None] = loop.create_future()

        def tell() -> None:
            if not over.done():
                over.set_result(None)

        def heard(_: PendingItem) -> None:
            loop.call_soon_threadsafe(tell)

        pending = self._fleet.submit(item)
        pending.when_over(heard)
        try:
            await over
        except asyncio.CancelledError:
            self._fleet.cancel(pending)
            raise
        return pending.result()
