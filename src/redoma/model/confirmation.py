"""Questions and answers as documents: `confirmation_request` and `confirmation_response`.

The fields are exactly those that callers are promised; what is read is checked field by field.
"""

from __future__ import annotations

from redoma.model.errors import ConfirmationExpired, UsageError
from redoma.model.message import Message
from redoma.model.request import Answer, Choice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from redoma.model.request import Question

OPTIONS = {
    Choice.APPROVE: "Execute command",
    Choice.DENY: "Block command",
    Choice.DRY_RUN: "Execute in dry-run mode",
    Choice.MODIFY: "Modify command",
}
LONGEST_COMMAND = 64 * 1024
_LONGEST = {
    "request_id": 64,
    "decision": 16,
    "approved_by": 256,
    "timestamp": 64,
    "modified_command": LONGEST_COMMAND,
    "notes": 4096,
}
_NEEDED = ("request_id", "decision", "approved_by", "timestamp")


def confirmation_request(
    question: Question, redact: Callable[[str], str] = lambda text: text
) -> dict[str, object]:
    """A question as the document's `confirmation_request`; every free text passes `redact`."""
    impact, context = question.impact, question.context
    return {
        "timestamp": question.asked_at,
        "request_id": question.id,
        "command": redact(question.command),
        "safety_level": question.safety_level,
        "impact_assessment": {
            "files_affected": [redact(path) for path in impact.files_affected],
            "reversible": impact.reversible,
            "network_access": impact.network_access,
            "estimated_scope": redact(impact.estimated_scope),
        },
        "context": {
            "triggered_by": context.triggered_by,
            "workflow_phase": context.workflow_phase,
            "previous_commands": [redact(command) for command in context.previous_commands],
        },
        "options": [{choice.value: words} for choice, words in OPTIONS.items()],
        "timeout_seconds": question.timeout_seconds,
        "default_action": question.default_action.value,
    }


def response_as_dict(answer: Answer) -> dict[str, object]:
    """An answer as the document's `confirmation_response`."""
    made: dict[str, object] = {
        "request_id": answer.question,
        "decision": answer.choice.value,
        "approved_by": answer.approved_by,
        "timestamp": answer.at,
        "notes": answer.notes,
    }
    if answer.choice is Choice.MODIFY:
        made["modified_command"] = answer.modified_command
    return made


def confirmation_response(given: object, question: Question) -> Answer:
    """The answer that a `confirmation_response` gives to this very question; else an error."""
    fields = _fields(given)
    if fields["request_id"] != question.id:
        raise ConfirmationExpired(
            "this answers {answered}, and {asked} was asked",
            answered=fields["request_id"],
            asked=question.id,
            hint="answer the question that is waiting: redoma pending",
        )
    try:
        choice = Choice(fields["decision"])
    except ValueError:
        known = ", ".join(one.value for one in Choice)
        raise UsageError(
            "decision: {decision} is no decision",
            decision=repr(fields["decision"]),
            hint=Message("one of: {known}", known=known),
        ) from None
    modified = fields.get("modified_command", "")
    if choice is Choice.MODIFY and not modified.strip():
        raise UsageError("decision modify needs modified_command")
    if choice is not Choice.MODIFY and modified:
        raise UsageError(
            "modified_command goes with the decision modify, not with {choice}", choice=choice.value
        )
    return Answer(
        question=question.id,
        digest=question.digest,
        choice=choice,
        approved_by=fields["approved_by"],
        at=fields["timestamp"],
        modified_command=modified,
        notes=fields.get("notes", ""),
    )


def _fields(given: object) -> Mapping[str, str]:
    """The document's fields, all of them text, none of them too long; nothing else beside them."""
    if not isinstance(given, dict):
        raise UsageError("a confirmation response is an object with the document's fields")
    unknown = [str(name) for name in given if name not in _LONGEST]
    if unknown:
        raise UsageError(
            "a confirmation response has no field {name}",
            name=repr(unknown[0]),
            hint=f"{', '.join(_LONGEST)}",
        )
    for name in _NEEDED:
        if name not in given:
            raise UsageError("a confirmation response needs {name}", name=name)
    for name, value in given.items():
        if not isinstance(value, str):
            raise UsageError(
                "{name}: a text is needed, not {given}", name=name, given=type(value).__name__
            )
        if len(value) > _LONGEST[name]:
            raise UsageError(
                "{name}: {count} characters are more than {longest}",
                name=name,
                count=len(value),
                longest=_LONGEST[name],
            )
        if "\0" in value:
            raise UsageError("{name}: a NUL byte cannot be part of it", name=name)
    if not _is_a_time(given["timestamp"]):
        raise UsageError(
            "timestamp: {timestamp} is not ISO 8601", timestamp=repr(given["timestamp"])
        )
    return given


def _is_a_time(text: str) -> bool:
    from datetime import datetime

    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return "T" in text


# The names under which programs get them.


confirmation_request.__module__ = confirmation_response.__module__ = "redoma"
