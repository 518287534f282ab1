"""What a command would touch: from what was found in it, or from what a preview saw it do."""

from __future__ import annotations

from redoma.model.access import NetworkMode, Writes
from redoma.model.change import Did
from redoma.model.message import Message
from redoma.model.question import Impact
from redoma.model.risk import Effect, Place, Risk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from redoma.model.access import Grant
    from redoma.model.change import Changes
    from redoma.model.decision import Decision
    from redoma.model.risk import Fact, Finding

_ON_FILES = frozenset({Effect.WRITES, Effect.DELETES, Effect.TAMPERS, Effect.PERSISTS})
_SAID = {
    Effect.DELETES: "deletes",
    Effect.WRITES: "writes",
    Effect.PUBLISHES: "publishes",
    Effect.REMOTE: "acts on another machine",
    Effect.EXFILTRATES: "sends data away",
    Effect.INSTALLS: "installs",
    Effect.DOWNLOADS_AND_EXECUTES: "runs what it downloads",
    Effect.REWRITES_HISTORY: "rewrites history",
    Effect.SCHEMA_CHANGE: "changes a database",
    Effect.KILLS: "ends processes",
    Effect.SYSTEM: "changes the machine",
    Effect.PRIVILEGE: "takes more rights",
    Effect.SECRETS: "reads secrets",
    Effect.TAMPERS: "changes what guards the machine",
    Effect.PERSISTS: "stays for later",
    Effect.UNKNOWN: "does what cannot be known before it runs",
}


def impact(
    decision: Decision,
    grant: Grant,
    facts: Sequence[Fact],
    changes: Changes | None = None,
) -> Impact:
    """The impact assessment; what a preview saw counts before what the text says.

    `facts` are everything that the command does, also what no rule minds.
    """
    return Impact(
        files_affected=_seen(changes) if changes is not None else _named(facts),
        reversible=_reversible(decision.assessment.findings, facts, grant),
        network_access=_reaches_out(facts),
        estimated_scope="; ".join(_scope(decision, grant, facts, changes)),
    )


def _seen(changes: Changes) -> tuple[str, ...]:
    paths = {item.path for item in changes.items} | {item.renamed_from for item in changes.items}
    return tuple(sorted(paths - {""}))


def _named(facts: Sequence[Fact]) -> tuple[str, ...]:
    targets = (
        target.text
        for fact in facts
        if fact.effect in _ON_FILES
        for target in fact.targets
        if target.place is not Place.NOWHERE
    )
    return tuple(dict.fromkeys(targets))


def _reaches_out(facts: Sequence[Fact]) -> bool:
    """Whether anything beyond this machine is reached; its own loopback is not."""
    return any(
        fact.effect.leaves_machine
        and not (fact.targets and all(one.place is Place.LOOPBACK for one in fact.targets))
        for fact in facts
    )


def _reversible(found: Sequence[Finding], facts: Sequence[Fact], grant: Grant) -> bool:
    """Whether everything it does can be taken back: nothing for good, and no file lost for good."""
    if any(fact.effect.irreversible for fact in facts):
        return False
    if grant.writes in (Writes.LAYER, Writes.MEMORY):
        return True
    if any(fact.effect is Effect.DELETES for fact in facts):
        return False
    return not any(one.effect in _ON_FILES and one.risk >= Risk.DANGEROUS for one in found)


def _scope(
    decision: Decision, grant: Grant, facts: Sequence[Fact], changes: Changes | None
) -> list[str]:
    said = [_counted(changes)] if changes is not None else []
    effects = dict.fromkeys(_SAID[fact.effect] for fact in facts if fact.effect in _SAID)
    said += [", ".join(effects)] if effects else []
    if changes is None and decision.multiple_files:
        said.append("several files")
    if _reaches_out(facts) and grant.network is NetworkMode.CLOSED:
        said.append("the network is closed to it")
    return said or ["nothing that is known"]


def _counted(changes: Changes) -> str:
    """How many paths a preview saw change, and how."""
    names = {
        Did.CREATED: "{count} created",
        Did.MODIFIED: "{count} modified",
        Did.DELETED: "{count} deleted",
        Did.RENAMED: "{count} renamed",
        Did.ATTRIBUTES: "{count} with other attributes",
    }
    counted = [(words, len(changes.paths(did))) for did, words in names.items()]
    counts = Message.joined(", ", [Message(words, count=n) for words, n in counted if n])
    whole = len(changes.items)
    if not whole:
        return "a dry run changed no files"
    return Message.counted(
        "{count} path in a dry run: {counts}",
        "{count} paths in a dry run: {counts}",
        whole,
        counts=counts,
    )
