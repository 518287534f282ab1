"""The terminal's bytes go over WebRTC where it connects, and over the WebSocket where it does not."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.console.browsing import (
    CHROMIUM,
    Console,
    Desk,
    admit,
    browsing,
    grant,
    guest_at,
    host_at,
    reads,
    serving,
    types,
    until,
)

# A network of its own: what WebRTC may use is what stands here, and nothing of the machine's.
ALONE = "ip link set lo up; echo ready; exec sleep 600"
WITH_ADDRESS = (
    "ip link add v0 type veth peer name v1; ip addr add 10.203.0.1/24 dev v0;"
    "ip link set v0 up; ip link set v1 up; " + ALONE
)

pytestmark = pytest.mark.root


@contextmanager
def network(script: str, place: Path) -> Iterator[tuple[tuple[str, ...], str]]:
    """How a command is started in the network, and a browser that is."""
    with subprocess.Popen(
        ["unshare", "--net", "sh", "-c", script], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        within = ("nsenter", "-t", str(process.pid), "-n", "--")
        browser = place / "browser"
        browser.write_text(f'#!/bin/sh\nexec {" ".join(within)} {CHROMIUM} "$@"\n')
        browser.chmod(0o755)
        try:
            yield within, str(browser)
        finally:
            process.kill()


@contextmanager
def together(script: str, place: Path) -> Iterator[tuple[Desk, Console]]:
    if not shutil.which(CHROMIUM) or not shutil.which("ip"):
        pytest.skip("SKIPPED: chromium or iproute2 is not installed")
    with (
        network(script, place) as (within, browser),
        serving(place, *within) as link,
        browsing(browser) as opened,
    ):
        console = Console(link, within)
        desk = Desk(opened, console.url)
        yield desk, console
        desk.close()


@pytest.mark.requirement("S9")
def test_webrtc_carries_what_a_guest_sees_and_types(place: Path) -> None:
    with together(WITH_ADDRESS, place) as (desk, console):
        session = console.start()
        host = host_at(desk, console, session)
        guest = guest_at(desk, console, session, "Bruno")
        admit(host, guest, "Bruno")
        guest.get_by_text("Connected directly").wait_for()
        host.get_by_text("direct", exact=False).first.wait_for()
        before = guest.evaluate("() => window.__seen.webrtc")
        types(host, "seq 1 3000; echo fin''ished\r")
        reads(guest, "finished")
        carried = guest.evaluate("() => window.__seen")
        assert carried["webrtc"] - before > 10_000
        socket = carried["websocket"]
        grant(host, "Bruno")
        guest.get_by_text("You can type now").wait_for()
        types(guest, "echo ty''ped\r")
        reads(host, "typed")
        reads(guest, "typed")
        assert guest.evaluate("() => window.__seen.websocket") == socket
        assert guest.evaluate("() => window.__seen.typed") == 0, "it was typed by the WebSocket"
        assert guest.evaluate("() => window.__seen.direct") > 0

        # The data channel goes: the WebSocket takes over, and nothing was gained or lost.
        guest.evaluate("() => window.__seen.channel.close()")
        guest.get_by_text("Connected by the server").wait_for()
        types(host, "echo go''es-on\r")
        reads(guest, "goes-on")
        assert guest.evaluate("() => window.__seen.websocket") > socket
        types(guest, "echo st''ill\r")
        reads(host, "still")
        host.get_by_role("button", name="Revoke writing of Bruno").click()
        guest.get_by_text("Your write access has been revoked.").wait_for()


@pytest.mark.requirement("S9")
def test_where_webrtc_cannot_connect_the_websocket_carries_all(place: Path) -> None:
    with together(ALONE, place) as (desk, console):
        session = console.start()
        host = host_at(desk, console, session)
        guest = guest_at(desk, console, session, "Bruno")
        admit(host, guest, "Bruno")
        types(host, "echo by-the-soc''ket\r")
        reads(guest, "by-the-socket")
        grant(host, "Bruno")
        guest.get_by_text("You can type now").wait_for()
        types(guest, "echo ty''ped\r")
        reads(host, "typed")
        until(lambda: guest.evaluate("() => window.__seen.websocket") > 0)
        assert guest.evaluate("() => window.__seen.webrtc") == 0
        guest.get_by_text("Connected by the server").wait_for()
