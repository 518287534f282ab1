"""Stands between the supervisor and one container: starts it, passes on its streams, removes it.

It speaks the supervisor's handshake: names the first process, waits for the word, and reports how
the command ended. Where the supervisor is gone, the pipe that it waits on ends, and so does the
container.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
import time
from contextlib import suppress

from redoma.jail.containers import held
from redoma.jail.containers.container_init import packed_word
from redoma.jail.containers.engine_socket import ApiCall, EngineSocket
from redoma.jail.containers.exec_stream import FrameDecoder
from redoma.jail.containers.root_mounts import DATA, OPENED
from redoma.model.container import ContainerError
from redoma.model.grant import Guarantee

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

COMPLAINT = "redoma-container: "
_CHUNK = 1 << 16
_TICK = 50
_ERRORS = 2
_SETTLES_WITHIN = 3.0
_BEGINS_WITHIN = 30.0
_READ = select.POLLIN | select.POLLHUP | select.POLLERR


class ContainerKeeper:
    """One container from its making to its removal."""

    def __init__(self, orders: dict[str, Any]) -> None:
        self.orders = orders
        self.engine = EngineSocket(orders["socket"])
        self.id = ""
        self._first = 0
        self._refused = self._out_of_memory = False
        self._gate: socket.socket | None = None
        self.terminal = bool(orders["body"]["Tty"])

    def run(self) -> int:
        """The command's exit status."""
        try:
            return self._run()
        finally:
            if self.id:
                with suppress(ContainerError):
                    path = f"/containers/{self.id}?force=1&v=1"
                    self.engine.ask(ApiCall(method="DELETE", path=path))

    def _run(self) -> int:
        stage = -1
        if self.orders["root"]:
            from redoma.jail.containers import entered_root

            stage = entered_root.leave_stage(int(self.orders["mounts"]))
        self._name_opened()
        door = self._door()
        path = f"/containers/create?name={self.orders['name']}"
        self.id = str(self._asked("POST", path, self.orders["body"])["Id"])
        query = "stream=1&stdin=1&stdout=1&stderr=1"
        stream, rest = self.engine.upgrade(f"/containers/{self.id}/attach?{query}", None)
        self._asked("POST", f"/containers/{self.id}/start")
        first = int(self._asked("GET", f"/containers/{self.id}/json")["State"]["Pid"] or 0)
        if not first:
            raise ContainerError("the container ended as it began")
        self._first = first
        self._gate = self._let_in(door)
        if self.orders["root"]:
            home = int(self.orders["mounts"])
            entered_root.build(first, self.orders["root"], stage=stage, home=home)
        self._refuse_less(first)
        if self.terminal:
            self._own_terminal()
        os.write(self.orders["status"], b'{ "child-pid": %d }\n' % first)
        if not self._may_begin():
            return 1
        self._pass_on(stream, rest)
        ended = self._asked("POST", f"/containers/{self.id}/wait")
        state = self._asked("GET", f"/containers/{self.id}/json")["State"]
        if state.get("OOMKilled") or (self._out_of_memory and "memory" in self.orders["limits"]):
            os.write(self.orders["status"], b'{ "reached": "memory" }\n')
        code = int(ended["StatusCode"])
        os.write(self.orders["status"], b'{ "exit-code": %d }\n' % code)
        return code & 0xFF

    def _name_opened(self) -> None:
        """Gives what was opened for us its name, and remembers which file that has to be."""
        for mount in self.orders["body"]["HostConfig"]["Mounts"]:
            if mount["Source"].startswith(OPENED):
                number = int(mount["Source"].removeprefix(OPENED))
                mount["Source"] = os.readlink(f"/proc/self/fd/{number}")
                status = os.fstat(number)
                self.orders["directories"][mount["Target"]] = (status.st_dev, status.st_ino)
            elif mount["Source"].startswith(DATA):
                number = int(mount["Source"].removeprefix(DATA))
                mount["Source"] = f"{self.orders['place']}/data{number}"
                with open(mount["Source"], "wb") as file:
                    file.write(_whole(number))
                os.chmod(mount["Source"], 0o444)

    def _refuse_less(self, first: int) -> None:
        """Everything that was planned holds for this very container, or nothing begins in it.

        The runtime may still be at work when its engine says that it started, and shows nobody its
        first process meanwhile: what is missing is looked for again before it is called lost.
        """
        until = time.monotonic() + _SETTLES_WITHIN
        while lost := self._lost(first):
            if time.monotonic() > until:
                raise ContainerError("; ".join(f"{g.words}: {why}" for g, why in lost.items()))
            time.sleep(0.05)

    def _lost(self, first: int) -> dict[Guarantee, str]:
        limits = self.orders["limits"]
        most = 1 << 62
        lost = held.lost(
            first,
            memory=limits.get("memory", most),
            pids=limits.get("processes", most),
            closed=self.orders["closed"],
        )
        by_limit = {
            "memory": Guarantee.MEMORY_CAPPED,
            "processes": Guarantee.PROCESSES_CAPPED,
            "cpu_percent": Guarantee.CPU_CAPPED,
        }
        for name, guarantee in by_limit.items():
            if name not in limits:
                lost.pop(guarantee, None)
        if held.kernel_user(first) != self.orders["user"]:
            lost[Guarantee.NO_NEW_PRIVILEGES] = "it has another user than was asked for"
        for place, identity in self.orders["directories"].items():
            # Attack: what was looked at becomes a link before the engine, as root, mounts it.
            if not held.same_directory(first, place, (identity[0], identity[1])):
                lost[Guarantee.WRITES_CONFINED] = f"{place} is another directory than was given"
        return lost

    def _may_begin(self) -> bool:
        """Waits for the word, and gives it on into the container."""
        if os.read(self.orders["go"], 1) == b"":
            return False  # whoever started us is gone
        orders = self.orders
        secrets = {place: _whole(number) for place, number in orders["secrets"].items()}
        streams, directory = orders["streams"], orders["directory"]
        word = packed_word(orders["words"], orders["env"], secrets, streams, directory)
        assert self._gate is not None
        sent = socket.send_fds(self._gate, [word[:_CHUNK]], streams)
        self._gate.sendall(word[sent:])
        # The command's alone from here on: it is heard when it closes them.
        null = os.open("/dev/null", os.O_RDWR)
        for number in set(streams) - {_ERRORS}:
            os.dup2(null, number)
        os.close(null)
        return True

    def _door(self) -> socket.socket:
        """Where the first process comes for its word."""
        place = f"{self.orders['gate']}/go"
        door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        # By a descriptor: the name of a socket is short, and that of a home may be long.
        directory = os.open(self.orders["gate"], os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        door.bind(f"/proc/self/fd/{directory}/go")
        os.close(directory)
        os.chown(place, self.orders["user"], -1)
        os.chmod(place, 0o600)
        door.listen(1)
        door.settimeout(_TICK / 1000)
        return door

    def _let_in(self, door: socket.socket) -> socket.socket:
        """The first process, once it waits; it has imported what it needs."""
        until = time.monotonic() + _BEGINS_WITHIN
        with door:
            while os.path.exists(f"/proc/{self._first}") and time.monotonic() < until:
                with suppress(TimeoutError):
                    came = door.accept()[0]
                    came.settimeout(None)
                    return came
        raise ContainerError("the container's first process does not begin")

    def _pass_on(self, stream: Any, rest: bytes) -> None:
        """Until the container's output has come to its end."""
        decoder, waiting = FrameDecoder(terminal=self.terminal), b""
        for number, data in decoder.feed(rest):
            _give(number, data)
        stream.settimeout(0)
        poll = select.poll()
        assert self._gate is not None
        word = self._gate.fileno()
        watched = (stream.fileno(), word, self.orders["go"], *((0,) if self.terminal else ()))
        for fd in watched:
            poll.register(fd, _READ)
        listening = True
        while True:
            self._look()
            for fd, _ in poll.poll(_TICK):
                if fd == stream.fileno():
                    came = _taken(stream)
                    if came is None:
                        continue
                    if not came:
                        return
                    for number, piece in decoder.feed(came):
                        _give(number, piece)
                elif fd == word:
                    self._out_of_memory = held.out_of_memory(self._first)
                    self._look()
                    poll.unregister(word)
                    self._gate.close()  # now it may end
                elif fd == 0:
                    data = os.read(0, _CHUNK)
                    waiting += data
                    if not data:
                        poll.unregister(0)
                        listening = False
                else:
                    raise ContainerError("whoever started this is gone")
            if waiting:
                waiting = _sent(stream, waiting)
                poll.register(stream.fileno(), _READ | (select.POLLOUT if waiting else 0))
            elif not listening:
                listening = True
                with suppress(OSError):
                    stream.shutdown(1)

    def _look(self) -> None:
        """Says once that the kernel refused a process: when the container ends, nobody knows."""
        if "processes" in self.orders["limits"] and not self._refused:
            self._refused = held.refused_processes(self._first)
            if self._refused:
                os.write(self.orders["status"], b'{ "reached": "processes" }\n')

    def _own_terminal(self) -> None:
        """Ours passes every byte; the container's own does what a terminal does."""
        import tty

        tty.setraw(0)
        signal.signal(signal.SIGWINCH, lambda *_: self._resize())
        self._resize()

    def _resize(self) -> None:
        with suppress(OSError, ContainerError):
            size = os.get_terminal_size(0)
            path = f"/containers/{self.id}/resize?h={size.lines}&w={size.columns}"
            self.engine.ask(ApiCall(method="POST", path=path))

    def _asked(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        patience = 10.0**8 if path.endswith("/wait") else 60.0
        reply = self.engine.ask(ApiCall(method=method, path=path, body=body, patience=patience))
        if not reply.ok:
            raise ContainerError(reply.message)
        return reply.json if reply.body.strip() else {}


def _whole(number: int) -> bytes:
    """All that a descriptor holds."""
    with open(number, "rb") as file:
        return file.read()


def _taken(stream: Any) -> bytes | None:
    try:
        found: bytes = stream.recv(_CHUNK)
    except BlockingIOError:
        return None
    except OSError:
        return b""
    return found


def _sent(stream: Any, data: bytes) -> bytes:
    """What is left to be sent."""
    try:
        return data[stream.send(data) :]
    except BlockingIOError:
        return data
    except OSError:
        return b""  # the command has closed its input


def _give(number: int, data: bytes) -> None:
    with suppress(BrokenPipeError):
        view = memoryview(data)
        while view:
            view = view[os.write(number, view) :]


def main(words: list[str]) -> None:
    """Keeps the container that is described in the descriptor of the first word."""
    with open(int(words[0]), encoding="utf-8") as file:
        orders = json.load(file)
    try:
        code = ContainerKeeper(orders).run()
    except (ContainerError, OSError) as error:
        sys.stderr.write(f"{COMPLAINT}{error}\n")
        code = 1
    sys.stderr.flush()
    os._exit(code)
