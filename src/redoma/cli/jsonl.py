"""`redoma check --jsonl`: a command a line in, a decision a line out, in step."""

from __future__ import annotations

import json

from redoma.cli import check
from redoma.cli import json_report as as_json
from redoma.cli.streams import MOST_BYTES
from redoma.model.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO, TextIO

GOOD, BAD = 0, 2


def judge_lines(source: BinaryIO, sink: TextIO, *, pack: str, cwd: str | None) -> int:
    """Answers each line as soon as it is read; a bad one is answered with an error and a no."""
    check.judge(":", pack=pack, cwd=cwd)  # a wrong --pack is one error, not one for each line
    status = GOOD
    while True:
        raw = source.readline(MOST_BYTES + 1)
        if not raw:
            return status
        try:
            answer = _answer(raw, source, pack, cwd)
        except Exception as error:
            status = BAD
            answer = refusal(_why(error))
        sink.write(as_json.line(answer))
        sink.flush()


def refusal(error: str) -> dict[str, object]:
    """What stands in the place of a line that could not be judged."""
    return {
        "cmd": None,
        "risk": "forbidden",
        "verdict": "deny",
        "reasons": [error],
        "suggested_alternative": None,
        "error": error,
    }


def _answer(raw: bytes, source: BinaryIO, pack: str, cwd: str | None) -> dict[str, object]:
    if len(raw) > MOST_BYTES:
        while raw and not raw.endswith(b"\n"):
            raw = source.readline(MOST_BYTES)
        raise UsageError(f"the line is longer than {MOST_BYTES} bytes")
    given = json.loads(raw.decode("utf-8"))
    if isinstance(given, str):
        given = {"cmd": given}
    if not isinstance(given, dict):
        raise UsageError("a line must be a JSON string or an object with `cmd`")
    text = given.get("cmd")
    if not isinstance(text, str) or not text.strip():
        raise UsageError("`cmd` must be a string that is not empty")
    own_pack = _text_of(given, "pack") or pack
    own_cwd = _text_of(given, "cwd")
    where = check.working_directory(own_cwd) if own_cwd else cwd
    return as_json.brief_json(check.judge(text, pack=own_pack, cwd=where))


def _text_of(given: dict[str, object], name: str) -> str | None:
    value = given.get(name)
    if value is not None and not isinstance(value, str):
        raise UsageError(f"`{name}` must be a string")
    return value


def _why(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "the line is not valid UTF-8"
    if isinstance(error, json.JSONDecodeError):
        return f"the line is not JSON: {error.msg} at character {error.pos}"
    if isinstance(error, RecursionError):
        return "the line is nested too deeply"
    return str(error)
