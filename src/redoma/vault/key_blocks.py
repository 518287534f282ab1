"""Private keys over many lines: from the line that opens one to the line that closes it.

The frame is no secret and stays, so that a reader sees what was there; the lines between it become
one mark. What opens a key is believed only when something like a key follows.
"""

from __future__ import annotations

import re

from redoma.vault.spans import Span

KIND = "private-key"
_OPENER = re.compile(
    rb"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    rb"|---- BEGIN SSH2 [A-Z ]{0,20}PRIVATE KEY ----"
    rb"|Private-Lines: [0-9]{1,4}"
)
_CLOSER = re.compile(rb"----[- ]END [A-Z0-9 ]{0,40}PRIVATE KEY")
_HEADER = re.compile(rb"[ \t>|+\"']{0,16}[A-Z][A-Za-z-]{2,30}: [^\r\n]*+")
_RUN = re.compile(rb"[A-Za-z0-9+/=]{16,}+")
_BASE64 = re.compile(rb"[A-Za-z0-9+/=]*+")
_DECORATION = b" \t\r\n\"'`,;+>|()\\"


def opening(block: bytes, at: int = 0) -> int:
    """Where the next frame of a private key opens, or -1."""
    match = _OPENER.search(block, at)
    return match.start() if match else -1


def is_frame(line: bytes) -> bool:
    """Whether a line opens a key and holds nothing else."""
    return _OPENER.fullmatch(line.strip()) is not None


def closing(line: bytes) -> int:
    """Where a frame closes, or -1."""
    match = _CLOSER.search(line)
    return match.start() if match else -1


def keys_within(line: bytes) -> tuple[list[Span], KeyLines | None]:
    """The keys that stand in one line, their line ends escaped, and one that goes on after it."""
    found: list[Span] = []
    ending = len(line.rstrip(b"\r\n"))
    at = 0
    while opener := _OPENER.search(line, at):
        start = opener.end()
        closer = _CLOSER.search(line, start)
        end = closer.start() if closer else ending
        at = closer.end() if closer else len(line)
        if _RUN.search(line, start, end):
            found.append(Span(start, end, start, end, KIND))
            if not closer:
                return found, KeyLines(begun=True)
        elif not closer:
            rest = line[start:end].strip(_DECORATION)
            return found, None if rest.strip(b"n") else KeyLines()
    return found, None


class KeyLines:
    """Reads the lines after one that opens a key, and says of each whether it is the key's."""

    __slots__ = ("_prefixed", "begun")

    def __init__(self, *, begun: bool = False) -> None:
        self.begun = begun
        self._prefixed = False

    def starts(self, line: bytes) -> int:
        """Where the key starts in a line; -1 where it does not yet, -2 where there is no key."""
        run = _RUN.search(line)
        if run:
            # Lines of logs, of diffs and with numbers have something before the key.
            if line[run.end() :].strip(_DECORATION).strip(b"n"):
                return -2
            self.begun = True
            self._prefixed = bool(line[: run.start()].strip(_DECORATION))
            return run.start()
        return -1 if not line.strip(_DECORATION) or _HEADER.match(line) else -2

    def goes_on(self, line: bytes) -> bool:
        """Whether a line after the first still belongs to the key."""
        core = line.strip(_DECORATION)
        if _BASE64.fullmatch(core):
            return True
        if not self._prefixed:
            return False
        return _BASE64.fullmatch(core.split()[-1]) is not None
