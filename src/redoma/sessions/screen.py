"""The session's own terminal: reads all output, answers its questions, and can be drawn anew."""

from __future__ import annotations

import importlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

SCROLLBACK = 1000
_KEPT = 64 << 10


def screen(
    columns: int, rows: int, reply: Callable[[bytes], None]
) -> TerminalScreen | RecentOutput:
    """The best terminal that there is here."""
    try:
        return TerminalScreen(columns, rows, reply)
    except ImportError:
        return RecentOutput(columns, rows)


class TerminalScreen:
    """A terminal by libghostty."""

    exact = True

    def __init__(self, columns: int, rows: int, reply: Callable[[bytes], None]) -> None:
        """`reply` is given what the terminal answers to the program's questions."""
        core = importlib.import_module("pyghostty.core")

        self._core: Any = core
        self._terminal: Any = core.Terminal(columns, rows, scrollback=SCROLLBACK)
        self._terminal.on_reply(reply)
        self.columns, self.rows = columns, rows

    def feed(self, data: bytes) -> None:
        self._terminal.feed(data)

    def resize(self, columns: int, rows: int, *, history: bool = True) -> None:
        """Another size; without `history`, what scrolled away is forgotten.

        Attack: a larger screen fills itself from above, and guests who are drawn it anew see what
        scrolled away before they came.
        """
        if not history:
            self._forget_history()
        self._terminal.resize(columns, rows)
        self.columns, self.rows = columns, rows

    def _forget_history(self) -> None:
        # Behind a program's own screen there is the usual one, which has the history; whatever
        # shows its own screen draws it anew when its size changes.
        for mode in (b"1049", b"1047", b"47"):
            if self._terminal.mode(int(mode)):
                self.feed(b"\x1b[?%sl\x1b[3J\x1b[?%sh" % (mode, mode))
                return
        self.feed(b"\x1b[3J")

    @property
    def alternate(self) -> bool:
        """Whether a program shows its own screen, behind which there is the usual one."""
        return bool(self._terminal.get("active_screen", "GhosttyTerminalScreen"))

    @property
    def title(self) -> str:
        found = self._terminal.get("title", "GhosttyString")
        ffi = self._core.ffi
        return (
            str(ffi.buffer(found.ptr, found.len)[:].decode("utf-8", "replace")) if found.len else ""
        )

    def text(self) -> str:
        """What is to be read on it."""
        return str(self._terminal.text())

    def drawn(self, *, history: bool) -> bytes:
        """What draws it after a reset; without `history`, only what is to be seen now."""
        core = self._core
        ffi, lib = core.ffi, core.lib
        options = core.init_sized("GhosttyFormatterTerminalOptions")
        options.emit = lib.GHOSTTY_FORMATTER_FORMAT_VT
        options.trim = False
        for name in ("modes", "scrolling_region", "tabstops", "keyboard"):
            setattr(options.extra, name, True)
        for name in ("cursor", "style", "hyperlink", "protection", "charsets"):
            setattr(options.extra.screen, name, True)
        if not history:
            columns, rows = self._terminal.size
            seen = core.init_sized("GhosttySelection")
            seen.start = self._terminal.ref(0, 0)[0]
            seen.end = self._terminal.ref(columns - 1, rows - 1)[0]
            options.selection = seen
        formatter = ffi.new("GhosttyFormatter*")
        made = lib.ghostty_formatter_terminal_new(
            ffi.NULL, formatter, self._terminal._t[0], options[0]
        )
        core.check(made, "formatter")
        try:
            size = ffi.new("size_t*")
            lib.ghostty_formatter_format_buf(formatter[0], ffi.NULL, 0, size)
            room = ffi.new("uint8_t[]", max(size[0], 1))
            core.check(
                lib.ghostty_formatter_format_buf(formatter[0], room, len(room), size), "format"
            )
            return bytes(ffi.buffer(room, size[0])[:])
        finally:
            lib.ghostty_formatter_free(formatter[0])

    def close(self) -> None:
        if self._terminal is not None:
            self._terminal.close()
            self._terminal = None


class RecentOutput:
    """Where there is no such terminal: the newest output, which draws most of a screen."""

    exact = False
    alternate = False
    title = ""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self._kept = b""

    def feed(self, data: bytes) -> None:
        self._kept = (self._kept + data)[-_KEPT:]

    def resize(self, columns: int, rows: int, *, history: bool = True) -> None:
        if not history:
            self._kept = self.drawn(history=False)
        self.columns, self.rows = columns, rows

    def text(self) -> str:
        return self._kept.decode("utf-8", "replace")

    def drawn(self, *, history: bool) -> bytes:
        """What it can; without `history` only the lines that fit, so that nothing older is seen."""
        if history:
            return self._kept
        return b"\n".join(self._kept.split(b"\n")[-self.rows :])

    def close(self) -> None:
        self._kept = b""
