"""What a shared session costs: echo, fan-out, a stopped watcher; beside a plain PTY loop.

    bench/sessions.py                    the table
    bench/sessions.py --watchers 20      another number of watchers than 100
    bench/sessions.py --megabytes 5      how much is fanned out
    bench/sessions.py --json             as JSON

The baseline is this bench's own loop: a terminal outside of any sandbox, read in one thread and
written to plain TCP connections. Where `ttyd` is installed, it is measured in the same run.

Whoever types and measures is one process; all other watchers are another, which gets the processor
when nobody else wants it: so the time of an echo is the server's, and not that of a hundred clients.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import pty
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import websockets  # noqa: E402

from tests.sessions.server_process import ServerProcess, SharedSession  # noqa: E402

TICKS = os.sysconf("SC_CLK_TCK")
ECHOES = 200


class Watcher:
    """A connection that takes everything as fast as it comes."""

    def __init__(self) -> None:
        self.bytes = 0
        self.tail = b""
        self.news = asyncio.Event()

    async def redoma(self, url: str, ticket: str) -> None:
        async with websockets.connect(url, compression=None, max_size=None) as channel:
            self.channel = channel
            await channel.send(json.dumps({"ticket": ticket, "protocol": 1}))
            async for frame in channel:
                if frame[0] == 1:
                    self.take(frame[9:])
                    seen = struct.unpack_from("!Q", frame, 1)[0] + len(frame) - 9
                    await channel.send(b"\x06" + struct.pack("!Q", seen))
                elif frame[0] == 2:
                    self.take(frame[13:])
                    await channel.send(b"\x06" + frame[1:9])

    async def plain(self, host: str, port: int) -> None:
        reader, self.keys = await asyncio.open_connection(host, port)
        self.keys.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while data := await reader.read(65536):
            self.take(data)

    async def ttyd(self, url: str) -> None:
        async with websockets.connect(
            url, subprotocols=["tty"], compression=None, max_size=None
        ) as channel:
            self.channel = channel
            await channel.send(json.dumps({"AuthToken": "", "columns": 80, "rows": 24}).encode())
            async for frame in channel:
                if frame[:1] == b"0":
                    self.take(frame[1:])

    def take(self, data: bytes) -> None:
        self.bytes += len(data)
        self.tail = (self.tail + data)[-4096:]
        self.news.set()

    async def until(self, mark: bytes) -> None:
        async with asyncio.timeout(120):
            while mark not in self.tail:
                self.news.clear()
                await self.news.wait()


class Load:
    """Watchers in a process of their own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def begun(cls, job: dict[str, object]) -> Load:
        """Returns when all of them are connected and have seen something."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, __file__, "--load", json.dumps(job)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        load = cls(process)
        await load._answer()
        return load

    async def bytes(self) -> int:
        """How much all of them got by now."""
        return await self._asked("bytes")

    async def until(self, mark: str) -> int:
        """The same, when each of them has got this."""
        return await self._asked(mark)

    async def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()

    async def _asked(self, word: str) -> int:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{word}\n".encode())
        return await self._answer()

    async def _answer(self) -> int:
        assert self._process.stdout is not None
        return int(await asyncio.wait_for(self._process.stdout.readline(), 300))


async def load(job: dict[str, object]) -> None:
    """What the process of the watchers does."""
    os.nice(10)
    watchers, tasks = [], []
    for ticket in job["tickets"]:
        watcher = Watcher()
        watching = watcher.redoma(job["url"], ticket) if ticket else watcher.plain(*job["address"])
        tasks.append(asyncio.ensure_future(watching))
        if ticket:
            await watcher.until(b"$ ")
        watchers.append(watcher)
    print(0, flush=True)
    while word := (await asyncio.to_thread(sys.stdin.readline)).strip():
        if word != "bytes":
            await asyncio.gather(*(watcher.until(word.encode()) for watcher in watchers))
        print(sum(watcher.bytes for watcher in watchers), flush=True)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def used(pid: int) -> float:
    """CPU seconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory(pid: int) -> float:
    """Resident megabytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096 / 1e6


async def echo(watcher: Watcher, type_: object) -> dict[str, float]:
    """How long a key takes from its typing to its showing."""
    took = []
    for number in range(ECHOES):
        before = watcher.bytes
        began = time.perf_counter()
        await type_(b"abcdefgh"[number % 8 : number % 8 + 1])  # type: ignore[operator]
        while watcher.bytes == before:
            watcher.news.clear()
            await watcher.news.wait()
        took.append((time.perf_counter() - began) * 1000)
        await asyncio.sleep(0.005)
    took.sort()
    return {"p50 ms": round(statistics.median(took), 2), "p99 ms": round(took[-3], 2)}


async def of_redoma(watchers: int, megabytes: int) -> dict[str, object]:
    server = await asyncio.to_thread(ServerProcess)
    pid = server.process.pid
    url = server.url.replace("http", "ws", 1)
    tasks = []
    try:
        session = await asyncio.to_thread(server.start)
        session.host.close()

        async def ticket() -> str:
            made = await asyncio.to_thread(server.ask, "POST", f"{session.path}/ticket", {})
            return str(made["ticket"])

        channel = f"{url}{session.path}/channel"
        first = Watcher()
        tasks.append(asyncio.ensure_future(first.redoma(channel, await ticket())))
        await first.until(b"$ ")

        async def type_(data: bytes) -> None:
            await first.channel.send(b"\x03" + data)

        await type_(b"stty -icanon; cat >/dev/null\r")
        await asyncio.sleep(0.5)
        one = await echo(first, type_)
        others = await Load.begun(
            {"url": channel, "tickets": [await ticket() for _ in range(watchers - 1)]}
        )
        many = await echo(first, type_)
        await type_(b"\x03")
        await asyncio.sleep(0.3)
        idle = memory(pid)
        before, cpu = first.bytes + await others.bytes(), used(pid)
        await type_(flood(megabytes))
        await first.until(b"end-42")
        sent = first.bytes + await others.until("end-42") - before
        spent = max(used(pid) - cpu, 1 / TICKS)
        fan_out = {"sent MB": round(sent / 1e6, 1), "MB a CPU second": round(sent / 1e6 / spent, 1)}
        await others.end()
        await asyncio.sleep(0.5)
        stopped = await asyncio.to_thread(one_that_stopped, server, session, megabytes)
        return {
            "echo, 1 watcher": one,
            f"echo, {watchers} watchers": many,
            f"fan-out to {watchers}": fan_out,
            "memory": {"idle MB": round(idle, 1), "for a stopped watcher MB": stopped},
        }
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.to_thread(server.stop)


def one_that_stopped(server: ServerProcess, session: SharedSession, megabytes: int) -> float:
    """By how much the server grows for a watcher that reads nothing while much is shown."""
    from tests.sessions.server_process import Connection

    host = Connection(server, session.id, server.bearer)
    host.until(lambda: host.snapshots)
    session.host = host
    session.admitted()  # from here on nothing of it is read
    before = memory(server.process.pid)
    host.type(flood(megabytes).replace(b"+2", b"+3"))
    host.until(lambda: b"end-43" in host.screen)
    return round(memory(server.process.pid) - before, 1)


def flood(megabytes: int) -> bytes:
    return (
        f"stty sane; head -c {megabytes}000000 /dev/zero | tr '\\0' x | fold -w 79;"
        " echo end-$((40+2))\r"
    ).encode()


async def of_a_plain_loop(watchers: int, megabytes: int) -> dict[str, object]:
    """The least that anybody could do: a terminal, a thread, plain connections."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    pid, master = pty.fork()
    if pid == 0:
        os.execvp("/bin/bash", ["/bin/bash", "--norc", "-i"])
    loop = os.fork()
    if loop == 0:
        plain_loop(master, listener, watchers)
        os._exit(0)
    os.close(master)
    tasks = []
    try:
        address = listener.getsockname()
        first = Watcher()
        tasks.append(asyncio.ensure_future(first.plain(*address)))
        others = await Load.begun({"address": address, "tickets": [""] * (watchers - 1)})

        async def type_(data: bytes) -> None:
            first.keys.write(data)

        await asyncio.sleep(0.5)
        await type_(b"stty -icanon; cat >/dev/null\r")
        await asyncio.sleep(0.5)
        many = await echo(first, type_)
        await type_(b"\x03")
        await asyncio.sleep(0.3)
        before, cpu = first.bytes + await others.bytes(), used(loop)
        await type_(flood(megabytes))
        await first.until(b"end-42")
        sent = first.bytes + await others.until("end-42") - before
        spent = max(used(loop) - cpu, 1 / TICKS)
        await others.end()
        return {
            f"echo, {watchers} watchers": many,
            f"fan-out to {watchers}": {
                "sent MB": round(sent / 1e6, 1),
                "MB a CPU second": round(sent / 1e6 / spent, 1),
            },
        }
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for each in (loop, pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
            os.waitpid(each, 0)
        listener.close()


def plain_loop(master: int, listener: socket.socket, watchers: int) -> None:
    """Reads the terminal and writes what came to everybody; one thread for keys."""
    clients = []
    for _ in range(watchers):
        client, _ = listener.accept()
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        clients.append(client)

    def keys() -> None:
        while data := clients[0].recv(4096):
            os.write(master, data)

    threading.Thread(target=keys, daemon=True).start()
    with contextlib.suppress(OSError):
        while data := os.read(master, 65536):
            for client in clients:
                client.sendall(data)


async def of_ttyd(watchers: int, megabytes: int) -> dict[str, object]:
    """Each of ttyd's watchers has a shell of its own, unless they share one by tmux or the like."""
    program = shutil.which("ttyd") or ""
    port = socket.create_server(("127.0.0.1", 0)).getsockname()[1]
    process = subprocess.Popen(
        [program, "-W", "-p", str(port), "-i", "127.0.0.1", "/bin/bash", "--norc", "-i"],
        stderr=subprocess.DEVNULL,
    )
    await asyncio.sleep(1)
    tasks = []
    try:
        everybody = []
        for _ in range(watchers):
            watcher = Watcher()
            tasks.append(asyncio.ensure_future(watcher.ttyd(f"ws://127.0.0.1:{port}/ws")))
            await watcher.until(b"$ ")
            everybody.append(watcher)
        before, cpu = sum(w.bytes for w in everybody), used(process.pid)
        for watcher in everybody:
            await watcher.channel.send(b"0" + flood(megabytes))
        await asyncio.gather(*(w.until(b"end-42") for w in everybody))
        sent = sum(w.bytes for w in everybody) - before
        spent = max(used(process.pid) - cpu, 1 / TICKS)
        return {
            f"fan-out to {watchers}": {
                "sent MB": round(sent / 1e6, 1),
                "MB a CPU second": round(sent / 1e6 / spent, 1),
            }
        }
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        process.kill()
        process.wait()


def main() -> int:
    reader = argparse.ArgumentParser()
    reader.add_argument("--watchers", type=int, default=100)
    reader.add_argument("--megabytes", type=int, default=5)
    reader.add_argument("--json", action="store_true")
    reader.add_argument("--load", help=argparse.SUPPRESS)
    given = reader.parse_args()
    if given.load:
        asyncio.run(load(json.loads(given.load)))
        return 0
    size = (given.watchers, given.megabytes)
    # First, since it forks: no thread is there yet.
    found = {"plain PTY loop": asyncio.run(of_a_plain_loop(*size))}
    found["redoma"] = asyncio.run(of_redoma(*size))
    if shutil.which("ttyd"):
        found["ttyd"] = asyncio.run(of_ttyd(*size))
    name = f"fan-out to {given.watchers}"
    rate = "MB a CPU second"
    ratios = {
        f"redoma / {other}": round(found["redoma"][name][rate] / found[other][name][rate], 2)  # type: ignore[index]
        for other in found
        if other != "redoma"
    }
    found["fan-out by CPU, ratio"] = ratios
    if given.json:
        print(json.dumps(found))
        return 0
    for who, rows in found.items():
        print(who)
        for row, values in rows.items():
            print(f"    {row}: {values}")
    if not shutil.which("ttyd"):
        print("ttyd is not installed here, so it was not measured")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
