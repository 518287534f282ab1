"""What a command would do beyond its workspace and nobody foresaw: each a warning."""

from __future__ import annotations

from os.path import normpath

from redoma.model.risk import Effect, Place
from redoma.pipeline.kinds.trials import NEEDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from redoma.model.risk import Fact, Target

_BEYOND = {
    Effect.PUBLISHES: "would publish",
    Effect.REMOTE: "would act on another system",
    Effect.SYSTEM: "would act on this machine's own services or settings",
    Effect.PRIVILEGE: "would use more rights than it has here",
    Effect.KILLS: "would end processes that it cannot see here",
    Effect.SCHEMA_CHANGE: "would change a database",
    Effect.EXFILTRATES: "would send data away",
}
_INSIDE = frozenset((Place.WORKSPACE, Place.TEMP, Place.NOWHERE, Place.REPOSITORY))
_ON_FILES = frozenset((Effect.WRITES, Effect.DELETES, Effect.PERSISTS, Effect.TAMPERS))
UNREAD = "ran without being read, so other calls of it are not listed"
_NOT_PREVIEWABLE = "this cannot be previewed"


def calls(facts: Iterable[Fact]) -> list[str]:
    """The other machines that facts name, each with the program that would call it."""
    found: list[str] = []
    for fact in facts:
        if fact.effect in (Effect.PUBLISHES, Effect.DOWNLOADS_AND_EXECUTES):
            found.append(_command(fact))
        elif fact.effect is Effect.INSTALLS:
            found.append(f"{_command(fact)} (from where its packages come)")
        elif fact.effect is Effect.NETWORK and "listen" not in fact.tags:
            named = [f"{fact.program} {target.text}" for target in fact.targets]
            found += named or [_command(fact)]
    return [call.replace("\0", "…") for call in dict.fromkeys(found) if call]


def warnings(facts: Iterable[Fact], text: str, workspace: str) -> list[str]:
    """What could not be foreseen, in words."""
    found: list[str] = []
    for fact in facts:
        said = _BEYOND.get(fact.effect) or _without_a_file(fact)
        if said:
            found.append(f"{_command(fact) or _excerpt(text, fact)} {said}: {_NOT_PREVIEWABLE}")
        elif fact.effect is Effect.REWRITES_HISTORY and "remote" in fact.tags:
            found.append(f"{_command(fact)} would rewrite a remote history: {_NOT_PREVIEWABLE}")
        elif fact.effect is Effect.UNKNOWN:
            found.append(f"not understood, and so not foreseen: {_excerpt(text, fact)}")
        elif fact.effect in _ON_FILES:
            found += [_elsewhere(fact, t) for t in fact.targets if not _inside(t, workspace)]
    return [one.replace("\0", "…") for one in dict.fromkeys(found)]


def _without_a_file(fact: Fact) -> str:
    """What to say of a lasting effect that names no file: where it goes is not in the workspace."""
    if fact.targets:
        return ""
    if fact.effect in (Effect.PERSISTS, Effect.TAMPERS):
        return "would stay in effect"
    if fact.effect is Effect.WRITES and "settings" in fact.tags:
        return "would change settings outside the workspace"
    if fact.effect is Effect.SECRETS and "credentials" in fact.tags:
        return "would log in"
    return ""


def _inside(target: Target, workspace: str) -> bool:
    """Whether a file lies in the workspace, whatever it is there; its change is shown then."""
    if target.place in _INSIDE:
        return True
    if target.place is Place.UNKNOWN or target.text.startswith(("~", "$")):
        return False
    whole = normpath(target.text if target.text.startswith("/") else f"{workspace}/{target.text}")
    return whole.startswith(f"{workspace}/")


def _elsewhere(fact: Fact, target: Target) -> str:
    if target.place is Place.UNKNOWN:
        return f"{fact.program} writes where only running tells; outside the workspace is not shown"
    return f"{fact.program} would touch {target.text}, outside the workspace: not shown here"


def unread(facts: Iterable[Fact], text: str) -> str:
    """Code that ran without having been read, in one warning; nothing where there is none."""
    ran = [
        fact.program + "".join(f" {target.text}" for target in fact.targets[:1])
        if fact.targets and fact.program != str(fact.targets[0].text).rpartition("/")[2]
        else _excerpt(text, fact)
        for fact in facts
        if fact.effect is Effect.EXECUTES and fact.program not in NEEDS
    ]
    named = ", ".join(dict.fromkeys(ran)).replace("\0", "…")
    return f"{UNREAD}: {named}" if ran else ""


def lasting(facts: Iterable[Fact]) -> bool:
    """Whether something would happen that no undo of files takes back."""
    beyond = (*_BEYOND, Effect.REWRITES_HISTORY)
    for fact in facts:
        if fact.effect in beyond and (
            fact.effect is not Effect.REWRITES_HISTORY or "remote" in fact.tags
        ):
            return True
        if fact.effect is Effect.NETWORK and fact.tags & {"upload", "remote-shell", "spliced"}:
            return True
        if _without_a_file(fact):
            return True
    return False


def _command(fact: Fact) -> str:
    return f"{fact.program} {fact.detail}".strip()


def _excerpt(text: str, fact: Fact) -> str:
    start, end = fact.span
    piece = " ".join(text[start:end].split())
    return piece if len(piece) <= 80 else f"{piece[:77]}..."
