"""One process that serves: its socket and names, TLS where others reach it, its login link."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
from contextlib import nullcontext, suppress

from redoma.base import signals
from redoma.model.errors import UsageError
from redoma.model.message import Message
from redoma.model.value import Value
from redoma.sessions.tickets import Bearer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.server.address_file import ServerAddress
    from redoma.server.certificate import ServerCertificate

USUAL_PORT = 7333


class ServePlan(Value):
    """Where to serve, and how."""

    host: str = "127.0.0.1"
    port: int = USUAL_PORT
    # Names by which others reach it, beside its address.
    names: tuple[str, ...] = ()
    certificate: str = ""
    key: str = ""
    own_certificate: bool = False
    grace: float = 120.0


class Served(Value):
    """What a person is told of a server that is up."""

    link: str
    url: str
    fingerprint: str
    webrtc: bool
    exact: bool


def serve(plan: ServePlan, told: Callable[[Served], None]) -> int:
    """Serves until it is ended by a signal; `told` is called when it answers."""
    certificate = _certificate(plan)
    listener = _listener(plan)
    try:
        import uvloop

        return uvloop.run(_serve(plan, listener, certificate, told))
    finally:
        listener.close()
        if certificate is not None and plan.own_certificate:
            for path in (certificate.certificate, certificate.key):
                with suppress(OSError):
                    os.unlink(path)


async def _serve(
    plan: ServePlan,
    listener: socket.socket,
    certificate: ServerCertificate | None,
    told: Callable[[Served], None],
) -> int:
    import uvicorn

    from redoma.server import address_file
    from redoma.server.app import application
    from redoma.server.data_channel import available
    from redoma.sessions.house import Sessions

    scheme = "https" if certificate is not None else "http"
    port = listener.getsockname()[1]
    names = _names(plan, port)
    url = f"{scheme}://{names[0]}"
    sessions = Sessions(grace=plan.grace)
    app = application(sessions, scheme=scheme, webrtc=available(), link=lambda path: url + path)
    app.names.update(names)
    config = uvicorn.Config(
        app,
        loop="none",
        ws="websockets-sansio",
        ws_max_size=64 << 10,
        ws_per_message_deflate=False,
        ws_ping_interval=10.0,
        ws_ping_timeout=10.0,
        # Attack: a header that says another address, to have attempts of one's own without end.
        proxy_headers=False,
        server_header=False,
        access_log=False,
        log_level="warning",
        timeout_graceful_shutdown=2,
        ssl_certfile=certificate.certificate if certificate is not None else None,
        ssl_keyfile=certificate.key if certificate is not None else None,
        lifespan="off",
    )
    server = uvicorn.Server(config)
    # Its own handling raises the signal again when it has ended: before the sessions were ended.
    server.capture_signals = nullcontext  # type: ignore[method-assign,assignment]
    asked_to_end = asyncio.Event()
    for number in (signals.SIGINT, signals.SIGTERM, signals.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, asked_to_end.set)
    address: ServerAddress | None = None
    running = asyncio.ensure_future(server.serve([listener]))
    try:
        while not server.started and not running.done():
            await asyncio.sleep(0.005)
        if not running.done():
            address = address_file.publish(
                url,
                sessions.bearers.issue(Bearer()),
                certificate.pem() if certificate is not None else "",
            )
            told(
                Served(
                    link=f"{url}/#login={sessions.logins.issue(Bearer())}",
                    url=url,
                    fingerprint=certificate.fingerprint if certificate is not None else "",
                    webrtc=available(),
                    exact=_exact(),
                )
            )
        ending = asyncio.ensure_future(asked_to_end.wait())
        await asyncio.wait({running, ending}, return_when=asyncio.FIRST_COMPLETED)
        ending.cancel()
    finally:
        if address is not None:
            address_file.withdraw(address)
        await sessions.close()  # while there still is somebody to be told
        server.should_exit = True
        await running
    return 0


def _certificate(plan: ServePlan) -> ServerCertificate | None:
    """What TLS needs; UsageError where an address that others reach would go without it."""
    from redoma.server.certificate import given, own

    if bool(plan.certificate) != bool(plan.key):
        raise UsageError("--certificate and --key belong together")
    if plan.certificate:
        return given(plan.certificate, plan.key)
    if plan.own_certificate:
        return own((plan.host, *plan.names))
    if not is_loopback(plan.host):
        raise UsageError(
            "{host} can be reached by others, so it needs TLS",
            host=plan.host,
            hint=Message(
                "redoma serve --host {host} --self-signed, or --certificate FILE --key FILE",
                host=plan.host,
            ),
        )
    return None


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_everywhere(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def _listener(plan: ServePlan) -> socket.socket:
    family = socket.AF_INET6 if ":" in plan.host else socket.AF_INET
    try:
        return socket.create_server((plan.host, plan.port), family=family, backlog=512)
    except OSError as error:
        raise UsageError(
            "cannot listen on {host}, port {port}: {why}",
            host=plan.host,
            port=plan.port,
            why=error.strerror or str(error),
            hint="port 0 takes any free one: redoma serve --port 0",
        ) from error


def _names(plan: ServePlan, port: int) -> list[str]:
    """How the server may be called in Host, the usual one first."""
    shown = [f"[{plan.host}]" if ":" in plan.host else plan.host]
    if _is_everywhere(plan.host):
        shown = [*plan.names, socket.gethostname().lower()]
    names = [*plan.names, *shown] if plan.names else shown
    if is_loopback(plan.host) or _is_everywhere(plan.host):
        names += ["127.0.0.1", "localhost"]
    return [f"{name.lower()}:{port}" for name in dict.fromkeys(names)]


def _exact() -> bool:
    from importlib.util import find_spec

    return find_spec("pyghostty") is not None
