"""What a command would do where a preview cannot look: read from its text before it runs.

Attack: a command is written so that its harmless form is read and its harmful one runs. So the
form that runs in a preview is only ever a change of words that stand in the text itself, the
judge must find it no worse than the original, and it runs where no other machine is reached.
Whatever is not understood runs as it is, and a warning says so.
"""

from __future__ import annotations

from redoma.judge.assess import assess
from redoma.judge.interpret.arg import UNKNOWN
from redoma.judge.text.budget import Exhausted
from redoma.model.policy import BUILT_IN
from redoma.model.risk import Effect
from redoma.model.value import Value
from redoma.pipeline.deadline import judging
from redoma.pipeline.kinds import outward
from redoma.pipeline.kinds.calls import walked
from redoma.pipeline.kinds.databases import sent
from redoma.pipeline.kinds.git_push import push
from redoma.pipeline.kinds.instead import edited
from redoma.pipeline.kinds.plans import check_upload, pack, plan
from redoma.pipeline.kinds.trials import refused, trial, unreached
from redoma.pipeline.kinds.web import requests
from redoma.pipeline.knowledge import knowledge
from redoma.pipeline.knowledge import pack as pack_named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from redoma.judge.interpret.state import Ground
    from redoma.model.risk import Fact
    from redoma.pipeline.kinds.calls import Seen
    from redoma.pipeline.kinds.databases import ReadFile
    from redoma.pipeline.kinds.instead import Instead

KINDS: tuple[Callable[[Seen], Instead | None], ...] = (push, trial, plan, check_upload, pack)
CLOSED = "the network was closed: what would be called is listed, and no answer was seen"


class Foreseen(Value):
    """What is known of a command before it runs on the layer."""

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
    calls = tuple(dict.fromkeys((*told.calls, *outward.calls(left))))
    warnings = [*told.warnings, *outward.warnings(left, text, ground.workspace)]
    unread = outward.unread(left, text)
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
        may_call=found.given_up or told.web or any(f.effect in _OUTWARD for f in left),
        lasting=outward.lasting(found.facts) or found.given_up,
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


# What another machine may be asked in, a script of the project's own included.
_OUTWARD = frozenset(
    (
        Effect.EXECUTES,
        Effect.DOWNLOADS_AND_EXECUTES,
        Effect.INSTALLS,
        Effect.NETWORK,
        Effect.REMOTE,
        Effect.EXFILTRATES,
        Effect.PUBLISHES,
        Effect.UNKNOWN,
    )
)
_DATABASE = frozenset((Effect.SCHEMA_CHANGE, Effect.REMOTE, Effect.READS, Effect.NETWORK))


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
