"""Code in other languages given on a command line: read where it can be, named where it cannot."""

from __future__ import annotations

from redoma.model.risk import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.arg import Arg
    from redoma.judge.interpret.call import Call


def read_code(call: Call, language: str, text: Arg) -> None:
    """Notes what a piece of code in `language` would do."""
    call.fact(Effect.EXECUTES, tags=("code",), at=text.span, detail=language)
