"""Feeds text to the reader's own pager, which runs outside and only shows it."""

from __future__ import annotations

import subprocess
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def fed(command: Sequence[str], parts: Iterable[bytes]) -> bool:
    """Whether the pager took the text; False where it could not be started."""
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE)  # noqa: S603 — the reader's own
    except OSError:
        return False
    assert process.stdin is not None
    try:
        # A reader who has seen enough closes the pager: that ends the writing, not the command.
        with suppress(BrokenPipeError), process.stdin as to_pager:
            for part in parts:
                to_pager.write(part)
    finally:
        while True:
            with suppress(KeyboardInterrupt):  # the pager decides what Ctrl-C means to it
                process.wait()
                break
    return True
