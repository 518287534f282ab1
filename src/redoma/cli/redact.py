"""`redoma redact`: a filter that takes secrets out of what passes through it."""

from __future__ import annotations

import os
import sys

from redoma.base.text import harmless
from redoma.cli.options import Argument, CommandTable, Heading, Option, Sample
from redoma.model.errors import RedomaError, UsageError
from redoma.pipeline.secrets import REDACTED, WITH_KIND, Found, Redactor, redactor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from redoma.cli.options import CommandLine

REDACT = CommandTable(
    "redact",
    "Writes its input with [REDACTED] in the place of every secret: tokens of known shapes, private"
    " keys, passwords in URLs, headers and command lines, values of names that tell (PASSWORD=...),"
    " and the values of your own variables that hold secrets, also in base64 and quoted.",
    "Lines come out as soon as they are whole.",
    usage=("[--check] [--json] [--kinds] [--value-from NAME,...] [FILE]...",),
    arguments=(Argument("FILE", "files to read, one after another; `-` or none: standard input"),),
    options=(
        Heading("options"),
        Option("--check", "writes nothing but where secrets are, as FILE:LINE: KIND"),
        Option("--json", "one JSON object that says where secrets are, instead of the text"),
        Option("--kinds", "writes [REDACTED:KIND]"),
        Option(
            "--value-from NAME",
            "the value of this variable is a secret, whatever it is called; several names are"
            " separated by commas",
        ),
        Option("--no-environment", "does not look for the values of your own variables"),
    ),
    status=(
        "0; with --check, 1 if there is a secret; 2 the command line or a file cannot be read; 125"
        " something could not be redacted, and was withheld"
    ),
    samples=(
        Sample("echo 'PASSWORD=hunter2' | redoma redact", "shows PASSWORD=[REDACTED]"),
        Sample("redoma redact --check /etc/hostname", "whether a file holds a secret"),
    ),
)
PIECE = 64 * 1024
FOUND = 1


class Withheld(RedomaError):
    """Something could not be redacted, so it was not shown."""

    code = "withheld"


@REDACT.main
def main(given: CommandLine) -> int:
    """Filters what the command line names, or tells where there are secrets."""
    made = redactor(
        {} if "--no-environment" in given.flags else None,
        values=_values(given.values.get("--value-from", "")),
        replacement=WITH_KIND if "--kinds" in given.flags else REDACTED,
    )
    files = given.words or ["-"]
    if not given.json and "--check" not in given.flags:
        for name in files:
            _filter(name, made)
        return 0
    found = [(name, each) for name in files for each in _found(name, made)]
    if given.json:
        _report(found)
    else:
        for name, each in found:
            sys.stdout.write(f"{harmless(name)}:{each.line}: {each.kind}\n")
    return FOUND if found and "--check" in given.flags else 0


def _values(names: str) -> list[str]:
    values = []
    for name in filter(None, names.split(",")):
        value = os.environ.get(name)
        if value is None:
            raise UsageError(f"there is no variable {name}", hint=f"export {name}=...")
        values.append(value)
    return values


def _pieces(name: str) -> Iterator[bytes]:
    try:
        file = 0 if name == "-" else os.open(name, os.O_RDONLY | os.O_CLOEXEC)
        try:
            # Not through a buffer of our own: what is there now is read now.
            while piece := os.read(file, PIECE):
                yield piece
        finally:
            if file != 0:
                os.close(file)
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise UsageError(f"{name}: {why}", hint=REDACT.hint) from error


def _filter(name: str, made: Redactor) -> None:
    stream = made.stream()
    for piece in _pieces(name):
        _write(stream.feed(piece))
    _write(stream.finish())
    if stream.failed:
        raise Withheld(f"{name}: could not be redacted, and the rest of it was withheld")


def _found(name: str, made: Redactor) -> tuple[Found, ...]:
    notes: list[Found] = []
    stream = made.stream(lambda kind, line: notes.append(Found(kind=kind, line=line)))
    for piece in _pieces(name):
        stream.feed(piece)
    stream.finish()
    if stream.failed:
        raise Withheld(f"{name}: could not be read to its end")
    return tuple(notes)


def _report(found: list[tuple[str, Found]]) -> None:
    import json

    rows = [{"file": name, "line": each.line, "kind": each.kind} for name, each in found]
    sys.stdout.write(json.dumps({"clean": not rows, "found": rows}) + "\n")


def _write(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]
