"""`ActionSandbox`: the actions execute, check and confirm, each a dict in and a dict out."""

from __future__ import annotations

import os
from _thread import allocate_lock
from collections.abc import Awaitable, Callable, Mapping
from shlex import quote
from typing import Any

from redoma import (
    Access,
    Answer,
    Caller,
    Choice,
    Decision,
    Limits,
    Outcome,
    PolicyChoice,
    Preview,
    Question,
    RedomaError,
    Result,
    Sandbox,
    SecretSanitizer,
    Verdict,
    check,
    confirmation_request,
    confirmation_response,
)
from redoma.base.paths import is_within
from redoma.dialects.actions.fields import (
    FILES,
    OUTCOMES,
    BadAction,
    Refusal,
    checked,
    parsed,
    told,
    violation,
)
from redoma.model import arguments
from redoma.model.arguments import WrongType, shown
from redoma.model.remedies import Interface

# Given the document's `confirmation_request`; says yes or no, or a `confirmation_response`.
Confirm = Callable[[dict[str, object]], object]

PACK = "skill"
NO_ALTERNATIVE = "have a person do it, or ask for an exception in the policy"
_MOST_APPROVED = 256


# The document's own numbers, whatever a level says today.
LIMITS = {
    "memory": 2048 << 20,
    "wall_seconds": 300,
    "file_size": 100 << 20,
    "total_written": 1000 << 20,
}


class ActionSandbox:
    """Performs actions in a workspace, judged by the rule pack `skill` and its policy."""

    def __init__(
        self,
        workspace: str = "",
        *,
        confirm: Confirm | None = None,
        caller: str = "",
        phase: str = "",
        record: str | None = None,
    ) -> None:
        """`confirm` is who is asked; without anybody to ask, the answer is no."""
        if confirm is not None and not callable(confirm):
            raise WrongType(f"confirm: a function is needed, not {shown(confirm)}")
        self._workspace = os.path.realpath(arguments.path("workspace", workspace) or ".")
        self._confirm = confirm
        self._caller = arguments.text("caller", caller)
        self._phase = arguments.text("phase", phase)
        self._record = None if record is None else arguments.path("record", record)
        self._lock = allocate_lock()
        # What `sandbox.confirm` approved and nobody has executed yet, by digest, each once.
        self._approved: dict[str, None] = {}

    def handle(self, request: Mapping[str, object] | str) -> dict[str, object]:
        """A whole request: `action` and `params`, as a dict or as YAML text."""
        found = parsed(request, "request")
        strange = [name for name in found if name not in ("action", "params")]
        if strange:
            raise BadAction(f"a request has no field {strange[0]!r}", field=strange[0])
        action, params = found.get("action"), found.get("params", {})
        if not isinstance(action, str):
            raise BadAction("a request needs an action", field="action")
        if not isinstance(params, Mapping):
            raise BadAction("params: names with values are needed", field="params")
        return self.perform(action, params)

    def perform(self, action: str, parameters: Mapping[str, object] | str) -> dict[str, object]:
        """The documented answer of an action, or its documented error."""
        given: dict[str, Any] = checked(action, parameters)
        command: str = given["command"]
        try:
            if action == "sandbox.check":
                return _checked(self._sandbox().check(command))
            if action == "sandbox.confirm":
                return self._confirmed(given)
            return self._executed(given)
        except BadAction:
            raise
        except RedomaError as error:
            error.speak(Interface.ACTIONS)
            return told(error, command, level="unknown", policy="default")

    def _sandbox(
        self, given: Mapping[str, Any] | None = None, ask: _Asking | None = None
    ) -> Sandbox:
        given = given or {}
        context = given.get("context") or {}
        return Sandbox(
            self._workspace,
            level=given.get("isolation_level", ""),
            at_most=Limits(**LIMITS),
            ask=_Approved(ask) if ask is not None and self._confirm is None else ask,  # type: ignore[arg-type] # plain or awaited
            audit=self._record,
            access=Access(env=given.get("environment")),
            policy=PolicyChoice(pack=PACK),
            caller=Caller(
                name=context.get("triggered_by", self._caller),
                phase=context.get("workflow_phase", self._phase),
            ),
        )

    def _executed(self, given: Mapping[str, Any]) -> dict[str, object]:
        command = _with_variables(given["command"], given.get("environment") or {})
        timeout = given.get("timeout_seconds")
        cwd = os.path.realpath(os.path.join(self._workspace, given.get("working_directory", "")))
        if not is_within(cwd, self._workspace):
            why = f"working_directory is outside of {self._workspace}"
            return Refusal.VIOLATION.told(
                violation_type=FILES, attempted_action=command, constraint=why
            )
        asking = _Asking(self._confirm, self._spend)
        sandbox = self._sandbox(given, asking)
        if given.get("dry_run"):
            with sandbox.preview(command, timeout=timeout, cwd=cwd) as preview:
                return _previewed(preview)
        result = sandbox.run(command, timeout=timeout, cwd=cwd, trace_files=True)
        if result.dry_run:
            # Whoever was asked wants to see first, or the policy does where nobody answers: it
            # has run on a layer, which is let go.
            with sandbox.as_preview(command, result) as preview:
                return _previewed(preview)
        violated = violation(result, command, self._workspace, cwd)
        return violated or _ran(result, command, asking)

    def _confirmed(self, given: Mapping[str, Any]) -> dict[str, object]:
        command: str = given["command"]
        asking = _Asking(self._confirm, lambda digest: False)
        found = self._sandbox(given, asking).confirm(
            command,
            timeout=given.get("timeout_seconds"),
            previous=(given.get("context") or {}).get("previous_commands", ()),
        )
        choice, approved, modified = found.choice, found.approved, ""
        if approved and found.question is not None:
            self._keep(found.question.digest)
        if choice is Choice.MODIFY and found.answer is not None:
            # Another command than the one that was asked about: decided anew, by itself.
            modified = found.answer.modified_command
            approved = self._sandbox().check(modified).verdict <= Verdict.LOG
        return {"approved": approved, "decision": choice.value, "modified_command": modified}

    def _keep(self, digest: str) -> None:
        with self._lock:
            self._approved[digest] = None
            while len(self._approved) > _MOST_APPROVED:
                self._approved.pop(next(iter(self._approved)))

    def _spend(self, digest: str) -> bool:
        with self._lock:
            return self._approved.pop(digest, self) is None


