"""One redactor for everything that leaves: it knows the caller's own secrets by value."""

from __future__ import annotations

import os

from redoma.vault.redactor import REDACTED, WITH_KIND, Found, Redactor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from redoma.model.policy import Policy
    from redoma.vault.stream import RedactingStream

__all__ = ["REDACTED", "WITH_KIND", "Found", "Redactor", "SecretSanitizer", "redactor"]

_own: list[Redactor] = []
# Texts in which nothing was found: what is audited of a run is mostly what was of the last.
_harmless: set[str] = set()
_MOST_HARMLESS, _SHORT = 2000, 200


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


def redact(text: str) -> str:
    """The text without secrets, those in the caller's own variables included."""
    if text in _harmless:
        return text
    if not _own:
        _own.append(redactor())
    cleaned = _own[0].text(text)
    if cleaned == text and len(text) <= _SHORT:
        if len(_harmless) >= _MOST_HARMLESS:
            _harmless.clear()
        _harmless.add(text)
    return cleaned


def cleaner(policy: Policy) -> Callable[[str], str]:
    """What takes secrets out of a text, where the policy wants that."""
    return redact if policy.logging.redact_secrets else _unchanged


def _unchanged(text: str) -> str:
    return text


class SecretSanitizer:
    """Takes secrets out of a message before a model, a log or a page gets it.

    `values` are further secrets that are known by value. The secrets in `environ` (by default, in
    the variables of this process) are known as well: those whose names tell, such as `DB_PASSWORD`.
    """

    __module__ = "redoma"

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
