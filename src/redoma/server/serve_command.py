"""`redoma serve`: the console in the browser, and the terminals that are shared from it."""

from __future__ import annotations

import json
import sys

from redoma.cli.options import CommandTable, Heading, Option, Sample
from redoma.i18n import phrased
from redoma.model.errors import RedomaError, UsageError
from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.cli.options import CommandLine
    from redoma.server.server_process import Served

SERVE = CommandTable(
    "serve",
    "Serves the console in your browser: terminals in the jail that others watch, and type into by"
    " your leave. It listens on this machine alone unless you say otherwise, and opens your browser"
    " with a link that logs in once.",
    usage=("[OPTION]...",),
    options=(
        Heading("options"),
        Option("--headless", "prints the login link instead of opening a browser"),
        Option("--port PORT", "the port, 7333 by default; 0 for any"),
        Option("--host ADDRESS", "another address than 127.0.0.1; it needs TLS"),
        Option("--name NAME", "a name by which others reach this address", many=True),
        Option("--self-signed", "TLS by a certificate that is made now; its fingerprint is shown"),
        Option("--certificate FILE", "TLS by your own certificate"),
        Option("--key FILE", "the key of that certificate"),
        Option("--grace TIME", "how long a session goes on without its host, 2m by default"),
        Option("--json", "one JSON object when it is up, instead of prose"),
    ),
    notes=("It ends with Ctrl-C, and its sessions with it.",),
    samples=(Sample("redoma serve --host 192.0.2.1", "says that others need TLS", status=2),),
)


@SERVE.main
def serve(line: CommandLine) -> int:
    """Serves until it is ended."""
    from redoma.pipeline.this_host import read_limit

    if line.words:
        raise UsageError("redoma serve takes no {word}", word=repr(line.words[0]), hint=SERVE.hint)
    try:
        import uvloop  # noqa: F401

        from redoma.server import server_process
    except ModuleNotFoundError as error:
        raise RedomaError(
            "the server needs {module}", module=error.name, hint="pip install 'redoma[serve]'"
        ) from error
    grace = read_limit("wall_seconds", line.values.get("--grace", "2m"))
    plan = server_process.ServePlan(
        host=line.values.get("--host", "127.0.0.1"),
        port=_port(line.values.get("--port", str(server_process.USUAL_PORT))),
        names=tuple(line.every("--name")),
        certificate=line.values.get("--certificate", ""),
        key=line.values.get("--key", ""),
        own_certificate="--self-signed" in line.flags,
        grace=float(grace or 365 * 86400),
    )
    return server_process.serve(plan, lambda served: _tell(line, served))


def _tell(line: CommandLine, served: Served) -> None:
    if line.json:
        about = {name: getattr(served, name) for name in ("link", "url", "fingerprint", "webrtc")}
        sys.stdout.write(json.dumps(about) + "\n")
        sys.stdout.flush()
    elif "--headless" in line.flags:
        sys.stdout.write(f"{served.link}\n")
        sys.stdout.flush()
    said = phrased(Message("redoma: serving at {url}\n", url=served.url))
    if served.fingerprint:
        said += phrased(
            Message("redoma: SHA-256 of its certificate: {digest}\n", digest=served.fingerprint)
        )
    if not served.webrtc:
        said += phrased(
            "redoma: terminals go over WebSockets alone: aiortc is not here\n"
            "hint: pip install 'redoma[webrtc]'\n"
        )
    if not served.exact:
        said += phrased(
            "redoma: late guests see recent output, not the exact screen: pyghostty is not here\n"
        )
    if not line.json:
        sys.stderr.write(said)
        sys.stderr.flush()
    if "--headless" in line.flags or line.json:
        return
    import webbrowser

    if not webbrowser.open(served.link):
        sys.stderr.write(
            phrased(Message("redoma: open this in your browser: {link}\n", link=served.link))
        )
        sys.stderr.flush()


def _port(given: str) -> int:
    if not (given.isascii() and given.isdigit() and int(given[:6]) < 1 << 16):
        raise UsageError(
            "--port: {given} is no port", given=repr(given), hint="redoma serve --port 7333"
        )
    return int(given)