class _Approved:
    """Knows what was approved before, and leaves the rest to the silence of the policy."""

    def __init__(self, asking: _Asking) -> None:
        self._asking = asking

    def ask(self, question: Question) -> Answer | None:
        """A yes for what was approved before; nothing where nobody can be asked."""
        if self._asking(question) is not True:
            return None
        return Answer(
            question=question.id,
            digest=question.digest,
            choice=Choice.APPROVE,
            approved_by="sandbox.confirm",
            at=question.asked_at,
        )


class _Asking:
    """Puts a question in the document's words, and takes down who said what."""

    def __init__(self, confirm: Confirm | None, spend: Callable[[str], bool]) -> None:
        self._confirm = confirm
        self._spend = spend
        self.choice: Choice | None = None
        self.by = "nobody"
        self.notes = "nobody approved this command in time"

    def __call__(self, question: Question) -> bool | Answer | Awaitable[bool | Answer]:
        """A yes for what was approved before; else what is said now."""
        if self._spend(question.digest):
            return True
        if self._confirm is None:
            return False
        self.by = "callback"
        self.notes = "the answer was no"
        request = confirmation_request(question, SecretSanitizer().sanitize)
        request["timeout_seconds"] = round(question.timeout_seconds, 1)
        said = self._confirm(request)
        if hasattr(said, "__await__"):
            return self._awaited(said, question)
        return self._meant(said, question)

    async def _awaited(self, said: Awaitable[object], question: Question) -> bool | Answer:
        return self._meant(await said, question)

    def _meant(self, said: object, question: Question) -> bool | Answer:
        if said is True or said is False:
            self.choice = Choice.APPROVE if said else Choice.DENY
            return said
        answer = confirmation_response(said, question)
        self.choice, self.by = answer.choice, answer.approved_by
        self.notes = answer.notes or self.notes
        return answer


