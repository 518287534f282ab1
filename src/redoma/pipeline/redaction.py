"""One redactor for everything that leaves: it knows the caller's own secrets by value."""

from __future__ import annotations

import os

from redoma.vault.redactor import REDACTED, WITH_KIND, Found, Redactor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from redoma.vault.stream import RedactingStream

__all__ = ["REDACTED", "WITH_KIND", "Found", "Redactor", "SecretSanitizer", "redactor"]


def redactor(
    environ: Mapping[str, str] | None = None,
    *,
    values: Iterable[str] = (),
    replacement: str = REDACTED,
) -> Redactor:
    """A redactor that also knows the secrets in `environ`; by default, those of this process."""
    from redoma.vault.exact import own_values

    own = own_values(os.environ if environ is None else environ)
    return Redactor((*own, *values), replacement=replacement)


class SecretSanitizer:
    """Takes secrets out of a message before a model, a log or a page gets it.

    `values` are further secrets that are known by value. The secrets in `environ` (by default, in
    the variables of this process) are known as well: those whose names tell, such as `DB_PASSWORD`.
    """

    __slots__ = ("_redactor",)

    def __init__(
        self,
        values: Iterable[str] = (),
        *,
        environ: Mapping[str, str] | None = None,
        replacement: str = REDACTED,
    ) -> None:
        from redoma.model import arguments

        self._redactor = redactor(
            None if environ is None else arguments.named("environ", environ, arguments.text),
            values=arguments.texts("values", values),
            replacement=arguments.text("replacement", replacement),
        )

    def sanitize(self, message: str) -> str:
        """The message with `[REDACTED]` in the place of every secret; it never raises."""
        return self._redactor.text(message)

    def found(self, message: str) -> tuple[Found, ...]:
        """What would be taken out: the kind and the line of each."""
        return self._redactor.found(message)

    def stream(self) -> RedactingStream:
        """For bytes that come in pieces: `feed` them, then `finish`."""
        return self._redactor.stream()
