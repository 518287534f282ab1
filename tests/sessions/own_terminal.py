"""A command at a real terminal, which the test looks at and types into."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable

from tests.sessions.server_process import PATIENCE


class OwnTerminal:
    """A command at a real terminal of its own."""

    def __init__(self, argv: list[str], env: dict[str, str], columns: int, rows: int) -> None:
        self.screen = b""
        # The other side stays open here as well: its modes are looked at when the command is gone.
        self._side, self._other = pty.openpty()
        self.resize(columns, rows)
        self.modes = termios.tcgetattr(self._side)
        self.process = subprocess.Popen(
            argv,
            env=env,
            **dict.fromkeys(("stdin", "stdout", "stderr"), self._other),
        )

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._side, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, data: bytes) -> None:
        os.write(self._side, data)

    def until(self, happened: Callable[[], object]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not happened():
            assert time.monotonic() < deadline, self.screen[-500:]
            if select.select([self._side], [], [], 0.05)[0]:
                self.screen += os.read(self._side, 65536)

    def is_as_before(self) -> bool:
        return termios.tcgetattr(self._side) == self.modes

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._side)
        os.close(self._other)
