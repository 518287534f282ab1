"""Operator logging: what Redoma does to this machine, for whoever runs it; silent unless asked for.

    log = logger(__name__)
    log.info("engine %s: %s", name, outcome)

The lines go to the standard library's `logging`, to the logger of the module's name below `redoma`,
once something has imported that: a program that uses Redoma, or `configure` for the command line.
Until then a line costs a look into a dictionary, and a cold start does not pay for `logging`.

A line names runs, engines, hosts, files of our own and numbers. It never has a command, an
environment, input, output or a secret in it; `configure` cleans it all the same.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

LEVELS = ("debug", "info", "warning", "error")
VARIABLE = "REDOMA_LOG"
_ROOT = "redoma"


class OperatorLog:
    """A logger of `logging`, as soon as there is one to be had."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def debug(self, line: str, *values: object) -> None:
        """What happens in detail."""
        self._pass_on("debug", line, values)

    def info(self, line: str, *values: object) -> None:
        """What happens."""
        self._pass_on("info", line, values)

    def warning(self, line: str, *values: object) -> None:
        """What an operator should look at, though the work goes on."""
        self._pass_on("warning", line, values)

    def _pass_on(self, level: str, line: str, values: tuple[object, ...]) -> None:
        logging = sys.modules.get("logging")
        # A module that is being imported at this moment may not have everything yet.
        if logging is not None and hasattr(logging, "NullHandler"):
            getattr(logging.getLogger(self._name), level)(line, *values)


def logger(name: str) -> OperatorLog:
    """The log of a module, by its `__name__`."""
    return OperatorLog(name)


def configure(level: str, clean: Callable[[str], str]) -> None:
    """Prints the lines from this level on to standard error, each after `clean` has seen it."""
    import logging

    class Cleaned(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            try:
                return clean(super().format(record))
            except Exception as error:
                # Attack: what cannot be cleaned might hold what must not be shown.
                return f"redoma: a line could not be cleaned: {type(error).__name__}"

    handler = logging.StreamHandler()
    handler.setFormatter(Cleaned("%(levelname)s %(name)s: %(message)s"))
    ours = logging.getLogger(_ROOT)
    ours.handlers[:] = [handler]
    ours.propagate = False
    ours.setLevel(level.upper())


def level_of(arguments: list[str], variable: str) -> tuple[str, list[str]]:
    """The level that a command line or the variable asks for, and the rest of the command line.

    `-v` before the command is `info`, `-vv` is `debug`; they count before the variable. A level
    that there is not is `info`: whoever set it wants to see something.
    """
    level = ""
    if variable:
        level = variable.lower() if variable.lower() in LEVELS else "info"
    while arguments[:1] in (["-v"], ["-vv"], ["--verbose"]):
        level = "debug" if arguments[0] == "-vv" or level == "debug" else "info"
        arguments = arguments[1:]
    return level, arguments
