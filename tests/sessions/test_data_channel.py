"""A guest's frames go over a data channel, by the same rights as over the WebSocket."""

from __future__ import annotations

import asyncio
import socket
import struct

import pytest

from redoma.server.data_channel import without_mdns
from tests.sessions.server_process import Connection, ServerProcess, SharedSession

aiortc = pytest.importorskip("aiortc")


def _has_an_address() -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return not str(probe.getsockname()[0]).startswith("127.")
        except OSError:
            return False


def test_names_of_the_local_network_are_not_looked_up() -> None:
    offer = (
        "v=0\r\na=candidate:1 1 udp 1 ab-cd.local 5 typ host\r\n"
        "a=candidate:2 1 udp 1 192.0.2.1 5 typ host\r\n"
    )
    assert "ab-cd" not in without_mdns(offer)
    assert "192.0.2.1" in without_mdns(offer)


@pytest.mark.requirement("S9")
@pytest.mark.skipif(not _has_an_address(), reason="SKIPPED (no address but loopback: no WebRTC)")
def test_a_data_channel_carries_the_terminal_and_no_more_rights(server: ServerProcess) -> None:
    session = server.start()
    ana = session.admitted()
    ana.until(lambda: ana.said("rtc-ticket") is not None)
    ticket = str(ana.said("rtc-ticket")["ticket"])  # type: ignore[index]
    assert asyncio.run(_by_channel(session, ana, ticket)) is True
    ana.socket.send(b'\x05{"type":"rtc-offer","ticket":"' + ticket.encode() + b'","sdp":"v=0"}')
    ana.until(lambda: (ana.said("notice") or {}).get("message") == "no ticket")
    session.end()


async def _by_channel(session: SharedSession, ana: Connection, ticket: str) -> bool:
    """Whether output and input go over a channel that this ticket gets."""
    import json

    peer = aiortc.RTCPeerConnection(aiortc.RTCConfiguration(iceServers=[]))
    channel = peer.createDataChannel("redoma")
    seen: list[bytes] = []
    channel.on("message", seen.append)
    await peer.setLocalDescription(await peer.createOffer())
    offer = {"type": "rtc-offer", "ticket": ticket, "sdp": peer.localDescription.sdp}
    ana.socket.send(b"\x05" + json.dumps(offer).encode())
    await asyncio.to_thread(ana.until, lambda: ana.said("rtc-answer") is not None)
    answer = ana.said("rtc-answer")
    assert answer is not None
    await peer.setRemoteDescription(aiortc.RTCSessionDescription(answer["sdp"], "answer"))

    async def until(mark: bytes) -> None:
        async with asyncio.timeout(60):
            while mark not in b"".join(frame[9:] for frame in seen if frame[0] == 1):
                await asyncio.sleep(0.02)

    async with asyncio.timeout(60):
        while not any(frame[0] == 2 for frame in seen):
            await asyncio.sleep(0.02)
    before = len(ana.screen)
    channel.send(b"\x03echo never-$((40+2))\r")
    session.host.type(b"echo host-$((40+2))\r")
    await until(b"host-42")
    await asyncio.to_thread(session.permit, ana, "read_write")
    channel.send(b"\x03echo hers-$((40+2))\r")
    await until(b"hers-42")
    acknowledged = b"\x06" + struct.pack("!Q", 0)
    channel.send(acknowledged)
    await asyncio.to_thread(session.permit, ana, "read_only")
    channel.send(b"\x03echo after-$((40+2))\r")
    session.host.type(b"echo last-$((40+2))\r")
    await until(b"last-42")
    said = b"".join(seen)
    assert b"never-" not in said
    assert b"after-" not in said
    await asyncio.to_thread(ana.read, 0.2)
    assert len(ana.screen) == before
    people = session.host
    people.read(0.3)
    assert people.said("people")["guests"][0]["transport"] == "webrtc"  # type: ignore[index]
    await peer.close()
    await asyncio.to_thread(ana.until, lambda: b"last-42" in ana.screen)
    return True
