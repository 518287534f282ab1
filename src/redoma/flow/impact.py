"""What a command would touch: from what was found in it, or from what a preview saw it do."""

from __future__ import annotations

from redoma.model.access import Network, Writes
from redoma.model.change import Did
from redoma.model.question import Impact
from redoma.model.risk import Effect, Risk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.access import Grant
    from redoma.model.change import Changes
    from redoma.model.decision import Decision
    from redoma.model.risk import Finding

_ON_FILES = frozenset({Effect.WRITES, Effect.DELETES, Effect.TAMPERS, Effect.PERSISTS})
_ON_THE_NETWORK = frozenset(
    {
        Effect.NETWORK,
        Effect.REMOTE,
        Effect.PUBLISHES,
        Effect.EXFILTRATES,
        Effect.INSTALLS,
        Effect.DOWNLOADS_AND_EXECUTES,
    }
)
# What holding back changes in the workspace does not take back.
_FOR_GOOD = frozenset(
    {
        Effect.REMOTE,
        Effect.PUBLISHES,
        Effect.EXFILTRATES,
        Effect.SECRETS,
        Effect.DOWNLOADS_AND_EXECUTES,
        Effect.REWRITES_HISTORY,
        Effect.SCHEMA_CHANGE,
        Effect.KILLS,
        Effect.SYSTEM,
        Effect.PRIVILEGE,
        Effect.TAMPERS,
        Effect.PERSISTS,
        Effect.UNKNOWN,
        Effect.DECEIVES,
    }
)
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


def impact(decision: Decision, grant: Grant, changes: Changes | None = None) -> Impact:
    """The impact assessment; what a preview saw counts before what the text says."""
    found = decision.assessment.findings
    return Impact(
        files_affected=_seen(changes) if changes is not None else _named(found),
        reversible=_reversible(found, grant),
        network_access=any(finding.effect in _ON_THE_NETWORK for finding in found),
        estimated_scope="; ".join(_scope(decision, grant, changes)),
    )


def _seen(changes: Changes) -> tuple[str, ...]:
    paths = {item.path for item in changes.items} | {item.renamed_from for item in changes.items}
    return tuple(sorted(paths - {""}))


def _named(found: tuple[Finding, ...]) -> tuple[str, ...]:
    targets = (t for finding in found if finding.effect in _ON_FILES for t in finding.targets)
    return tuple(dict.fromkeys(targets))


def _reversible(found: tuple[Finding, ...], grant: Grant) -> bool:
    held = grant.writes in (Writes.LAYER, Writes.MEMORY)
    for finding in found:
        if finding.effect in _FOR_GOOD:
            return False
        if held or finding.effect not in _ON_FILES:
            continue
        if finding.effect is Effect.DELETES or finding.risk >= Risk.DANGEROUS:
            return False
    return True


def _scope(decision: Decision, grant: Grant, changes: Changes | None) -> list[str]:
    found = decision.assessment.findings
    said = [_counted(changes)] if changes is not None else []
    effects = dict.fromkeys(_SAID[one.effect] for one in found if one.effect in _SAID)
    said += [", ".join(effects)] if effects else []
    if changes is None and decision.multiple_files:
        said.append("several files")
    if any(one.effect in _ON_THE_NETWORK for one in found) and grant.network is Network.CLOSED:
        said.append("the network is closed to it")
    return said or ["nothing that is known"]


def _counted(changes: Changes) -> str:
    """How many paths a preview saw change, and how."""
    names = {
        Did.CREATED: "created",
        Did.MODIFIED: "modified",
        Did.DELETED: "deleted",
        Did.RENAMED: "renamed",
        Did.ATTRIBUTES: "with other attributes",
    }
    counts = [
        f"{len(changes.paths(did))} {words}" for did, words in names.items() if changes.paths(did)
    ]
    whole = len(changes.items)
    if not whole:
        return "a dry run changed no files"
    return f"{whole} {'path' if whole == 1 else 'paths'} in a dry run: {', '.join(counts)}"
