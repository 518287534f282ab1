"""Requests and responses have exactly the fields that callers are promised."""

from __future__ import annotations

import pytest

from redoma.model.confirmation import confirmation_request, confirmation_response, response_as_dict
from redoma.model.errors import ConfirmationExpired, RedomaError, UsageError
from redoma.model.request import Answer, Choice
from tests.unit.ask.asked import DELETES, FORCE_PUSH

pytestmark = pytest.mark.requirement("K4")
RESPONSE = {
    "request_id": FORCE_PUSH.id,
    "decision": "approve",
    "approved_by": "ana",
    "timestamp": "2026-01-02T03:04:05Z",
    "notes": "after the freeze",
}


def test_a_request_has_every_field_of_the_document_and_no_other() -> None:
    assert confirmation_request(FORCE_PUSH) == {
        "timestamp": "2026-01-02T03:04:05.678Z",
        "request_id": "0f8fad5b-d9cb-469f-a165-70867728950e",
        "command": "git push --force origin main",
        "safety_level": "dangerous",
        "impact_assessment": {
            "files_affected": [],
            "reversible": False,
            "network_access": True,
            "estimated_scope": "rewrites history, publishes",
        },
        "context": {
            "triggered_by": "claude-code",
            "workflow_phase": "release",
            "previous_commands": ["git status"],
        },
        "options": [
            {"approve": "Execute command"},
            {"deny": "Block command"},
            {"dry_run": "Execute in dry-run mode"},
            {"modify": "Modify command"},
        ],
        "timeout_seconds": 30.0,
        "default_action": "deny",
    }


def test_free_text_of_a_request_passes_the_redactor() -> None:
    shown = confirmation_request(DELETES, lambda text: f"<{len(text)}>")
    assert shown["command"] == "<17>"
    assert shown["impact_assessment"] == {
        "files_affected": ["<5>", "<4>"],
        "reversible": False,
        "network_access": False,
        "estimated_scope": "<22>",
    }


def test_a_response_is_read_as_it_was_written() -> None:
    answer = Answer(
        question=FORCE_PUSH.id,
        digest=FORCE_PUSH.digest,
        choice=Choice.APPROVE,
        approved_by="ana",
        at="2026-01-02T03:04:05Z",
        notes="after the freeze",
    )
    assert confirmation_response(RESPONSE, FORCE_PUSH) == answer
    assert response_as_dict(answer) == RESPONSE
    assert answer.approves(FORCE_PUSH)


def test_a_modified_command_goes_with_modify_alone() -> None:
    changed = {**RESPONSE, "decision": "modify", "modified_command": "git push"}
    answer = confirmation_response(changed, FORCE_PUSH)
    assert (answer.choice, answer.modified_command) == (Choice.MODIFY, "git push")
    assert response_as_dict(answer) == changed
    assert not answer.approves(FORCE_PUSH)


def test_a_response_to_another_question_does_not_count() -> None:
    with pytest.raises(ConfirmationExpired, match="was asked"):
        confirmation_response({**RESPONSE, "request_id": DELETES.id}, FORCE_PUSH)


BAD: dict[str, object] = {
    "no object": [],
    "nothing": None,
    "an unknown field": {**RESPONSE, "approve": True},
    "a digest": {**RESPONSE, "digest": FORCE_PUSH.digest},
    "no id": {name: value for name, value in RESPONSE.items() if name != "request_id"},
    "no name": {name: value for name, value in RESPONSE.items() if name != "approved_by"},
    "no time": {name: value for name, value in RESPONSE.items() if name != "timestamp"},
    "a decision in other words": {**RESPONSE, "decision": "yes"},
    "a decision in capitals": {**RESPONSE, "decision": "APPROVE"},
    "true for a decision": {**RESPONSE, "decision": True},
    "a list of decisions": {**RESPONSE, "decision": ["approve"]},
    "modify without a command": {**RESPONSE, "decision": "modify"},
    "modify with blanks": {**RESPONSE, "decision": "modify", "modified_command": " \n"},
    "approve with a command": {**RESPONSE, "modified_command": "rm -rf /"},
    "a NUL": {**RESPONSE, "decision": "modify", "modified_command": "ls\0"},
    "too long": {**RESPONSE, "decision": "modify", "modified_command": "x" * 100_000},
    "too many notes": {**RESPONSE, "notes": "x" * 5000},
    "a time that is none": {**RESPONSE, "timestamp": "yesterday"},
    "a day without a time": {**RESPONSE, "timestamp": "2026-01-02"},
}


@pytest.mark.parametrize("case", BAD)
def test_a_response_that_is_not_exactly_one_is_an_error(case: str) -> None:
    with pytest.raises(UsageError) as caught:
        confirmation_response(BAD[case], FORCE_PUSH)
    assert isinstance(caught.value, RedomaError)
