"""A run of a sandbox that was started and goes on by itself, in a thread of its own."""

from __future__ import annotations

import atexit
import os
import threading
from contextvars import copy_context
from weakref import WeakSet

from redoma import Control
from redoma.subprocess.output_relay import OutputRelay

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from redoma import Result, Sandbox

_going_on: WeakSet[StartedRun] = WeakSet()
_LONGEST_END = 10.0


class StartedRun:
    """A command between its start and its end; every method may be called from any thread."""

    def __init__(
        self, sandbox: Sandbox, argv: Sequence[str], cwd: str, stdin: int, onto: dict[int, int]
    ) -> None:
        """`stdin` and `onto` are descriptors that become this run's own; a negative one is none."""
        self.pid = 0
        self.result: Result | None = None
        self.error: BaseException | None = None
        self._sandbox, self._argv, self._cwd, self._stdin = sandbox, argv, cwd, stdin
        self._relay = OutputRelay(onto)
        self._control = Control()
        self._control.merged = len(onto) == 2 and len(set(onto.values())) == 1
        self._control.began = self._begun
        self._control.ended = self._relay.command_ended
        self._settled = threading.Event()
        self._over = threading.Event()

    def start(self) -> None:
        """Returns when the command runs, or when it is known that it will not."""
        _going_on.add(self)
        # Whoever leaves the program does not wait for its commands; they end with it.
        work = copy_context().run
        thread = threading.Thread(target=work, args=(self._work,), name="redoma-run", daemon=True)
        try:
            thread.start()
        except BaseException:
            self._settle()
            raise
        try:
            self._settled.wait()
        except BaseException:
            self._control.cancel()
            raise

    def wait(self, seconds: float | None = None) -> bool:
        """Whether it is over, everything that it changed included."""
        return self._over.wait(seconds)

    @property
    def over(self) -> bool:
        return self._over.is_set()

    def signal(self, number: int) -> None:
        """Sends the command a signal."""
        self._control.signal(number)

    def cancel(self) -> None:
        """Ends the whole tree at once; what it changed is kept aside."""
        self._control.cancel()

    def _begun(self, pid: int) -> None:
        self.pid = pid
        self._settled.set()

    def _work(self) -> None:
        try:
            self.result = self._sandbox.run(
                self._argv,
                stdin=self._stdin if self._stdin >= 0 else b"",
                cwd=self._cwd,
                sink=self._relay,
                control=self._control,
            )
        except BaseException as error:
            self.error = error
        finally:
            self._settle()

    def _settle(self) -> None:
        if self._stdin >= 0:
            os.close(self._stdin)
        self._relay.command_ended()
        self._relay.close()
        if self.error is None:
            self.error = self._relay.trouble
        self._control.close()
        self._over.set()
        self._settled.set()


@atexit.register
def _end_all() -> None:
    """No command outlives the program that started it, nor is ended halfway by its end."""
    going_on = [run for run in _going_on if not run.over]
    for run in going_on:
        run.cancel()
    for run in going_on:
        run.wait(_LONGEST_END)


os.register_at_fork(after_in_child=_going_on.clear)
