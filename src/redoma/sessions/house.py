"""All sessions of one server, the codes that lead to them, and who is logged in."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress

from redoma.base import own_directories
from redoma.base.identity import short_id
from redoma.model.errors import RedomaError
from redoma.model.value import Value
from redoma.sessions.codes import InviteCode, InviteCodes
from redoma.sessions.errors import NoSuchSession, SessionError
from redoma.sessions.people import Guest
from redoma.sessions.session import Session, SessionState
from redoma.sessions.tickets import Bearer, Bearers, SingleUse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from redoma.sessions.jail_terminal import TerminalPlan

LOGIN_LIFETIME = 10 * 60.0
MOST_RUNNING, MOST_ENDED = 100, 50
_LAST_WORDS = 50


class Joined(Value):
    """What a guest gets for a good code."""

    bearer: str
    session: str
    guest: Guest


class Sessions:
    """Every session that runs, and the newest that are over."""

    def __init__(self, *, grace: float = 120.0) -> None:
        self.codes = InviteCodes()
        self.bearers = Bearers()
        self.logins: SingleUse[Bearer] = SingleUse(LOGIN_LIFETIME)
        self.tickets: SingleUse[Bearer] = SingleUse()
        self._grace = grace
        self._sessions: dict[str, Session] = {}

    def __iter__(self) -> Iterator[Session]:
        return iter(self._sessions.values())

    def start(
        self,
        plan: TerminalPlan,
        *,
        record: bool = False,
        record_input: bool = False,
        title: str = "",
    ) -> Session:
        """Opens a terminal; errors are those of any sandbox that cannot be had.

        `record_input` says that its recording has what is typed, and begins it.
        """
        running = [each for each in self if each.state is not SessionState.ENDED]
        if len(running) >= MOST_RUNNING:
            raise SessionError("{number} sessions run already", number=len(running))
        session = Session(
            short_id(),
            plan,
            recordings=_recordings(),
            grace=self._grace,
            title=title,
            record_input=record_input,
        )
        session.on_end = self._ended
        if record or record_input:
            session.record(on=True)
        session.start()
        self._sessions[session.id] = session
        return session

    async def begun(self, session: Session) -> None:
        """Waits for its shell; one that could not be started is no session, and why is raised."""
        try:
            await session.begun()
        except RedomaError:
            self._sessions.pop(session.id, None)
            with suppress(OSError):
                os.unlink(session.recording.path)
            raise

    def get(self, id: str) -> Session:
        try:
            return self._sessions[id]
        except KeyError:
            raise NoSuchSession(
                "there is no session {id}", id=repr(id), hint="redoma session list"
            ) from None

    def running(self, id: str) -> Session:
        session = self.get(id)
        if session.state is SessionState.ENDED:
            raise SessionError("the session {id} has ended", id=id)
        return session

    def code(self, id: str) -> InviteCode:
        """A new code for a session, in the place of the one before."""
        session = self.running(id)
        session.shared = True
        return self.codes.give(session.id)

    def join(self, code: str, name: str, origin: str) -> Joined:
        """Somebody came with a code: they wait from here on. CodeRefused, TooManyAttempts."""
        session = self.running(self.codes.redeem(code, origin))
        guest = session.guests.came(name, origin)
        bearer = self.bearers.issue(Bearer(session=session.id, guest=guest.id))
        return Joined(bearer=bearer, session=session.id, guest=guest)

    async def close(self) -> None:
        """Ends every session and waits for it."""
        running = [each for each in self if each.state is not SessionState.ENDED]
        for session in running:
            session.end("the server")
        for session in running:
            await session.wait()
        for _ in range(_LAST_WORDS):
            if any(session.viewers for session in running):
                await asyncio.sleep(0.02)

    def _ended(self, session: Session) -> None:
        self.codes.withdraw(session.id)
        self.bearers.forget(session.id)
        over = [each for each in self if each.state is SessionState.ENDED]
        for old in over[: max(0, len(over) - MOST_ENDED)]:
            del self._sessions[old.id]


def _recordings() -> str:
    place = os.path.join(own_directories.made_state(), "recordings")
    os.makedirs(place, mode=0o700, exist_ok=True)
    return place
