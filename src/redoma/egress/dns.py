"""Reads questions to a name server and writes answers, as far as an enclosure needs any.

A question that cannot be read has no answer; nothing here raises on what a command sends.
"""

from __future__ import annotations

from struct import pack, unpack_from

from redoma.model.value import Value

A, PTR, AAAA, ANY = 1, 12, 28, 255
_INTERNET = 1
_HEAD = 12
_LONGEST_NAME = 255
_LONGEST_LABEL = 63
_MOST_LABELS = 32
_OPT = 41
# A program asks again after so many seconds, and by then a name may have moved.
SECONDS = 30

OK, FORMAT_ERROR, SERVER_FAILED, NO_SUCH_NAME, NOT_DONE, REFUSED = 0, 1, 2, 3, 4, 5


class Question(Value):
    """One question, and what is needed to answer it."""

    identity: int
    name: str
    kind: int
    # The question as it was sent, to be sent back.
    asked: bytes
    # Whether recursion was wished, and whether the asker takes extensions.
    recursive: bool = True
    extended: bool = False
    readable: bool = True


def read(data: bytes) -> Question | None:
    """The question in a message; None for what is not worth an answer."""
    if len(data) < _HEAD or len(data) > 4096:
        return None
    identity, flags, questions, answers, _, more = unpack_from("!HHHHHH", data)
    if flags & 0x8000 or answers:
        return None  # an answer, which nobody asked for
    broken = Question(
        identity=identity,
        name="",
        kind=0,
        asked=b"",
        recursive=bool(flags & 0x0100),
        readable=False,
    )
    if flags & 0x7800 or questions != 1:
        return broken
    labels: list[bytes] = []
    at = _HEAD
    while at < len(data) and data[at]:
        size = data[at]
        # A pointer has no place in a question: it would only lead around.
        if size > _LONGEST_LABEL or len(labels) >= _MOST_LABELS or at - _HEAD > _LONGEST_NAME:
            return broken
        labels.append(data[at + 1 : at + 1 + size])
        at += 1 + size
    if at + 5 > len(data) or at - _HEAD + 1 > _LONGEST_NAME:
        return broken
    kind, family = unpack_from("!HH", data, at + 1)
    if family != _INTERNET:
        return broken
    return Question(
        identity=identity,
        name=b".".join(labels).decode("latin-1"),
        kind=kind,
        asked=data[_HEAD : at + 5],
        recursive=bool(flags & 0x0100),
        extended=more > 0 and _extension(data, at + 5),
    )


def _extension(data: bytes, at: int) -> bool:
    return data[at : at + 3] == b"\0" + pack("!H", _OPT)


def answer(question: Question, code: int, addresses: tuple[bytes, ...] = ()) -> bytes:
    """The answer to a question: a code, and addresses of the kind that was asked for."""
    if not question.readable:
        code, addresses = FORMAT_ERROR, ()
    flags = 0x8080 | code | (0x0100 if question.recursive else 0)
    records = b"".join(
        pack("!HHHIH", 0xC000 | _HEAD, question.kind, _INTERNET, SECONDS, len(each)) + each
        for each in addresses
    )
    # Who takes extensions is told that we do, and nothing more.
    extra = pack("!BHHIH", 0, _OPT, 1232, 0, 0) if question.extended else b""
    head = pack(
        "!HHHHHH",
        question.identity,
        flags,
        1 if question.asked else 0,
        len(addresses),
        0,
        1 if extra else 0,
    )
    return head + question.asked + records + extra
