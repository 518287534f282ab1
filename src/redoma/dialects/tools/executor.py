"""Runs tools under constraints: each call in a sandbox of its own, which the kernel holds.

`SandboxedTool`: a tool whose own methods run under constraints.
"""

from __future__ import annotations

import errno
import os
import tempfile
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from redoma import (
    NO_LIMIT,
    Access,
    Answer,
    AsyncSandbox,
    Call,
    Caller,
    Choice,
    Limits,
    Network,
    Outcome,
    PolicyChoice,
    Question,
    RedomaError,
    Result,
    Sandbox,
    SandboxViolation,
)
from redoma.dialects.tools.constraints import SCRATCH, SandboxConstraints, given_or_safe, resolved
from redoma.dialects.tools.inside import Guarded
from redoma.model.arguments import WrongType, shown
from redoma.model.remedies import Interface

T = TypeVar("T")
Confirm = Callable[[Question], bool | Choice | Answer]
_PROFILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tool.yaml")
_MEGABYTE = 1 << 20
_OUT_OF_REACH = frozenset((errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR))
_LIMITS = {
    Outcome.OUT_OF_MEMORY: "max_memory_mb",
    Outcome.TOO_MANY_PROCESSES: "max_subprocesses",
    Outcome.DISK_FULL: "max_file_size_mb",
}
# Inside a sandbox these are copies or memory of its own: nothing of the machine's is there.
_REPLACED = frozenset(("/etc", "/proc", "/sys", "/dev", "/boot", "/run"))


