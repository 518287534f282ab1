"""What a command would do where a preview cannot look: read from its text before it runs.

Attack: a command is written so that its harmless form is read and its harmful one runs. So the
form that runs in a preview is only ever a change of words that stand in the text itself, the
judge must find it no worse than the original, and it runs where no other machine is reached.
Whatever is not understood runs as it is, and a warning says so.
"""

from __future__ import annotations

from os.path import normpath

from redoma.base.paths import is_below
from redoma.judge.interpret.arg import UNKNOWN
from redoma.judge.judgement import assess
from redoma.judge.text.budget import Exhausted
from redoma.model.decision import Effect, Place
from redoma.model.message import Message
from redoma.model.policy import BUILT_IN
from redoma.model.value import Value, replace
from redoma.pipeline.decisions.check import judging
from redoma.pipeline.decisions.knowledge import knowledge
from redoma.pipeline.decisions.knowledge import pack as pack_named
from redoma.pipeline.foresight.commands import edited, walked
from redoma.pipeline.foresight.contacts import push, requests, sent
from redoma.pipeline.foresight.substitutes import (
    NEEDS,
    check_upload,
    pack,
    plan,
    refused,
    trial,
    unreached,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from redoma.judge.interpret.state import Ground
    from redoma.model.decision import Fact, Target
    from redoma.model.network import Connection
    from redoma.model.result import Result
    from redoma.pipeline.foresight.commands import Instead, Seen
    from redoma.pipeline.foresight.contacts import ReadFile

MOCKED = "nothing was sent: every request was answered by a mock, as if it had been done"
_PORTS = {"http": 80, "https": 443}


def mocked(foreseen: Foreseen, result: Result) -> Foreseen:
    """The same with what was really asked, and what was foreseen and is not among that."""
    if result.network_calls is None:
        return foreseen
    asked = [told for call in result.network_calls for told in _told(call)]
    seen = {_plain(each) for each in asked}
    left = [each for each in foreseen.network_calls if _plain(each) not in seen]
    # What ran without having been read was seen to ask.
    warnings = [each for each in foreseen.warnings if not each.startswith(UNREAD)]
    if asked:
        warnings = [*(each for each in warnings if each != CLOSED), MOCKED]
    return replace(
        foreseen,
        network_calls=tuple(dict.fromkeys((*asked, *left))),
        warnings=tuple(dict.fromkeys(warnings)),
    )


def _told(call: Connection) -> list[str]:
    """One line for what was asked; nothing for a name that was asked for on the way."""
    if call.kind == "dns":
        return []
    if not call.method:
        program = f"{call.program} " if call.program else ""
        how = "/udp" if call.kind == "udp" else ""
        return [
            f"{program}{call.target}{how}: {call.why}" if call.why else f"{program}{call.target}"
        ]
    host = call.name or call.address
    if call.port != _PORTS.get(call.kind):
        host = call.target
    line = f"{call.method} {call.kind}://{host}{call.path}"
    if call.body_size:
        line += " (1 byte)" if call.body_size == 1 else f" ({call.body_size} bytes)"
    return [line if call.allowed else f"{line}: {call.why}"]


def _plain(line: str) -> str:
    """Method and address without what comes behind the path."""
    return line.partition(" (")[0].partition("?")[0].rstrip("/")


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


def outward_calls(facts: Iterable[Fact]) -> list[str]:
    """The other machines that facts name, each with the program that would call it."""
    found: list[str] = []
    for fact in facts:
        if fact.effect in (Effect.PUBLISHES, Effect.DOWNLOADS_AND_EXECUTES):
            found.append(_command(fact))
        elif fact.effect is Effect.INSTALLS:
            found.append(
                Message("{command} (from where its packages come)", command=_command(fact))
            )
        elif fact.effect is Effect.NETWORK and "listen" not in fact.tags:
            named = [f"{fact.program} {target.text}" for target in fact.targets]
            found += named or [_command(fact)]
    return [call.replace("\0", "…") for call in dict.fromkeys(found) if call]


def outward_warnings(facts: Iterable[Fact], text: str, workspace: str) -> list[str]:
    """What could not be foreseen, in words."""
    found: list[str] = []
    for fact in facts:
        said = _BEYOND.get(fact.effect) or _without_a_file(fact)
        if said:
            found.append(f"{_command(fact) or _excerpt(text, fact)} {said}: {_NOT_PREVIEWABLE}")
        elif fact.effect is Effect.REWRITES_HISTORY and "remote" in fact.tags:
            found.append(
                Message(
                    "{command} would rewrite a remote history: {why}",
                    command=_command(fact),
                    why=Message(_NOT_PREVIEWABLE),
                )
            )
        elif fact.effect is Effect.UNKNOWN:
            found.append(
                Message(
                    "not understood, and so not foreseen: {excerpt}", excerpt=_excerpt(text, fact)
                )
            )
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
    return is_below(whole, workspace)


def _elsewhere(fact: Fact, target: Target) -> str:
    if target.place is Place.UNKNOWN:
        return Message(
            "{program} writes where only running tells; outside the workspace is not shown",
            program=fact.program,
        )
    return Message(
        "{program} would touch {target}, outside the workspace: not shown here",
        program=fact.program,
        target=target.text,
    )


def unread_part(facts: Iterable[Fact], text: str) -> str:
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


KINDS: tuple[Callable[[Seen], Instead | None], ...] = (push, trial, plan, check_upload, pack)
CLOSED = "the network was closed: what would be called is listed, and no answer was seen"


class Foreseen(Value):
    """What is known of a command before it runs on the overlay."""

    # What runs in the place of the command; nothing where it runs as it is.
    command: str = ""
    runs: tuple[str, ...] = ()
    network_calls: tuple[str, ...] = ()
    database_operations: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    # Calls that the form which runs tells more of, on lines of its own.
    awaited: tuple[str, ...] = ()
    # It may ask something of the network, as far as anybody can tell.
    may_call: bool = False
    # Something would happen that taking files back does not undo.
    lasting: bool = False


def foresee(text: str, ground: Ground, read: ReadFile | None = None) -> Foreseen:
    """What a shell text would do beyond its workspace, and the form of it to run instead."""
    found = walked(text, ground, knowledge())
    told = _Told()
    for seen in found.calls:
        told.hear(seen, read or _nothing)
    left = [fact for fact in found.facts if id(fact) not in told.covered]
    command = "" if found.given_up else _checked(text, told.instead, ground)
    if told.instead and not command:
        # What would have run instead was refused: nothing of it counts as foreseen.
        left = list(found.facts)
        told.warnings.append(
            "it ran as it is: what could have run in its place was not safe to use"
        )
    calls = tuple(dict.fromkeys((*told.calls, *outward_calls(left))))
    warnings = [*told.warnings, *outward_warnings(left, text, ground.workspace)]
    unread = unread_part(left, text)
    if unread:
        warnings.append(unread)
    if found.given_up:
        warnings.append("parts of the command could not be followed, and so not be foreseen")
    if calls or told.awaited:
        warnings.append(CLOSED)
    return Foreseen(
        command=command,
        runs=tuple(one.runs for one in told.instead) if command else (),
        network_calls=calls,
        database_operations=tuple(dict.fromkeys(told.operations)),
        warnings=tuple(dict.fromkeys(warning.replace(UNKNOWN, "…") for warning in warnings)),
        awaited=tuple(told.awaited) if command else (),
        may_call=found.given_up or told.web or any(map(_may_ask, left)),
        lasting=lasting(found.facts) or found.given_up,
    )


class _Told:
    """What the kinds have said so far."""

    def __init__(self) -> None:
        self.instead: list[Instead] = []
        self.calls: list[str] = []
        self.awaited: list[str] = []
        self.operations: list[str] = []
        self.warnings: list[str] = []
        self.covered: set[int] = set()
        # Whether a program of the web would ask something.
        self.web = False
        self._places: set[object] = set()

    def hear(self, seen: Seen, read: ReadFile) -> None:
        """Lets each kind speak of one call."""
        asked = requests(seen)
        if asked:
            self.web = True
            self.calls += asked
            self._cover(f for f in seen.facts if f.effect is Effect.NETWORK)
        database = sent(seen, read)
        if database is not None:
            self.operations += database.operations
            self.warnings += database.warnings
            self._cover(fact for fact in seen.facts if fact.effect in _DATABASE)
            if database.instead is not None:
                self._take(database.instead, seen)
            return
        for kind in KINDS:
            instead = kind(seen)
            if instead is not None:
                self._take(instead, seen)
                return
        self.warnings += [said for said in (refused(seen), unreached(seen)) if said]

    def _take(self, instead: Instead, seen: Seen) -> None:
        self._cover(seen.facts)
        place = instead.edits[0].place
        if place in self._places:  # a loop or a function called twice: one text, one edit
            return
        self._places.add(place)
        self.instead.append(instead)
        self.warnings += instead.warnings
        (self.awaited if instead.reports else self.calls).extend(instead.calls)

    def _cover(self, facts: Iterable[Fact]) -> None:
        self.covered |= {id(fact) for fact in facts}


# A script of the project's own may ask another machine, too.
_MAY_ASK = frozenset((Effect.EXECUTES, Effect.UNKNOWN))
_DATABASE = frozenset((Effect.SCHEMA_CHANGE, Effect.REMOTE, Effect.READS, Effect.NETWORK))


def _may_ask(fact: Fact) -> bool:
    return fact.effect.leaves_machine or fact.effect in _MAY_ASK


def _checked(text: str, insteads: list[Instead], ground: Ground) -> str:
    """The text to run instead, if the judge finds it no worse than the original."""
    if not insteads:
        return ""
    edits = [edit for one in insteads for edit in one.edits]
    rules = pack_named("default")
    judged = (text, edited(text, edits, for_judge=True))
    try:
        with judging(BUILT_IN):
            before, after = (assess(one, rules, knowledge(), ground).risk for one in judged)
    except Exhausted:
        return ""
    return edited(text, edits) if after <= before else ""


def _nothing(_directory: str, _path: str) -> None:
    return None
