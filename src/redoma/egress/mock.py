"""Answers every request in place of its host, and notes what was asked; nothing leaves."""

from __future__ import annotations

import json

from redoma.egress.paths import matches
from redoma.egress.requests import Asked, Response
from redoma.model.network import MockedAnswer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from redoma.egress.requests import Forward, Headers, Request

BY = "mock"
_JSON = ("content-type", "application/json")
USUAL = MockedAnswer(headers=(_JSON,), body=json.dumps({"mocked": True}).encode() + b"\n")
# Values that say what a request is about, and no secret; of every other header only the name.
_SHOWN = frozenset(
    "accept accept-encoding content-encoding content-length content-type expect range"
    " user-agent".split()
)
LEFT_OUT = "…"
_LONGEST = 200
_MOST = 50
_BODILESS = (204, 304)


class Mock:
    """The one handler of a gate behind which there is nobody."""

    def __init__(self, answers: tuple[MockedAnswer, ...] = ()) -> None:
        self._answers = answers

    async def handle(self, request: Request, forward: Forward) -> Response:
        """What the first answer that fits says, or that it was mocked."""
        size, digest = await request.body.measured()
        found = answer_to(self._answers, request.method, request.host, request.target)
        said = tuple((name.lower().encode(), value.encode()) for name, value in found.headers)
        return Response(
            status=found.status,
            headers=(*said, (b"redoma-mock", b"yes")),
            body=b"" if found.status in _BODILESS else found.body,
            by=BY,
            asked=Asked(headers=shown(request.headers), size=size, digest=digest),
        )


def answer_to(answers: Iterable[MockedAnswer], method: str, host: str, target: str) -> MockedAnswer:
    """The first answer whose method, host and path fit."""
    path = target.partition("?")[0]
    return next((each for each in answers if _fits(each, method, host, path)), USUAL)


def _fits(answer: MockedAnswer, method: str, host: str, path: str) -> bool:
    if answer.method and answer.method != method:
        return False
    if answer.host.startswith("*."):
        if not host.endswith(answer.host[1:]):
            return False
    elif answer.host and answer.host != host:
        return False
    return not answer.path or matches(answer.path, path)


def shown(headers: Headers) -> tuple[tuple[str, str], ...]:
    """Every header by name; the value only where it cannot be a secret."""
    told = []
    for name, value in headers[:_MOST]:
        text = name.decode("latin-1")
        told.append((text, value.decode("latin-1")[:_LONGEST] if text in _SHOWN else LEFT_OUT))
    return tuple(told)
