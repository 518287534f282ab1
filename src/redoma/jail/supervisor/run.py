"""The supervisor: starts a launch, feeds and reads it, limits it, and kills its whole tree."""

from __future__ import annotations

import os
import select
import time
from contextlib import suppress

from redoma.base import signals
from redoma.jail.kernel.process import process_tree, reaper
from redoma.jail.supervisor.host import MountHold
from redoma.jail.supervisor.limiter import Limiter, standing
from redoma.jail.supervisor.outcome import PAST, RunEnd
from redoma.jail.supervisor.start import Control, begin, last_words, spawn
from redoma.jail.supervisor.streams import ANSWER, Input, Output, terminal_input
from redoma.model.grant import NOBODYS_UID, Launch
from redoma.model.result import Exit, Outcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.egress.run_gate import RunGate
    from redoma.jail.kernel.cgroups import Groups
    from redoma.jail.supervisor.file_trace import FileTrace
    from redoma.jail.supervisor.limit_watch import LimitWatch
    from redoma.jail.supervisor.streams import GatedInput, Outlet, Sink

_READ = select.POLLIN | select.POLLHUP | select.POLLERR
_LONGEST_END = 10.0
_TICK = 0.02
_SOON = 0.002


def run(
    launch: Launch,
    *,
    stdin: bytes | int | None = b"",
    sink: Sink | None = None,
    control: Control | None = None,
    groups: Groups | None = None,
    directory: str = "/",
    wait_for_start: Callable[[], object] = lambda: None,
    meanwhile: Callable[[], object] = lambda: None,
) -> Exit:
    """How it ended.

    `wait_for_start` returns when the start of the run is on disk: the command begins after that,
    and never where it raises; `meanwhile` is done from then on. `stdin` is what the command reads:
    bytes, a descriptor that is read for it, or None where input comes through `control`.
    """
    limiter = Limiter(launch.limits, groups, launch.held_by_engine)
    supervisor = Supervisor(launch, limiter, control or Control(), directory)
    supervisor.wait_for_start = wait_for_start
    # Without a namespace of its own a tree's orphans are the machine's: taken in, they would stay.
    takes_in = launch.own_process_namespace and launch.starter is None
    if takes_in:
        reaper.begin()
    try:
        supervisor.start(stdin, sink)
        meanwhile()
        supervisor.attend()
        return supervisor.end()
    except BaseException:
        supervisor.kill()
        supervisor.reap()
        raise
    finally:
        if takes_in:
            reaper.end()
        supervisor.close()
        limiter.release()
        if control is None:
            supervisor.control.close()


