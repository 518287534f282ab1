"""Tables of commands with the level that each must reach, or must not pass.

A table is a text file: `== at least FORBIDDEN` opens a section, each further line is one command.
A line that begins with a backslash is written with escapes (`\\n`, `\\u2013`); `//` is a remark.
"""

from __future__ import annotations

from pathlib import Path

from redoma.model.decision import Risk

_FOLDER = Path(__file__).parent / "evasions"


def table(name: str) -> list[tuple[str, Risk]]:
    """The commands of one table, each with the level of its section."""
    rows: list[tuple[str, Risk]] = []
    level = Risk.FORBIDDEN
    for line in (_FOLDER / f"{name}.txt").read_text("utf-8").splitlines():
        if line.startswith("== "):
            level = Risk[line.split()[-1]]
        elif line.startswith("\\"):
            rows.append((line[1:].encode("latin-1").decode("unicode_escape"), level))
        elif line and not line.startswith("//"):
            rows.append((line, level))
    return rows
