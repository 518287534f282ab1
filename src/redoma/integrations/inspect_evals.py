"""A sandbox provider for Inspect AI: `sandbox="redoma"` gives each sample a cell of its own.

Inspect finds this module by its entry point.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, overload

import anyio
import yaml
from anyio import CapacityLimiter, to_thread
from inspect_ai.util import (
    ExecResult,
    OutputLimitExceededError,
    SandboxEnvironment,
    SandboxEnvironmentLimits,
    SandboxUnavailableError,
    SandboxUserUnsupportedError,
    sandboxenv,
)
from pydantic import BaseModel, ConfigDict

from redoma import Cell, CellError, CellProcess, CellResult, Limits, Outcome
from redoma.model.cell import DEFAULT_LIMITS, NoSuchUser

if TYPE_CHECKING:
    from collections.abc import Callable

_AT_ONCE = 256
_COULD_NOT = 126
_NOT_FOUND = 127


class CellSettings(BaseModel):
    """What the cells of an evaluation are given; sizes in bytes, `env` for every command."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    memory: int | None = DEFAULT_LIMITS.memory
    processes: int | None = DEFAULT_LIMITS.processes
    temporary: int | None = DEFAULT_LIMITS.temporary
    readable: tuple[str, ...] = ()
    env: dict[str, str] = {}

    def cell(self) -> Cell:
        """A new cell."""
        limits = Limits(memory=self.memory, processes=self.processes, temporary=self.temporary)
        return Cell(readable=self.readable, env=self.env, limits=limits)


def settings_of(config: BaseModel | str | None) -> CellSettings:
    """The settings that a task names: an object, a YAML file, or none."""
    if config is None:
        return CellSettings()
    if isinstance(config, CellSettings):
        return config
    if isinstance(config, BaseModel):
        return CellSettings.model_validate(config.model_dump())
    found = yaml.safe_load(Path(config).read_text(encoding="utf-8"))
    return CellSettings.model_validate(found or {})


@sandboxenv(name="redoma")
class RedomaSandboxEnvironment(SandboxEnvironment):
    """One sample's cell."""

    def __init__(self, cell: Cell) -> None:
        super().__init__()
        self.cell = cell
        self._limiter: CapacityLimiter | None = None

    @classmethod
    def config_files(cls) -> list[str]:
        """The file that a task's directory may have."""
        return ["redoma.yaml"]

    @classmethod
    def config_deserialize(cls, config: dict[str, Any]) -> BaseModel:
        """Settings as they are written into a log."""
        return CellSettings.model_validate(config)

    @classmethod
    async def sample_init(
        cls, task_name: str, config: BaseModel | str | None, metadata: dict[str, str]
    ) -> dict[str, SandboxEnvironment]:
        """A new cell for a sample; Inspect copies its files in and runs its setup."""
        settings = settings_of(config)
        made: list[Cell] = []

        def make() -> Cell:
            made.append(settings.cell())
            return made[0]

        try:
            return {"default": cls(await to_thread.run_sync(make))}
        except BaseException:
            for cell in made:
                cell.close()
            raise

    @classmethod
    async def sample_cleanup(
        cls,
        task_name: str,
        config: BaseModel | str | None,
        environments: dict[str, SandboxEnvironment],
        interrupted: bool,
    ) -> None:
        """Ends the sample's cell and all that still runs in it."""
        for each in environments.values():
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(each.as_type(RedomaSandboxEnvironment).cell.close)

    async def exec(
        self,
        cmd: list[str],
        input: str | bytes | None = None,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        user: str | None = None,
        timeout: int | None = None,
        timeout_retry: bool = True,
        concurrency: bool = True,
    ) -> ExecResult[str]:
        """Runs a command to its end; what it leaves running goes on until the sample ends."""
        given = input.encode() if isinstance(input, str) else input or b""
        limit = SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE
        try:
            found = await self._watched(
                lambda: self.cell.start(cmd, cwd=cwd or "", env=env, user=user or ""),
                lambda process: process.communicate(given, timeout=timeout, output_limit=limit),
            )
        except NoSuchUser as error:
            if not error.possible or not self.cell.can_have_users:
                raise SandboxUserUnsupportedError(str(error)) from error
            return _failed(_COULD_NOT, str(error))
        except CellError as error:
            raise SandboxUnavailableError(str(error)) from error
        except PermissionError:
            raise
        except FileNotFoundError as error:
            return _failed(_NOT_FOUND, f"{error.filename}: {error.strerror}")
        except OSError as error:
            return _failed(_COULD_NOT, f"{error.filename}: {error.strerror}")
        output = found.stdout.decode(errors="replace")
        if found.outcome is Outcome.TIMED_OUT:
            raise TimeoutError(f"Command timed out after {timeout} seconds")
        if found.outcome is Outcome.OUTPUT_TOO_LARGE:
            raise OutputLimitExceededError(
                limit_str=SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE_STR,
                truncated_output=output,
            )
        code = found.exit_code if found.exit_code is not None else _COULD_NOT
        return ExecResult(code == 0, code, output, found.stderr.decode(errors="replace"))

    async def write_file(self, file: str, contents: str | bytes) -> None:
        """Writes a file as the cell's user; makes the directories above it."""
        data = contents.encode() if isinstance(contents, str) else contents
        await self._in_thread(lambda: self.cell.write(file, data))

    @overload
    async def read_file(self, file: str, text: Literal[True] = True) -> str: ...

    @overload
    async def read_file(self, file: str, text: Literal[False]) -> bytes: ...

    async def read_file(self, file: str, text: bool = True) -> str | bytes:
        """The content of a file as the cell's user may read it."""
        limit = SandboxEnvironmentLimits.MAX_READ_FILE_SIZE
        try:
            data = await self._in_thread(lambda: self.cell.read(file, limit=limit))
        except OSError as error:
            if error.errno != errno.EFBIG:
                raise
            raise OutputLimitExceededError(
                limit_str=SandboxEnvironmentLimits.MAX_READ_FILE_SIZE_STR, truncated_output=None
            ) from error
        found = cast(bytes, data)
        return found.decode() if text else found

    def default_polling_interval(self) -> float:
        """Nothing is far away."""
        return 0.2

    async def _watched(
        self,
        start: Callable[[], CellProcess],
        talk: Callable[[CellProcess], CellResult],
    ) -> CellResult:
        """A command's result; where nobody waits for it any more, it is ended."""
        begun: list[CellProcess] = []
        left = anyio.Event()

        def work() -> CellResult:
            process = start()
            begun.append(process)
            if left.is_set():
                process.kill()
            try:
                return talk(process)
            finally:
                process.close()

        try:
            return cast(CellResult, await self._in_thread(work))
        except anyio.get_cancelled_exc_class():
            left.set()
            for process in begun:
                process.kill()
            raise

    async def _in_thread(self, work: Callable[[], object]) -> object:
        if self._limiter is None:
            self._limiter = CapacityLimiter(_AT_ONCE)
        return await to_thread.run_sync(work, abandon_on_cancel=True, limiter=self._limiter)


def _failed(code: int, why: str) -> ExecResult[str]:
    return ExecResult(False, code, "", f"{why}{os.linesep}")
