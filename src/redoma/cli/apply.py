"""`redoma apply`: makes held changes real, all of them or those that were chosen."""

from __future__ import annotations

import os
import sys
from itertools import pairwise

from redoma.base.paths import is_below, is_within
from redoma.base.text import harmless
from redoma.cli.options import Argument, CommandTable, Heading, Option, Sample
from redoma.cli.tree import hunk_lines, shown, title
from redoma.i18n import phrased
from redoma.model.change import Did, FileKind, Hunk, Shows
from redoma.model.errors import UsageError
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from redoma.cli.options import CommandLine
    from redoma.cli.prose import Screen
    from redoma.model.change import Applied, Change, Changes, FileDiff

    Ask = Callable[[str, str], str]  # the question and the keys that answer it; "" at the end
    Say = Callable[[str], object]

APPLY = CommandTable(
    "apply",
    "Makes the changes of a preview real: all of them, or those at or below each PATH. Either"
    " everything is applied or nothing; nothing is applied where a file has changed since the"
    " preview began.",
    usage=("ID [PATH]... [-i]", "ID --no-undo"),
    arguments=(Argument("ID", "may be shortened as long as it is clear"),),
    options=(
        Heading("options"),
        Option("-i, --interactive", "asks for each change, and in text files for each hunk"),
        Option("--no-undo", "keeps nothing to take it back: all of it is applied for good"),
        Option("--allow-write PATH", "also applies what is protected there", many=True),
        Option("--json", "one JSON object"),
    ),
    samples=(Sample("redoma apply ID", "all that the preview ID held"),),
)


@APPLY.main
def main(options: CommandLine) -> int:
    """Applies; every refusal is an error that leaves the workspace as it was."""
    if not options.words:
        raise UsageError("which changes? name them by their id", hint="redoma history")
    from redoma.cli.streams import stop_on_signals
    from redoma.pipeline import stored_changes

    stop_on_signals()
    name, *paths = options.words
    changes = stored_changes.load(name)
    places = [_place(path, changes) for path in paths] or None
    undo = "--no-undo" not in options.flags
    allowed = options.every("--allow-write")
    if "--interactive" in options.flags:
        if not undo:
            raise UsageError("--no-undo and --interactive do not go together")
        applied = _interactively(changes, places, allowed)
    else:
        applied = _apply(changes, places, {}, allowed, undo=undo)
    return _told(applied, options)


def _told(applied: Applied | None, options: CommandLine) -> int:
    if options.json:
        import json

        sys.stdout.write(json.dumps(as_json(applied)) + "\n")
        return 0
    if applied is None:
        sys.stderr.write(phrased("redoma: nothing was chosen, nothing was applied\n"))
        return 0
    from redoma.cli.tree import summary

    sys.stdout.write(phrased("applied {0}: {1}\n", applied.id, summary(applied.changes)))
    sys.stdout.flush()
    for path in applied.brought:
        also = phrased("redoma: also applied, because it is needed: {0}\n", harmless(path))
        sys.stderr.write(also)
    for back in applied.held_back:
        path, why = harmless(back.path), harmless(phrased(back.why))
        sys.stderr.write(phrased("redoma: {0} stays in quarantine: {1}\n", path, why))
        sys.stderr.write(phrased("hint: {0}\n", f"--allow-write {path}"))
    for note in applied.notes:
        sys.stderr.write(f"redoma: {harmless(phrased(note))}\n")
    if applied.changes and not applied.undoable:
        sys.stderr.write(phrased("redoma: nothing was kept: {0} cannot be undone\n", applied.id))
    elif applied.changes:
        sys.stderr.write(phrased("hint: {0}\n", f"redoma undo {applied.id}"))
    return 0


def as_json(applied: Applied | None) -> dict[str, object]:
    """What was applied, for programs."""
    if applied is None:
        return {
            "id": None,
            "applied": [],
            "brought": [],
            "held_back": [],
            "notes": [],
            "undoable": False,
        }
    return {
        "id": applied.id,
        "applied": [{"path": item.path, "did": item.did.value} for item in applied.changes],
        "brought": list(applied.brought),
        "held_back": [
            {"path": back.path, "why": back.why, "kept": back.kept} for back in applied.held_back
        ],
        "notes": list(applied.notes),
        "undoable": bool(applied.changes) and applied.undoable,
    }


def _interactively(
    changes: Changes, places: list[str] | None, allowed: list[str]
) -> Applied | None:
    """Asks for each change; nothing is applied before the last answer."""
    from redoma.cli.console import ask, need_a_person
    from redoma.cli.prose import screen
    from redoma.pipeline.preview import chosen_content, file_diffs

    need_a_person("redoma apply -i", "redoma apply ID PATH...")
    items = list(asked_for(changes, places))
    chosen = choose(file_diffs(changes, items), screen(sys.stderr), ask, sys.stderr.write)
    if chosen.nothing:
        return None
    contents = {
        diff.change.path: chosen_content(changes, diff, hunks) for diff, hunks in chosen.hunks
    }
    paths = [*chosen.paths, *contents]
    if not contents and places is None and len(paths) == len(items):
        return _apply(changes, None, {}, allowed)
    return _apply(changes, paths, contents, allowed)


def _apply(
    changes: Changes,
    paths: list[str] | None,
    contents: dict[str, bytes],
    allowed: list[str],
    *,
    undo: bool = True,
) -> Applied:
    from redoma.pipeline.decisions.policies import load_policy
    from redoma.pipeline.transactions import local_transactions

    return local_transactions(load_policy(changes.workspace)).apply(
        changes.id, paths, contents=contents, allow_write=allowed, undo=undo
    )


def asked_for(changes: Changes, places: list[str] | None) -> Iterator[Change]:
    """The changes worth a question of their own.

    A new directory comes with what is put in it; a deleted one is one question, not one for each
    file that was in it.
    """
    gone: list[str] = []
    below = {item.path.rpartition("/")[0] for item in changes.items}
    for item in changes.items:
        if places is not None and not any(_at_or_below(item, changes, place) for place in places):
            continue
        if any(is_below(item.path, path) for path in gone):
            continue
        state = item.after or item.before
        if state is not None and state.kind is FileKind.DIRECTORY:
            if item.did is Did.DELETED:
                gone.append(item.path)
            elif item.did is Did.CREATED and item.path in below:
                continue
        yield item


def _at_or_below(item: Change, changes: Changes, place: str) -> bool:
    whole = f"{changes.workspace}/{item.path}"
    wanted = place if place.startswith("/") else f"{changes.workspace}/{place}"
    return f"{whole}/".startswith(f"{wanted.rstrip('/')}/")


def _place(path: str, changes: Changes) -> str:
    """A path as the person at this prompt means it: from here, if here is in the workspace."""
    whole = os.path.normpath(os.path.join(os.path.realpath("."), path))
    inside = is_within(whole, changes.workspace)
    return whole if inside else path


_WIDE = ("utf-16", "utf-32")
KEYS_HELP = """\
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
        say(phrased(KEYS_HELP))
