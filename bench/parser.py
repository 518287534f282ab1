"""How fast shell text is read, beside `shlex.split`, and how peers read what we read.

bench/parser.py [--corpora DIR]           cost of a median command, of 1 kB, of the nastiest 64 KiB
bench/parser.py --peers [--corpora DIR]   what tree-sitter-bash and shfmt, where installed, make of
                                          commands: refused, and words that differ from ours
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shlex
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from redoma.judge.shell.parser import parse  # noqa: E402
from redoma.model.script import Simple, Word  # noqa: E402
from tests.unit.judge.shell.nasty import MIXED, NASTY, SIZE  # noqa: E402
from tests.unit.judge.shell.walk import nodes  # noqa: E402

MEDIAN_LENGTH = 36
DECLARERS = frozenset(("declare", "export", "let", "local", "nameref", "readonly", "typeset"))
PLAIN = (
    "git log --oneline -n 20 --stat -- src",
    "grep -rn 'some text' src --include=*.py",
    "docker ps -a | awk '{print $1}' | sort",
    'cd "$HOME/project" && make test > log',
    "find . -name '*.tmp' -exec rm {} \\;",
    'for f in *.txt; do wc -l "$f"; done',
)
SCRIPT = """set -euo pipefail
if [[ ! -d "$BUILD/dist" ]]; then
    mkdir -p "$BUILD/dist" || { echo "no place for ${BUILD:-it}" >&2; exit 1; }
fi
for name in one two three; do
    version=$(grep -m1 '^version' "$name/setup.cfg" | cut -d= -f2)
    case "$version" in
        0.*) flags="--pre" ;;
        *) flags="" ;;
    esac
    (cd "$name" && python3 -m build $flags --outdir "$BUILD/dist" 2>&1 | tee "build-$name.log")
done
cat > "$BUILD/notes" <<EOF
built on $(date) for ${USER:-nobody}
EOF
"""


def commands(corpora: Path) -> list[str]:
    """Every command of the corpora, or our own few where there are none."""
    found = {
        json.loads(line)["cmd"]: None
        for path in sorted(corpora.glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    }
    return list(found) or list(PLAIN)


def microseconds(action: Callable[[str], object], texts: list[str], tries: int = 7) -> float:
    """The median over texts of the best of some tries."""
    costs = []
    for text in texts:
        best = float("inf")
        for _ in range(tries):
            started = time.perf_counter()
            action(text)
            best = min(best, time.perf_counter() - started)
        costs.append(best * 1e6)
    return statistics.median(costs)


def split(text: str) -> list[str]:
    """The yardstick: the standard library's own splitting, which knows no operators."""
    try:
        return shlex.split(text, comments=False)
    except ValueError:
        return []


def speed(corpora: Path) -> None:
    """Prints the costs, each as a ratio to the yardstick in the same run."""
    rows = commands(corpora)
    median = [text for text in rows if len(text) == MEDIAN_LENGTH][:200] or list(PLAIN)
    kilobyte = [text for text in rows if 950 < len(text) < 1050][:40] or [SCRIPT * 2]
    print(f"{'':24}{'ours':>12}{'shlex.split':>14}{'ratio':>8}")
    for name, texts in (("median command", median), ("1 kB", kilobyte)):
        ours, theirs = microseconds(parse, texts), microseconds(split, texts)
        print(f"{name:24}{ours:>9.1f} µs{theirs:>11.1f} µs{ours / theirs:>8.2f}")
    worst, culprit = 0.0, ""
    for text in [(unit * SIZE)[:SIZE] for unit in NASTY] + [m[:SIZE] for m in MIXED.values()]:
        cost = microseconds(parse, [text], tries=5)
        if cost > worst:
            worst, culprit = cost, text
    theirs = microseconds(split, [(SCRIPT * SIZE)[:SIZE]], tries=5)
    print(f"{'nastiest 64 KiB':24}{worst / 1000:>9.1f} ms{theirs / 1000:>11.1f} ms", end="")
    print(f"{worst / theirs:>8.2f}   {culprit[:24]!r}…")


