"""A secret in our own hands: it shows itself to nobody who prints, compares or copies values."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

_HIDDEN = "Secret(…)"


class Secret:
    """A text that is only given to who asks for it by name.

    It is not printed, formatted, pickled, copied or encoded as JSON, and a dump of the local
    variables of a traceback shows a placeholder. The text lies behind a function, so that whoever
    walks the attributes of values does not come to it either.
    """

    __slots__ = ("reveal",)
    reveal: Callable[[], str]
    """The secret itself."""

    def __init__(self, text: str) -> None:
        # Set past our own guard; nobody sets it again.
        object.__setattr__(self, "reveal", lambda: text)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a secret does not change")

    def __repr__(self) -> str:
        return _HIDDEN

    __str__ = __repr__

    def __format__(self, form: str) -> str:
        return _HIDDEN

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not written down")

    def __copy__(self) -> NoReturn:
        raise TypeError("a secret is not copied")

    def __deepcopy__(self, memo: object) -> NoReturn:
        raise TypeError("a secret is not copied")
