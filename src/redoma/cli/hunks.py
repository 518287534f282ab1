"""Choosing what to apply, change by change: hunks of text one by one, everything else whole."""

from __future__ import annotations

from itertools import pairwise

from redoma.cli.patch import hunk_lines, shown, title
from redoma.i18n import phrased
from redoma.model.change import Did
from redoma.model.diff import Hunk, Shows
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from redoma.cli.prose import Screen
    from redoma.model.diff import FileDiff

    Ask = Callable[[str, str], str]  # the question and the keys that answer it; "" at the end
    Say = Callable[[str], object]

_WIDE = ("utf-16", "utf-32")
HELP = """\
y  apply this
n  do not apply this
a  apply this and the rest of the file; for a whole file: and every change after it
d  apply neither this nor the rest of the file; for a whole file: nor any change after it
s  split this hunk into smaller ones
q  apply what was chosen so far and nothing more
?  this help
"""


class Chosen(Value):
    """Paths to apply whole, and for the others the hunks to apply."""

    paths: tuple[str, ...] = ()
    hunks: tuple[tuple[FileDiff, tuple[Hunk, ...]], ...] = ()

    @property
    def nothing(self) -> bool:
        return not self.paths and not self.hunks


def choose(diffs: Iterable[FileDiff], screen: Screen, ask: Ask, say: Say) -> Chosen:
    """Asks about each change in turn; the end of the answers is a no to everything left."""
    paths: list[str] = []
    parts: list[tuple[FileDiff, tuple[Hunk, ...]]] = []
    rest = ""
    for diff in diffs:
        if rest == "a":
            paths.append(diff.change.path)
            continue
        if rest:
            break
        if _in_hunks(diff):
            chosen, rest = _hunks(diff, screen, ask, say)
            if len(chosen) == len(diff.hunks) and set(chosen) == set(diff.hunks):
                paths.append(diff.change.path)
            elif chosen:
                parts.append((diff, chosen))
            continue
        say(f"{''.join(shown([diff], screen)) or title(diff.change) + chr(10)}")
        answer = _answered(phrased("Apply this change"), "ynadq", ask, say)
        if answer in ("y", "a"):
            paths.append(diff.change.path)
        rest = answer if answer in ("a", "d", "q", "") else ""
        if answer in ("d", "q", ""):
            break
    return Chosen(paths=tuple(paths), hunks=tuple(parts))


def split(hunk: Hunk) -> tuple[Hunk, ...]:
    """The hunk as several, one for each run of changed lines; itself where there is only one."""
    runs: list[list[int]] = []
    for number, (sign, _) in enumerate(hunk.lines):
        if sign == " ":
            continue
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    if len(runs) < 2:
        return (hunk,)
    # Each part takes the equal lines before it; what follows the last belongs to the last.
    cuts = [0, *(run[0] - _before(hunk, run[0]) for run in runs[1:]), len(hunk.lines)]
    return tuple(_part(hunk, start, end) for start, end in pairwise(cuts))


def _before(hunk: Hunk, at: int) -> int:
    """How many equal lines directly before a place."""
    count = 0
    while at - count > 0 and hunk.lines[at - count - 1][0] == " ":
        count += 1
    return count


def _part(hunk: Hunk, start: int, end: int) -> Hunk:
    before = hunk.lines[:start]
    lines = hunk.lines[start:end]
    return Hunk(
        old_start=hunk.old_start + sum(sign != "+" for sign, _ in before),
        old_count=sum(sign != "+" for sign, _ in lines),
        new_start=hunk.new_start + sum(sign != "-" for sign, _ in before),
        new_count=sum(sign != "-" for sign, _ in lines),
        lines=lines,
    )


def _in_hunks(diff: FileDiff) -> bool:
    """Whether parts of it make sense: a file that was there and still is, as lines of bytes."""
    return (
        diff.shows is Shows.TEXT
        and diff.change.did is Did.MODIFIED
        and diff.encoding not in _WIDE
        and not diff.change.hard_link_of
        and bool(diff.hunks)
        and diff.change.before is not None
        and diff.change.after is not None
        and diff.change.before.kind is diff.change.after.kind
    )


def _hunks(diff: FileDiff, screen: Screen, ask: Ask, say: Say) -> tuple[tuple[Hunk, ...], str]:
    """The chosen hunks of one file, and `q` or nothing if that ended the choosing."""
    say(f"{title(diff.change)}\n")
    todo = list(diff.hunks)
    chosen: list[Hunk] = []
    while todo:
        hunk = todo.pop(0)
        say("".join(hunk_lines(hunk, diff.encoding, screen)))
        parts = split(hunk)
        keys = "ynad" + ("s" if len(parts) > 1 else "") + "q"
        answer = _answered(phrased("Apply this hunk"), keys, ask, say)
        if answer == "s":
            todo[:0] = parts
            continue
        if answer in ("y", "a"):
            chosen.append(hunk)
        if answer == "a":
            chosen += todo
        if answer in ("a", "d"):
            break
        if answer in ("q", ""):
            return tuple(chosen), "q"
    return tuple(chosen), ""


def _answered(question: str, keys: str, ask: Ask, say: Say) -> str:
    while True:
        answer = ask(f"{question} [{','.join(keys)},?]? ", keys + "?")
        if answer != "?":
            return answer
        say(phrased(HELP))