def our_words(text: str) -> list[str]:
    """The words of all simple commands as they are written."""
    return [
        text[slice(*word.span)]
        for node in nodes(parse(text))
        if isinstance(node, Simple)
        for word in node.words
        if isinstance(word, Word)
    ]


def tree_sitter() -> Callable[[str], list[str] | None] | None:
    """tree-sitter-bash as a reader of words, where it is installed."""
    try:
        import tree_sitter as ts
        import tree_sitter_bash
    except ImportError:
        return None
    parser = ts.Parser(ts.Language(tree_sitter_bash.language()))
    kinds = ("command", "declaration_command", "unset_command", "test_command")
    skipped = ("file_redirect", "heredoc_redirect", "herestring_redirect")

    def below(node: Any) -> Iterator[Any]:
        waiting = [node]
        while waiting:
            item = waiting.pop()
            yield item
            waiting.extend(item.children)

    def words(text: str) -> list[str] | None:
        source = text.encode("utf-8", "surrogatepass")
        root = parser.parse(source).root_node
        if root.has_error:
            return None
        found = []
        for node in below(root):
            if node.type in kinds and not source.startswith(b"[[", node.start_byte):
                items = [c for c in node.children if c.type not in skipped]
                if node.type == "command":
                    items = [c for c in items if c.type != "variable_assignment"]
                found += [source[c.start_byte : c.end_byte].decode() for c in items]
        return found

    return words


def shfmt() -> Callable[[str], list[str] | None] | None:
    """shfmt as a reader of words, where it is installed."""
    program = shutil.which("shfmt")
    if program is None:
        return None

    def words(text: str) -> list[str] | None:
        source = text.encode("utf-8", "surrogatepass")
        done = subprocess.run(
            [program, "--to-json"], input=source, capture_output=True, check=False
        )
        if done.returncode != 0:
            return None
        found: list[str] = []
        waiting: list[Any] = [json.loads(done.stdout)]
        while waiting:
            item = waiting.pop()
            if isinstance(item, list):
                waiting.extend(item)
            elif isinstance(item, dict):
                waiting.extend(item.values())
                if item.get("Type") == "CallExpr":
                    spans = [(a["Pos"]["Offset"], a["End"]["Offset"]) for a in item.get("Args", ())]
                    found += [source[begin:end].decode() for begin, end in spans]
        return found

    return words


def peers(corpora: Path, sample: int) -> None:
    """Prints how often each peer refuses what we read, and how often its words are others."""
    rows = [text for text in commands(corpora) if "\0" not in text and not parse(text).unread]
    rows = random.Random(3).sample(rows, min(sample, len(rows)))
    for name, reader in (("tree-sitter-bash", tree_sitter()), ("shfmt", shfmt())):
        if reader is None:
            print(f"{name}: not installed")
            continue
        refused, differ = 0, []
        for text in rows:
            if name == "shfmt" and not DECLARERS.isdisjoint(our_words(text)):
                continue  # shfmt has nodes of its own for those
            theirs = reader(text)
            if theirs is None:
                refused += 1
            elif sorted(theirs) != sorted(our_words(text)):
                differ.append(text)
        print(f"{name}: of {len(rows)} refused {refused}, other words in {len(differ)}, such as")
        for text in sorted(differ, key=len)[:5]:
            print(f"    {text!r}")


def main() -> None:
    """Reads the command line."""
    default = os.environ.get("REDOMA_CORPORA") or ROOT.parent / "shared" / "corpora"
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--corpora", type=Path, default=Path(default))
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--sample", type=int, default=4000)
    given = parser.parse_args()
    if given.peers:
        peers(given.corpora, given.sample)
    else:
        speed(given.corpora)


if __name__ == "__main__":
    main()
