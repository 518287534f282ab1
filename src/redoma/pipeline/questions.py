"""The one place that builds questions: what would run, why it is asked, what it touches.

The digest says exactly what an approval is for: this workload with this input, in this place,
with these rights, under this policy. Nobody approves one thing and runs another.
"""

from __future__ import annotations

import json
import os
from enum import Enum
from hashlib import sha256

from redoma.ask.answers import now
from redoma.base.identity import short_id, uuid
from redoma.base.text import shortened
from redoma.judge.canonical_argv import NOTHING, CanonicalCommand, canonical_argv, canonical_program
from redoma.judge.judgement import examine_call, facts_of
from redoma.judge.text.budget import Exhausted
from redoma.model.change import Did
from redoma.model.decision import Effect, Place, Risk
from redoma.model.grant import NetworkMode, Writes
from redoma.model.message import Message
from redoma.model.policy import BUILT_IN
from redoma.model.request import (
    Choice,
    Context,
    Impact,
    Program,
    PythonCall,
    Question,
    ShellCommand,
)
from redoma.model.value import Value, fields_of, replace
from redoma.pipeline.decisions.check import ground, judging, unjudged
from redoma.pipeline.decisions.knowledge import knowledge, pack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from redoma.model.change import Changes, HistoryEntry
    from redoma.model.decision import Decision, Fact, Finding
    from redoma.model.grant import Grant
    from redoma.model.policy import Policy
    from redoma.model.request import Request, Workload
    from redoma.model.script import Span


LONGEST_INPUT = 400
MOST_REASONS = 20
_MOST_FILES = 10


def question(
    request: Request,
    decision: Decision,
    *,
    grant: Grant,
    policy: Policy,
    changes: Changes | None = None,
    previous: tuple[str, ...] = (),
    home: str | None = None,
) -> Question:
    """The question for one request; `changes` are those of a preview, where one ran."""
    kept = {each.key for each in decision.held}
    found = tuple(f for f in decision.assessment.findings if f.key not in kept)
    risk = decision.assessment.risk
    like = _canonical(request.workload)
    cwd = place(request, grant)
    # Attack: the same words mean another thing with another input, so they are not known again.
    known = not request.stdin
    return _made(
        request,
        policy,
        digest=digest(request, grant=grant, policy=policy),
        command=request.workload.shown,
        risk=risk,
        safety_level=decision.level or risk.label,
        because=(
            *(decision.because or tuple(finding.reason for finding in found)),
            *_reads(request.stdin),
        ),
        spans=_spans(found, risk),
        alternative=next((finding.alternative for finding in found if finding.alternative), ""),
        impact=impact(decision, grant, _facts(request, decision, cwd, home), changes),
        previous=previous,
        workspace=grant.workspace,
        argvs=like.argvs if known else (),
        joins=like.joins if known else (),
        cwd=cwd,
        grant=rights(grant),
        rules=tuple(sorted({finding.rule for finding in decision.assessment.findings})),
        policy=f"{policy.name}: {decision.rule}" if decision.rule else policy.name,
    )


def question_of_changes(
    request: Request, entry: HistoryEntry, changes: Changes, policy: Policy
) -> Question:
    """Whether stored changes may be applied whose command has to be confirmed."""
    paths = Message.counted("{count} path", "{count} paths", len(changes.items))
    return _made(
        request,
        policy,
        digest=f"apply {entry.id}",
        command=entry.command,
        risk=Risk.DANGEROUS,
        safety_level=Risk.DANGEROUS.label,
        because=entry.asks,
        impact=Impact(
            files_affected=tuple(item.path for item in changes.items),
            reversible=True,
            estimated_scope=Message("changes {paths} that a preview holds", paths=paths),
        ),
        workspace=entry.workspace,
    )


