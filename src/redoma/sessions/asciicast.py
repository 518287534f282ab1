"""A session's recording: asciicast v3, written as it happens, without secrets.

Attack on ourselves: a secret that comes in several pieces is found in none of them. So a line waits
until it is whole; one with a secret is written as plain text in one piece, others as they came.
"""

from __future__ import annotations

import codecs
import json
import os
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LONGEST_LINE = 64 << 10
_SEQUENCE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])|[\x00-\x08\x0b-\x1f]"
)


class Recording:
    """An asciicast that grows in a file which only its user can read."""

    def __init__(
        self,
        path: str,
        *,
        columns: int,
        rows: int,
        began: float,
        title: str,
        redact: Callable[[str], str],
        with_input: bool = False,
    ) -> None:
        """`began` is in seconds since 1970; `with_input` also keeps what is typed."""
        self.path = path
        self.with_input = with_input
        self._redact = redact
        descriptor = os.open(
            path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
        self._file = open(descriptor, "w", encoding="utf-8", newline="")  # noqa: SIM115 — it stays
        self._last = 0.0
        self._readers = {
            code: codecs.getincrementaldecoder("utf-8")("replace") for code in ("o", "i")
        }
        self._pieces: dict[str, list[tuple[float, str]]] = {"o": [], "i": []}
        self._sizes = {"o": 0, "i": 0}
        header = {
            "version": 3,
            "term": {"cols": columns, "rows": rows, "type": "xterm-256color"},
            "timestamp": int(began),
            "title": redact(title),
        }
        self._file.write(json.dumps(header) + "\n")

    def output(self, at: float, data: bytes) -> None:
        """What was shown, so many seconds after the beginning."""
        self._take("o", at, data)

    def input(self, at: float, data: bytes) -> None:
        """What was typed; kept only where that was chosen."""
        if self.with_input:
            self._take("i", at, data)

    def marker(self, at: float, label: str) -> None:
        """Something to find again."""
        self._flush("o")
        self._event(at, "m", self._redact(label))

    def resized(self, at: float, columns: int, rows: int) -> None:
        self._flush("o")
        self._event(at, "r", f"{columns}x{rows}")

    def settle(self) -> None:
        """Writes what there is, also the line that is not whole."""
        if self._file.closed:
            return
        for code in self._pieces:
            self._flush(code)
        self._file.flush()

    def close(self, at: float, status: int | None) -> None:
        if self._file.closed:
            return
        self.settle()
        if status is not None:
            self._event(at, "x", str(status))
        self._file.close()

    def _take(self, code: str, at: float, data: bytes) -> None:
        text = self._readers[code].decode(data)
        if not text:
            return
        end = "\n" if code == "o" else "\r"
        head, newline, rest = text.rpartition(end)
        if newline:
            self._pieces[code].append((at, head + newline))
            self._flush(code)
        if rest:
            self._pieces[code].append((at, rest))
            self._sizes[code] += len(rest)
            if self._sizes[code] > _LONGEST_LINE:
                self._flush(code)

    def _flush(self, code: str) -> None:
        pieces, self._pieces[code] = self._pieces[code], []
        self._sizes[code] = 0
        if not pieces:
            return
        whole = "".join(text for _, text in pieces)
        plain = _SEQUENCE.sub("", _corrected(whole) if code == "i" else whole)
        if self._redact(whole) == whole and self._redact(plain) == plain:
            for at, text in pieces:
                self._event(at, code, text)
            return
        cleaned = self._redact(plain).replace("\n", "\r\n")
        if code == "i" and whole.endswith("\r"):
            cleaned += "\r"
        self._event(pieces[0][0], code, cleaned)

    def _event(self, at: float, code: str, text: str) -> None:
        if self._file.closed:
            return
        now = max(at, self._last)
        row = [round(now - self._last, 6), code, text]
        self._last = round(self._last + row[0], 6) if isinstance(row[0], float) else now
        self._file.write(json.dumps(row, ensure_ascii=False) + "\n")


def _corrected(typed: str) -> str:
    """What is left of typed text: whoever rubs something out in a secret still types it."""
    left: list[str] = []
    for character in typed:
        if character in "\b\x7f":
            del left[-1:]
        else:
            left.append(character)
    return "".join(left)


def as_v2(lines: Iterator[str]) -> Iterator[str]:
    """The same recording in the older form, which older players read."""
    header = json.loads(next(lines))
    old = {
        "version": 2,
        "width": header["term"]["cols"],
        "height": header["term"]["rows"],
        "timestamp": header["timestamp"],
        "title": header["title"],
        "env": {"TERM": header["term"]["type"]},
    }
    yield json.dumps(old) + "\n"
    now = 0.0
    for line in lines:
        interval, code, text = json.loads(line)
        now += interval
        if code != "x":
            yield json.dumps([round(now, 6), code, text], ensure_ascii=False) + "\n"
