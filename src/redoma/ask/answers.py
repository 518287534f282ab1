"""Answers: how one is made to a question, and when one counts."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from hashlib import sha256

from redoma.ask import own_files as files
from redoma.base.identity import boot_id, uuid
from redoma.model.errors import AskUnavailable
from redoma.model.message import Message
from redoma.model.request import Answer, Choice, Remember
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.request import Question

# What silence may stand for. Nothing runs for good because nobody was there to say no.
SILENCE = frozenset({Choice.DENY, Choice.DRY_RUN})


def told(
    question: Question,
    choice: Choice,
    *,
    by: str,
    notes: str = "",
    remember: Remember = Remember.ONCE,
    modified_command: str = "",
) -> Answer:
    """An answer to exactly this question, given now."""
    return Answer(
        question=question.id,
        digest=question.digest,
        choice=choice,
        approved_by=by,
        at=now(),
        modified_command=modified_command,
        notes=notes,
        remember=remember,
    )


def account() -> str:
    """Who sits here, as the system knows them: a variable could say anything."""
    import os
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid {os.getuid()}"


def silence(question: Question, why: str) -> Answer:
    """What holds when nobody answers: the question's default, which is never a yes."""
    default = question.default_action
    return told(question, default if default in SILENCE else Choice.DENY, by="nobody", notes=why)


def checked(answer: object, question: Question) -> str:
    """What is wrong with an answer to this question; nothing where it counts."""
    if not isinstance(answer, Answer):
        return Message("an answer is needed, not {kind}", kind=type(answer).__name__)
    if answer.question != question.id:
        return Message(
            "this answers {answered}, and {asked} was asked",
            answered=answer.question,
            asked=question.id,
        )
    if answer.digest != question.digest:
        # Attack: an approval of one command is brought for another under the same name.
        return Message(
            "this answer is for another command than {question} asks about", question=question.id
        )
    said: tuple[object, object] = (answer.choice, answer.remember)
    if not isinstance(said[0], Choice) or not isinstance(said[1], Remember):
        return "the answer is none of those there are"
    if answer.choice is Choice.MODIFY and not answer.modified_command.strip():
        return "a modified command is needed"
    if answer.choice is not Choice.APPROVE and answer.remember is not Remember.ONCE:
        return "only an approval can be remembered"
    return ""


KEPT = 7 * 24 * 3600.0  # far longer than any question can be answered
_SWEPT_ONCE_IN = 64


class Spent:
    """The used approvals of one user."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    def spend(self, question: str) -> bool:
        """Uses up the approval of a question; True for the first who does, for ever False after."""
        directory = files.own_directory(self._directory)
        # Attack: an id is whatever an answer says; its digest is a file name and nothing else.
        name = sha256(question.encode("utf-8", "surrogatepass")).hexdigest()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            os.close(os.open(f"{directory}/{name}", flags, 0o600))
        except FileExistsError:
            return False
        except OSError as error:
            raise AskUnavailable(
                "cannot note in {directory} that an approval is used: {why}",
                directory=directory,
                why=error.strerror,
            ) from error
        if int(name[:8], 16) % _SWEPT_ONCE_IN == 0:
            _sweep(directory)
        return True


def _sweep(directory: str) -> None:
    now = time.time()
    for name in os.listdir(directory):
        with suppress(OSError):
            # A clock that was set back makes files of the future: those are kept.
            if now - os.lstat(f"{directory}/{name}").st_mtime > KEPT:
                os.unlink(f"{directory}/{name}")


class Until(Value):
    """A moment of one start of the machine."""

    boot: str
    seconds: float

    def left(self) -> float:
        """Seconds until then; 0 when it is over."""
        return max(0.0, self.seconds - uptime()) if self.boot == boot() else 0.0


def uptime() -> float:
    """Seconds since the machine was started, sleep included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def boot() -> str:
    """The name of this start of the machine."""
    if not _boots:
        # Without a name for it no moment of another process can be trusted to be of this start.
        _boots.append(boot_id() or uuid())
    return _boots[0]


def after(seconds: float) -> Until:
    """The moment so many seconds from now."""
    return Until(boot=boot(), seconds=uptime() + seconds)


def now() -> str:
    """The time of day as people write it: ISO 8601, UTC, to the millisecond."""
    nanoseconds = time.time_ns()
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{stamp}.{rest // 1_000_000:03}Z"


_boots: list[str] = []
