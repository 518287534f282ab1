"""How much the redactor finds, how often it is wrong, and how fast it is beside a plain scan.

bench/redact.py [--corpora DIR]

Recall and false alarms are counted on the labelled set of the tests, with seeds that no test has;
with corpora, false alarms also on the commands there. Speed is that of 300 kB, beside the plain
way to do it: every pattern of ours over the same text, one after another.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from redoma.vault import contexts, shapes  # noqa: E402
from redoma.vault.redactor import Redactor  # noqa: E402
from tests.unit.vault.labelled import Secret, negatives, positives  # noqa: E402

SEEDS = range(100, 110)
SIZE = 300_000


def found(redactor: Redactor, cases: list[Secret]) -> Counter[str]:
    """The kinds of which a secret was left."""
    return Counter(c.kind for c in cases if any(s in redactor.text(c.text) for s in c.secrets))


def quality() -> None:
    """Prints recall and false alarms on the labelled set."""
    redactor = Redactor()
    cases = [case for seed in SEEDS for case in positives(seed)]
    texts = [text for seed in SEEDS for text in negatives(seed)]
    left = found(redactor, cases)
    wrong = [text for text in texts if redactor.text(text) != text]
    print(
        f"recall            {1 - left.total() / len(cases):8.2%}  of {len(cases)}  left: {dict(left)}"
    )
    print(f"false alarms      {len(wrong) / len(texts):8.2%}  of {len(texts)}  {wrong[:3]}")


def on_corpora(folder: Path) -> None:
    """Prints how many commands of the corpora are changed: all of these are looked at by hand."""
    rows = {
        json.loads(line)["cmd"]
        for path in sorted(folder.glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    }
    if not rows:
        return
    redactor = Redactor()
    started = time.process_time()
    changed = sum(redactor.text(row) != row for row in rows)
    each = (time.process_time() - started) / len(rows)
    print(
        f"corpora           {changed / len(rows):8.2%}  of {len(rows)} changed, {each * 1e6:.1f} µs each"
    )


def plain_scan() -> Callable[[bytes], object]:
    """The yardstick: every pattern over the whole text, without needles."""
    patterns = [re.compile(pattern) for _, _, pattern in shapes.ROWS]
    patterns += [re.compile(pattern) for _, rows in contexts.ROWS for _, _, pattern in rows]
    return lambda data: [pattern.sub(b"[REDACTED]", data) for pattern in patterns]


def speed() -> None:
    """Prints megabytes a second on three kinds of text, ours and the plain scan."""
    made = random.Random(5)
    lines = negatives(500)
    few = [line for line in lines if len(line) < 90]
    kinds = {
        "log without secrets": [made.choice(few) for _ in range(30_000)],
        "one secret in 100 lines": [case.text for case in positives(500) for _ in range(1)]
        + [made.choice(few) for _ in range(30_000)],
        "hashes and images": [line for line in lines if len(line) >= 90] * 60,
    }
    ours, theirs = Redactor().data, plain_scan()
    print(f"{'':26}{'ours':>12}{'plain scan':>14}{'ratio':>8}")
    for name, rows in kinds.items():
        made.shuffle(rows)
        data = "\n".join(rows).encode()[:SIZE]
        rates = [len(data) / 1e6 / best_of(action, data) for action in (ours, theirs)]
        print(f"{name:26}{rates[0]:>7.1f} MB/s{rates[1]:>9.1f} MB/s{rates[0] / rates[1]:>8.1f}")
    command = b"git commit -m 'fix the thing' && npm run build -- --mode production | tee out.log"
    print(f"{'an ordinary command':26}{best_of(ours, command, 200) * 1e6:>7.1f} µs  ", end="")
    print(f"{best_of(theirs, command, 200) * 1e6:>8.1f} µs")


def best_of(action: Callable[[bytes], object], data: bytes, tries: int = 3) -> float:
    """The shortest time of some tries, in seconds of the processor."""
    best = 60.0
    for _ in range(tries):
        started = time.process_time()
        action(data)
        best = min(best, time.process_time() - started)
    return best


def main() -> None:
    """Reads the command line."""
    default = os.environ.get("REDOMA_CORPORA") or ROOT.parent / "shared" / "corpora"
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--corpora", type=Path, default=Path(default))
    given = parser.parse_args()
    quality()
    on_corpora(given.corpora)
    speed()


if __name__ == "__main__":
    main()
