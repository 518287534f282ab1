"""Regular expressions that one start compiles and the next ones take as they are.

The import cache keeps the code that `re` made of an expression, and hands it to `re` again. Nothing
else has to know: modules say `re.compile`. `re`, `_sre` and `re._compiler` are asked for what only
they know; a Python in which they answer otherwise compiles at each start.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Any, TypeAlias

    # The type of an expression, the expression, its flags: as `re` asks its own cache.
    Asked: TypeAlias = tuple[type, str | bytes, int]
    # The flags that hold, the code, how many groups there are, their numbers, their names.
    Made: TypeAlias = tuple[int, list[int], int, dict[str, int], tuple[str | None, ...]]
    Patterns: TypeAlias = dict[tuple[str | bytes, int], Made]


class KeptPatterns(dict[Any, Any] if TYPE_CHECKING else dict):  # type: ignore[misc]
    """The cache of `re`, which has besides what an earlier start of this Python compiled.

    Compiling an expression costs as much as loading three modules.
    """

    def __init__(self, kept: Patterns) -> None:
        super().__init__()
        self._kept = kept
        self._constants: list[tuple[str | bytes, int]] = []

    def put_before_re(self) -> None:
        """Has `re` ask here first, in a Python that has such a cache."""
        import re

        for name in ("_cache2", "_cache"):
            if isinstance(getattr(re, name, None), dict):
                setattr(re, name, self)
                return

    def __missing__(self, asked: Asked) -> re.Pattern[Any]:
        made = self._kept.get(asked[1:])
        if made is not None and type(asked[1]) is asked[0]:
            try:
                pattern = self[asked] = compiled_from(asked[1], made)
            except (RuntimeError, TypeError, ValueError, OverflowError):
                pass  # `_sre` finds it unsound: `re` compiles it anew
            else:
                return pattern
        # Attack: an expression that a function makes may have a secret in it, and would lie in our
        # file. One that a module makes while it is loaded stands in a source.
        if sys._getframe(3).f_code.co_name == "<module>":
            self._constants.append(asked[1:])
        raise KeyError(asked)

    def new(self) -> Patterns:
        """What modules of this start have compiled beside the expressions that were kept."""
        made: Patterns = {}
        for text, flags in self._constants:
            pattern = self.get((type(text), text, flags))
            try:
                code = code_of(text, flags)
                if compiled_from(text, code) == pattern:
                    made[text, flags] = code
            except Exception:  # noqa: S112
                continue  # a Python that compiles in another way: each start compiles
        return made


def compiled_from(text: str | bytes, made: Made) -> re.Pattern[Any]:
    """The pattern of an expression, by the code that was made of it."""
    from _sre import compile as made_pattern  # type: ignore[import-not-found]

    flags, code, groups, numbers, names = made
    pattern: re.Pattern[Any] = made_pattern(text, flags, code, groups, numbers, names)
    return pattern


def code_of(text: str | bytes, flags: int) -> Made:
    """What `re.compile` gives to the engine, which keeps it to itself."""
    from re import _compiler, _parser  # type: ignore[attr-defined]

    parsed = _parser.parse(text, flags)
    numbers: dict[str, int] = dict(parsed.state.groupdict)
    names: list[str | None] = [None] * parsed.state.groups
    for name, number in numbers.items():
        names[number] = name
    code: list[int] = _compiler._code(parsed, flags)
    holding = int(flags | parsed.state.flags)
    return holding, list(map(int, code)), parsed.state.groups - 1, numbers, tuple(names)
