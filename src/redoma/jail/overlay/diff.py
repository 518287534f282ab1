"""What changed inside each file, line by line; bounded in size and in work, whatever the texts are.

Equal ends are cut off, lines that occur once on both sides are the anchors (as in patience diff),
and what lies between is compared step by step. Attack: a file made so that comparing takes hours;
so the work is counted, and what is left when it is spent is shown as replaced.
"""

from __future__ import annotations

import codecs
from bisect import bisect_left

from redoma.jail.overlay.sides import Sides
from redoma.model.change import CONTEXT, Did, FileDiff, FileKind, Hunk, Shows
from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from redoma.jail.overlay.sides import SideContent
    from redoma.model.change import Change, FileState

    Region = tuple[int, int, int, int]  # before from, to; after from, to

LARGEST_FILE = 1 << 20
MOST_ALTOGETHER = 16 << 20
MOST_WORK = 3_000_000
MOST_EDITS = 300  # of one region without an anchor: its cost is the square


def diffs(changes: Iterable[Change], sides: Sides) -> Iterator[FileDiff]:
    """One for each change, in order; each file is read when its turn comes."""
    left = MOST_ALTOGETHER
    for change in changes:
        if change.did is Did.ATTRIBUTES or not _has_content(change):
            yield FileDiff(change=change, shows=Shows.NOTHING)
            continue
        if left <= 0:
            why = Message(
                "not compared: more than {size} MB changed altogether", size=MOST_ALTOGETHER >> 20
            )
            yield FileDiff(change=change, shows=Shows.LARGE, why=why)
            continue
        found = diff(change, sides, largest=LARGEST_FILE)
        if found.shows is not Shows.LARGE:
            left -= _size(change.before) + _size(change.after)
        yield found


def diff(change: Change, sides: Sides, *, largest: int) -> FileDiff:
    """The content of one change, compared."""
    before, after = sides.before(change, largest), sides.after(change, largest)
    stale = before.stale
    if before.data is None or after.data is None:
        short = before if before.data is None else after
        shows = Shows.LARGE if short.too_large else Shows.UNREADABLE
        return FileDiff(change=change, shows=shows, why=short.why, stale=stale)
    if before.data == after.data:
        return FileDiff(change=change, shows=Shows.NOTHING, stale=stale)
    return _compared(change, before, after)


def _compared(change: Change, before: SideContent, after: SideContent) -> FileDiff:
    old, new = before.data or b"", after.data or b""
    encoding = _common_encoding(change, old, new)
    if not encoding:
        return FileDiff(change=change, shows=Shows.BINARY, stale=before.stale)
    found = hunks(split(comparable(old, encoding)), split(comparable(new, encoding)))
    signs = [sign for hunk in found for sign, _ in hunk.lines]
    return FileDiff(
        change=change,
        shows=Shows.TEXT,
        hunks=tuple(found),
        encoding=encoding,
        why="" if found else "only the encoding changed",
        added=signs.count("+"),
        removed=signs.count("-"),
        stale=before.stale,
    )


def _common_encoding(change: Change, old: bytes, new: bytes) -> str:
    if not old or not new:
        # Created, emptied or deleted: one side decides.
        return encoding_of(old or new)
    kinds = {state.kind for state in (change.before, change.after) if state is not None}
    if len(kinds) > 1:
        return ""
    return same_family(encoding_of(old), encoding_of(new))


def _has_content(change: Change) -> bool:
    states = (change.before, change.after)
    return any(s is not None and s.kind in (FileKind.FILE, FileKind.SYMLINK) for s in states)


def _size(state: FileState | None) -> int:
    return state.size if state is not None else 0


# Longer marks first: UTF-32 begins like UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_LOOKED_AT = 8000  # as git looks for a NUL
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\f\r\x1b")) + b"\x7f"
_MOST_CONTROLS = 0.02
_FEW_CONTROLS = 3  # a short text may hold an escape sequence


