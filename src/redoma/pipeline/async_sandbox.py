"""`AsyncSandbox`: the same path, awaited; cancelling the task ends the run's whole tree."""

from __future__ import annotations

import asyncio
import threading

from redoma.jail.supervisor.control import Control
from redoma.model.call import Call
from redoma.pipeline.path import path
from redoma.pipeline.python_call import CallContext, CallRunner, request_for_call
from redoma.pipeline.requests import request_for
from redoma.pipeline.run_context import RunContext
from redoma.pipeline.sandbox import Sandbox
from redoma.pipeline.step_runner import RunStepRunner
from redoma.pipeline.steps import AskStep, ExecuteStep, drive_async, perform

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from typing import Any, Self, TypeVar

    from redoma.jail.supervisor.streams import Sink
    from redoma.model.decision import Decision
    from redoma.model.result import Result
    from redoma.pipeline.preview import Preview
    from redoma.pipeline.step_runner import StepRunner
    from redoma.pipeline.steps import Step

    T = TypeVar("T")


class AsyncSandbox:
    """A workspace and what commands may do in it, for programs with an event loop."""

    def __init__(self, workspace: str = "", **how: Any) -> None:
        """The same arguments as `Sandbox`."""
        self._sandbox = Sandbox(workspace, **how)

    @property
    def workspace(self) -> str:
        return self._sandbox.workspace

    async def run(
        self,
        command: str | Sequence[str],
        *,
        timeout: float | None = None,
        stdin: bytes | int | None = b"",
        cwd: str = "",
        sink: Sink | None = None,
        control: Control | None = None,
        terminal: bool = False,
        trace_files: bool = False,
    ) -> Result:
        """Runs a command; if the awaiting task is cancelled, the run is ended before that shows."""
        used = control or Control()
        try:
            config = self._sandbox.config
            context = RunContext(
                config, timeout, terminal=terminal, trace_files=trace_files, stdin=stdin
            )
            where = config.started_in(cwd)
            request = request_for(command, where, caller=config.caller, stdin=stdin)
            runner = RunStepRunner(context, sink=sink, control=used)
            return await drive_async(path(request, context), _ThreadRunner(runner, used))
        finally:
            if control is None:
                used.close()

    async def call(self, function: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
        """What a function returns, run inside; raises what it raised, or why it could not run."""
        result = await self.perform(Call(function, args, kwargs))
        value: T = result.raise_for_outcome().value  # type: ignore[assignment] # data of any kind
        return value

    async def perform(
        self, call: Call, *, sink: Sink | None = None, control: Control | None = None
    ) -> Result:
        """Runs a Python call; if the awaiting task is cancelled, it is ended before that shows."""
        used = control or Control()
        try:
            config = self._sandbox.config
            context = CallContext(config, call.timeout)
            runner = CallRunner(context, call, sink=sink, control=used)
            steps = path(request_for_call(call, config), context)
            return await drive_async(steps, _ThreadRunner(runner, used))
        finally:
            if control is None:
                used.close()

    async def check(self, command: str | Sequence[str], *, cwd: str = "") -> Decision:
        """What the policy says of a command; nothing runs."""
        return await _in_thread(lambda: self._sandbox.check(command, cwd=cwd))

    async def preview(self, command: str | Sequence[str], **how: Any) -> Preview:
        """Runs a command with its writes held; if the task is cancelled, the run is ended first."""
        control = Control()
        work = asyncio.ensure_future(
            _in_thread(lambda: self._sandbox.preview(command, control=control, **how))
        )
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            control.cancel()
            await asyncio.wait([work])
            raise
        finally:
            control.close()

    async def stream(
        self, command: str | Sequence[str], **how: Any
    ) -> AsyncIterator[tuple[int, bytes] | Result]:
        """What the command prints as it comes, as (1 or 2, bytes), and at last its result."""
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[tuple[int, bytes] | Result | BaseException] = asyncio.Queue()

        def sink(stream: int, data: bytes) -> None:
            loop.call_soon_threadsafe(queue.put_nowait, (stream, data))

        async def go() -> None:
            try:
                queue.put_nowait(await self.run(command, sink=sink, **how))
            except BaseException as error:
                queue.put_nowait(error)
                raise

        task = asyncio.create_task(go())
        try:
            while isinstance(item := await queue.get(), tuple):
                yield item
            if isinstance(item, BaseException):
                await task
            else:
                yield item
        finally:
            if not task.done():
                task.cancel()
            await asyncio.wait([task])

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._sandbox.close()


class _ThreadRunner:
    """Performs steps in a thread of their own, which lives exactly as long as the step."""

    def __init__(self, runner: StepRunner, control: Control) -> None:
        self._runner = runner
        self._control = control

    async def perform(self, step: Step) -> Any:
        if isinstance(step, AskStep):
            return await self._runner.ask_async(step)
        work = asyncio.ensure_future(_in_thread(lambda: perform(step, self._runner)))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            if isinstance(step, ExecuteStep):
                self._control.cancel()
            # The tree is dead, or the row written, before anyone learns of the cancellation.
            await asyncio.wait([work])
            raise


async def _in_thread(work: Callable[[], T]) -> T:
    # Not a pool: an enclosure dies with the thread that started it, so the thread must be ours.
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def tell(result: T | None, error: BaseException | None) -> None:
        if done.cancelled():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        try:
            result = work()
        except BaseException as error:
            loop.call_soon_threadsafe(tell, None, error)
        else:
            loop.call_soon_threadsafe(tell, result, None)

    threading.Thread(target=run, name="redoma-run", daemon=True).start()
    return await done
