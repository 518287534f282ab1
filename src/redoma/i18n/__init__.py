"""What a person reads, in their language: English is what the code says, the rest is translated.

English is the identity of a message: it is what is recorded, compared and given to programs. At
the edge, where text is about to be shown to a person, `phrased` puts it into the language that was
asked for. The catalogues are read when the first message needs one, so English costs nothing.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

ENGLISH = "en"
LANGUAGES = (ENGLISH, "pt-BR")
VARIABLE = "REDOMA_LANGUAGE"

_chosen = ""


def phrased(text: str, *values: object) -> str:
    """A message of ours in the language of whoever reads it; what is none stays as it is.

    With values, the text is a message whose holes `{0}`, `{1}` they fill, copied as they are.
    Without, its holes are filled already, and the message is known by its words.
    """
    language = _chosen or choose(from_environment(os.environ))
    if language == ENGLISH:
        return text.format(*values) if values else text
    return in_language(text, language, *values)


def in_language(text: str, language: str, *values: object) -> str:
    """A message of ours in this language; `en` gives it back as it is."""
    if known(language) == ENGLISH:
        return text.format(*values) if values else text
    from redoma.i18n.catalogue import of

    catalogue = of(known(language))
    return catalogue.filled(text, values) if values else catalogue.translated(text)


in_language.__module__ = "redoma"


def choose(language: str) -> str:
    """From now on everything is said in this language; nothing for that of the environment."""
    global _chosen  # noqa: PLW0603 - one process has one reader
    _chosen = language
    return language


def known(name: str) -> str:
    """The language that a name means: `pt`, `pt_BR.UTF-8` and `PT-br` are `pt-BR`."""
    plain = name.replace("_", "-").partition(".")[0].partition("@")[0].lower()
    if plain.partition("-")[0] == "pt":
        return "pt-BR"
    if plain.partition("-")[0] == "en" or plain in ("c", "posix"):
        return ENGLISH
    from redoma.model.errors import UsageError

    hint = f"languages: {', '.join(LANGUAGES)}"
    raise UsageError(f"there is no language {name!r}", hint=hint)


def asked_for(environ: Mapping[str, str]) -> str:
    """What REDOMA_LANGUAGE says, where that is a language of ours; English else."""
    wish = environ.get(VARIABLE, "").lower()
    return "pt-BR" if wish.replace("_", "-").partition("-")[0] == "pt" else ENGLISH


def from_environment(environ: Mapping[str, str]) -> str:
    """The language of this environment: our own variable, then the locale's; English else."""
    if environ.get(VARIABLE):
        return asked_for(environ)
    names = ("LC_ALL", "LC_MESSAGES", "LANG")
    locale = next((environ[name] for name in names if environ.get(name)), "").lower()
    # A screen that does not read UTF-8 would show an escape in the place of every accent.
    if locale.startswith("pt") and locale.replace("-", "").endswith("utf8"):
        return "pt-BR"
    return ENGLISH
