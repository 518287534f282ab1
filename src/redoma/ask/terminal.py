"""Asks the person at this terminal: a card, one key, and no when the time is over.

Works by keys, with a countdown, and on a dumb terminal by lines. Nobody is asked where standard
input is no terminal, and nothing that was typed before the card was read can answer it.
"""

from __future__ import annotations

import os
from _thread import allocate_lock

from redoma.ask import answers
from redoma.ask.answerers import AskedInThread
from redoma.ask.answers import account, silence, told
from redoma.ask.card import HELP, card, keys_for
from redoma.ask.hidden import safely
from redoma.ask.terminal_input import PROMPT, Gone, Line, opened
from redoma.i18n import phrased
from redoma.model.request import Choice, Remember

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from redoma.ask.card import CardKey
    from redoma.ask.terminal_input import Terminal
    from redoma.model.request import Answer, Question

# Keys pressed so soon were meant for what was on the screen before.
SETTLES = 0.4
LOOKS_EVERY = 0.1
TOLD_AT = (30, 10, 5)  # seconds left at which a dumb terminal is told
_NO = frozenset({b"\x03", b"\x04", b"\x1b"})
# Whole words are taken in every language that the card may be shown in; keys are the same in all.
_WORDS = {
    **{"approve": "a", "deny": "d", "dry_run": "p", "preview": "p"},
    **{"aprovar": "a", "negar": "d", "prévia": "p", "previa": "p"},
}
_MODIFY = ("m", "modify", "modificar")
_one_card = allocate_lock()


class TerminalAnswerer(AskedInThread):
    """Whoever sits at the terminal; by default the process's own."""

    def __init__(
        self,
        *,
        ends: tuple[int, int] | None = None,
        redact: Callable[[str], str] = lambda text: text,
        environ: Mapping[str, str] | None = None,
        name: str = "",
    ) -> None:
        """`ends` are descriptors to read keys from and to show the card on."""
        self._ends = ends
        self._redact = redact
        self._environ = os.environ if environ is None else environ
        self._name = name or account()

    def ask(self, question: Question, stop: Callable[[], bool] = lambda: False) -> Answer | None:
        """The person's answer; None where there is none to ask, or `stop` says it is settled."""
        until = answers.uptime() + question.timeout_seconds
        # Two cards on one screen would take each other's keys.
        if not _one_card.acquire(timeout=max(0.0, question.timeout_seconds)):
            return silence(question, "no answer in time")
        try:
            with opened(self._ends, self._environ) as terminal:
                if terminal is None:
                    return None
                return _TerminalQuestion(terminal, question, until, self._redact, self._name).run(
                    stop
                )
        finally:
            _one_card.release()


