"""Public names of the package that nothing else in the package imports or mentions.

bench/unused_names.py          lists them, with who mentions them outside of src (tests, bench, docs)

A name that only tests mention is code for tests; one that nobody mentions is dead.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "redoma"
WORD = re.compile(r"[A-Za-z_]\w*")


def main() -> None:
    """Prints a line for each name."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(SOURCE.rglob("*.py"))}
    words = {path: Counter(WORD.findall(text)) for path, text in texts.items()}
    total: Counter[str] = Counter()
    for counted in words.values():
        total.update(counted)
    data = Counter(
        word
        for path in SOURCE.rglob("*.yaml")
        for word in WORD.findall(path.read_text(encoding="utf-8"))
    )
    outside = Counter(
        word
        for folder in ("tests", "bench", "docs")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".md")
        for word in set(WORD.findall(path.read_text(encoding="utf-8", errors="replace")))
    )
    for path, text in texts.items():
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names = [node.name]
            elif isinstance(node, ast.Assign):
                names = [each.id for each in node.targets if isinstance(each, ast.Name)]
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                names = [node.target.id]
            else:
                continue
            for name in names:
                if total[name] == 1 and not data[name] and not name.startswith("__"):
                    place = path.relative_to(ROOT)
                    print(f"{place}:{node.lineno} {name} ({outside[name]} outside)")


if __name__ == "__main__":
    main()
