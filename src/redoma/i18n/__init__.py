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
VARIABLE = "REDOMA_LANGUAGE"

_chosen = ""


def language() -> str:
    """The language in which everything is said now."""
    return _chosen or choose(from_environment(os.environ))


def phrased(text: str, *numbered: object, **values: object) -> str:
    """A message of ours in the language of whoever reads it; what is none stays as it is.

    With values, the text is the template of a message.
    """
    spoken = _chosen or choose(from_environment(os.environ))
    if spoken == ENGLISH and not numbered:
        return text.format(**values) if values else text
    return in_language(text, spoken, *numbered, **values)


def in_language(text: str, language: str, *numbered: object, **values: object) -> str:
    """A message of ours in this language; `en` gives it back as it is."""
    from redoma.model.message import Message

    if numbered:
        if known(language) == ENGLISH:
            return text.format(*numbered)
        from redoma.i18n.template_search import of as matching

        return matching(known(language)).filled(text, numbered)
    message = Message(text, **values)
    if known(language) == ENGLISH:
        return message
    if not message.values:
        from redoma.i18n.template_search import of as matching

        return matching(known(language)).translated(message)
    from redoma.i18n.catalogue import of

    return of(known(language)).said(message)


in_language.__module__ = "redoma"


def choose(language: str) -> str:
    """From now on everything is said in this language; nothing for that of the environment."""
    global _chosen  # noqa: PLW0603 - one process has one reader
    _chosen = language
    return language


def languages() -> tuple[str, ...]:
    """Every language that there is: English, and each with a catalogue beside this file."""
    names = sorted(os.listdir(os.path.dirname(__file__)))
    return (ENGLISH, *(n[:-3].replace("_", "-") for n in names if n.endswith(".po")))


def _meant(name: str) -> str:
    """The language that a name means, or nothing; `C` and `POSIX` mean English."""
    wish = name.replace("_", "-").partition(".")[0].partition("@")[0].lower()
    if wish.partition("-")[0] == "en" or wish in ("c", "posix"):
        return ENGLISH
    near = [one for one in languages() if one.partition("-")[0] == wish.partition("-")[0]]
    return next((one for one in near if one.lower() == wish), next(iter(near), ""))


def known(name: str) -> str:
    """The language that a name means: `pt`, `pt_BR.UTF-8` and `PT-br` are `pt-BR`."""
    found = _meant(name)
    if found:
        return found
    from redoma.model.errors import UsageError
    from redoma.model.message import Message

    hint = Message("languages: {languages}", languages=", ".join(languages()))
    raise UsageError("there is no language {name}", name=repr(name), hint=hint)


def asked_for(environ: Mapping[str, str]) -> str:
    """What REDOMA_LANGUAGE says, where that is a language of ours; English else."""
    wish = environ.get(VARIABLE, "")
    return (_meant(wish) if wish else "") or ENGLISH


def from_environment(environ: Mapping[str, str]) -> str:
    """The language of this environment: our own variable, then the locale's; English else."""
    if environ.get(VARIABLE):
        return asked_for(environ)
    names = ("LC_ALL", "LC_MESSAGES", "LANG")
    locale = next((environ[name] for name in names if environ.get(name)), "").lower()
    # A screen that does not read UTF-8 would show an escape in the place of every accent.
    if not locale.replace("-", "").endswith("utf8") or locale.startswith(("c.", "en")):
        return ENGLISH
    return _meant(locale) or ENGLISH