class _TerminalQuestion:
    """One card, from its first line to its answer."""

    def __init__(
        self,
        terminal: Terminal,
        question: Question,
        until: float,
        redact: Callable[[str], str],
        name: str,
    ) -> None:
        self._terminal = terminal
        self._question = question
        self._until = until
        self._redact = redact
        self._name = name
        self._keys = {key.key: key for key in keys_for(question)}
        self._look = terminal.look()

    def run(self, stop: Callable[[], bool]) -> Answer | None:
        try:
            if self._terminal.dumb:
                return self._by_lines(stop)
            with self._terminal.by_keys():
                return self._by_keys(stop)
        except Gone:
            return silence(self._question, "the terminal was closed, or no answer came in time")
        except KeyboardInterrupt:
            return told(self._question, Choice.DENY, by=self._name, notes="interrupted")

    def _left(self) -> float:
        return max(0.0, self._until - answers.uptime())

    def _write(self, text: str) -> None:
        self._terminal.write(text, self._until)

    def _show(self) -> None:
        self._look = self._terminal.look()
        self._write("\n".join(["", *card(self._question, self._look, self._redact), ""]))

    def _settle(self) -> None:
        """Lets the person see the card before any key counts."""
        self._terminal.forget_what_was_typed()
        self._show()
        settled = answers.uptime() + min(SETTLES, self._left() / 2)
        while answers.uptime() < settled:
            typed = self._terminal.read(settled - answers.uptime())
            if typed is not None and b"\x03" in typed:
                raise KeyboardInterrupt  # a no is heard at any time
        self._terminal.forget_what_was_typed()

    # By keys -------------------------------------------------------------------------------------

    def _by_keys(self, stop: Callable[[], bool]) -> Answer | None:
        self._settle()
        said = ""
        while self._left() > 0:
            if stop():
                self._end(phrased("settled elsewhere"))
                return None
            now = self._terminal.look()
            if now != self._look:
                self._write("\r\x1b[K")
                self._show()
                said = ""
            prompt = self._prompt()
            if prompt != said:
                self._write(f"\r{prompt[: max(1, now.columns - 1)]}\x1b[K")
                said = prompt
            typed = self._terminal.read(min(LOOKS_EVERY, self._left()))
            # Several bytes at once are an arrow key or something pasted, and no answer.
            if typed is None or (len(typed) != 1 and typed not in _NO):
                continue
            answer = self._pressed(typed, stop)
            if answer is not None:
                return answer
            said = ""
        return self._over()

    def _prompt(self) -> str:
        default = phrased(silence(self._question, "").choice.value.replace("_", " "))
        left = phrased(
            "{choice} in {seconds} s: ", choice=default, seconds=int(self._left() + 0.999)
        )
        return f"[{' '.join(self._keys)} ?] {left}"

    def _pressed(self, typed: bytes, stop: Callable[[], bool]) -> Answer | None:
        if typed in _NO:
            self._end(phrased("denied"))
            return told(self._question, Choice.DENY, by=self._name, notes="interrupted")
        letter = typed.decode("ascii", "replace")
        if letter == "?":
            self._help()
            return None
        key = self._keys.get(letter)
        if key is None:
            return None
        if key.choice is Choice.MODIFY:
            return self._modify(stop)
        self._end(_said(key))
        return self._told(key)

    def _end(self, words: str) -> None:
        self._write(f"\r{words}\x1b[K\n")

    def _modify(self, stop: Callable[[], bool]) -> Answer | None:
        whole = self._question.command
        hidden = safely(self._redact, whole) != whole
        if hidden:
            self._end(phrased("the command holds a secret, so it is not shown here: write it anew"))
        self._end(phrased("change the command; Enter takes it, Esc goes back"))
        line = Line("" if hidden else whole)
        while not line.done:
            if self._left() <= 0 or stop():
                break
            shown, cursor = line.shown(self._terminal.look().columns)
            self._write(f"\r{shown}\x1b[K\r\x1b[{cursor}C")
            typed = self._terminal.read(min(1.0, self._left()))
            if typed is not None:
                line.typed(typed)
        self._write("\n")
        if not line.done or line.cancelled:
            return None
        return self._changed(line.text)

    # By lines ------------------------------------------------------------------------------------

    def _by_lines(self, stop: Callable[[], bool]) -> Answer | None:
        self._settle()
        self._ask_for_a_line()
        told_at = [seconds for seconds in TOLD_AT if seconds < self._left()]
        writing = False
        while self._left() > 0:
            if stop():
                self._write(phrased("\nsettled elsewhere\n"))
                return None
            if told_at and self._left() <= told_at[0]:
                self._write(phrased("\n{seconds} s left: ", seconds=told_at.pop(0)))
            typed = self._terminal.read(min(LOOKS_EVERY, self._left()))
            if typed is None:
                continue
            line = typed.decode("utf-8", "replace").rstrip("\r\n")
            answer = self._changed(line) if writing else self._line(line.strip())
            if answer is not None:
                return answer
            writing = not writing and line.strip() in _MODIFY
            if writing:
                self._write(phrased("write the command, or an empty line\n") + PROMPT)
            else:
                self._ask_for_a_line()
        return self._over()

    def _ask_for_a_line(self) -> None:
        self._write(f"{self._prompt()}")

    def _line(self, said: str) -> Answer | None:
        if said == "?":
            self._help()
        key = self._keys.get(_WORDS.get(said.lower(), said))
        if key is None or key.choice is Choice.MODIFY:
            return None
        self._write(f"{_said(key)}\n")
        return self._told(key)

    # Both ----------------------------------------------------------------------------------------

    def _help(self) -> None:
        self._write("\n" + "\n".join(map(phrased, HELP)) + "\n")

    def _told(self, key: CardKey) -> Answer:
        return told(self._question, key.choice, by=self._name, remember=key.remember)

    def _changed(self, text: str) -> Answer | None:
        """The answer that runs another command instead; none where it is the same or nothing."""
        if not text.strip() or text == self._question.command:
            self._write(phrased("nothing was changed\n"))
            return None
        self._write(phrased("changed: judged anew\n"))
        return told(self._question, Choice.MODIFY, by=self._name, modified_command=text)

    def _over(self) -> Answer:
        answer = silence(self._question, "no answer in time")
        # The time is up; the screen is still told so, if it takes it.
        self._until = answers.uptime() + 1.0
        start = "\n" if self._terminal.dumb else "\r\x1b[K"
        choice = phrased(answer.choice.value.replace("_", " "))
        self._write(start + phrased("no answer: {choice}\n", choice=choice))
        return answer


def _said(key: CardKey) -> str:
    lasting = {
        Remember.ONCE: "approved",
        Remember.SESSION: "approved for this session",
        Remember.EXACT: "approved, always for exactly this",
        Remember.PREFIX: "approved, always for commands that begin so",
    }
    if key.choice is Choice.APPROVE:
        return phrased(lasting[key.remember])
    return phrased("denied" if key.choice is Choice.DENY else "preview first")
