"""Questions that wait in a directory, so that another process or a page can answer them.

A question is `ID.question`; its answer is `ID.answer`, which only one can create: the first
answer wins, and an asker that stops waiting closes its question in the same way. Whoever takes
the answer away has it, and nobody has it twice.

A question holds its command as it would run, since an approval is for exactly that, and a command
may hold a secret. So it lies here no longer than it can be answered: what is over is removed, by
whoever was asked for it or by the next who looks, and of its answer only the name stays a while.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from enum import Enum

from redoma.ask import answers
from redoma.ask import own_files as files
from redoma.ask.answerers import AskedInThread
from redoma.ask.answers import checked, told
from redoma.base.identity import start_time
from redoma.model.decision import Risk
from redoma.model.errors import AskUnavailable, ConfirmationExpired, UsageError
from redoma.model.request import Answer, Choice, Context, Impact, Question, Remember
from redoma.model.value import Value, fields_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    V = TypeVar("V", bound=Value)
    from redoma.model.request import Answer, Question


def as_object(value: Value) -> dict[str, object]:
    """A question or an answer, ready for JSON."""
    return {name: _plain(field) for name, field in fields_of(value).items()}


def question_from(given: object) -> Question:
    """The question that `as_object` made this of; damage is an error."""
    return _read(Question, given, _QUESTION)


def answer_from(given: object) -> Answer:
    """The answer that `as_object` made this of; damage is an error."""
    return _read(Answer, given, _ANSWER)


def _plain(value: object) -> object:
    if isinstance(value, Value):
        return as_object(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def _read(kind: type[V], given: object, readers: dict[str, Callable[[Any], object]]) -> V:
    try:
        if not isinstance(given, dict):
            raise TypeError(f"no object but {type(given).__name__}")
        return kind(**{name: readers.get(name, _text)(value) for name, value in given.items()})
    except (TypeError, ValueError, KeyError) as error:
        raise AskUnavailable(
            "a kept {kind} is damaged: {error}", kind=kind.__name__.lower(), error=error
        ) from error


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r} is neither true nor false")
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} is no number")
    return value


def _items(value: object) -> list[object]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is no list")
    return value


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(_text, _items(value)))


def _span(value: object) -> tuple[int, int]:
    start, end = _items(value)
    return int(_number(start)), int(_number(end))


_IMPACT: dict[str, Callable[[Any], object]] = {
    "files_affected": _texts,
    "reversible": _truth,
    "network_access": _truth,
    "network_closed": _truth,
}
_CONTEXT: dict[str, Callable[[Any], object]] = {"previous_commands": _texts}
_QUESTION: dict[str, Callable[[Any], object]] = {
    "risk": lambda value: Risk(int(_number(value))),
    "because": _texts,
    "spans": lambda value: tuple(map(_span, _items(value))),
    "impact": lambda value: _read(Impact, value, _IMPACT),
    "context": lambda value: _read(Context, value, _CONTEXT),
    "argvs": lambda value: tuple(map(_texts, _items(value))),
    "joins": _texts,
    "input_unknown": _truth,
    "rules": _texts,
    "timeout_seconds": _number,
    "default_action": Choice,
}
_ANSWER: dict[str, Callable[[Any], object]] = {"choice": Choice, "remember": Remember}

FIRST_LOOK = 0.02
LONGEST_LOOK = 0.1
# A closed question is kept a little, so that who answers late is told what became of it.
KEPT_AFTER_THE_END = 600.0
_ID = re.compile(r"[0-9a-z][0-9a-z-]{3,63}")


class Waiting(Value):
    """A question that nobody has answered yet, how long it still waits, and who waits for it."""

    question: Question
    seconds_left: float
    asker: bool  # whether its asker meant to wait, as far as can be seen or not
    asker_waits: bool


class PendingQuestions(AskedInThread):
    """The questions of one user; each `ask` puts one here and waits."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    def ask(self, question: Question, stop: Callable[[], bool] = lambda: False) -> Answer | None:
        """Puts the question, waits for its answer, and leaves nothing behind."""
        self.put(question)
        return self.wait(question.id, question.timeout_seconds, stop)

    def put(self, question: Question, *, waits: bool = True) -> None:
        """Makes a question known; `waits` says whether this process stays for the answer."""
        self.sweep()
        content: dict[str, object] = {
            "question": as_object(question),
            "until": as_object(answers.after(question.timeout_seconds)),
            "asker": [os.getpid(), start_time(os.getpid())] if waits else [],
        }
        if not files.create(self._path(question.id, "question"), content):
            raise ConfirmationExpired(
                "the question {question} was put before", question=question.id
            )

    def list(self) -> tuple[Waiting, ...]:
        """Every question that can still be answered, oldest first."""
        found = []
        if not os.path.lexists(self._directory):
            return ()  # nobody was ever asked
        self.sweep()
        directory = files.own_directory(self._directory)
        for name in os.listdir(directory):
            id, dot, kind = name.rpartition(".")
            if not dot or kind != "question" or not _ID.fullmatch(id) or self.is_closed(id):
                continue
            with suppress(AskUnavailable):  # what cannot be trusted cannot be answered either
                waiting = self._look(id)
                if waiting is not None and waiting.seconds_left > 0:
                    found.append(waiting)
        return tuple(sorted(found, key=lambda one: (one.question.asked_at, one.question.id)))

    def find(self, start: str) -> Waiting:
        """The one open question whose id begins so; an error where there is none, or several."""
        met = [one for one in self.list() if one.question.id.startswith(start.lower())]
        if not start or len(met) > 1:
            raise UsageError(
                "{start} can be {count} questions",
                start=repr(start),
                count=len(met),
                hint="redoma pending",
            )
        if met:
            return met[0]
        if _ID.fullmatch(start) and self.is_closed(start):
            raise ConfirmationExpired(
                "the question {start} has its answer", start=start, hint="redoma pending"
            )
        raise ConfirmationExpired(
            "no question {start} is waiting: it is over, or never was",
            start=start,
            hint="redoma pending",
        )

    def answer(self, id: str, answer: Answer) -> Waiting:
        """Gives the answer, if it is the first and for exactly this question; else an error."""
        waiting = self._look(id)
        if waiting is None or waiting.seconds_left <= 0:
            raise ConfirmationExpired(
                "no question {start} is waiting: it is over, or never was",
                start=id,
                hint="redoma pending",
            )
        wrong = checked(answer, waiting.question)
        if wrong:
            raise ConfirmationExpired(wrong, hint="redoma pending")
        if not files.create(self._path(id, "answer"), as_object(answer)):
            raise ConfirmationExpired(
                "the question {id} has its answer: somebody was faster, or it is over",
                id=id,
                hint="redoma pending",
            )
        if not waiting.asker:
            self._forget(id)  # nobody was ever going to take it
        return waiting

    def wait(
        self, id: str, timeout: float, stop: Callable[[], bool] = lambda: False
    ) -> Answer | None:
        """The answer, or None when it does not come in time; either ends the question."""
        until = time.monotonic() + timeout
        pause = FIRST_LOOK
        try:
            while not self.is_closed(id):
                left = until - time.monotonic()
                if left <= 0 or stop():
                    break
                time.sleep(min(pause, left))
                pause = min(LONGEST_LOOK, pause * 1.5)
        finally:
            # Also when we are interrupted: nobody can approve what nobody waits for any more.
            answer = self.close(id)
        return answer

    def close(self, id: str) -> Answer | None:
        """Ends a question: its answer, if it had one; from here on nobody can answer it."""
        waiting = self._look(id)
        if waiting is None:
            return None
        question = waiting.question
        over = told(question, Choice.DENY, by="nobody", notes="no answer in time")
        mine = files.create(self._path(id, "answer"), as_object(over))
        given = None if mine else files.read(self._path(id, "answer"))
        # Attack: two askers of one question; the one who removes the question has the answer.
        if not self._forget(id) or given is None:
            return None
        answer = answer_from(given)
        return None if checked(answer, question) else answer

    def _look(self, id: str) -> Waiting | None:
        content = files.read(self._path(id, "question"))
        if content is None:
            return None
        question = question_from(content.get("question"))
        if question.id != id:
            raise AskUnavailable(
                "the question kept as {id} is {question}: it is not trusted",
                id=id,
                question=question.id,
            )
        return Waiting(
            question=question,
            seconds_left=_left(content),
            asker=bool(content.get("asker")),
            asker_waits=_lives(content),
        )

    def is_closed(self, id: str) -> bool:
        """Whether the question has its answer, or its asker has stopped waiting."""
        return os.path.lexists(self._path(id, "answer"))

    def _path(self, id: str, kind: str) -> str:
        # Attack: an id with a slash in it names a file that is none of ours.
        if not _ID.fullmatch(id):
            raise UsageError("{id} is no name of a question", id=repr(id), hint="redoma pending")
        return f"{files.own_directory(self._directory)}/{id}.{kind}"

    def _forget(self, id: str) -> bool:
        """Takes the question away, and what its answer says; True for the one who did."""
        mine = files.remove(self._path(id, "question"))
        if mine and self.is_closed(id):
            files.replace(self._path(id, "answer"), {})
        return mine

    def sweep(self) -> None:
        """Removes what is over: questions of askers that died, and answers to questions gone."""
        if not os.path.lexists(self._directory):
            return
        directory = files.own_directory(self._directory)
        names = set(os.listdir(directory))
        for name in names:
            id, _, kind = name.rpartition(".")
            path = f"{directory}/{name}"
            if kind == "question" and _ID.fullmatch(id):
                with suppress(AskUnavailable):  # left for a person to look at
                    content = files.read(path)
                    if content is not None and _left(content) <= 0 and not _lives(content):
                        self._forget(id)
            elif f"{id}.question" not in names and _age(path) > KEPT_AFTER_THE_END:
                files.remove(path)


def _left(content: dict[str, object]) -> float:
    until = content.get("until")
    if not isinstance(until, dict):
        return 0.0
    boot, seconds = until.get("boot"), until.get("seconds")
    if not isinstance(boot, str) or not isinstance(seconds, int | float):
        return 0.0
    return answers.Until(boot=boot, seconds=seconds).left()


def _lives(content: dict[str, object]) -> bool:
    """Whether the process that asked is still there, and is not another with its number."""
    asker = content.get("asker")
    return (
        isinstance(asker, list)
        and len(asker) == 2
        and isinstance(asker[0], int)
        and asker[1] != ""
        and start_time(asker[0]) == asker[1]
    )


def _age(path: str) -> float:
    try:
        return abs(time.time() - os.lstat(path).st_mtime)
    except OSError:
        return 0.0
