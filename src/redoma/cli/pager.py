"""Long output page by page, where a person reads it; straight through everywhere else."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# Quit if it fits one screen, keep colours, leave the text on the screen.
_DEFAULT = ("less", "-FRX")


def page(text: Iterable[str], *, wanted: bool = True) -> None:
    """Writes text through the reader's pager, or plainly where there is no one to turn pages."""
    command = pager(dict(os.environ)) if wanted and _on_a_terminal() else ()
    if command:
        from redoma.pipeline.host_services import fed

        if fed(command, _encoded(text)):
            return
        # The pager could not be started and has read nothing.
    for part in text:
        sys.stdout.write(part)


def pager(environment: dict[str, str]) -> tuple[str, ...]:
    """The pager that the reader has chosen, or nothing; its words are never read by a shell."""
    for name in ("REDOMA_PAGER", "PAGER"):
        if name in environment:
            import shlex

            try:
                words = tuple(shlex.split(environment[name]))
            except ValueError:
                return ()
            return () if words in ((), ("cat",)) else words
    return () if environment.get("TERM", "dumb") == "dumb" else _DEFAULT


def _encoded(text: Iterable[str]) -> Iterable[bytes]:
    for part in text:
        yield part.encode("utf-8", "backslashreplace")


def _on_a_terminal() -> bool:
    return os.isatty(0) and os.isatty(1)
