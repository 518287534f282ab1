"""Answers that are kept, so that the same question is worked out once; without `functools`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    F = TypeVar("F", bound=Callable[..., Any])


def remembered(most: int) -> Callable[[F], F]:
    """Keeps what a function answers, for at most so many questions; then it begins anew."""

    def keeping(function: F) -> F:
        kept: dict[object, object] = {}

        def asked(*given: object, **named: object) -> object:
            question = (given, *named.items()) if named else given
            if question in kept:
                return kept[question]
            if len(kept) >= most:
                kept.clear()
            made = kept[question] = function(*given, **named)
            return made

        asked.__name__ = function.__name__
        asked.__doc__ = function.__doc__
        return asked  # type: ignore[return-value]

    return keeping