class Supervisor:
    """One run from its start to its last process."""

    def __init__(self, launch: Launch, limiter: Limiter, control: Control, directory: str) -> None:
        self.launch = launch
        self.limiter = limiter
        self.control = control
        self.directory = directory
        self.pid = self.first = 0
        self.process = self.first_process = -1
        self.outputs: list[Output] = []
        self.input: Input | GatedInput | None = None
        self.master = self.source = self.root = -1
        self.source_over = True
        self.temporary: list[int] = []
        self.ending = RunEnd()
        self.watch: LimitWatch | None = None
        self.trace: FileTrace | None = None
        self.outlet: Outlet | None = None
        self.gate: RunGate | None = None
        self._held_up = False
        self.began = time.monotonic()
        self._poll = select.poll()
        self._feeding = self._listening = False
        self._status = b""
        self._mounts: MountHold | None = None
        self.wait_for_start: Callable[[], object] = lambda: None

    def start(self, stdin: bytes | int | None, sink: Sink | None) -> None:
        """Starts the sandbox, puts its limits on, and lets the command begin."""
        if isinstance(stdin, int):
            self.source, stdin = stdin, None
            self.source_over = False
        cap, hidden = self.launch.limits.output, self.launch.hidden
        if sink is not None:
            from redoma.jail.supervisor.streams import Outlet

            self.outlet = Outlet(sink, self.control.wake)
            sink = self.outlet.put
        ours: list[int] = []
        terminal = ""
        try:
            if self.launch.terminal:
                self.master, slave = os.openpty()
                ours.append(slave)
                terminal = os.ttyname(slave)
                if self.launch.inside is not None:
                    os.fchown(slave, NOBODYS_UID, -1)  # whoever starts there has to open it
                self._resize()
                stdio = (slave, slave, slave)
                self.outputs = [Output(os.dup(self.master), 1, cap, sink, hidden)]
                self.input = terminal_input(self, stdin)
            else:
                # Attack: a file given as standard input could be opened anew for writing through
                # /proc/self/fd/0; so whatever the caller has, the command gets a pipe.
                read_end = self._make_input(stdin, ours)
                ends = [os.pipe()] if self.control.merged else [os.pipe(), os.pipe()]
                ours += [end for _, end in ends]
                stdio = (read_end, ends[0][1], ends[-1][1])
                self.outputs = [
                    Output(fd, at, cap, sink, hidden) for at, (fd, _) in enumerate(ends, 1)
                ]
            if self.launch.answers:
                answer, answer_end = os.pipe()
                self.launch.fds.append((answer_end, ANSWER))
                self.outputs.append(Output(answer, ANSWER, self.launch.answers, None, hidden))
            if self.launch.handshake is None:
                self.wait_for_start()  # nothing would hold it back later
            if self.launch.trace_files:
                from redoma.jail.supervisor.file_trace import FileTrace

                self.trace = FileTrace()
            self.pid = spawn(self.launch, stdio, self.limiter, terminal, self.trace)
        finally:
            # While we hold the child's ends of pipes we would never see their end.
            while self.launch.fds:
                ours.append(self.launch.fds.pop()[0])
            for fd in ours:
                os.close(fd)
        self.process = os.pidfd_open(self.pid)
        self.began = time.monotonic()
        self.first, self.first_process = begin(self)
        if self.control.began is not None:
            self.control.began(self.first or self.pid)

    def keep_mounts(self, first: int) -> None:
        """Before the command begins: later its first process may let nobody look."""
        if self.launch.over_disk:
            self._mounts = MountHold(first)

    def keep_root(self, first: int) -> None:
        """The root inside, to count what is written there; also before, and for the same reason."""
        with suppress(OSError):
            self.temporary = standing(first, self.launch.temporary)
            self.root = os.open(f"/proc/{first}/root", os.O_PATH | os.O_CLOEXEC)

    def make_gate(self) -> None:
        """Begins to make the way out, while the sandbox is being made."""
        from redoma.egress.run_gate import RunGate
        from redoma.jail.supervisor.streams import narrated

        tell = narrated(self.control, self.outlet)
        self.gate = RunGate(self.launch, self.control.wake, tell)

    def _make_input(self, stdin: bytes | None, ours: list[int]) -> int:
        if stdin == b"":
            read_end = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
        else:
            read_end, write_end = os.pipe()
            self.input = Input(write_end, stdin or b"", over=stdin is not None)
            self.input.write()  # what is short is there before anyone reads
        ours.append(read_end)
        return read_end

    def attend(self) -> None:
        """Serves the run until the sandbox's launcher has ended."""
        limits = self.launch.limits
        deadline = self.began + limits.wall_seconds if limits.wall_seconds else None
        for fd in (self.process, self.control.fd, *(output.fd for output in self.outputs)):
            self._poll.register(fd, _READ)
        next_look = self.began + _TICK if self.limiter.watched else None
        while True:
            self._obey()
            self._arrange_input()
            self._arrange_output()
            now = time.monotonic()
            if deadline is not None and now >= deadline:
                self._end_because(Outcome.TIMED_OUT, "wall_seconds")
                deadline = None
            if next_look is not None and now >= next_look:
                next_look = now + self._look()
            waits = [w - now for w in (deadline, next_look) if w is not None]
            waits += [_SOON] if self.control.signals else []
            for fd, _ in self._poll.poll(max(0.0, min(waits)) * 1000 + 0.5 if waits else None):
                if fd == self.process:
                    self.reap()
                    return
                self._serve(fd)
            total = sum(output.total for output in self.outputs)
            if limits.output_total is not None and total > limits.output_total:
                self._end_because(Outcome.OUTPUT_TOO_LARGE, "output_total")

    def _end_because(self, outcome: Outcome, limit: str) -> None:
        self.ending.say(outcome, limit)
        self.kill()

    def _arrange_input(self) -> None:
        """Listens for input when the command has taken what came before, writes when there is."""
        if self.input is None:
            return
        if self.input.open and self.input.wants != self._feeding:
            self._feeding = self.input.wants
            if self._feeding:
                self._poll.register(self.input.fd, select.POLLOUT)
            else:
                self._poll.unregister(self.input.fd)
        ready = not self.source_over and self.input.hungry
        if ready != self._listening:
            self._listening = ready
            if ready:
                self._poll.register(self.source, _READ)
            else:
                self._poll.unregister(self.source)

    def _arrange_output(self) -> None:
        """Reads no more than is taken from us; the command then waits, and no limit does."""
        if self.outlet is None:
            return
        if self.outlet.error is not None:
            raise self.outlet.error
        for output in self.outputs:
            # A terminal's output is thrown away: to close it would end its input as well.
            if output.number in self.outlet.gone and output.open and not self.launch.terminal:
                if not self._held_up:
                    self._poll.unregister(output.fd)
                output.shut()
        if self.outlet.full != self._held_up:
            self._held_up = not self._held_up
            for output in self.outputs:
                if output.open and self._held_up:
                    self._poll.unregister(output.fd)
                elif output.open:
                    self._poll.register(output.fd, _READ)

    def _serve(self, fd: int) -> None:
        """Does what a descriptor is ready for."""
        for output in self.outputs:
            if output.fd == fd:
                output.read()
                if not output.open:
                    self._poll.unregister(fd)
                return
        if fd == self.control.fd:
            self.control.drain()
        elif fd == self.source:
            self._take_input()
        elif self.input is not None and fd == self.input.fd:
            self.input.write()
            if not self.input.open:
                self._poll.unregister(fd)
                self._feeding = False

    def _take_input(self) -> None:
        assert self.input is not None
        try:
            data = os.read(self.source, 1 << 16)
        except OSError:
            data = b""
        self.input.add(data, over=not data and not self.launch.terminal)
        self.source_over = not data

    def _obey(self) -> None:
        control = self.control
        if control.cancelled and not self.ending.said:
            self._end_because(Outcome.CANCELLED, "")
        if self.gate is not None and self.gate.trouble is not None and not self.ending.said:
            self._end_because(self.gate.trouble, "connections")
        if control.signals:
            from redoma.jail.supervisor.signal_delivery import deliver

            deliver(self)
        if control.size is not None:
            self._resize()
        if self.input is not None and (control.input or control.input_over):
            data, control.input[:] = b"".join(control.input), []
            over, control.input_over = control.input_over, False
            if self.input.open:
                self.input.add(data, over=over)

    def _resize(self) -> None:
        size, self.control.size = self.control.size, None
        if size is not None and self.master >= 0:
            from redoma.jail.supervisor.streams import set_size

            set_size(self.master, *size)

    def _look(self) -> float:
        """Seconds until the next look."""
        if self.watch is None:
            from redoma.jail.supervisor.limit_watch import LimitWatch

            self.watch = LimitWatch.of(self)
        past = self.watch.look()
        if past and not self.ending.said:
            self._end_because(PAST[past], past)
        return self.watch.patience

    def kill(self) -> None:
        """Ends the whole tree: with the first process of a namespace ends everything in it."""
        if self.first_process >= 0:
            with suppress(OSError):
                signals.send(self.first_process, signals.SIGKILL)
        if self.limiter.group is not None:
            self.limiter.group.kill()
        if not self.launch.own_process_namespace and self.process >= 0:  # reaped: another's pid
            for pid in reversed(process_tree(self.pid)[1:]):
                with suppress(OSError):
                    os.kill(pid, signals.SIGKILL)
        if self.process >= 0 and (self.first_process < 0 or not self.launch.own_process_namespace):
            with suppress(OSError):
                signals.send(self.process, signals.SIGKILL)

    def reap(self) -> None:
        """Collects the launcher, and waits until the last process of the namespace is gone."""
        if self.pid and self.process >= 0:
            _, status, usage = os.wait4(self.pid, 0)
            self.ending.reaped(status, usage)
            os.close(self.process)
            self.process = -1
        if self.first_process >= 0:
            # A background process would keep the namespace alive: it ends with the command.
            with suppress(OSError):
                signals.send(self.first_process, signals.SIGKILL)
            poll = select.poll()
            poll.register(self.first_process, select.POLLIN)
            poll.poll(_LONGEST_END * 1000)
            with suppress(ChildProcessError):
                self.ending.tree_reaped(os.wait4(self.first, os.WNOHANG)[2])

    def end(self) -> Exit:
        """The end of the run as a value."""
        for output in self.outputs:
            output.rest()
        if self.control.ended is not None:
            self.control.ended()
        if self.outlet is not None:
            self.outlet.finish(self.control, ended_by_us=self.ending.said)
        if self.launch.handshake is not None:
            self._status += last_words(self.launch.handshake.status)
        if self.trace is not None:
            self.trace.close()
        if self.gate is not None:
            self.gate.close()
        return self.ending.exit(self, self._status)

    def close(self) -> None:
        """Closes every descriptor of this run."""
        if self.gate is not None:
            self.gate.close()
        if self.trace is not None:
            self.trace.close()
        if self.outlet is not None:
            self.outlet.close()
        if self._mounts is not None:
            self._mounts.let_go()
        if self.input is not None:
            self.input.close()
        ours = (self.master, self.root, self.process, self.first_process)
        for fd in (*(output.fd for output in self.outputs), *ours, *self.temporary):
            if fd >= 0:
                os.close(fd)
        self.outputs, self.temporary = [], []
        self.master = self.root = self.process = self.first_process = -1
