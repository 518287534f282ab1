"""A person's own terminal, given to a command for a while."""

from __future__ import annotations

import os
import re
import signal
import sys
from codecs import getincrementaldecoder
from contextlib import contextmanager

from redoma.i18n import phrased
from redoma.model.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from redoma.pipeline.this_host import Control


@contextmanager
def attached(control: Control) -> Iterator[None]:
    """Raw mode, and every change of the window's size passed on, until the block ends."""
    from redoma.pipeline.this_host import raw, size_of

    if not os.isatty(0):
        if not os.isatty(1):
            control.resize(24, 80)
        yield
        return
    if os.tcgetpgrp(0) != os.getpgrp():
        raise UsageError("--tty needs the foreground of a terminal")

    def resize(*_: object) -> None:
        control.resize(*size_of(0))

    resize()
    before = {signal.SIGWINCH: signal.signal(signal.SIGWINCH, resize)}
    for number in (signal.SIGTERM, signal.SIGHUP):
        before[number] = signal.signal(number, lambda *_: control.cancel())
    try:
        with raw(0):
            yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# Colour and erasing to the end of a line; everything else that begins with ESC is an order.
_SEQUENCE = re.compile(
    rb"\x1b\[[0-9;:]*[mK]"  # kept
    rb"|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]?"
)
_KEPT = re.compile(rb"\x1b\[[0-9;:]*[mK]")
_C1 = re.compile("[\x80-\x9f\udc80-\udc9f]")
_CONTROLS = bytes(set(range(32)) - {8, 9, 10, 13, 27}) + b"\x7f"


class Plain:
    """A stream's filter; a sequence cut between two reads is put together first."""

    def __init__(self) -> None:
        self._rest = b""
        self._decoder = getincrementaldecoder("utf-8")("surrogateescape")

    def filtered(self, data: bytes) -> bytes:
        """The same without what acts on a terminal."""
        data = self._rest + data
        self._rest = b""
        cut = data.rfind(b"\x1b")
        if cut >= 0 and len(data) - cut < 64 and not _complete(data[cut:]):
            data, self._rest = data[:cut], data[cut:]
        data = _SEQUENCE.sub(lambda m: m[0] if _KEPT.fullmatch(m[0]) else b"", data)
        # C1 controls, as bytes or as UTF-8, act like their ESC forms in some terminals.
        text = _C1.sub("", self._decoder.decode(data))
        return text.encode("utf-8", "surrogateescape").translate(None, _CONTROLS)


class Drawing:
    """A terminal's filter: what draws passes, and what sets something or asks does not."""

    def __init__(self) -> None:
        from redoma.base.output_filter import OutputFilter

        self._filter = OutputFilter()

    def filtered(self, data: bytes) -> bytes:
        """The same without what acts otherwise; bytes that are no UTF-8 might be controls."""
        shown = self._filter.feed(data).shown
        return shown if shown.isascii() else shown.decode("utf-8", "replace").encode()


def _complete(text: bytes) -> bool:
    match = _SEQUENCE.match(text)
    if match is None:
        return False
    if text[1:2] in (b"]", b"P", b"X", b"^", b"_"):
        return match[0].endswith((b"\x07", b"\x1b\\")) or match.end() < len(text)
    return match.end() < len(text) or len(match[0]) > 2 or text[1:2] not in (b"[", b"")


ENDED = ("", "\x03", "\x04")  # nothing more to read, Ctrl-C, Ctrl-D


def ask(question: str, keys: str) -> str:
    """One of the keys; nothing where the person has gone."""
    while True:
        answer = _pressed_key(question) if single_keys() else _typed_line(question)
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


def _pressed_key(question: str) -> str:
    import termios
    import tty

    before = termios.tcgetattr(0)
    try:
        # What was typed before the question was there to be read is no answer to it.
        tty.setcbreak(0, termios.TCSAFLUSH)
        _show_now(question)
        pressed = os.read(0, 1).decode("latin-1")
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)
    _show_now(f"{pressed if pressed.isprintable() else ''}\n")
    return pressed


def _typed_line(question: str) -> str:
    _show_now(question)
    read = b""
    while not read.endswith(b"\n"):
        more = os.read(0, 1)
        if not more:
            break
        read += more
    if not read:
        return ""
    return read.decode("utf-8", "replace").strip()[:1].lower() or "\n"


def _show_now(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


# Quit if it fits one screen, keep colours, leave the text on the screen.
_DEFAULT = ("less", "-FRX")


def page(text: Iterable[str], *, wanted: bool = True) -> None:
    """Writes text through the reader's pager, or plainly where there is no one to turn pages."""
    command = pager(dict(os.environ)) if wanted and _on_a_terminal() else ()
    if command:
        from redoma.pipeline.this_host import fed

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
