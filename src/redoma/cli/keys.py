"""One answer from a person: a key on a terminal that can give single keys, else a line."""

from __future__ import annotations

import os
import sys

from redoma.i18n import phrased
from redoma.model.errors import UsageError

ENDED = ("", "\x03", "\x04")  # nothing more to read, Ctrl-C, Ctrl-D


def ask(question: str, keys: str) -> str:
    """One of the keys; nothing where the person has gone."""
    while True:
        answer = _key(question) if single_keys() else _line(question)
        if answer in ENDED:
            sys.stderr.write("\n")
            return ""
        if answer in keys:
            return answer
        sys.stderr.write(phrased("please answer one of {0}\n", ", ".join(keys)))


def need_a_person(command: str, instead: str) -> None:
    """An error where nobody is there to answer."""
    if not os.isatty(0):
        raise UsageError(f"{command} needs a terminal to ask on", hint=instead)


def single_keys() -> bool:
    """Whether keys can be read one by one."""
    return os.environ.get("TERM", "dumb") != "dumb"


def _key(question: str) -> str:
    import termios
    import tty

    before = termios.tcgetattr(0)
    try:
        # What was typed before the question was there to be read is no answer to it.
        tty.setcbreak(0, termios.TCSAFLUSH)
        _say(question)
        pressed = os.read(0, 1).decode("latin-1")
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)
    _say(f"{pressed if pressed.isprintable() else ''}\n")
    return pressed


def _line(question: str) -> str:
    _say(question)
    read = b""
    while not read.endswith(b"\n"):
        more = os.read(0, 1)
        if not more:
            break
        read += more
    if not read:
        return ""
    return read.decode("utf-8", "replace").strip()[:1].lower() or "\n"


def _say(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
