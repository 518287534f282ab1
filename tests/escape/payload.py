"""Turns an ordinary function into a program that runs inside and says what came of it.

A payload is a function whose body stands on its own: its text is sent inside together with
`prelude.py`, and so is the text of nothing else. It answers with a value that JSON can carry.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

# Plain letters, since a terminal is shown no others.
_MARK = b"@@told@@"
_PRELUDE = (Path(__file__).parent / "prelude.py").read_text(encoding="utf-8")
_FRAME = """
import json, sys

def _tell(kind, value):
    sys.stdout.flush()
    line = b"\\n@@told@@" + json.dumps([kind, value]).encode() + b"@@told@@\\n"
    while line:
        line = line[os.write(1, line):]

_tell("began", None)
try:
    _value = {name}(*{arguments!r})
except OSError as error:
    _tell("refused", errno.errorcode.get(error.errno, str(error)))
except MemoryError:
    _tell("refused", "MemoryError")
except Exception as error:
    _tell("broken", f"{{type(error).__name__}}: {{error}}")
else:
    _tell("ended", _value)
"""


class NotRun(Exception):
    """The payload did not run as written, so nothing can be said about the attack."""


class Answer(NamedTuple):
    """What a payload said: its value, or why the machine refused it."""

    value: Any
    refused: str
    # Whether it came to its end; a payload that was killed did not.
    ended: bool


def program(function: Callable[..., object], arguments: tuple[object, ...]) -> str:
    """The text of a Python program that runs one payload."""
    lines = inspect.getsource(function).splitlines(keepends=True)
    while not lines[0].startswith("def "):  # its decorators stay outside
        del lines[0]
    plain = json.loads(json.dumps(arguments, default=str))
    frame = _FRAME.format(name=function.__name__, arguments=plain)
    return f"{_PRELUDE}\n\n{''.join(lines)}\n{frame}"


def answer(output: bytes, *, complaint: bytes = b"") -> Answer:
    """Reads what a payload's program wrote; NotRun if it never came to the payload."""
    told: dict[str, Any] = {}
    for part in output.split(_MARK):
        if part.startswith(b'["'):
            kind, value = json.loads(part)
            told[kind] = value
    if "began" not in told:
        raise NotRun(f"the payload never began: {output[-300:]!r} {complaint[-600:]!r}")
    if "broken" in told:
        raise NotRun(f"the payload is broken: {told['broken']}")
    if "refused" in told:
        return Answer(None, told["refused"], ended=True)
    return Answer(told.get("ended"), "" if "ended" in told else "killed", ended="ended" in told)
