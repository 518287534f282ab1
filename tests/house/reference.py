"""The reference page of the command line: what stands between its marks comes from the tables.

`python -m tests.house.reference` writes what the tables say today into the page.
"""

from __future__ import annotations

import re

from redoma.cli import COMMANDS, load
from redoma.cli.help import lent_options, told, usage_lines
from redoma.cli.options import HELP, CommandTable, Heading
from tests.house.tree import ROOT

PAGE = ROOT / "docs/reference/cli.md"
BLOCK = re.compile(r"<!-- table of (?P<name>[a-z-]+) -->\n.*?<!-- end of table -->\n", re.S)


def rewritten(page: str) -> str:
    """The page with every block as the tables say it today."""
    return BLOCK.sub(lambda found: block(found["name"]), page)


def commands_with_a_block(page: str) -> list[str]:
    """The commands whose options the page lists."""
    return [found["name"] for found in BLOCK.finditer(page)]


def block(name: str) -> str:
    """One command between its marks: usage, rows, exit status."""
    table = load(name)
    parts = ["```sh\n" + "".join(f"{line}\n" for line in usage_lines(table)) + "```\n"]
    rows = [(row.spelled, told(row)) for row in table.arguments]
    rows += [(f"{row.name} {row.takes}".strip(), row.about) for row in table.subcommands.values()]
    parts += _tables("", rows)
    parts += _options(table)
    lent = lent_options(table)
    if lent:
        spelled = ", ".join(f"`{each}`" for each in lent)
        parts.append(f"Options of `redoma run`, with the same meaning: {spelled}.\n")
    if table.status:
        parts.append(f"Exit status: {table.status.removesuffix('.')}.\n")
    return f"<!-- table of {name} -->\n" + "\n".join(parts) + "<!-- end of table -->\n"


def _options(table: CommandTable) -> list[str]:
    made: list[str] = []
    title = ""
    rows: list[tuple[str, str]] = []
    for row in (*table.options, HELP):
        if isinstance(row, Heading):
            made += _tables(title, rows)
            title, rows = row.about, []
        elif row.shown:
            rows.append((row.spelled, told(row)))
    return [*made, *_tables(title, rows)]


def _tables(title: str, rows: list[tuple[str, str]]) -> list[str]:
    if not rows:
        return []
    lines = [f"| {title} | |\n|---|---|\n"]
    for spelled, about in rows:
        left, right = spelled.replace("|", "\\|"), about.replace("|", "\\|").replace("*", "\\*")
        lines.append(f"| `{left}` | {right} |\n")
    return ["".join(lines)]


def main() -> int:
    """Writes the page anew."""
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(rewritten(page), encoding="utf-8")
    missing = [name for name in COMMANDS if name not in commands_with_a_block(page)]
    print("".join(f"no block for {name}\n" for name in missing), end="")
    return 1 if missing else 0


if __name__ == "__main__":
    raise SystemExit(main())
