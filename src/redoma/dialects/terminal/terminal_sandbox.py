"""`TerminalSandbox`: judges terminal commands, has them confirmed, and runs them enclosed."""

from __future__ import annotations

import math
import os
from collections.abc import Callable

from redoma import (
    Access,
    Network,
    Outcome,
    PolicyChoice,
    Question,
    RedomaError,
    Result,
    Sandbox,
    check,
    facts,
)
from redoma.base.paths import is_within
from redoma.dialects.terminal import named_places
from redoma.dialects.terminal.levels import (
    RISKS,
    CommandRisk,
    ExecutionMode,
    SandboxCounts,
    SandboxMetrics,
    SandboxResult,
)
from redoma.dialects.terminal.messages import language_named, reason, said
from redoma.dialects.terminal.named_places import leave, place
from redoma.model import arguments
from redoma.model.remedies import Interface

ConfirmCallback = Callable[[str, CommandRisk, str], object]

MAX_COMMAND_LENGTH = 1024
DEFAULT_TIMEOUT = 30.0
MAX_TIMEOUT = 120.0
SHORTEST_TIMEOUT = 0.1
SAFE_PATH = "/usr/local/bin:/usr/bin:/bin"
REFUSED = -1

_CONFIRM, _BLOCK = "require_confirmation", "block"


