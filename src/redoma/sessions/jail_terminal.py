"""A shell on a terminal in the jail: a run like any other, judged, written down, undoable."""

from __future__ import annotations

import os
import threading

from redoma.model.grant import Limits
from redoma.model.value import Value
from redoma.pipeline.answerers import BY_HAND, LocalAnswerer
from redoma.pipeline.requests import Caller
from redoma.pipeline.run_context import RunContext
from redoma.pipeline.sandbox import Sandbox
from redoma.pipeline.settings import NO_LIMIT, Access
from redoma.pipeline.this_host import Control

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.audit.log import AuditLog
    from redoma.model.result import Result
    from redoma.sessions.input_gate import InputGate

_SIGHUP = 1
_PATIENCE = 2.0
_ENVIRONMENT = {
    "PS1": "(redoma) \\w \\$ ",
    "TERM": "xterm-256color",
    "COLORTERM": "truecolor",
}


class TerminalPlan(Value):
    """What is opened: which shell, where, and how it is held."""

    workspace: str = ""
    engine: str = ""
    level: str = ""
    shell: str = ""
    columns: int = 80
    rows: int = 24


class JailTerminal:
    """A run of a shell in a thread of its own."""

    def __init__(self, plan: TerminalPlan, session: str, gate: InputGate) -> None:
        """Whatever cannot be had is said now; UsageError for a workspace or an engine."""
        self._sandbox = Sandbox(
            plan.workspace,
            level=plan.level,
            engine=plan.engine,
            # Guests may have typed, and nobody asks the host at the end: all of it waits for them.
            access=Access(env=_ENVIRONMENT, apply="never"),
            limits=Limits(wall_seconds=NO_LIMIT, output_total=NO_LIMIT, output=NO_LIMIT),
            ask=LocalAnswerer(BY_HAND),
            caller=Caller(name="session", session=session),
        )
        self.bash = plan.shell in ("", "bash", "/bin/bash") and os.path.exists("/bin/bash")
        self._argv = ["/bin/bash", "--norc", "-i"] if self.bash else ["/bin/sh", "-i"]
        self._control = Control()
        self._control.typed = gate
        self._control.resize(plan.rows, plan.columns)
        gate.wake = self._control.wake
        self._over: threading.Timer | None = None

    @property
    def workspace(self) -> str:
        return self._sandbox.workspace

    def audit_log(self) -> AuditLog:
        """Where the policy of this workspace has things written down."""
        return RunContext(self._sandbox.config).audit_log()

    def start(
        self,
        output: Callable[[bytes], None],
        ended: Callable[[Result | Exception], None],
    ) -> None:
        """Opens the shell; both are called from other threads."""

        def work() -> None:
            end: Result | Exception
            try:
                end = self._sandbox.run(
                    self._argv,
                    stdin=None,
                    sink=lambda _, data: output(data),
                    control=self._control,
                    terminal=True,
                )
            except Exception as error:
                end = error
            if self._over is not None:
                self._over.cancel()
            self._control.close()
            ended(end)

        threading.Thread(target=work, name="session", daemon=True).start()

    def resize(self, columns: int, rows: int) -> None:
        self._control.resize(rows, columns)

    def hang_up(self) -> None:
        """Ends the shell as a closed window would, and what does not listen a little later."""
        self._control.signal(_SIGHUP)
        if self._over is None:
            self._over = threading.Timer(_PATIENCE, self._control.cancel)
            self._over.daemon = True
            self._over.start()
