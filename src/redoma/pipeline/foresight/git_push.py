"""`git push`: what would be sent, told from the remote-tracking branches, without the remote."""

from __future__ import annotations

import os
from functools import cache

from redoma.pipeline.foresight.commands import Edit, Instead

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.pipeline.foresight.commands import Seen, Written

REPORT = "redoma: git push: "
_FORCE = {"-f": "force", "--force": "force", "--force-if-includes": "lease"}
_WHAT = {
    "--all": "all",
    "--branches": "all",
    "--mirror": "mirror",
    "--tags": "tags",
    "-d": "delete",
    "--delete": "delete",
}
_IGNORED = frozenset(
    "-u --set-upstream -n --dry-run -v --verbose -q --quiet --progress --no-progress --no-verify "
    "--verify --porcelain --atomic --no-atomic --follow-tags --no-follow-tags --thin --no-thin "
    "--no-signed -4 -6 --ipv4 --ipv6 --prune".split()
)
_TAKES = frozenset("-o --push-option --receive-pack --exec".split())


@cache
def script() -> str:
    """The shell script that tells, as one word of a command line."""
    from shlex import quote

    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "git_push.sh")
    with open(path, encoding="utf-8") as file:
        return quote(file.read())


def push(seen: Seen) -> Instead | None:
    """A look at what would be pushed, in the place of the push."""
    written = seen.written
    if seen.name != "git" or written is None:
        return None
    at, directory = _verb(written)
    if at < 0 or written.literals[at] != "push":
        return None
    read = _read(written, at + 1)
    if read is None:
        return None
    force, what, words = read
    remote = words[0] if words else "''"
    given = " ".join((directory, f"'{force}'", what, remote, *words[1:]))
    # The directory and the refs are the very words that were written: the shell makes of them
    # what it would have made of them for git.
    return Instead(
        edits=(
            Edit(
                place=written.place,
                text=f"/bin/sh -c {script()} redoma {given}",
                judged=f"true {given}",
            ),
        ),
        runs="a look at what git push would send",
        calls=(written.text[slice(*written.place)],),
        reports=True,
    )


def reported(stderr: bytes) -> tuple[str, ...]:
    """What the look told; the lines come from inside and are only ever shown."""
    lines = stderr.decode("utf-8", "replace").split("\n")
    found = [line.removeprefix("redoma: ") for line in lines if line.startswith(REPORT)]
    return tuple(dict.fromkeys(found))


def _verb(written: Written) -> tuple[int, str]:
    """Where git's subcommand stands, and the directory it works in; -1 where that is not plain."""
    directory = "."
    number = 1
    while number < len(written.literals):
        word = written.literals[number]
        if word == "-C" and directory == "." and number + 1 < len(written.literals):
            if written.literals[number + 1] is None and not written.quoted(number + 1):
                return -1, ""  # may become several words
            directory = written.source(number + 1)
            number += 2
        elif word in ("--no-pager", "-P"):
            number += 1
        elif word is None or word.startswith("-"):
            return -1, ""
        else:
            return number, directory
    return -1, ""


def _read(written: Written, start: int) -> tuple[str, str, list[str]] | None:
    """(force, what, the words as written); nothing where an option is not known."""
    force, what = "", "refs"
    words: list[str] = []
    number = start
    while number < len(written.literals):
        word = written.literals[number]
        if word is None or not word.startswith("-"):
            # Whatever a variable holds, an option of git included, is only a name to the script.
            words.append(written.source(number))
        elif word in _FORCE:
            force = force or _FORCE[word]
        elif word.startswith("--force-with-lease"):
            force = "lease"
        elif word in _WHAT:
            what = _WHAT[word]
        elif word in _TAKES:
            number += 1
        elif word.partition("=")[0] not in _IGNORED and word.partition("=")[0] not in _TAKES:
            return None
        number += 1
    return force, what, words