def question_of_plan(  # noqa: PLR0913 — each by its own name
    request: Request,
    worst: Decision,
    policy: Policy,
    *,
    digest: str,
    spans: tuple[Span, ...],
    because: tuple[str, ...],
    impacts: Sequence[Impact],
    to_confirm: int,
    workspace: str,
) -> Question:
    """What a person is asked once for all steps of a plan; the digest is of every one of them.

    `request` shows the whole plan, `worst` is the decision on its riskiest step, `impacts` are
    those of all steps.
    """
    files = tuple(dict.fromkeys(path for each in impacts for path in each.files_affected))
    return _made(
        request,
        policy,
        digest=digest,
        command=request.workload.shown,
        spans=spans,
        risk=worst.assessment.risk,
        safety_level=worst.level or worst.assessment.risk.label,
        because=because[:MOST_REASONS],
        impact=Impact(
            files_affected=files,
            reversible=all(each.reversible for each in impacts),
            network_access=any(each.network_access for each in impacts),
            estimated_scope=Message(
                "{count} steps, {asked} to confirm", count=len(impacts), asked=to_confirm
            ),
        ),
        workspace=workspace,
        # A whole plan is never approved by silence, whatever the policy says of one command.
        default_action=Choice.DENY,
        policy=f"{policy.name}: plans.confirm",
    )


def _made(
    request: Request, rules: Policy, /, *, previous: tuple[str, ...] = (), **about: Any
) -> Question:
    """A question with a name of its own, asked now, for whoever sent the request."""
    context = Context(
        triggered_by=request.caller, workflow_phase=request.phase, previous_commands=previous
    )
    usual: dict[str, Any] = {
        "id": uuid(),
        "context": context,
        "session": request.session,
        "asked_at": now(),
        "timeout_seconds": rules.confirmation.timeout_seconds,
        "default_action": rules.confirmation.default_action,
        "policy": rules.name,
    }
    return Question(**{**usual, **about})


def without_undo(asked: Question, name: str, why: str) -> Question:
    """The same question, whether changes may be applied for good; no other answer is one to it."""
    return replace(
        asked,
        digest=f"apply {name} without undo",
        because=(why,),
        impact=replace(asked.impact, reversible=False),
        argvs=(),
        joins=(),
    )


def about_obeyed_files(asked: Question, files: dict[str, str]) -> Question:
    """The same question, whether these files may be obeyed; no other answer is one to it."""
    because = [
        Message("{path}: {tool} would obey it", path=path, tool=tool)
        for path, tool in files.items()
    ]
    if len(because) > _MOST_FILES:
        more = Message("and {count} more", count=len(because) - _MOST_FILES)
        because = [*because[:_MOST_FILES], more]
    # Attack: an approval of the command, or of other files that it made, is none of these.
    named = "\0".join((asked.digest, "obeyed", *sorted(files))).encode(errors="surrogateescape")
    return replace(
        asked, digest=sha256(named).hexdigest(), because=tuple(because), argvs=(), joins=()
    )


def about_unseen_input(asked: Question) -> Question:
    """The same question about a command that reads what nobody has seen.

    Attack: what is piped in is part of what runs. An approval is for this input alone: it is
    neither remembered nor good for another run.
    """
    return replace(
        asked, digest=f"{asked.digest}:{short_id()}", argvs=(), joins=(), input_unknown=True
    )


def _reads(stdin: bytes) -> tuple[str, ...]:
    """What it is given to read: nobody should approve a text that they cannot see."""
    if not stdin:
        return ()
    text = shortened(stdin.decode("utf-8", "replace"), LONGEST_INPUT)
    told = "it reads {count} bytes from its standard input: {text}"
    return (Message(told, count=len(stdin), text=repr(text)),)


def _canonical(workload: Workload) -> CanonicalCommand:
    """What an approval that lasts is known by; a call's arguments are objects, and have none."""
    if isinstance(workload, Program):
        return canonical_program(workload.argv)
    return canonical_argv(workload.text) if isinstance(workload, ShellCommand) else NOTHING


