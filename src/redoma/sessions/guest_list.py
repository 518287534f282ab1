"""The guests of a session: the waiting room in front of every connection, and their permissions."""

from __future__ import annotations

import time
from contextlib import suppress

from redoma.base.identity import short_id
from redoma.model.errors import RedomaError
from redoma.model.value import replace
from redoma.sessions.codes import neighbourhood
from redoma.sessions.errors import NoSuchSession, NotAdmitted
from redoma.sessions.people import Guest, GuestState, PermissionLevel, plain_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from redoma.sessions.session import Session
    from redoma.sessions.viewer import Viewer

_OVER = (GuestState.REFUSED, GuestState.BLOCKED)
MOST_GUESTS = 200


class GuestList:
    """Everyone who came, and the connection of each who is here."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._guests: dict[str, Guest] = {}
        self._viewers: dict[str, Viewer] = {}
        self._blocked: set[str] = set()

    def __iter__(self) -> Iterator[Guest]:
        return iter(self._guests.values())

    def get(self, id: str) -> Guest:
        try:
            return self._guests[id]
        except KeyError:
            raise NoSuchSession("there is no guest {id}", id=repr(id)) from None

    def name_of(self, id: str) -> str:
        guest = self._guests.get(id)
        return guest.name if guest is not None else id

    def came(self, name: str, origin: str) -> Guest:
        """Somebody with a good code asks to be let in; NotAdmitted for whom the host blocked."""
        if neighbourhood(origin) in self._blocked:
            raise NotAdmitted("the host has blocked this address")
        if len(self._guests) >= MOST_GUESTS:
            self._forget_one()
        shown = plain_name(name) or "guest"
        taken = {guest.name for guest in self if guest.state not in _OVER} | {"host"}
        # Attack: a second guest by the name of one who is trusted.
        number, unique = 2, shown
        while unique in taken:
            number, unique = number + 1, f"{shown} ({number})"
        guest = Guest(id=short_id(), name=unique, origin=origin, since=time.time())
        self._guests[guest.id] = guest
        self.tell()
        return guest

    def connected(self, id: str, viewer: Viewer) -> None:
        """A connection of a guest: it waits, whatever the one before it was allowed."""
        guest = self.get(id)
        if guest.state in _OVER:
            raise NotAdmitted("the host does not let this guest in")
        before = self._viewers.get(id)
        if before is not None:
            self._session.detach(before)
            before.end("replaced")
        self._viewers[id] = viewer
        self._put(
            guest, state=GuestState.WAITING, permission=PermissionLevel.NONE, transport="websocket"
        )
        viewer.tell({"type": "waiting", "name": guest.name})
        self.tell()

    def disconnected(self, id: str, viewer: Viewer) -> None:
        if self._viewers.get(id) is not viewer:
            return
        del self._viewers[id]
        self._session.gate.revoke(id)
        guest = self.get(id)
        if guest.state in _OVER:
            return
        was = guest.state
        self._put(guest, state=GuestState.LEFT, permission=PermissionLevel.NONE)
        if was is GuestState.ADMITTED:
            with suppress(RedomaError):
                self._session.trail.left(guest)
            self._session.recording.mark(f"{guest.name} left")
        self.tell()

    def admit(self, id: str) -> Guest:
        """Lets a guest who waits see the terminal, and no more than that."""
        guest, viewer = self.get(id), self._viewers.get(id)
        if guest.state is not GuestState.WAITING or viewer is None:
            raise NotAdmitted("{name} is not waiting", name=guest.name)
        self._session.trail.joined(guest)
        guest = self._put(guest, state=GuestState.ADMITTED, permission=PermissionLevel.READ_ONLY)
        viewer.permission = PermissionLevel.READ_ONLY
        viewer.tell(self._session.welcome(viewer))
        viewer.watch()
        self._session.recording.mark(f"{guest.name} joined")
        self.tell()
        return guest

    def refuse(self, id: str) -> Guest:
        """Sends a guest away; with a new code they may ask again."""
        return self._send_away(self.get(id), GuestState.REFUSED)

    def block(self, id: str) -> Guest:
        """Sends a guest away, and whoever comes from the same address."""
        guest = self.get(id)
        self._blocked.add(neighbourhood(guest.origin))
        return self._send_away(guest, GuestState.BLOCKED)

    def set_permission(self, id: str, level: PermissionLevel, by: str) -> Guest:
        """Gives or takes what a guest may do; when this returns, it holds."""
        guest, viewer = self.get(id), self._viewers.get(id)
        if guest.state is not GuestState.ADMITTED or viewer is None:
            raise NotAdmitted("{name} was not admitted", name=guest.name)
        if level is not PermissionLevel.READ_WRITE:
            self._session.gate.revoke(id)  # first of all; what is written about it comes after
        self._session.trail.permission(guest, level, by)
        if level is PermissionLevel.READ_WRITE:
            self._session.gate.allow(id)
        before = guest.permission
        guest = self._put(guest, permission=level)
        viewer.permission = level
        viewer.tell({"type": "permission", "permission": level.value, "by": by})
        if level is PermissionLevel.NONE:
            viewer.unwatch()
        elif before is PermissionLevel.NONE:
            viewer.watch()
        self._session.recording.mark(f"{guest.name}: {before.value} → {level.value}")
        self.tell()
        return guest

    def revoke_all(self, by: str) -> None:
        """Takes write access from everybody who has it."""
        for guest in list(self):
            if guest.permission is PermissionLevel.READ_WRITE:
                self._session.gate.revoke(guest.id)
                with suppress(RedomaError):
                    self.set_permission(guest.id, PermissionLevel.READ_ONLY, by)

    def carried_by(self, id: str, viewer: Viewer, transport: str) -> None:
        """A guest's frames now go another way."""
        if self._viewers.get(id) is viewer:
            self._put(self._guests[id], transport=transport)
            self.tell()

    def message_for(self, viewer: Viewer) -> dict[str, object]:
        """Who is here, as the host or a guest may know it."""
        if viewer.is_host:
            return {"type": "people", "guests": [guest.seen_by_host() for guest in self]}
        seen = [g.seen_by_guests() for g in self if g.state is GuestState.ADMITTED]
        return {"type": "people", "guests": seen, "you": viewer.guest}

    def tell(self) -> None:
        """Tells everybody who may know who is here."""
        for viewer in self._session.viewers:
            if viewer.is_host or viewer.watching:
                viewer.tell(self.message_for(viewer))

    def _send_away(self, guest: Guest, state: GuestState) -> Guest:
        was_in = guest.state is GuestState.ADMITTED
        self._session.gate.revoke(guest.id)
        guest = self._put(guest, state=state, permission=PermissionLevel.NONE)
        viewer = self._viewers.pop(guest.id, None)
        if viewer is not None:
            viewer.unwatch()
            viewer.tell({"type": state.value})
            viewer.end(state.value)
        if was_in:
            with suppress(RedomaError):
                self._session.trail.left(guest)
            self._session.recording.mark(f"{guest.name} left")
        self.tell()
        return guest

    def _put(self, guest: Guest, **fields: object) -> Guest:
        if fields.get("state", guest.state) is not guest.state:
            fields["since"] = time.time()
        changed = replace(guest, **fields)
        self._guests[guest.id] = changed
        return changed

    def _forget_one(self) -> None:
        for id in self._guests:
            if id not in self._viewers:
                del self._guests[id]
                return
        raise NotAdmitted("there are too many guests")
