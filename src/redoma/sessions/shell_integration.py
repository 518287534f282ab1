"""What the shell itself says it runs: keystrokes cannot tell, with history, completion and editing.

The shell is told, as if typed, to print each command line in a sequence that carries a secret.
Attack: a program prints such a sequence to have a guest blamed; it does not know the secret.
Whoever types into the shell can read its variables: a guest with write access can mislead this.
"""

from __future__ import annotations

import re
import secrets

_PREFIX = b"633;"
_ESCAPED = re.compile(r"\\(\\|x[0-9a-f]{2})")
_LONGEST = 16 << 10
_MOST_HELD = 64 << 10
UNKNOWN = "(a command that the shell did not keep)"
# One line, below what a terminal takes at once. Nothing in it starts a program.
_OPENING = (
    " HISTCONTROL= HISTIGNORE=; __redoma_ran() {{ local c n q=';';"
    " c=$(HISTTIMEFORMAT= builtin history 1);"
    " [[ $c =~ ^\\ *([0-9]+).\\ (.*)$ ]] && n=${{BASH_REMATCH[1]}} c=${{BASH_REMATCH[2]}};"
    " c=${{c:0:16000}}; c=${{c//\\\\/\\\\\\\\}}; c=${{c//$q/\\\\x3b}}; c=${{c//$'\\n'/\\\\x0a}};"
    ' c=${{c//[[:cntrl:]]/ }}; builtin printf \'\\e]633;E;%s;%s;%s\\a\' "$c" {nonce} "$n"; }};'
    " PS0='$(__redoma_ran)'; readonly PS0 HISTCONTROL HISTIGNORE; readonly -f __redoma_ran;"
    " history -c; printf '\\e]633;redoma;%s\\a' {nonce}\r"
)


class ShellIntegration:
    """One shell's secret, and what is read from its output."""

    def __init__(self) -> None:
        self._nonce = secrets.token_hex(16)
        self._last = ""
        self._held = b""
        # Whether the shell has read its opening, and all that it prints is for everybody.
        self.is_open = False

    @property
    def opening(self) -> bytes:
        """What is typed into the shell before anybody else types."""
        return _OPENING.format(nonce=self._nonce).encode()

    def opened(self, data: bytes) -> bytes:
        """What of some output is to be shown: that of the opening is not, it holds the secret."""
        if self.is_open:
            return data
        self._held += data
        _, mark, after = self._held.partition(f"\x1b]633;redoma;{self._nonce}\a".encode())
        if mark:
            self.is_open, self._held = True, b""
            return after
        return self.given_up() if len(self._held) > _MOST_HELD else b""

    def given_up(self) -> bytes:
        """What a shell printed that does not answer to its opening, without the secret."""
        held, self._held = self._held, b""
        self.is_open = True
        return held.replace(self._nonce.encode(), b"*" * len(self._nonce))

    def read(self, taken: tuple[bytes, ...]) -> tuple[str, ...]:
        """The command lines that the shell says it runs, among texts taken out of its output."""
        found = []
        for text in taken:
            if not text.startswith(_PREFIX + b"E;") or len(text) > 4 * _LONGEST:
                continue
            parts = text[len(_PREFIX) + 2 :].decode("utf-8", "replace").split(";")
            if len(parts) != 3 or not secrets.compare_digest(
                parts[1].encode(), self._nonce.encode()
            ):
                continue
            told, self._last = parts[2] != self._last, parts[2]
            found.append(_ESCAPED.sub(_unescaped, parts[0]) if told else UNKNOWN)
        return tuple(found)


def _unescaped(found: re.Match[str]) -> str:
    return "\\" if found[1] == "\\" else chr(int(found[1][1:], 16))