def digest(request: Request, *, grant: Grant, policy: Policy) -> str:
    """One name for exactly this: the workload, its input, its place, the grant and the policy."""
    return _named(
        type(request.workload).__name__,
        request.workload,
        sha256(request.stdin).hexdigest(),
        place(request, grant),
        grant,
        policy.digest,
    )


def rights(grant: Grant) -> str:
    """One name for what a run may touch, whatever its limits of time and size."""
    return _named({name: value for name, value in fields_of(grant).items() if name != "limits"})


def place(request: Request, grant: Grant) -> str:
    """The directory that the request runs in, absolute."""
    return os.path.normpath(os.path.join(grant.workspace, request.cwd))


def _named(*parts: object) -> str:
    return sha256(json.dumps([_plain(part) for part in parts]).encode("ascii")).hexdigest()


def _plain(value: object) -> object:
    """The value as JSON that is the same for the same value; what is not known is an error."""
    if isinstance(value, Value):
        return _plain(fields_of(value))
    if isinstance(value, Enum):
        return [type(value).__name__, value.value]
    if isinstance(value, dict):
        return [[str(name), _plain(value[name])] for name in sorted(value)]
    if isinstance(value, frozenset):
        return sorted(json.dumps(_plain(item)) for item in value)
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, bytes):
        return sha256(value).hexdigest()
    raise TypeError(f"{type(value).__name__} has no name of its own")


def _facts(request: Request, decision: Decision, cwd: str, home: str | None) -> list[Fact]:
    """Everything that the command does, also what is too harmless to be a finding."""
    found = decision.assessment
    rules, known = pack(found.pack), knowledge()
    try:
        with judging(BUILT_IN):
            if isinstance(request.workload, PythonCall):
                return list(examine_call(request.workload, rules, known, ground(cwd))[1])
            return facts_of(found.text, rules, known, ground(cwd, home))
    except Exhausted:
        return list(unjudged(found.text))


def _spans(found: tuple[Finding, ...], risk: Risk) -> tuple[Span, ...]:
    """The parts that a person must see: whatever is as risky as the whole, or elevated."""
    least = min(risk, Risk.ELEVATED)
    return tuple(dict.fromkeys(one.span for one in found if one.risk >= max(least, Risk.MODERATE)))


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
    reaches = _reaches_out(facts)
    return Impact(
        files_affected=_seen(changes) if changes is not None else _in_words(facts),
        reversible=_reversible(decision.assessment.findings, facts, grant),
        network_access=reaches,
        estimated_scope="; ".join(_scope(decision, facts, changes)),
        network_closed=reaches and grant.network is NetworkMode.CLOSED,
    )


def _seen(changes: Changes) -> tuple[str, ...]:
    paths = {item.path for item in changes.items} | {item.renamed_from for item in changes.items}
    return tuple(sorted(paths - {""}))


def _in_words(facts: Sequence[Fact]) -> tuple[str, ...]:
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


def _scope(decision: Decision, facts: Sequence[Fact], changes: Changes | None) -> list[str]:
    said = [_counted(changes)] if changes is not None else []
    effects = dict.fromkeys(_SAID[fact.effect] for fact in facts if fact.effect in _SAID)
    said += [", ".join(effects)] if effects else []
    if changes is None and decision.multiple_files:
        said.append("several files")
    return said or ["nothing that is known"]


def _counted(changes: Changes) -> str:
    """How many paths a preview saw change, and how."""
    names = {did: did.value for did in Did} | {Did.ATTRIBUTES: "with other attributes"}
    counted = [(Message(words), len(changes.paths(did))) for did, words in names.items()]
    told = [Message("{count} {did}", count=count, did=did) for did, count in counted if count]
    counts = Message.joined(", ", told)
    whole = len(changes.items)
    if not whole:
        return "a dry run changed no files"
    many = Message.counted("{count} path", "{count} paths", whole)
    return Message("{paths} in a dry run: {counts}", paths=many, counts=counts)
