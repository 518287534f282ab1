"""Sessions whose guests come, go, get write access and lose it at random, for as long as is said.

    bench/soak_sessions.py                                  20 sessions, 5 guests each, 10 minutes
    bench/soak_sessions.py --seconds 30 --sessions 4 --guests 3

Exit status 1 where somebody typed without permission, a row of the audit is missing, or memory,
descriptors or processes grew; it prints each at the beginning and at the end.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import threading
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tests.sessions.server_process import Connection, ServerProcess, SharedSession  # noqa: E402


class SoakedSession:
    """One session, its guests, and what should have been written down of them."""

    def __init__(self, server: ServerProcess, guests: int, seed: int) -> None:
        self.session: SharedSession = server.start()
        self.most = guests
        self.chance = random.Random(seed)
        self.guests: list[Connection] = []
        self.writers: set[str] = set()
        self.expected: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.number = 0

    def step(self) -> None:
        """One thing that happens, at random."""
        does = self.chance.choice((self.join, self.leave, self.grant, self.revoke, self.type))
        does()
        for each in (self.session.host, *self.guests):
            each.read(0.005)
        if b"WRONG-42" in self.session.host.screen:
            self.wrong.append("somebody typed without permission")
        self.session.host.screen = self.session.host.screen[-4096:]
        for guest in self.guests:
            guest.screen = guest.screen[-4096:]
            guest.messages = guest.messages[-20:]
        self.session.host.messages = self.session.host.messages[-20:]

    def join(self) -> None:
        if len(self.guests) < self.most:
            self.number += 1
            self.guests.append(self.session.admitted(f"guest-{self.number}"))
            self.expected["guest_joined"] += 1

    def leave(self) -> None:
        if self.guests:
            guest = self.guests.pop(self.chance.randrange(len(self.guests)))
            guest.close()
            self.writers.discard(guest.guest)
            self.expected["guest_left"] += 1

    def grant(self) -> None:
        if self.guests:
            guest = self.chance.choice(self.guests)
            self.session.permit(guest, "read_write")
            self.writers.add(guest.guest)
            self.expected["permission_changed"] += 1

    def revoke(self) -> None:
        if self.guests:
            guest = self.chance.choice(self.guests)
            self.session.permit(guest, "read_only")
            self.writers.discard(guest.guest)
            self.expected["permission_changed"] += 1

    def type(self) -> None:
        for guest in self.guests:
            right = guest.guest in self.writers
            guest.type(b"\x15echo right\r" if right else b"\x15echo WRONG-$((40+2))\r")

    def finish(self) -> None:
        """Ends it, and holds its audit against what happened."""
        for guest in self.guests:
            guest.close()
            self.expected["guest_left"] += 1
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            rows = self.session.audit()
            found = Counter(str(row["type"]) for row in rows)
            if all(found[name] == number for name, number in self.expected.items()):
                break
            time.sleep(0.1)
        else:
            if len(rows) < 1000:
                self.wrong.append(f"audit: {dict(found)} instead of {dict(self.expected)}")
        self.session.end()


def standing(server: ServerProcess) -> dict[str, int]:
    """What the server has now."""
    pid = server.process.pid
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    children = Path(f"/proc/{pid}/task").iterdir()
    below = sum(len((task / "children").read_text().split()) for task in children)
    return {
        "memory_mb": pages * 4096 // 1_000_000,
        "descriptors": len(os.listdir(f"/proc/{pid}/fd")),
        "processes": below,
        "threads": len(os.listdir(f"/proc/{pid}/task")),
    }


def soak(seconds: float, sessions: int, guests: int) -> list[str]:
    """What went wrong; nothing where all is well."""
    server = ServerProcess()
    wrong: list[str] = []
    try:
        # What is kept ready for the next run (control groups, overlays) grows to the most at once.
        warm = [SoakedSession(server, guests, -seed) for seed in range(sessions)]
        for each in warm:
            for _ in range(5):
                each.step()
        for each in warm:
            each.finish()
        time.sleep(0.5)
        before = standing(server)
        print(f"before: {before}", flush=True)
        running = [SoakedSession(server, guests, seed + 1) for seed in range(sessions)]
        over = time.monotonic() + seconds
        steps = [0]

        def walk(each: SoakedSession) -> None:
            try:
                while time.monotonic() < over:
                    each.step()
                    steps[0] += 1
                each.finish()
            except BaseException as error:
                each.wrong.append(f"{type(error).__name__}: {error}")

        threads = [threading.Thread(target=walk, args=(each,)) for each in running]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        wrong += [why for each in running for why in each.wrong]
        deadline = time.monotonic() + 15
        while time.monotonic() < deadline:
            after = standing(server)
            if all(after[name] <= before[name] + 3 for name in ("descriptors", "processes")):
                break
            time.sleep(0.2)
        print(f"after {steps[0]} steps: {after}", flush=True)
        for name in ("descriptors", "processes"):
            if after[name] > before[name] + 3:
                wrong.append(f"{name} grew from {before[name]} to {after[name]}")
        # Ended sessions are listed for a while (the newest fifty): each may keep a little.
        if after["memory_mb"] > before["memory_mb"] + 40 + 2 * sessions:
            wrong.append(f"memory grew from {before['memory_mb']} to {after['memory_mb']} MB")
    finally:
        server.stop()
    return wrong


def main() -> int:
    reader = argparse.ArgumentParser()
    reader.add_argument("--seconds", type=float, default=600)
    reader.add_argument("--sessions", type=int, default=20)
    reader.add_argument("--guests", type=int, default=5)
    given = reader.parse_args()
    wrong = soak(given.seconds, given.sessions, given.guests)
    for why in wrong:
        print(f"wrong: {why}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
