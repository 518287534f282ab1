"""A session: one terminal in the jail, its host, and the guests whom the host lets in.

Everything here runs in one event loop; the terminal's own threads only hand over bytes.
"""

from __future__ import annotations

import asyncio
import os
import time
from _thread import allocate_lock
from contextlib import suppress
from enum import Enum

from redoma.base.output_filter import OutputFilter
from redoma.model.errors import RedomaError
from redoma.model.value import replace
from redoma.sessions import frames
from redoma.sessions.container_loss import changes_of, failure, line, loss, notes
from redoma.sessions.guest_list import GuestList
from redoma.sessions.input_gate import HOST, TERMINAL, InputGate
from redoma.sessions.jail_terminal import JailTerminal, TerminalPlan
from redoma.sessions.people import PermissionLevel
from redoma.sessions.screen import screen
from redoma.sessions.session_recorder import SessionRecorder
from redoma.sessions.shell_integration import ShellIntegration
from redoma.sessions.timers import Timers
from redoma.sessions.trail import SessionTrail
from redoma.sessions.viewer import Viewer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.model.result import Result
    from redoma.sessions.frames import Received

_MOST_HANDED = 256 << 10
_OPENING_SECONDS = 8.0
_RESIZE_SECONDS = 0.04
_BEGINS_WITHIN = 30.0


class SessionState(Enum):
    """What a session is doing."""

    RUNNING = "running"
    FROZEN = "frozen"
    ENDED = "ended"

    __hash__ = object.__hash__


