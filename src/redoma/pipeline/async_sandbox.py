"""`AsyncSandbox`: the same path, awaited; cancelling the task ends the run's whole tree."""

from __future__ import annotations

import asyncio
import threading
from copy import copy
from functools import wraps

from redoma.jail.supervisor.start import Control
from redoma.model.call import Call
from redoma.pipeline.path import confirm_path, path
from redoma.pipeline.python_call import CallContext, CallRunner, request_for_call
from redoma.pipeline.requests import request_for
from redoma.pipeline.run_context import RunContext
from redoma.pipeline.sandbox import Sandbox, confirmation
from redoma.pipeline.steps import (
    AskStep,
    ExecuteStep,
    RunStepRunner,
    StepRunner,
    drive_async,
    perform,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
    from typing import Any, Self, TypeVar

    from redoma.jail.supervisor.streams import Sink
    from redoma.model.change import Applied, Undone
    from redoma.model.decision import Decision
    from redoma.model.result import Result
    from redoma.pipeline.path import Confirmed
    from redoma.pipeline.preview import Preview
    from redoma.pipeline.run_context import SandboxConfig
    from redoma.pipeline.steps import Step

    T = TypeVar("T")


class AsyncSandbox:
    """A workspace and what commands may do in it, for programs with an event loop.

    It takes the same arguments as `Sandbox`, raises the same errors, and has the same methods,
    awaited. Cancelling the awaiting task ends a run's whole tree before the cancellation shows.

    >>> import asyncio, redoma, tempfile
    >>> async def judged(place):
    ...     async with redoma.AsyncSandbox(place) as sandbox:
    ...         return (await sandbox.check("rm -rf ~")).verdict
    >>> with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
    ...     asyncio.run(judged(place))
    <Verdict.DENY: 3>
    """

    __module__ = "redoma"

    @wraps(Sandbox.__init__)  # type: ignore[misc] # the same arguments, documented once
    def __init__(self, workspace: str = "", **how: Any) -> None:
        self._sandbox = Sandbox(workspace, **how)

    @property
    def workspace(self) -> str:
        """The directory that commands work in, absolute and without links."""
        return self._sandbox.workspace

    @property
    def tool_notes(self) -> tuple[str, ...]:
        """What `tool:NAME` among the hosts granted, and what else a person should know of it."""
        return self._sandbox.tool_notes

    def with_env(self, env: Mapping[str, str]) -> AsyncSandbox:
        """The same sandbox, whose commands get these environment variables as well; not awaited."""
        made = copy(self)
        made._sandbox = self._sandbox.with_env(env)
        return made

    @property
    def config(self) -> SandboxConfig:
        """What all runs of this sandbox share; for the pipeline itself."""
        return self._sandbox.config

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

    async def preview(
        self,
        command: str | Sequence[str],
        *,
        timeout: float | None = None,
        stdin: bytes | int | None = b"",
        cwd: str = "",
        sink: Sink | None = None,
        control: Control | None = None,
    ) -> Preview:
        """Runs a command with its writes held; if the task is cancelled, the run is ended first."""
        used = control or Control()
        work = asyncio.ensure_future(
            _in_thread(
                lambda: self._sandbox.preview(
                    command, timeout=timeout, stdin=stdin, cwd=cwd, sink=sink, control=used
                )
            )
        )
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            used.cancel()
            await asyncio.wait([work])
            raise
        finally:
            if control is None:
                used.close()

    async def confirm(
        self,
        command: str | Sequence[str],
        *,
        cwd: str = "",
        timeout: float | None = None,
        previous: Sequence[str] = (),
    ) -> Confirmed:
        """Asks about a command as a run of it would, and runs nothing."""
        context = RunContext(self.config)
        request, about = confirmation(command, self.config, cwd, previous)
        steps = confirm_path(request, context, about, timeout)
        return await drive_async(steps, _ThreadRunner(StepRunner(context), None))

    async def as_preview(self, command: str, result: Result) -> Preview:
        """The preview that a run became because whoever was asked wanted a dry run."""
        return await _in_thread(lambda: self._sandbox.as_preview(command, result))

    async def apply(
        self,
        id: str,
        paths: Iterable[str] | None = None,
        *,
        allow_write: Iterable[str] = (),
        no_undo: bool = False,
    ) -> Applied:
        """Makes stored changes real, all of them or those at or below `paths`."""
        return await _in_thread(
            lambda: self._sandbox.apply(id, paths, allow_write=allow_write, no_undo=no_undo)
        )

    async def discard(self, id: str) -> None:
        """Lets stored changes go; the workspace is not touched."""
        await _in_thread(lambda: self._sandbox.discard(id))

    async def undo(self, id: str = "") -> Undone:
        """Takes back what was applied; without an id, the last of this workspace."""
        return await _in_thread(lambda: self._sandbox.undo(id))

    async def close(self) -> None:
        """Nothing of a sandbox outlives its runs; what is kept ready belongs to the process."""
        self._sandbox.close()

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
        await self.close()


class _ThreadRunner:
    """Performs steps in a thread of their own, which lives exactly as long as the step."""

    def __init__(self, runner: StepRunner, control: Control | None) -> None:
        self._runner = runner
        self._control = control

    async def perform(self, step: Step) -> Any:
        if isinstance(step, AskStep):
            return await self._runner.ask_async(step)
        work = asyncio.ensure_future(_in_thread(lambda: perform(step, self._runner)))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            if isinstance(step, ExecuteStep) and self._control is not None:
                self._control.cancel()
            # The tree is dead, or the row written, before anyone learns of the cancellation.
            await asyncio.wait([work])
            raise


async def _in_thread(work: Callable[[], T]) -> T:
    # Not a pool: a sandbox dies with the thread that started it, so the thread must be ours.
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
