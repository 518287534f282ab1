"""Diffs as a person reads them: coloured hunks, and a word where there are none."""

from __future__ import annotations

from redoma.cli.display import harmless
from redoma.cli.tree import PLAIN, SIGNS, size
from redoma.i18n import phrased
from redoma.model.change import FileKind
from redoma.model.diff import Shows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from redoma.cli.prose import Screen
    from redoma.model.change import Change
    from redoma.model.diff import FileDiff, Hunk

_BOLD = "\x1b[1m"
_PLACE = "\x1b[36m"
_SIGN_PAINT = {"-": "\x1b[31m", "+": "\x1b[32m", " ": ""}
LONGEST_LINE = 2000


def shown(diffs: Iterable[FileDiff], screen: Screen) -> Iterator[str]:
    """Each file's differences; files of which there is nothing to show are left to the tree."""
    for diff in diffs:
        if diff.shows is Shows.NOTHING and not diff.why:
            continue
        yield f"{painted(title(diff.change), _BOLD, screen)}\n"
        if diff.stale:
            yield phrased(
                "  (the workspace's file has changed since; this compares with it as it is now)\n"
            )
        if diff.shows is not Shows.TEXT or not diff.hunks:
            yield f"  {_instead(diff)}\n"
        for hunk in diff.hunks:
            yield from hunk_lines(hunk, diff.encoding, screen)


def title(change: Change) -> str:
    """What happened to which path, on one line."""
    from_where = (
        phrased(" (from {0})", harmless(change.renamed_from)) if change.renamed_from else ""
    )
    return f"{SIGNS[change.did]} {harmless(change.path)}{from_where}"


def hunk_lines(hunk: Hunk, encoding: str, screen: Screen) -> Iterator[str]:
    """A hunk as in a patch; nothing in the file's text acts on the terminal."""
    yield f"{painted(hunk.header, _PLACE, screen)}\n"
    for sign, line in hunk.lines:
        text, newline = line.removesuffix(b"\n"), line.endswith(b"\n")
        said = harmless(_decoded(text[:LONGEST_LINE], encoding))
        if len(text) > LONGEST_LINE:
            said += phrased("... ({0} bytes)", len(text))
        yield f"{painted(sign + said, _SIGN_PAINT[sign], screen)}\n"
        if not newline:
            yield "\\ No newline at end of file\n"


def painted(text: str, paint: str, screen: Screen) -> str:
    """Text in a colour, where the screen has colours."""
    return f"{paint}{text}{PLAIN}" if screen.colour and paint else text


def _instead(diff: FileDiff) -> str:
    """What to say of a file whose content cannot be shown."""
    before, after = diff.change.before, diff.change.after
    sizes = [size(s.size) for s in (before, after) if s is not None and s.kind is FileKind.FILE]
    noun = phrased("binary" if diff.shows is Shows.BINARY else diff.why or diff.shows.value)
    return f"{noun}: {' -> '.join(sizes)}" if sizes else noun


def _decoded(line: bytes, encoding: str) -> str:
    if encoding == "latin-1":
        return line.decode("latin-1")
    return line.decode("utf-8", "surrogateescape")