class Session:
    """One shared terminal."""

    def __init__(
        self,
        id: str,
        plan: TerminalPlan,
        *,
        recordings: str,
        grace: float,
        title: str = "",
        record_input: bool = False,
    ) -> None:
        """`recordings` is the directory for them; `grace` how long it goes on without its host."""
        self.id = id
        self.engine = plan.engine
        self.state = SessionState.RUNNING
        self.started = time.time()
        self.ended = 0.0
        self.exit_code: int | None = None
        self.notes: tuple[str, ...] = ()
        self.changes = ""
        self.shared = False
        self.columns, self.rows = frames.bounded(plan.columns, plan.rows)
        self.gate = InputGate()
        self._plan = plan
        self._restarted: tuple[str, ...] = ()
        self._terminal = JailTerminal(plan, id, self.gate)
        self.workspace = self._terminal.workspace
        self.title = title or os.path.basename(self.workspace) or self.workspace
        self.viewers: set[Viewer] = set()
        self.trail = SessionTrail(self._terminal.audit_log(), id)
        self.guests = GuestList(self)
        self.recording = SessionRecorder(self, recordings, with_input=record_input)
        self.on_end: Callable[[Session], None] = lambda _: None
        self._grace = grace
        self._loop = asyncio.get_running_loop()
        self._began = time.monotonic()
        self._screen = screen(self.columns, self.rows, self._typed_by_terminal)
        self._filter = OutputFilter()
        self._shell = ShellIntegration() if self._terminal.bash else None
        self._shown = 0
        self._lock = allocate_lock()
        self._handed = bytearray()
        self._handing = False
        self._room = asyncio.Event()
        self._wanted = (self.columns, self.rows)
        self._ended_by = ""
        self._over = asyncio.Event()
        self._timers = Timers(self._loop)
        self._begun = asyncio.Event()
        self._failed: Exception | None = None

    def start(self) -> None:
        """Opens the terminal."""
        self.trail.started(engine=self.engine or "by policy", workspace=self.workspace)
        if self._shell is not None:
            self.gate.type(TERMINAL, self._shell.opening)
            self._timers.later("opening", _OPENING_SECONDS, self._open_anyway)
        if self.recording.with_input:
            self.gate.written = lambda data: self._call(lambda: self.recording.typed(data))
        self._terminal.start(self._hand_over, self._over_in_thread)

    @property
    def at(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self._began

    @property
    def exact(self) -> bool:
        """Whether late joiners see the exact screen."""
        return self._screen.exact

    def text(self) -> str:
        """What is to be read on the screen."""
        return self._screen.text()

    # Who watches

    def attach(self, guest: str) -> Viewer:
        """A new connection: the host sees at once, a guest waits to be admitted (again)."""
        viewer = Viewer(guest, self._draw)
        if guest:
            self.guests.connected(guest, viewer)
        self.viewers.add(viewer)
        if not guest:
            viewer.permission = PermissionLevel.READ_WRITE
            viewer.tell(self.welcome(viewer))
            viewer.tell(self.guests.message_for(viewer))
            viewer.watch()
            self._host_came()
        return viewer

    def detach(self, viewer: Viewer) -> None:
        """A connection is gone, however it went."""
        if viewer not in self.viewers:
            return
        self.viewers.discard(viewer)
        viewer.unwatch()
        if viewer.guest:
            self.guests.disconnected(viewer.guest, viewer)
        elif not any(each.is_host for each in self.viewers):
            self._host_went()

    def welcome(self, viewer: Viewer) -> dict[str, object]:
        role = "host" if viewer.is_host else "guest"
        about: dict[str, object] = {
            "id": self.id,
            "title": self.title,
            "cols": self.columns,
            "rows": self.rows,
            "state": self.state.value,
            "recording": self.recording.on,
            "typing_recorded": self.recording.with_input,
            "exact": self.exact,
        }
        if self.state is SessionState.FROZEN and "grace" in self._timers:
            about["seconds"] = self._timers.left("grace")
        permission = viewer.permission.value
        return {"type": "admitted", "permission": permission, "role": role, "session": about}

    def tell_all(self, message: dict[str, object]) -> None:
        """To everybody who sees the terminal."""
        for viewer in self.viewers:
            if viewer.watching:
                viewer.tell(message)

    def take(self, viewer: Viewer, frame: Received) -> None:
        """What someone sent."""
        if frame.kind is frames.FrameKind.INPUT:
            if viewer.watching:
                self.gate.type(viewer.guest or HOST, frame.data)
        elif frame.kind is frames.FrameKind.ACK:
            viewer.saw(frame.number)
        elif frame.kind is frames.FrameKind.PING:
            viewer.answer(frames.pong(frame.number))
        elif frame.kind is frames.FrameKind.RESIZE and viewer.is_host:
            self.resize(frame.columns, frame.rows)

    # The size, as the host has it

    def resize(self, columns: int, rows: int) -> None:
        """Soon; of many wishes in a row only the last is carried out."""
        self._wanted = frames.bounded(columns, rows)
        if "resize" not in self._timers:
            self._timers.later("resize", _RESIZE_SECONDS, self._resize_now)

    def _resize_now(self) -> None:
        if self._wanted == (self.columns, self.rows) or self.state is SessionState.ENDED:
            return
        self.columns, self.rows = self._wanted
        self._screen.resize(self.columns, self.rows, history=not self.shared)
        self._terminal.resize(self.columns, self.rows)
        frame = frames.resized(self.columns, self.rows)
        for viewer in self.viewers:
            viewer.show(frame)
        self.recording.resized()

    # Its host

    def _host_came(self) -> None:
        self._timers.cancel("grace")
        if self.state is SessionState.FROZEN:
            self.state = SessionState.RUNNING
            self.gate.thaw()
            self.tell_all({"type": "thawed"})

    def _host_went(self) -> None:
        """Nobody answers for the guests now: they only look on, and for a while."""
        if self.state is not SessionState.RUNNING:
            return
        self.gate.freeze()
        self.state = SessionState.FROZEN
        self.tell_all({"type": "frozen", "seconds": self._grace})
        self._timers.later("grace", self._grace, lambda: self.end("host gone"))

    # Its output

    def _hand_over(self, data: bytes) -> None:
        """In the thread that reads the terminal: waits where the loop has not taken enough."""
        while True:
            with self._lock:
                if len(self._handed) < _MOST_HANDED:
                    self._handed += data
                    if not self._handing:
                        self._handing = True
                        self._call(self._take_over)
                    return
            time.sleep(0.002)

    def _take_over(self) -> None:
        with self._lock:
            data = bytes(self._handed[: frames.PART])
            del self._handed[: frames.PART]
            self._handing = bool(self._handed)
            more = self._handing
        if more:
            self._loop.call_soon(self._take_over)
        if self._shell is not None:
            data = self._shell.opened(data)
        if data:
            self._show(data)

    def _open_anyway(self) -> None:
        """A shell that does not answer is shown as it is."""
        if self._shell is not None and not self._shell.is_open:
            self._show(self._shell.given_up())

    def _show(self, data: bytes) -> None:
        self._begun.set()
        filtered = self._filter.feed(data)
        if filtered.shown:
            frame = frames.output(self._shown, filtered.shown)
            self._shown += len(filtered.shown)
            for viewer in self.viewers:
                viewer.show(frame)
            self.recording.output(filtered.shown)
        self._screen.feed(filtered.read)
        if b"\x1b" in filtered.read:
            self._look_at_screen()
        if filtered.taken and self._shell is not None:
            for command in self._shell.read(filtered.taken):
                self._ran(command)

    def _look_at_screen(self) -> None:
        alternate = self._screen.alternate
        for viewer in self.viewers:
            if viewer.saw_alternate and not alternate:
                # It came while a program showed its own screen, and has not seen this one.
                viewer.saw_alternate = False
                viewer.draw_anew()
        if self._screen.title:
            title = " ".join(self._screen.title.split())[:200]
            if title != self.title:
                self.title = title
                self.tell_all({"type": "title", "title": title})

    def _draw(self, viewer: Viewer) -> list[bytes]:
        """The screen for one who comes, or comes back: a guest sees nothing that scrolled away."""
        drawn = OutputFilter().feed(self._screen.drawn(history=viewer.is_host)).shown
        viewer.saw_alternate = self._screen.alternate
        viewer.drawn(self._shown)
        return list(frames.snapshot(self._shown, self.columns, self.rows, drawn))

    def _ran(self, command: str) -> None:
        typists = tuple(self.guests.name_of(who) for who in self.gate.typists() if who != HOST)
        if typists:
            with suppress(RedomaError):
                self.trail.command(command, typists)

    def _typed_by_terminal(self, data: bytes) -> None:
        self.gate.type(TERMINAL, data)

    def record(self, *, on: bool) -> None:
        """Begins or ends the recording; one session has one, which goes on where it stopped."""
        self.recording.switch(on=on, screen=lambda: self._screen.drawn(history=False))
        self.tell_all({"type": "recording", "on": self.recording.on})

    # Its end

    def end(self, by: str) -> None:
        """Ends the terminal; what it changed is settled as after any run."""
        if not self._ended_by:
            self._ended_by = by
            self.gate.close()
            self._terminal.hang_up()

    async def begun(self) -> None:
        """Returns when the shell has begun, or when it will; raises why it could not."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_BEGINS_WITHIN):
                await self._begun.wait()
        if isinstance(self._failed, RedomaError) and not self._shown:
            raise self._failed

    async def wait(self) -> None:
        """Returns when it is over."""
        await self._over.wait()

    def _over_in_thread(self, end: Result | Exception) -> None:
        self._call(lambda: self._is_over(end))

    def _is_over(self, end: Result | Exception) -> None:
        while self._handed:
            self._take_over()
        spared = self._ended_by or self._restarted or not self._shown
        lost = "" if spared else loss(self.engine, end)
        self._open_anyway()
        if lost and self._restart(lost, changes_of(end)):
            return
        self._failed = failure(end)
        if isinstance(end, Exception):
            self.notes = (*self._restarted, str(end))
        else:
            self.exit_code, self.notes = end.exit_code, (*self._restarted, *end.notes)
        self.changes = changes_of(end)
        self.state, self.ended = SessionState.ENDED, time.time()
        self._timers.cancel_all()
        self.gate.close()
        by = self._ended_by or "the shell"
        with suppress(RedomaError):
            self.trail.ended(by=by, seconds=self.at, code=self.exit_code)
        self.recording.close(self.exit_code)
        said = {
            "type": "ended",
            "by": by,
            "duration": round(self.at, 3),
            "exit_code": self.exit_code,
            "notes": list(self.notes),
            "changes": self.changes,
        }
        for viewer in self.viewers:
            viewer.tell(said if viewer.is_host else {**said, "notes": [], "changes": ""})
            viewer.end("ended")
        self.on_end(self)
        self._over.set()
        self._begun.set()

    def _restart(self, why: str, changes: str) -> bool:
        """Opens another shell in the place of a lost one, once; False where that cannot be.

        Nobody has write access to it but the host: what was given was given for the other shell.
        """
        try:
            self.trail.restarted(why, "redoma")
            terminal = JailTerminal(
                replace(self._plan, columns=self.columns, rows=self.rows), self.id, self.gate
            )
        except RedomaError:
            return False
        self._restarted = notes(why, changes)
        self.guests.revoke_all("redoma")
        self._terminal, self._filter = terminal, OutputFilter()
        self._show(line(why))
        self.recording.mark("container restarted")
        self.tell_all({"type": "restarted", "why": str(why)})
        self._shell = ShellIntegration() if terminal.bash else None
        self.gate.renew(self._shell.opening if self._shell is not None else b"")
        if self._shell is not None:
            self._timers.later("opening", _OPENING_SECONDS, self._open_anyway)
        terminal.start(self._hand_over, self._over_in_thread)
        return True

    def _call(self, work: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody is left to see it
            self._loop.call_soon_threadsafe(work)
