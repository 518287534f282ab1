"""Asks about what a run made that the person's own tools will obey, where work makes such files."""

from __future__ import annotations

from redoma.base.paths import is_within
from redoma.jail.protect.obeyed_names import Treat, obeyed
from redoma.model.change import Did, FileKind
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.access import Grant
    from redoma.model.change import Changes
    from redoma.model.question import Question

_MOST_SAID = 10


def asked_about(changes: Changes, grant: Grant) -> dict[str, str]:
    """The paths that a person should see before a tool obeys them, each with the tool's name."""
    names = obeyed().with_more(grant.protected)
    found: dict[str, str] = {}
    for item in changes.items:
        if item.did is Did.DELETED or item.after is None:
            continue
        row = names.of_path(item.path, directory=item.after.kind is FileKind.DIRECTORY)
        if row is None or row.treat is not Treat.ASK:
            continue
        place = f"{changes.workspace}/{item.path}"
        if not any(given != "/" and is_within(place, given) for given in grant.writable):
            found[item.path] = row.tool
    return found


def question_about(question: Question, asked: dict[str, str]) -> Question:
    """The same question, whether these may be obeyed; no other answer is one to it."""
    from hashlib import sha256

    because = [f"{path}: {tool} would obey it" for path, tool in asked.items()]
    if len(because) > _MOST_SAID:
        because = [*because[:_MOST_SAID], f"and {len(because) - _MOST_SAID} more"]
    # Attack: an approval of the command, or of other files that it made, is none of these.
    named = "\0".join((question.digest, "obeyed", *sorted(asked))).encode(errors="surrogateescape")
    return replace(
        question,
        digest=sha256(named).hexdigest(),
        because=tuple(because),
        argvs=(),
        joins=(),
    )


def kept_aside(changes: Changes, asked: dict[str, str], notes: str) -> tuple[str, ...]:
    """What to do about files that nobody allowed; they stay held."""
    first = next(iter(asked)).split("/")
    path = first[0] if len(asked) > 1 and all(p.split("/")[0] == first[0] for p in asked) else ""
    path = path or "/".join(first)
    way = f"redoma apply {changes.id} {path} --allow-write {path}"
    said = f"{len(asked)} files are held, since your own tools would obey them: {way} keeps them"
    if len(asked) == 1:
        said = f"{path} is held, since your own tools would obey it: {way} keeps it"
    return (said, notes) if notes else (said,)
