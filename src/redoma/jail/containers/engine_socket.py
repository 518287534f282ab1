"""Speaks the Engine API over a unix socket: one connection for each call, so that none goes stale.

Podman answers the same API on its own socket, which is why there is one client and no other way.
"""

from __future__ import annotations

import http.client
import json
import socket

from redoma.base.log import logger
from redoma.model.container import ContainerError
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import Any, TypeAlias, TypeVar

    T = TypeVar("T")
    Steps: TypeAlias = "Generator[ApiCall | Pause, Any, T]"

log = logger(__name__)
_LARGEST = 64 << 20
_LARGEST_HEAD = 1 << 16
PATIENCE = 60.0


class ApiCall(Value):
    """One call of the Engine API; a step that a driver performs."""

    method: str
    path: str
    body: object = None
    # What is sent as it is, made when it is needed: a tar of a project may be large.
    data: Callable[[], bytes] | None = None
    # Hears each line of a call that reports as it goes on.
    progress: Callable[[str], None] | None = None
    patience: float = PATIENCE


class Pause(Value):
    """Wait a little; a step as well."""

    seconds: float


class Reply(Value):
    """What an engine answered."""

    status: int
    body: bytes = b""

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 400

    @property
    def json(self) -> Any:
        return json.loads(self.body or b"null")

    @property
    def message(self) -> str:
        """What the engine said was wrong."""
        try:
            return str(json.loads(self.body)["message"]).strip()
        except (ValueError, KeyError, TypeError):
            return self.body.decode(errors="replace").strip()[:500] or f"status {self.status}"


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: str, patience: float) -> None:
        super().__init__("localhost", timeout=patience)
        self._path = path

    def connect(self) -> None:
        self.sock = connected(self._path, self.timeout or PATIENCE)


def connected(path: str, patience: float) -> socket.socket:
    """A connection to a socket."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    made.settimeout(patience)
    try:
        made.connect(path)
    except OSError:
        made.close()
        raise
    return made


class EngineSocket:
    """One engine, by the path of its socket."""

    def __init__(self, path: str) -> None:
        self.path = path

    def ask(self, call: ApiCall) -> Reply:
        """Performs one call; ContainerError where the engine does not answer."""
        log.debug("%s %s", call.method, call.path)
        connection = _Connection(self.path, call.patience)
        data, headers = call.data() if call.data is not None else None, {}
        if data is not None:
            headers["Content-Type"] = "application/x-tar"
        elif call.body is not None:
            data = json.dumps(call.body).encode()
            headers["Content-Type"] = "application/json"
        try:
            connection.request(call.method, call.path, data, headers)
            response = connection.getresponse()
            if call.progress is not None and response.status < 300:
                return Reply(status=response.status, body=_followed(response, call.progress))
            return Reply(status=response.status, body=response.read(_LARGEST))
        except (OSError, http.client.HTTPException) as error:
            raise self._silent(error) from error
        finally:
            connection.close()

    def upgrade(self, path: str, body: object) -> tuple[socket.socket, bytes]:
        """A connection that has become a stream, and what came with the head of the answer.

        Without a body none is sent: Podman takes that of an attachment for the command's input.
        """
        data = json.dumps(body).encode() if body is not None else b""
        head = (
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        )
        try:
            stream = connected(self.path, PATIENCE)
        except OSError as error:
            raise self._silent(error) from error
        try:
            stream.sendall(head.encode() + data)
            answer = b""
            while b"\r\n\r\n" not in answer and len(answer) < _LARGEST_HEAD:
                chunk = stream.recv(4096)
                if not chunk:
                    break
                answer += chunk
            top, _, rest = answer.partition(b"\r\n\r\n")
            status = top.split(b" ", 2)[1:2]
            if status not in ([b"101"], [b"200"]):
                said = rest.decode(errors="replace").strip()[:500]
                raise ContainerError(f"the engine gives no stream: {said or top[:200]!r}")
        except OSError as error:
            stream.close()
            raise self._silent(error) from error
        except BaseException:
            stream.close()
            raise
        stream.settimeout(None)
        return stream, rest

    def _silent(self, error: Exception) -> ContainerError:
        return ContainerError(
            f"the container engine at {self.path} does not answer: {error}",
            hint="see that it runs: systemctl status docker (or: podman system service)",
        )


def _followed(response: http.client.HTTPResponse, progress: Callable[[str], None]) -> bytes:
    """The last lines of an answer that comes as JSON objects, each told as it comes."""
    kept = b""
    for line in response:
        kept = (kept + line)[-_LARGEST_HEAD:]
        try:
            told = json.loads(line)
        except ValueError:
            continue
        if not isinstance(told, dict):
            continue
        text = told.get("stream") or told.get("status") or told.get("error") or ""
        detail = told.get("progress") or ""
        if str(text).strip():
            progress(f"{str(text).strip()} {detail}".strip())
    return kept


def drive(steps: Steps[T], engine: EngineSocket) -> T:
    """Walks steps by plain calls."""
    import time

    answer: Any = None
    try:
        while True:
            step = steps.send(answer)
            if isinstance(step, Pause):
                time.sleep(step.seconds)
                answer = None
            else:
                answer = engine.ask(step)
    except StopIteration as end:
        value: T = end.value
        return value
    finally:
        steps.close()


async def drive_async(steps: Steps[T], engine: EngineSocket) -> T:
    """Walks the same steps by awaiting; the calls themselves run in threads."""
    import asyncio

    answer: Any = None
    try:
        while True:
            step = steps.send(answer)
            if isinstance(step, Pause):
                await asyncio.sleep(step.seconds)
                answer = None
            else:
                answer = await asyncio.to_thread(engine.ask, step)
    except StopIteration as end:
        value: T = end.value
        return value
    finally:
        steps.close()