class TerminalSandbox:
    """Runs commands in a working directory under the rule pack `terminal`.

    A command that is SAFE still runs enclosed: nothing is reached by network unless `level` or
    `allow_hosts` says so, keys and passwords are not there, and the caller's variables are not
    passed on. What it writes in its working directory, and in what it names below home or /tmp,
    is real however it ends, as in a terminal, and `redoma undo` takes it back.
    """

    def __init__(
        self,
        *,
        execution_mode: ExecutionMode = ExecutionMode.INTERACTIVE,
        strict_mode: bool = True,
        confirm_callback: ConfirmCallback | None = None,
        language: str = "pt",
        cwd: str | os.PathLike[str] = "",
        level: str = "",
        allow_hosts: tuple[str, ...] = (),
        record: str | None = None,
    ) -> None:
        """`cwd` is where commands run: the directory of this process, unless given."""
        self._mode = _mode(execution_mode)
        self._strict = arguments.flag("strict_mode", strict_mode)
        self._confirm = _callback(confirm_callback)
        self.language = language_named(language)
        self._cwd = arguments.path("cwd", cwd)
        self._level = arguments.path("level", level)
        self._hosts = arguments.texts("allow_hosts", allow_hosts, "hosts")
        self._record = None if record is None else arguments.path("record", record)
        self._counts = SandboxCounts()

    @property
    def execution_mode(self) -> ExecutionMode:
        return self._mode

    @execution_mode.setter
    def execution_mode(self, mode: ExecutionMode) -> None:
        self._mode = _mode(mode)

    @property
    def strict_mode(self) -> bool:
        return self._strict

    @strict_mode.setter
    def strict_mode(self, strict: bool) -> None:
        self._strict = arguments.flag("strict_mode", strict)

    @property
    def confirm_callback(self) -> ConfirmCallback | None:
        return self._confirm

    @confirm_callback.setter
    def confirm_callback(self, callback: ConfirmCallback | None) -> None:
        self._confirm = _callback(callback)

    def analyze_command(self, command: str) -> SandboxResult:
        """How bad a command is, and why; nothing runs."""
        return self._analyzed(command, self._mode, strict=self._strict, cwd=self._cwd)

    def get_risk_summary(self, command: str) -> dict[str, object]:
        """The same as plain data, for a page or a log."""
        return self.analyze_command(command).as_dict()

    def validate_path(self, path: str | os.PathLike[str]) -> bool:
        """Whether commands may work on a path: home, /tmp and below, links followed."""
        return named_places.allowed(path, start=self._cwd)

    def execute_sandboxed(
        self,
        command: str,
        timeout: float = DEFAULT_TIMEOUT,
        cwd: str | os.PathLike[str] = "",
    ) -> tuple[int, str, str]:
        """(exit code, standard output, standard error); the code is -1 where nothing ran."""
        seconds = sanitize_timeout(timeout)
        # Read once: another thread that changes the mode changes the next command.
        mode, strict, confirm = self._mode, self._strict, self._confirm
        given = arguments.path("cwd", cwd)
        where = named_places.resolved(given or self._cwd or ".", start=self._cwd)
        found = self._analyzed(command, mode, strict=strict, cwd=where)
        if (given and not self._is_a_place(given)) or where in ("", "/"):
            self._counts.path_refused()
            return self._refused("place", given or where)
        asked: list[bool] = []

        def ask(question: Question) -> object:
            asked.append(True)
            why = found.reason if found.requires_confirmation else "; ".join(question.because)
            return _plain_yes(confirm, command, found.risk, why)

        try:
            named, room = place(command, facts(command, cwd=where), where)
        except OSError as error:
            self._counts.failed(found)
            return self._refused("failed", str(error), found)
        try:
            sandbox = Sandbox(
                room,
                level=self._level,
                ask=ask if confirm and mode is ExecutionMode.INTERACTIVE else None,  # type: ignore[arg-type]
                audit=self._record,
                access=Access(
                    read=named.reads,
                    write=(*named.writes, *((named_places.TEMPORARY,) if named.shared else ())),
                    hide=named.hidden if named.hidden or named.shared else None,
                    temporary=named.temporary,
                    apply="always",
                    env={"PATH": SAFE_PATH},
                ),
                network=Network(hosts=self._hosts),
                policy=PolicyChoice(
                    project=where, pack="terminal", rules=_rules(mode, strict=strict)
                ),
            )
            if named.outside and not found.blocked:
                sandbox.check(command)  # the audit log has it that somebody tried
                self._counts.path_refused()
                return self._refused("outside", named.outside)
            result = sandbox.run(command, timeout=seconds, cwd=where if room != where else "")
        except RedomaError as error:
            self._counts.failed(found)
            hint = f" ({error.hint})" if error.speak(Interface.TERMINAL).hint else ""
            return self._refused("failed" if not found.blocked else "", f"{error}{hint}", found)
        finally:
            leave(room, where)
        return self._told(result, found, mode, seconds, asked=bool(asked))

    def get_denied_commands(self) -> list[str]:
        """The commands that were refused for want of a yes, the last thousand of them."""
        return self._counts.denied()

    def clear_denied_commands(self) -> None:
        """Forgets them."""
        self._counts.forget_denied()

    def get_metrics(self) -> SandboxMetrics:
        """What was run, blocked and denied so far, how long it took, and how it ended."""
        return self._counts.metrics()

    def _analyzed(
        self, command: str, mode: ExecutionMode, *, strict: bool, cwd: str
    ) -> SandboxResult:
        if not isinstance(command, str):
            raise TypeError(f"command: a text is needed, not {type(command).__name__}")
        assessment = check(command, pack="terminal", cwd=cwd or None).assessment
        risk = RISKS[assessment.risk]
        action = _action(risk, ExecutionMode.INTERACTIVE, strict=strict)
        return SandboxResult(
            command=command,
            risk=risk,
            reason=reason(self.language, risk, assessment.worst),
            requires_confirmation=action == _CONFIRM,
            blocked=_action(risk, mode, strict=strict) == _BLOCK,
            suggested_alternative=next((f.alternative for f in assessment.worst), ""),
        )

    def _is_a_place(self, cwd: str) -> bool:
        """Whether commands may be sent there: what the sandbox was given, or an allowed path."""
        real = named_places.resolved(cwd, start=self._cwd)
        own = named_places.resolved(self._cwd or ".")
        return bool(real) and (is_within(real, own) or named_places.allowed(real))

    def _refused(
        self, what: str, why: str, found: SandboxResult | None = None
    ) -> tuple[int, str, str]:
        if not what and found is not None:
            return REFUSED, "", f"[SANDBOX] {found.reason}"
        return REFUSED, "", said(self.language, what, why)

    def _told(
        self,
        result: Result,
        found: SandboxResult,
        mode: ExecutionMode,
        seconds: float,
        *,
        asked: bool,
    ) -> tuple[int, str, str]:
        """A result in the words of this interface."""
        language, decision = self.language, result.decision
        if result.outcome is Outcome.DENIED:
            assert decision is not None
            worst = decision.assessment.worst
            self._counts.blocked(found, worst[0].rule if found.blocked else decision.rule)
            if not found.blocked:
                return self._refused("policy", "; ".join(decision.because))
            if found.risk is CommandRisk.BLOCKED:
                return self._refused("", "", found)
            what = "autonomous" if mode is ExecutionMode.AUTONOMOUS else "strict"
            return REFUSED, "", said(language, what, risk=found.risk)
        if result.outcome is Outcome.DECLINED:
            self._counts.declined(found, asked=asked)
            return self._refused("denied" if asked else "nobody", found.reason)
        if result.outcome is Outcome.PREVIEWED:
            if result.changes is None or not result.changes.items:
                return self._refused("nobody", found.reason)
            return self._refused("waits", result.changes.id)
        self._counts.ran(result)
        more = []
        if result.outcome is Outcome.TIMED_OUT:
            more.append(said(language, "timed out", f"{seconds:g}"))
        elif result.outcome not in (Outcome.EXITED, Outcome.SIGNALLED):
            more.append(said(language, "limit", result.outcome.words))
        more += [said(language, "held back", one.path) for one in result.held_back]
        if result.exit is not None and result.exit.truncated:
            kept = len(result.stdout + result.stderr)
            more.append(said(language, "cut", f"{kept}/{result.resources_used.output_bytes}"))
        error = result.stderr.decode("utf-8", "replace")
        if more:
            error = "\n".join([*([error.rstrip("\n")] if error else []), *more])
        return result.exit_code, result.stdout.decode("utf-8", "replace"), error