class SandboxExecutor:
    """Runs functions under one set of constraints, from any thread or event loop.

    `ask` is who confirms where policy or a relaxation wants that: a function that is given a
    `Question`; nobody by default, which is a no. `record` is where it is written down.
    """

    def __init__(
        self,
        constraints: SandboxConstraints | None = None,
        *,
        ask: Confirm | None = None,
        record: str | None = None,
        session: str = "",
    ) -> None:
        self.constraints = given_or_safe(constraints)
        if ask is not None and not callable(ask):
            raise WrongType(f"ask: a function is needed, not {shown(ask)}")
        self._relaxing = ""
        self._ask = ask
        self._record = record
        self._session = session
        self._empty = ""

    def execute(self, function: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
        """What the function returns, run inside; SandboxViolation or SandboxTimeout otherwise."""
        try:
            sandbox = Sandbox(self._workspace(), **self._how())
            call = Call(Guarded(function, self.constraints), args, kwargs)
            value: T = self._value(sandbox.perform(call))
        except RedomaError as error:
            error.speak(Interface.TOOLS)
            raise
        return value

    async def aexecute(self, function: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
        """The same, awaited; cancelling the task ends what it started."""
        try:
            sandbox = AsyncSandbox(self._workspace(), **self._how())
            call = Call(Guarded(function, self.constraints), args, kwargs)
            value: T = self._value(await sandbox.perform(call))
        except RedomaError as error:
            error.speak(Interface.TOOLS)
            raise
        return value

    def relaxed(self, **changes: Any) -> SandboxExecutor:
        """An executor whose every call is confirmed first, because it may do more than this one.

        Sets are added to, other values are as given: `relaxed(allowed_write_paths={"/srv/out"})`.
        """
        made = SandboxExecutor(
            self.constraints.relaxed(**changes),
            ask=self._ask,
            record=self._record,
            session=self._session,
        )
        given = ", ".join(f"{name}={_shown(value)}" for name, value in sorted(changes.items()))
        made._relaxing = f"{self._relaxing}, {given}" if self._relaxing else given
        return made

    def _how(self) -> dict[str, Any]:
        """The constraints, as the core takes them."""
        held_to = self.constraints
        limits = Limits(
            wall_seconds=_or_no_limit(held_to.max_execution_time),
            memory=_bytes(held_to.max_memory_mb),
            file_size=_bytes(held_to.max_file_size_mb),
        )
        reads = held_to.allowed_read_paths
        if reads is None:
            # The machine's own, where a sandbox would have memory of its own in their place.
            reads = {"/", "/tmp", "/var/tmp"} - held_to.allowed_write_paths
        network = Network()
        if held_to.allow_network:
            hosts = sorted(held_to.allowed_hosts)
            network = Network(hosts=hosts, any_host=not hosts)
        rules: tuple[tuple[str, str, str], ...] = ()
        if self._relaxing:
            name = f"relaxed constraints: {self._relaxing}"
            rules = ((name, "safety_level >= safe", "require_confirmation"),)
        return {
            "level": _PROFILE,
            "limits": limits,
            "access": Access(
                read=sorted(path for path in reads if _usable(path)),
                write=sorted(filter(_made, held_to.allowed_write_paths)),
                hide=sorted(self._hidden()),
                subprocesses=held_to.max_subprocesses if held_to.allow_subprocess else 0,
            ),
            "network": network,
            "policy": PolicyChoice(project=_here(), rules=rules),
            "ask": self._ask,
            "audit": self._record,
            "caller": Caller(session=self._session),
        }

    def _hidden(self) -> set[str]:
        """What is covered inside; the sandbox's own /etc is left to who has a network to use."""
        own = _REPLACED if self.constraints.allow_network else _REPLACED - {"/etc"}
        return set(self.constraints.forbidden_paths - own)

    def _workspace(self) -> str:
        """An empty directory to start from, which goes with this executor."""
        if not self._empty or not os.path.isdir(self._empty):
            self._empty = tempfile.mkdtemp(prefix="redoma-tool-", dir="/var/tmp")
            weakref.finalize(self, _remove, self._empty)
        return self._empty

    def _value(self, result: Result) -> Any:
        """What was returned; else the error, in the words of the constraints where it is theirs."""
        if result.outcome in (Outcome.DENIED, Outcome.DECLINED):
            because = result.decision.because if result.decision is not None else ()
            why = "; ".join((*because, *result.notes)) or result.outcome.words
            raise self._with_constraints(SandboxViolation(why, kind="policy", constraint="policy"))
        limit = _LIMITS.get(result.outcome)
        if limit is not None:
            why = f"the tool was ended because of a limit: {result.outcome.words}"
            raise self._with_constraints(SandboxViolation(why, kind="resources", constraint=limit))
        unreached = next((c for c in result.network_calls or () if not c.allowed), None)
        if unreached is not None and not result.ok:
            host = unreached.name or unreached.address
            why = f"may not reach {unreached.target}: {unreached.why}"
            found = SandboxViolation(why, kind="network", host=host, constraint="allowed_hosts")
            raise self._with_constraints(found)
        try:
            return result.raise_for_outcome().value
        except SandboxViolation as error:
            error.constraint = self._constraint(error)
            raise self._with_constraints(error) from error.__cause__
        except MemoryError as error:
            why = "the tool needs more memory than it may have"
            found = SandboxViolation(why, kind="resources", constraint="max_memory_mb")
            raise self._with_constraints(found) from error
        except OSError as error:
            refused = self._refused(error)
            if refused is None:
                raise
            raise self._with_constraints(refused) from error

    def _with_constraints(self, violation: SandboxViolation) -> SandboxViolation:
        violation.constraints = self.constraints  # type: ignore[attr-defined] # for who adapts
        return violation

    def _constraint(self, error: SandboxViolation) -> str:
        """The name of the constraint that was in the way."""
        if error.path and "hidden" in error.constraint:
            return "forbidden_paths"  # whatever link led there, and wherever that link was made
        if error.path:
            return self.constraints.why_not(error.path, writing=error.kind == "write") or (
                "allowed_write_paths" if error.kind == "write" else "allowed_read_paths"
            )
        if error.host:
            return self.constraints.why_not_host(error.host) or "allowed_hosts"
        return "max_subprocesses" if self.constraints.allow_subprocess else "allow_subprocess"

    def _refused(self, error: OSError) -> SandboxViolation | None:
        """The violation behind an error of the system, which a library may have met on its way."""
        if error.errno == errno.EFBIG:
            return SandboxViolation(
                "the tool wrote a larger file than it may",
                kind="resources",
                constraint="max_file_size_mb",
            )
        path = error.filename
        if not isinstance(path, str) or error.errno not in _OUT_OF_REACH:
            return None
        writing = error.errno == errno.EROFS
        constraint = self.constraints.why_not(path, writing=writing)
        if not constraint and os.path.lexists(path):
            constraint = "allowed_read_paths"  # it is here, and nobody who runs tools may see it
        if not constraint:
            return None
        return SandboxViolation(
            f"{path}: {constraint} keeps the tool from it",
            kind="write" if writing else "read",
            path=resolved(path) or path,
            constraint=constraint,
        )


def _or_no_limit(given: float | None) -> float:
    """A constraint that is None is no limit, whatever the profile says."""
    return NO_LIMIT if given is None else given


def _bytes(megabytes: int | None) -> int | None:
    return NO_LIMIT if megabytes is None else megabytes * _MEGABYTE


def _here() -> str:
    """Whose `sandbox.yaml` holds beside the user's own: that of where the caller stands."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def _usable(path: str) -> bool:
    """Whether a path is there, and still leads where it led when the constraints were made.

    Attack: a tool that writes the directory above makes it a link; the next would be given what
    that leads to.
    """
    return os.path.exists(path) and (path in ("/tmp", "/var/tmp") or resolved(path) == path)


def _made(path: str) -> bool:
    """Whether a path that may be written is there; only the profile's own scratch is made."""
    if path == resolved(SCRATCH):
        with suppress(OSError):
            os.makedirs(path, mode=0o700, exist_ok=True)
    return _usable(path)


def _remove(directory: str) -> None:
    with suppress(OSError):
        os.rmdir(directory)


def _shown(value: object) -> str:
    if isinstance(value, set | frozenset | list | tuple):
        return "{" + ", ".join(sorted(map(str, value))) + "}"
    return str(value)


class SandboxedTool:
    """The base of a tool; what its methods give to `execute_safe` runs inside."""

    def __init__(
        self, constraints: SandboxConstraints | None = None, *, ask: Confirm | None = None
    ) -> None:
        self.constraints = given_or_safe(constraints)
        self._ask = ask
        self._executor: SandboxExecutor | None = None

    @property
    def executor(self) -> SandboxExecutor:
        """Who runs what this tool does."""

        if self._executor is None:
            self._executor = SandboxExecutor(self.constraints, ask=self._ask)
        return self._executor

    def execute_safe(self, function: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
        """What a function returns that runs under this tool's constraints."""
        return self.executor.execute(function, *args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        # A method goes inside with its tool; who is asked, and who runs it, stay outside.
        return {**self.__dict__, "_executor": None, "_ask": None}