def encoding_of(data: bytes) -> str:
    """The name of a text's encoding, or nothing for what is no text."""
    for mark, name in _MARKS:
        if data.startswith(mark):
            return name if _decodes(data, name) else ""
    if b"\0" in data[:_LOOKED_AT]:
        return ""
    if data.isascii():
        return "" if _noisy(data) else "ascii"
    if _decodes(data, "utf-8"):
        return "" if _noisy(data) else "utf-8"
    return "" if _noisy(data) else "latin-1"


def comparable(data: bytes, encoding: str) -> bytes:
    """The text so that a line feed is one byte; the bytes themselves wherever they are so."""
    if encoding in ("utf-16", "utf-32"):
        return data.decode(encoding).encode("utf-8", "surrogatepass")
    return data


def same_family(one: str, other: str) -> str:
    """The encoding in which both sides can be compared, or nothing where there is none."""
    if not one or not other:
        return ""
    wide = {"utf-16", "utf-32"}
    if one == other:
        return one
    if (one in wide) != (other in wide):
        return ""
    if one in wide:
        return one
    return "latin-1" if "latin-1" in (one, other) else "utf-8"


def _decodes(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _noisy(data: bytes) -> bool:
    """More control characters than any text has."""
    sample = data[:_LOOKED_AT]
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    return controls > max(_FEW_CONTROLS, _MOST_CONTROLS * len(sample))


def split(data: bytes) -> list[bytes]:
    """Lines with their newlines; only a line feed ends a line, as git has it."""
    *whole, last = data.split(b"\n")
    lines = [line + b"\n" for line in whole]
    return [*lines, last] if last else lines


def hunks(before: Sequence[bytes], after: Sequence[bytes], context: int = CONTEXT) -> list[Hunk]:
    """What differs, in hunks with a few equal lines around each."""
    edits = _edits(matching(before, after), len(before), len(after))
    groups: list[list[Region]] = []
    for edit in edits:
        if groups and edit[0] - groups[-1][-1][1] <= 2 * context:
            groups[-1].append(edit)
        else:
            groups.append([edit])
    return [_hunk(before, after, group, context) for group in groups]


def with_hunks(before: Sequence[bytes], chosen: Iterable[Hunk]) -> list[bytes] | None:
    """The lines with only these hunks applied; None where one does not fit."""
    made: list[bytes] = []
    at = 0
    for hunk in sorted(chosen, key=lambda h: h.old_start):
        start = hunk.old_start - 1
        end = start + hunk.old_count
        if start < at or [line for sign, line in hunk.lines if sign != "+"] != before[start:end]:
            return None
        made += before[at:start]
        made += [line for sign, line in hunk.lines if sign != "-"]
        at = end
    return [*made, *before[at:]]


def matching(before: Sequence[bytes], after: Sequence[bytes]) -> list[tuple[int, int, int]]:
    """Runs of equal lines as (start before, start after, length), in order."""
    numbers: dict[bytes, int] = {}
    old = [numbers.setdefault(line, len(numbers)) for line in before]
    new = [numbers.setdefault(line, len(numbers)) for line in after]
    pairs: list[tuple[int, int]] = []
    work = MOST_WORK
    todo: list[Region] = [(0, len(old), 0, len(new))]
    while todo:
        a, a_end, b, b_end = todo.pop()
        while a < a_end and b < b_end and old[a] == new[b]:
            pairs.append((a, b))
            a, b = a + 1, b + 1
        while a < a_end and b < b_end and old[a_end - 1] == new[b_end - 1]:
            a_end, b_end = a_end - 1, b_end - 1
            pairs.append((a_end, b_end))
        if a == a_end or b == b_end or work <= 0:
            continue
        work -= a_end - a + b_end - b
        anchors = _anchors(old, new, (a, a_end, b, b_end))
        if not anchors:
            found, spent = _stepwise(old[a:a_end], new[b:b_end])
            pairs += [(a + i, b + j) for i, j in found]
            work -= spent
            continue
        for i, j in anchors:
            pairs.append((i, j))
            todo.append((a, i, b, j))
            a, b = i + 1, j + 1
        todo.append((a, a_end, b, b_end))
    return _runs(sorted(pairs))


def _anchors(old: list[int], new: list[int], region: Region) -> list[tuple[int, int]]:
    """Lines that occur once on each side, as many as keep their order on both."""
    a, a_end, b, b_end = region
    theirs = _once(new, b, b_end)
    pairs = [(i, theirs[line]) for line, i in _once(old, a, a_end).items() if line in theirs]
    # The longest run of rising positions: patience, with the pile's top and a way back.
    tops: list[int] = []
    top_of: list[int] = []
    back: list[int] = []
    for number, (_, j) in enumerate(pairs):
        pile = bisect_left(tops, j)
        back.append(top_of[pile - 1] if pile else -1)
        if pile == len(tops):
            tops.append(j)
            top_of.append(number)
        else:
            tops[pile] = j
            top_of[pile] = number
    rising = []
    at = top_of[-1] if top_of else -1
    while at >= 0:
        rising.append(pairs[at])
        at = back[at]
    return rising[::-1]


def _once(lines: list[int], start: int, end: int) -> dict[int, int]:
    seen: dict[int, int] = {}
    for at in range(start, end):
        line = lines[at]
        seen[line] = -1 if line in seen else at
    return {line: at for line, at in seen.items() if at >= 0}


def _stepwise(old: list[int], new: list[int]) -> tuple[list[tuple[int, int]], int]:
    """The fewest edits by Myers' greedy search; no pairs where there would be too many."""
    reach = {1: 0}
    trail: list[dict[int, int]] = []
    most = min(MOST_EDITS, len(old) + len(new))
    for edits in range(most + 1):
        trail.append(dict(reach))
        for k in range(-edits, edits + 1, 2):
            down = k == -edits or (k != edits and reach[k - 1] < reach[k + 1])
            x = reach[k + 1] if down else reach[k - 1] + 1
            while x < len(old) and x - k < len(new) and old[x] == new[x - k]:
                x += 1
            reach[k] = x
            if x >= len(old) and x - k >= len(new):
                return _way_back(trail, len(old), len(new)), edits * edits + 1
    return [], most * most


def _way_back(trail: list[dict[int, int]], x: int, y: int) -> list[tuple[int, int]]:
    pairs = []
    for edits in range(len(trail) - 1, -1, -1):
        reach = trail[edits]
        k = x - y
        down = k == -edits or (k != edits and reach[k - 1] < reach[k + 1])
        before = k + 1 if down else k - 1
        start_x = reach[before] if edits else 0
        start_y = start_x - before if edits else 0
        while x > start_x and y > start_y:
            x, y = x - 1, y - 1
            pairs.append((x, y))
        x, y = start_x, start_y
    return pairs


def _runs(pairs: list[tuple[int, int]]) -> list[tuple[int, int, int]]:
    runs: list[tuple[int, int, int]] = []
    for i, j in pairs:
        if runs and (i, j) == (runs[-1][0] + runs[-1][2], runs[-1][1] + runs[-1][2]):
            runs[-1] = (runs[-1][0], runs[-1][1], runs[-1][2] + 1)
        else:
            runs.append((i, j, 1))
    return runs


def _edits(runs: list[tuple[int, int, int]], old: int, new: int) -> list[Region]:
    """The stretches between the equal runs."""
    found: list[Region] = []
    a = b = 0
    for i, j, length in [*runs, (old, new, 0)]:
        if a < i or b < j:
            found.append((a, i, b, j))
        a, b = i + length, j + length
    return found


def _hunk(
    before: Sequence[bytes], after: Sequence[bytes], edits: list[Region], context: int
) -> Hunk:
    start = max(edits[0][0] - context, 0)
    end = min(edits[-1][1] + context, len(before))
    new_start = edits[0][2] - (edits[0][0] - start)
    lines: list[tuple[str, bytes]] = []
    at = start
    for a, a_end, b, b_end in edits:
        lines += [(" ", line) for line in before[at:a]]
        lines += [("-", line) for line in before[a:a_end]]
        lines += [("+", line) for line in after[b:b_end]]
        at = a_end
    lines += [(" ", line) for line in before[at:end]]
    return Hunk(
        old_start=start + 1,
        old_count=sum(sign != "+" for sign, _ in lines),
        new_start=new_start + 1,
        new_count=sum(sign != "-" for sign, _ in lines),
        lines=tuple(lines),
    )
