"""Copies between this machine and a store elsewhere: secrets that leave, places written."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import NETWORK, Arg, Stream
from redoma.judge.programs.cards import card_of, deed_of, follow, options_of
from redoma.model.risk import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.call import Call

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def far(word: Arg) -> bool:
    """Whether a word names a place elsewhere: `s3://…`, `gs://…`, `remote:path`."""
    if _ADDRESS.match(word) and not word.startswith("file:"):
        return True
    name, colon, _ = word.partition(":")
    return bool(colon) and bool(name) and "/" not in name and not name.startswith(".")


def copies(call: Call, operands: list[Arg]) -> Stream:
    """The files of a copy: those of this machine are read and sent, or written."""
    if not operands:
        return Stream(None)
    *sources, target = operands if len(operands) > 1 else [operands[0], operands[0]]
    to_far = far(target)
    for word in sources:
        if far(word):
            continue
        stream = call.stdin if word == "-" else call.reads(word.like(word.removeprefix("file://")))
        if to_far:
            call.sends(stream.taint | word.taint, target)
    if not to_far and any(far(word) for word in sources):
        if target == "-":
            return Stream(None, NETWORK, str(sources[0]))
        content = Stream(None, NETWORK, str(sources[0]))
        call.writes(target, content=content)
        for word in sources:
            inside = call.path(target) + "/" + word.rpartition("/")[2]
            call.walker.files.put(inside, content)
    return Stream(None)


_COPYING = frozenset(
    "cp copy mv move sync rsync put get copyto moveto mirror cpr pipe upload download".split()
)
_NOT_DRY = frozenset(("--dry-run=false", "--dry-run=0", "--dry-run=no", "-n=false"))
_PRINTING = frozenset("cat head rcat".split())


def store(call: Call) -> Stream:
    """`gsutil`, `rclone`, `s3cmd` and their kin: a card, and the files that a copy touches."""
    card = card_of(call)
    # Attack: `--dry-run=false` looks like a dry run and is none.
    call.args = [word for word in call.args if word.lower() not in _NOT_DRY]
    options = options_of(call)
    deed = deed_of(card, options)
    out = follow(call)
    operands = options.operands
    verb = str(operands[0]) if operands else ""
    if deed == "read" or options.has("--dry-run", "--dryrun", "-n", "--fake"):
        return (
            Stream(None, NETWORK, str(operands[1]))
            if verb in _PRINTING and len(operands) > 1
            else out
        )
    if verb in _COPYING:
        words = operands[1:]
        if call.name in ("mc", "mcli"):
            words = [_alias(word) for word in words]
        return copies(call, words)
    if verb in ("rcat", "pipe") and len(operands) > 1:
        call.sends(call.stdin.taint, operands[1])
    if verb == "copyurl" and len(operands) > 1:
        call.host(operands[1])
    return out


def _alias(word: Arg) -> Arg:
    """MinIO names its stores by an alias, `store/bucket/key`; paths begin with a dot or slash."""
    if word.startswith(("/", ".", "~")) or "/" not in word:
        return word
    return word.like(f"s3://{word}")


def carries_files(call: Call) -> int:
    """Taint of files that options name as `file://…`, `fileb://…` or `@…`; notes the reading."""
    taint = 0
    for word in call.args:
        _, _, value = word.partition("=") if word.startswith("-") else ("", "", word)
        value = value or word
        for sign in ("file://", "fileb://", "@"):
            if value.startswith(sign) and len(value) > len(sign):
                taint |= call.reads(word.like(value[len(sign) :])).taint
        taint |= word.taint
    return taint


def says_sent(call: Call, taint: int, where: str) -> None:
    """Secrets that go along with a request to a service are exfiltration."""
    from redoma.judge.interpret.arg import SECRET

    if taint & SECRET:
        call.fact(Effect.EXFILTRATES, detail=where)