def sanitize_timeout(timeout: float) -> float:
    """The seconds a command may take: never more than 120, and never none."""
    if isinstance(timeout, bool) or not isinstance(timeout, int | float):
        raise TypeError(f"timeout: a number is needed, not {type(timeout).__name__}")
    if math.isnan(timeout):
        return DEFAULT_TIMEOUT
    return float(min(max(timeout, SHORTEST_TIMEOUT), MAX_TIMEOUT))


def _action(risk: CommandRisk, mode: ExecutionMode, *, strict: bool) -> str:
    """What becomes of a level: the whole table of the modes."""
    asks = _CONFIRM if mode is ExecutionMode.INTERACTIVE else _BLOCK
    return {
        CommandRisk.SAFE: "",
        CommandRisk.MODERATE: asks if strict else "",
        CommandRisk.CRITICAL: asks,
        CommandRisk.DANGEROUS: _BLOCK if strict else asks,
        CommandRisk.BLOCKED: _BLOCK,
    }[risk]


def _rules(mode: ExecutionMode, *, strict: bool) -> list[tuple[str, str, str]]:
    """The same table as rules for the core, which decides by them."""
    named = {mine: core.label for core, mine in RISKS.items()}
    return [
        (f"terminal_{risk.value}", f"safety_level == {named[risk]}", action)
        for risk in CommandRisk
        if (action := _action(risk, mode, strict=strict))
    ]


def _plain_yes(
    confirm: ConfirmCallback | None, command: str, risk: CommandRisk, why: str
) -> object:
    """True for a plain True alone, also from an async callback; whatever else is a no."""
    answer = confirm(command, risk, why) if confirm is not None else False
    if not hasattr(answer, "__await__"):
        return answer is True

    async def awaited() -> bool:
        said_later: object = await answer
        return said_later is True

    return awaited()


def _mode(mode: object) -> ExecutionMode:
    if not isinstance(mode, ExecutionMode):
        raise TypeError(f"execution_mode: an ExecutionMode is needed, not {mode!r}")
    return mode


def _callback(callback: object) -> ConfirmCallback | None:
    if callback is not None and not callable(callback):
        raise TypeError(f"confirm_callback: a function is needed, not {type(callback).__name__}")
    return callback