def _with_variables(command: str, environment: Mapping[str, str]) -> str:
    """The command; with its variables written out before it, where they make it riskier.

    Attack: `LD_PRELOAD`, `BASH_ENV` or `GIT_PAGER` runs what nobody has judged. So it is judged,
    asked about and written down with them.
    """
    named = {name: value for name, value in environment.items() if name.isidentifier()}
    if not named:
        return command
    exports = "".join(f"export {name}={quote(value)}\n" for name, value in named.items())
    # That there are variables is no risk by itself.
    plain, whole = f"export A=1\n{command}", exports + command
    alone, together = (check(text, pack=PACK).assessment.risk for text in (plain, whole))
    return command if together <= alone else whole


def _checked(decision: Decision) -> dict[str, object]:
    allowed = decision.verdict is not Verdict.DENY
    made: dict[str, object] = {
        "allowed": allowed,
        "safety_level": decision.level,
        "requires_confirmation": decision.verdict is Verdict.CONFIRM,
    }
    if not allowed:
        made["blocked_reason"] = "; ".join(decision.because)
        made["suggested_alternative"] = next(
            (f.alternative for f in decision.assessment.worst if f.alternative), NO_ALTERNATIVE
        )
    return made


def _ran(result: Result, command: str, asking: _Asking) -> dict[str, object]:
    decision, used = result.decision, result.resources_used
    if result.outcome is Outcome.DENIED and decision is not None:
        return Refusal.BLOCKED.told(
            command=decision.assessment.text,  # another one, where whoever was asked modified it
            safety_level=decision.level,
            policy=decision.policy,
            reason="; ".join(decision.because),
        )
    if result.outcome in (Outcome.DECLINED, Outcome.PREVIEWED):
        notes = "; ".join(result.notes) if result.outcome is Outcome.PREVIEWED else asking.notes
        return Refusal.DENIED.told(command=command, denied_by=asking.by, reason=notes)
    if result.outcome in OUTCOMES:
        kind, limit = OUTCOMES[result.outcome]
        return Refusal.VIOLATION.told(
            violation_type=kind, attempted_action=command, constraint=limit
        )
    if result.held_back:
        held = result.held_back[0]
        return Refusal.VIOLATION.told(
            violation_type=FILES, attempted_action=held.path, constraint=held.why
        )
    return {
        "exit_code": result.exit_code,
        "stdout": result.stdout.decode("utf-8", "replace"),
        "stderr": result.stderr.decode("utf-8", "replace") + _cut(result),
        "execution_time_ms": round(used.wall_seconds * 1000),
        "resources_used": {
            "memory_mb": round(used.peak_memory / (1 << 20), 1),
            "cpu_seconds": round(used.cpu_seconds, 3),
            "files_accessed": list(used.files_accessed or ()),
        },
    }


def _cut(result: Result) -> str:
    """A line about output that is too much to be kept; nothing where all of it is there."""
    if result.exit is None or not result.exit.truncated:
        return ""
    kept, printed = len(result.stdout + result.stderr), result.resources_used.output_bytes
    return f"\nsandbox: the output was cut: {kept} of {printed} bytes are kept\n"


def _previewed(preview: Preview) -> dict[str, object]:
    found = preview.found
    files: dict[str, list[str]] = {"created": [], "modified": [], "deleted": []}
    for change in found.changes.items:
        if change.did.value == "renamed":
            files["created"].append(change.path)
            files["deleted"].append(change.renamed_from)
        else:
            files.get(change.did.value, files["modified"]).append(change.path)
    warnings = list(found.warnings)
    decision = found.result.decision
    if not found.would_execute and decision is not None:
        warnings += decision.because
    return {
        "dry_run_result": {
            "command": found.command,
            "would_execute": found.would_execute,
            "impact": {
                **{f"files_{did}": sorted(paths) for did, paths in files.items()},
                "network_calls": list(found.network_calls),
                "database_operations": list(found.database_operations),
            },
            "warnings": warnings,
            "estimated_duration": found.estimated_duration,
            "rollback_available": found.rollback_available,
        }
    }
