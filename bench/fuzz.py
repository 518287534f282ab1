"""Looks for a text that makes the judge raise or dawdle: random, grammatical and mutated commands.

bench/fuzz.py [--minutes 10] [--seed N] [--corpora DIR]
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from bench.judge import rows  # noqa: E402
from redoma.pipeline.decisions.check import check  # noqa: E402
from tests.property.fragments import GLUE, PIECES  # noqa: E402

SLOW = 1.0
SHORT = 64
"""A shorter text costs what starting costs, not what it holds."""
LARGE = 65_536
LARGE_TAKES = 0.1


def generated(chance: random.Random, seeds: list[str]) -> str:
    """A text of one of four kinds."""
    kind = chance.randrange(4)
    if kind == 0:
        return "".join(
            chr(chance.choice((chance.randrange(128), chance.randrange(0x3000))))
            for _ in range(chance.randrange(120))
        )
    if kind == 1 or not seeds:
        return "".join(
            chance.choice(PIECES) + chance.choice(GLUE + [" "] * 12)
            for _ in range(chance.randrange(60))
        )
    text = chance.choice(seeds)
    if kind == 2:
        for _ in range(chance.randrange(1, 6)):
            at = chance.randrange(len(text) + 1)
            text = text[:at] + chance.choice(PIECES + GLUE) + text[at + chance.randrange(3) :]
        return text[:20000]
    other = chance.choice(seeds)
    return (text[: chance.randrange(len(text) + 1)] + other[chance.randrange(len(other) + 1) :])[
        :20000
    ]


def _large() -> int:
    """64 KiB of anything: how much the dearest takes, and how many take too long unrefused."""
    worst, late = (0.0, ""), 0
    for piece in dict.fromkeys([*PIECES, *GLUE, "a", "a b ", "x=$y; ", "echo a; ", "'", '"']):
        text = (piece * LARGE)[:LARGE] if piece else ""
        start = time.process_time()
        refused = check(text, cwd="/home/user/project", home="/home/user").assessment.risk >= 4
        took = time.process_time() - start
        worst = max(worst, (took, piece))
        late += took > LARGE_TAKES and not refused
    print(
        f"64 KiB: the dearest {1e3 * worst[0]:.0f} ms ({worst[1]!r}); {late} over 100 ms unrefused"
    )
    return late


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument(
        "--corpora",
        type=Path,
        default=Path(os.environ.get("REDOMA_CORPORA", ROOT.parent / "shared" / "corpora")),
    )
    given = parser.parse_args()
    seeds = [
        r["cmd"] for p in sorted(given.corpora.glob("*.jsonl")) for r in rows(given.corpora, p.name)
    ]
    chance = random.Random(given.seed)
    end = time.monotonic() + 60 * given.minutes
    said = time.monotonic()
    count = failed = slow = length = 0
    spent = 0.0
    dearest = (0.0, "")
    while time.monotonic() < end:
        text = generated(chance, seeds)
        pack = chance.choice(("default", "default", "terminal", "skill"))
        start = time.process_time()
        try:
            check(text, pack=pack, cwd="/home/user/project", home="/home/user")
        except Exception:
            failed += 1
            print(f"RAISED on {text!r} ({pack})\n{traceback.format_exc()}")
        took = time.process_time() - start
        spent += took
        length += len(text)
        if len(text) >= SHORT:
            dearest = max(dearest, (took / len(text), text), key=lambda each: each[0])
        if took > SLOW:
            slow += 1
            print(f"SLOW {took:.2f} s: {text!r}")
        count += 1
        if time.monotonic() - said > 30:
            said = time.monotonic()
            print(f"{count} texts, {failed} raised, {slow} slow", file=sys.stderr)
    print(
        f"{count} texts in {given.minutes} min (seed {given.seed}): {failed} raised, {slow} took over {SLOW} s"
    )
    print(
        f"cost: {1e6 * spent / max(length, 1):.2f} µs a character; the dearest {1e6 * dearest[0]:.0f} µs: "
        f"{dearest[1][:120]!r}"
    )
    slow += _large()
    sys.exit(1 if failed or slow else 0)


if __name__ == "__main__":
    main()
