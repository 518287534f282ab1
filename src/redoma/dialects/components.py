"""Components: Python that a program wrote for itself, read first and then run in a sandbox.

The names, the defaults and the cascade are those that such programs know: a scope of systemd, then
namespaces alone, then no sandbox at all. Only what keeps a sandbox from being set up leads
one step down; a component that fails, or takes too long, has had its run.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

from redoma import (
    Access,
    EngineFailed,
    Limits,
    NoEngine,
    Outcome,
    RedomaError,
    Result,
    Sandbox,
    Validation,
    validate_component,
)
from redoma.base.paths import is_within
from redoma.model import arguments
from redoma.model.remedies import Interface

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any, Self

__all__ = [
    "AutopoieticSandbox",
    "ComponentRefused",
    "ComponentSyntaxError",
    "SandboxError",
    "create_secure_sandbox",
]

SWAP, CPU_PERCENT = 7 << 30, 50
SMALLEST_MEMORY_MB = 32
FAILED = "failed"
_MOST = 1 << 30
_LEVEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "component.yaml")
_SWITCHES = {
    "systemd_run": "use_systemd_run",
    "unshare": "use_namespaces",
    "none": "use_direct",
}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,99}")
_PASSED = re.compile(r"(CUDA|OMP|MKL|OPENBLAS|NUMEXPR|PYTORCH|TORCH)_[A-Z0-9_]+")
_SECRET = re.compile(r"TOKEN|SECRET|PASSWORD|CREDENTIAL|_KEY")
# Seen inside anyway.
_SYSTEM = ("/usr", "/bin", "/lib", "/lib64", "/opt")


class SandboxError(RedomaError):
    """A component could not be run at all; one that ran and failed is a result."""

    code = "component"


class ComponentRefused(SandboxError):
    """Reading the component found `problems`, each with its line and column."""

    code = "component-refused"

    def __init__(self, name: str, validation: Validation) -> None:
        self.problems = validation.problems
        lines = "".join(f"\n  {name}:{problem}" for problem in self.problems)
        super().__init__(
            f"the component {name} failed security validation{lines}",
            hint="a component may use what is known as harmless: docs/guides/components.md",
        )

    def details(self) -> dict[str, object]:
        return {"problems": [str(problem) for problem in self.problems]}


class ComponentSyntaxError(ComponentRefused):
    """The component is no Python; the one problem says where."""

    code = "component-syntax"


def _at_least(least: int) -> Callable[[str, object], int]:
    return lambda name, given: arguments.whole(name, given, least=least, most=_MOST)


def _checked(check: Callable[[str, object], Any], name: str, given: object) -> Any:
    try:
        return check(name, given)
    except (arguments.WrongType, arguments.WrongValue) as error:
        raise SandboxError(str(error)) from None


class _Given:
    """An attribute that takes only what it is for: `use_direct = "no"` would be a yes."""

    def __init__(self, check: Callable[[str, object], Any]) -> None:
        self._check = check

    def __set_name__(self, _owner: type, name: str) -> None:
        self._name = name

    def __get__(self, holder: object, _owner: type | None = None) -> Any:
        return self if holder is None else holder.__dict__[self._name]

    def __set__(self, holder: object, given: object) -> None:
        holder.__dict__[self._name] = _checked(self._check, self._name, given)


class AutopoieticSandbox:
    """Reads components and runs each in a process of its own, limited and enclosed."""

    max_memory_mb = _Given(_at_least(SMALLEST_MEMORY_MB))
    max_cpu_time_seconds = _Given(_at_least(1))
    max_file_size_kb = _Given(_at_least(1))
    use_systemd_run = _Given(arguments.flag)
    use_namespaces = _Given(arguments.flag)
    # The last step, without a sandbox; without it a machine that has none is an error.
    use_direct = _Given(arguments.flag)
    # Modules that components may import beside those that are known as harmless.
    allowed_modules = _Given(arguments.texts)

    def __init__(
        self,
        max_memory_mb: int = 100,
        max_cpu_time_seconds: int = 30,
        max_file_size_kb: int = 1024,
        temp_dir: str | os.PathLike[str] | None = None,
    ) -> None:
        """Limits of each component; `temp_dir` is made where it is not there yet."""
        self.max_memory_mb = max_memory_mb
        self.max_cpu_time_seconds = max_cpu_time_seconds
        self.max_file_size_kb = max_file_size_kb
        self.use_systemd_run = True
        self.use_namespaces = True
        self.use_direct = True
        self.allowed_modules = ()
        self._logger = logging.getLogger(__name__).getChild(type(self).__name__)
        place = None if temp_dir is None else _checked(arguments.path, "temp_dir", temp_dir)
        self._own_directory = place is None or not os.path.exists(place)
        self._running: set[Path] = set()
        if place is None:
            self.temp_dir = Path(tempfile.mkdtemp(prefix="autopoiesis_sandbox_"))
        else:
            self.temp_dir = Path(place)
            self.temp_dir.mkdir(mode=0o700, parents=True, exist_ok=True)

    def validate_component(self, component_code: str) -> bool:
        """Whether a component may run; why not is logged, each reason with its place."""
        return self._validated(component_code, "component").ok

    def execute_component(self, component_code: str, component_name: str) -> dict[str, object]:
        """Runs a component with the strongest isolation that can be set up here.

        The result has `success`, `output`, `error`, `execution_time`, `security_validated` and
        `isolation`: `systemd_run`, `unshare` or `none`.
        """
        component_name = _checked(arguments.text, "component_name", component_name)
        if not _NAME.fullmatch(component_name):
            raise SandboxError(
                f"{component_name[:60]!r} is no name for a component",
                hint="letters, digits, _ and -, beginning with a letter",
            )
        validation = self._validated(component_code, component_name)
        if not validation.ok:
            kind = ComponentSyntaxError if validation.syntax_error else ComponentRefused
            raise kind(component_name, validation)
        if self.use_systemd_run:
            result = self._try_execute_with_systemd_run(component_code, component_name)
            if result["isolation"] != FAILED:
                return result
        if self.use_namespaces:
            result = self._try_execute_with_unshare(component_code, component_name)
            if result["isolation"] != FAILED:
                return result
        if not self.use_direct:
            raise SandboxError(
                f"no isolation can be set up here, so {component_name} did not run",
                hint="redoma doctor",
            )
        return self._execute_direct_unsafe(component_code, component_name)

    def _try_execute_with_systemd_run(self, code: str, name: str) -> dict[str, object]:
        """In a scope of systemd, in its slice, with the namespaces inside it."""
        limits = {"swap": SWAP, "cpu_percent": CPU_PERCENT}
        return self._attempt(code, name, "systemd_run", "systemd", limits)

    def _try_execute_with_unshare(self, code: str, name: str) -> dict[str, object]:
        """In namespaces, made by bubblewrap or by the forkserver, whichever may make them here."""
        result = self._attempt(code, name, "unshare", "bubblewrap", {})
        if result["isolation"] == FAILED:
            result = self._attempt(code, name, "unshare", "forkserver", {})
        return result

    def _execute_direct_unsafe(self, code: str, name: str) -> dict[str, object]:
        """Without a sandbox: what it may do to the machine, only the reading of it decided."""
        self._logger.error(
            "RISK: the component %s runs without isolation, limited only in time, memory and file"
            " size; the warnings before this one say how to have more.",
            name,
        )
        result = self._attempt(code, name, "none", "direct", {})
        if result["isolation"] == FAILED:
            raise SandboxError(f"the component {name} could not be started: {result['error']}")
        return result

    @contextmanager
    def execution_context(self) -> Iterator[Path]:
        """A private directory for one execution; it and all in it is removed at the end.

        Nothing of this process changes: not its directory, not its limits.
        """
        self.temp_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        directory = Path(tempfile.mkdtemp(prefix="component_", dir=self.temp_dir))
        self._running.add(directory)
        try:
            yield directory
        finally:
            shutil.rmtree(directory, ignore_errors=True)
            self._running.discard(directory)

    def cleanup(self) -> None:
        """Removes what this sandbox made; a directory that was there before it stays."""
        for directory in [self.temp_dir] if self._own_directory else [*self._running]:
            shutil.rmtree(directory, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.cleanup()

    def _validated(self, code: str, name: str) -> Validation:
        if not isinstance(code, str):
            raise SandboxError(f"component_code: a text is needed, not {arguments.shown(code)}")
        found = validate_component(code, modules=self.allowed_modules)
        for problem in found.problems:
            self._logger.error("%s:%s", name, problem)
        return found

    def _attempt(
        self, code: str, name: str, isolation: str, engine: str, limits: Mapping[str, int]
    ) -> dict[str, object]:
        """One run on one engine; `isolation` is `failed` where that engine could not set up."""
        self._logger.info("The component %s is tried with %s (%s).", name, isolation, engine)
        with self.execution_context() as directory:
            file = directory / f"{name}.py"
            file.write_bytes(code.encode())
            always = {
                "address_space": self.max_memory_mb << 20,
                "cpu_seconds": self.max_cpu_time_seconds,
                "file_size": self.max_file_size_kb << 10,
            }
            try:
                sandbox = Sandbox(
                    str(directory),
                    level=_LEVEL,
                    engine=engine,
                    limits=Limits(**{**always, **limits}),
                    access=Access(read=_readable(), env=_variables(os.environ)),
                    caller="components",
                )
                ended = sandbox.run(_command(file), timeout=self.max_cpu_time_seconds)
            except (NoEngine, EngineFailed) as error:
                return self._not_set_up(isolation, engine, error)
            except RedomaError as error:
                hint = error.speak(Interface.COMPONENTS).hint
                raise SandboxError(str(error), hint=hint) from error
        return self._ended(name, isolation, ended)

    def _not_set_up(
        self, isolation: str, engine: str, error: NoEngine | EngineFailed
    ) -> dict[str, object]:
        why = "; ".join(error.tried.values()) if isinstance(error, NoEngine) else str(error)
        self._logger.warning(
            "%s cannot be set up here with %s: %s. To have it: %s. To do without it: %s = False",
            isolation,
            engine,
            why,
            error.speak(Interface.COMPONENTS).hint,
            _SWITCHES[isolation],
        )
        return _told(isolation=FAILED, error=why)

    def _ended(self, name: str, isolation: str, ended: Result) -> dict[str, object]:
        if ended.outcome in (Outcome.DENIED, Outcome.DECLINED):
            because = "; ".join(ended.decision.because) if ended.decision else ""
            raise SandboxError(
                f"the policy does not let the component {name} run: {because}",
                hint="redoma policy explain",
            )
        error = ended.stderr.decode(errors="replace")
        if ended.exit is not None and ended.exit.truncated:
            printed, kept = ended.resources_used.output_bytes, len(ended.stdout + ended.stderr)
            cut = f"The output was cut: {kept} of {printed} bytes are kept"
            self._logger.warning("The component %s printed too much. %s", name, cut)
            error = f"{error.rstrip()}\n{cut}".strip()
        if not ended.ok:
            error = f"{error.rstrip()}\n{self._why(ended)}".strip()
            self._logger.warning("The component %s failed with %s: %s", name, isolation, error)
        return _told(
            isolation=isolation,
            success=ended.ok,
            output=ended.stdout.decode(errors="replace"),
            error=error,
            execution_time=ended.resources_used.wall_seconds,
        )

    def _why(self, ended: Result) -> str:
        if ended.outcome is Outcome.TIMED_OUT:
            return f"Execution timeout after {self.max_cpu_time_seconds}s"
        if ended.outcome is Outcome.EXITED:
            return f"The component ended with status {ended.exit_code}"
        return f"The component was ended: {ended.outcome.words}"


def create_secure_sandbox(
    max_memory_mb: int = 100,
    max_cpu_time_seconds: int = 30,
    max_file_size_kb: int = 1024,
    temp_dir: str | os.PathLike[str] | None = None,
) -> AutopoieticSandbox:
    """A sandbox with every step of the cascade switched on."""
    return AutopoieticSandbox(max_memory_mb, max_cpu_time_seconds, max_file_size_kb, temp_dir)


def _told(
    *,
    isolation: str,
    success: bool = False,
    output: str = "",
    error: str = "",
    execution_time: float = 0.0,
) -> dict[str, object]:
    return {
        "success": success,
        "output": output,
        "error": error,
        "execution_time": execution_time,
        "security_validated": True,
        "isolation": isolation,
    }


def _command(file: Path) -> tuple[str, ...]:
    # Not the directory of the component (-P): nothing beside it is imported by its name.
    return (sys.executable, "-X", "utf8", "-B", "-P", "-s", str(file))


def _variables(environ: Mapping[str, str]) -> dict[str, str]:
    passed = {
        name: value
        for name, value in environ.items()
        if _PASSED.fullmatch(name) and not _SECRET.search(name) and "\0" not in value
    }
    if _places(environ):
        passed["PYTHONPATH"] = os.pathsep.join(_places(environ))
    return passed


def _places(environ: Mapping[str, str]) -> list[str]:
    """The directories of PYTHONPATH; attack: `PYTHONPATH=~` would show the whole home."""
    home = os.path.realpath(os.path.expanduser("~"))
    found = []
    for entry in environ.get("PYTHONPATH", "").split(os.pathsep):
        real = os.path.realpath(entry) if entry else ""
        if os.path.isdir(real) and real != "/" and not is_within(home, real):
            found.append(real)
    return found


def _readable() -> list[str]:
    """What the interpreter and its modules need, where that is not seen anyway."""
    program = os.path.dirname(os.path.realpath(sys.executable))
    wanted = [sys.prefix, sys.base_prefix, program, *_places(os.environ)]
    below = tuple(f"{place}/" for place in _SYSTEM)
    return list(dict.fromkeys(p for p in wanted if not f"{p}/".startswith(below)))
