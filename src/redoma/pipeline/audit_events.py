"""The one place that words audit events: what was judged, asked, answered, run and changed.

A kind of event is declared in `redoma.model.event` and worded by one method here.
"""

from __future__ import annotations

from redoma.model.event import Event, Kind
from redoma.model.network import ONE_OF_MANY, Connection
from redoma.model.policy import Logging, LogLevel
from redoma.model.value import fields_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from redoma.model.call import Failure
    from redoma.model.change import Changes
    from redoma.model.decision import Decision
    from redoma.model.grant import RunPlan
    from redoma.model.intent import Intent
    from redoma.model.request import Answer, Question, Request
    from redoma.model.result import Quarantined, Result

USUAL = Logging()
KEPT_OUTPUT = 64 << 10
_LONGEST_COMMAND = 64 << 10
_MOST_PATHS = 200
# Connections of a run with a row each; of the others so many share one, each named in it.
_MOST_CALLS = 200
_CALLS_IN_A_ROW = 500


class AuditEvents:
    """The rows of one request; how much they say is the policy's choice."""

    def __init__(self, request: Request, logging: Logging = USUAL, *, command: str = "") -> None:
        """`command` stands in every row: for what happens long after its run, without one."""
        self._request = request
        self._level = logging.level
        self._output = logging.include_command_output
        self._command = command

    def judged(self, decision: Decision) -> Event:
        found = decision.assessment
        details: dict[str, object] = {
            "verdict": decision.verdict.label,
            "risk": found.risk.label,
            "level": decision.level,
            "rule": decision.rule,
            "policy": decision.policy,
            "rules": sorted({finding.rule for finding in found.worst}),
        }
        if decision.held:
            details["held"] = [
                {"rule": each.finding.rule, "by": each.by.value} for each in decision.held[:50]
            ]
        if self._level >= LogLevel.NORMAL:
            details["because"] = list(decision.because)
        if self._level >= LogLevel.VERBOSE:
            details["findings"] = [
                {"rule": f.rule, "effect": f.effect.value, "risk": f.risk.label, "reason": f.reason}
                for f in found.findings[:50]
            ]
        return self._event(Kind.JUDGED, details, self._request.workload.shown)

    def refused(self, why: str, code: str) -> Event:
        return self._event(Kind.REFUSED, {"why": why, "code": code})

    def asked(self, question: Question) -> Event:
        details: dict[str, object] = {
            "question": question.id,
            "digest": question.digest,
            "safety_level": question.safety_level,
            "because": list(question.because),
            "files_affected": list(question.impact.files_affected[:_MOST_PATHS]),
            "timeout_seconds": question.timeout_seconds,
        }
        return self._event(Kind.ASKED, details, question.command)

    def answered(self, question: Question, answer: Answer | None) -> Event:
        said: dict[str, object] = {"question": question.id, "choice": "deny"}
        if answer is None:
            return self._event(Kind.ANSWERED, {**said, "notes": "nobody answered"})
        said["choice"] = answer.choice.value
        said["approved_by"] = answer.approved_by
        said["remember"] = answer.remember.value
        said["notes"] = answer.notes
        return self._event(Kind.ANSWERED, said, answer.modified_command)

    def starting(self, plan: RunPlan) -> Event:
        grant = plan.grant
        details: dict[str, object] = {
            "mode": self._request.mode.value,
            "engine": plan.engine,
            "level": grant.level,
            "workspace": grant.workspace,
            "cwd": plan.request.cwd,
            "writes": grant.writes.value,
            "network": grant.network.value,
            "held": sorted(guarantee.value for guarantee in plan.enforcement.held),
        }
        if grant.reach.hosts or grant.reach.anyone:
            details["hosts"] = [rule.text for rule in grant.reach.hosts] or ["every host"]
        if grant.reach.inspect:
            details["inspect"] = True
        if grant.reach.mock:
            details["mock"] = True
        if grant.reach.cache:
            details["cache"] = list(grant.reach.cache)
        if grant.reach.credentials:
            details["credentials"] = [each.text for each in grant.reach.credentials]
        for name in ("writable", "readable", "hidden"):
            if getattr(grant, name):
                details[name] = list(getattr(grant, name))
        limits = {name: value for name, value in fields_of(grant.limits).items() if value}
        if limits:
            details["limits"] = limits
        if not grant.subprocesses:
            details["subprocesses"] = False
        if grant.env:
            details["env"] = [name for name, _ in grant.env]  # names only: values may be secrets
        if grant.secrets:
            details["secrets"] = [each.text for each in grant.secrets]  # by name, never a value
        return self._event(Kind.RUN_STARTING, details, self._request.workload.shown)

    def ended(self, result: Result) -> Event:
        used = result.resources_used
        details: dict[str, object] = {
            "outcome": result.outcome.value,
            "code": result.exit_code,
            "wall_seconds": round(used.wall_seconds, 6),
            "cpu_seconds": round(used.cpu_seconds, 6),
            "peak_memory": used.peak_memory,
            "bytes_written": used.bytes_written,
            "output_bytes": used.output_bytes,
        }
        if result.exit is not None and result.exit.limits_reached:
            details["limits_reached"] = list(result.exit.limits_reached)
        if result.failure is not None:
            known = {name: getattr(result.failure, name) for name in ("type_name", "kind", "what")}
            failure = {name: value[:2000] for name, value in known.items() if value}
            details["failure"] = {"how": result.failure.how.value, **failure}
        if self._output:
            details["stdout"] = _text(result.stdout)
            details["stderr"] = _text(result.stderr)
        return self._event(Kind.RUN_ENDED, details)

    def failed(self, error: BaseException) -> Event:
        """The end of a run that Redoma itself could not finish."""
        return self._event(Kind.RUN_ENDED, {"outcome": "failed", **_failure(error)})

    def violations(self, held: tuple[Quarantined, ...]) -> tuple[Event, ...]:
        return tuple(
            self._event(Kind.VIOLATION, {"path": each.path, "why": each.why, "kept": each.kept})
            for each in held[:_MOST_PATHS]
        )

    def refused_inside(self, failure: Failure | None) -> tuple[Event, ...]:
        """What a call touched that it was not given, where that is how it ended."""
        if failure is None or failure.kind == "":
            return ()
        return (
            self._event(
                Kind.VIOLATION,
                {"kind": failure.kind, "what": failure.what, "why": failure.constraint},
            ),
        )

    def network(self, calls: tuple[Connection, ...]) -> tuple[Event, ...]:
        """Rows for what passed and for what was refused; every host, port and reason is in one.

        Rows that name many come first: of a run's rows, retention lets the last go.
        """
        made: list[dict[str, object]] = []
        for allowed in (True, False):
            room = [each for each in calls if each.allowed is allowed]
            rest = room[_MOST_CALLS:]
            made += (
                _together(rest[at : at + _CALLS_IN_A_ROW])
                for at in range(0, len(rest), _CALLS_IN_A_ROW)
            )
            made += ({"target": each.target, **_known(each)} for each in room[:_MOST_CALLS])
        return tuple(self._event(Kind.NETWORK, details) for details in made)

    def changed(
        self, kind: Kind, changes: Changes, *, undoable: bool = True, paths: Sequence[str] = ()
    ) -> Event:
        """A row about stored changes; `paths` where it is not about all of them."""
        named = list(paths) or [item.path for item in changes.items]
        details: dict[str, object] = {
            "changes": changes.id,
            "workspace": changes.workspace,
            "count": len(named),
            "paths": named[:_MOST_PATHS],
            "warnings": list(changes.warnings),
        }
        if not undoable:
            details["undoable"] = False
        return self._event(kind, details)

    def not_changed(self, kind: Kind, changes: Changes, error: BaseException) -> Event:
        """The end of an apply or an undo that did not come to pass."""
        details = {"changes": changes.id, "workspace": changes.workspace, **_failure(error)}
        return self._event(kind, details)

    def plan_starting(self, intent: Intent, done: Iterable[str]) -> Event:
        """The run of a plan begins; `done` are steps of an earlier run that it goes on with."""
        steps = [step.id for step in intent.steps]
        more: dict[str, object] = {"steps": steps, "done_before": list(done)}
        about = {"name": intent.name, "digest": intent.digest}
        return self._event(Kind.PLAN_STARTING, {**about, **more})

    def plan_ended(self, intent: Intent, *, done: bool, stopped_at: str, why: str) -> Event:
        """The run of a plan is over; `stopped_at` is the step that was not done."""
        about = {"name": intent.name, "digest": intent.digest}
        more: dict[str, object] = {"done": done, "stopped_at": stopped_at, "why": why}
        return self._event(Kind.PLAN_ENDED, {**about, **more})

    def _event(self, kind: Kind, details: dict[str, object], command: str = "") -> Event:
        request = self._request
        if request.plan:
            details = {**details, "plan": request.plan}
        if request.step:
            details = {**details, "step": request.step}
        return Event(
            kind=kind,
            run=request.id,
            session=request.session,
            caller=request.caller,
            command=(command or self._command)[:_LONGEST_COMMAND],
            details=details,
        )


def _failure(error: BaseException) -> dict[str, object]:
    """Why something did not come to pass."""
    return {"error": getattr(error, "code", type(error).__name__), "why": str(error)[:2000]}


def _known(call: Connection) -> dict[str, object]:
    """What is known of a connection; what is not is left out."""
    known = {name: value for name, value in fields_of(call).items() if value not in ("", 0)}
    return {**known, "allowed": call.allowed, "seconds": round(call.seconds, 6)}


def _together(calls: list[Connection]) -> dict[str, object]:
    """One row for connections that have none of their own, with how often each was tried."""
    allowed = calls[0].allowed
    named: dict[str, int] = {}
    for each in calls:
        what = each.target if allowed or not each.why else f"{each.target}: {each.why}"
        named[what] = named.get(what, 0) + each.times
    whole = Connection(
        allowed=allowed,
        name="*",
        why="" if allowed else ONE_OF_MANY,
        times=sum(named.values()),
        sent=sum(each.sent for each in calls),
        received=sum(each.received for each in calls),
    )
    return {"target": whole.target, **_known(whole), "targets": named}


def _text(data: bytes) -> str:
    """The end of what was printed: errors stand there."""
    return data[-KEPT_OUTPUT:].decode("utf-8", "backslashreplace")
