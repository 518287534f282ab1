"""Reading the examples out of the documents, and comparing what they say with what happens."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from tests.house.tree import ROOT

FENCE = re.compile(r"^```(?P<kind>[\w-]*)[^\n]*\n(?P<body>.*?)^```$", re.M | re.S)
LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")


class Fence(NamedTuple):
    """A fenced block of a document."""

    document: Path
    line: int
    kind: str
    body: str

    def __str__(self) -> str:
        return f"{self.document}:{self.line}"


class Step(NamedTuple):
    """A command of an example and what it is said to print."""

    command: str
    output: str


def documents() -> list[Path]:
    """Every document of the project, relative to its root."""
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    return sorted(path.relative_to(ROOT) for path in found)


def fences(*kinds: str) -> list[Fence]:
    """Every fenced block of these kinds in every document."""
    found = []
    for document in documents():
        text = (ROOT / document).read_text(encoding="utf-8")
        for match in FENCE.finditer(text):
            if match["kind"] in kinds:
                line = text.count("\n", 0, match.start()) + 1
                found.append(Fence(document, line, match["kind"], match["body"]))
    return found


def steps(body: str) -> list[Step]:
    """The `$ command` lines of a console example (`> ` continues one), with their outputs."""
    found: list[tuple[list[str], list[str]]] = []
    for line in body.splitlines():
        if line.startswith("$ "):
            found.append(([line[2:]], []))
        elif line.startswith("> ") and found and not found[-1][1]:
            found[-1][0].append(line[2:])
        elif found:
            found[-1][1].append(line)
    return [Step("\n".join(command), "\n".join(output)) for command, output in found]


def rewrite(fence: Fence, outputs: list[str]) -> None:
    """Puts what was printed in the place of what the document said, where they differ."""
    lines = []
    for step, printed in zip(steps(fence.body), outputs, strict=False):
        first, *more = step.command.split("\n")
        lines += [f"$ {first}", *(f"> {line}" for line in more)]
        said = step.output if matches(step.output, printed) else printed.rstrip("\n")
        lines += said.splitlines()
    path = ROOT / fence.document
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(fence.body, "\n".join(lines) + "\n", 1), encoding="utf-8")


def matches(said: str, printed: str) -> bool:
    """Whether an output is as said, where `…` stands for anything within its line or lines."""
    pieces = [re.escape(piece) for piece in said.rstrip("\n").split("…")]
    return re.fullmatch(r"[\s\S]*?".join(pieces), printed.rstrip("\n")) is not None


def broken_links() -> list[str]:
    """Every relative link of a document that leads nowhere."""
    broken = []
    for document in documents():
        text = FENCE.sub("", (ROOT / document).read_text(encoding="utf-8"))
        for match in LINK.finditer(text):
            target, _, _ = match["target"].partition("#")
            if not target or "://" in target or target.startswith("mailto:"):
                continue
            if not (ROOT / document.parent / target).exists():
                broken.append(f"{document}: {match['target']}")
    return broken
