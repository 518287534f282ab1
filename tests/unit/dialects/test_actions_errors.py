"""What an action cannot be, and what became of every error: named, and one of three."""

from __future__ import annotations

import pytest

from redoma import Outcome, RedomaError
from redoma.dialects.actions import ERRORS, BadAction, Refusal, handle, perform
from redoma.dialects.actions.fields import OUTCOMES, row_of, told
from redoma.model.errors import Declined, PolicyError, TimedOut, UsageError
from redoma.model.result import LIMIT_OUTCOMES


@pytest.mark.requirement("K9")
@pytest.mark.parametrize(
    ("action", "given", "field"),
    [
        ("sandbox.explode", {}, "action"),
        ("sandbox.check", {}, "command"),
        ("sandbox.check", {"command": ""}, "command"),
        ("sandbox.check", {"command": ["ls"]}, "command"),
        ("sandbox.check", {"command": "a\0b"}, "command"),
        ("sandbox.check", {"command": "ls", "dry_run": True}, "dry_run"),
        ("sandbox.execute", {"command": "ls", "dry_run": "yes"}, "dry_run"),
        ("sandbox.execute", {"command": "ls", "timeout_seconds": "5"}, "timeout_seconds"),
        ("sandbox.execute", {"command": "ls", "timeout_seconds": True}, "timeout_seconds"),
        ("sandbox.execute", {"command": "ls", "timeout_seconds": -1}, "timeout_seconds"),
        ("sandbox.execute", {"command": "ls", "timeout_seconds": 10**400}, "timeout_seconds"),
        ("sandbox.execute", {"command": "ls", "environment": {"BASH_FUNC_ls%%": "() { :; }"}}, "environment"),
        ("sandbox.execute", {"command": "ls", "isolation_level": "none"}, "isolation_level"),
        ("sandbox.execute", {"command": "ls", "environment": {"A": 1}}, "environment.A"),
        ("sandbox.execute", {"command": "ls", "environment": {"A=B": "1"}}, "environment"),
        ("sandbox.execute", {"command": "ls", "working_directory": 3}, "working_directory"),
        ("sandbox.confirm", {"command": "ls", "context": "me"}, "context"),
        ("sandbox.confirm", {"command": "ls", "context": {"x": "y"}}, "context.x"),
        ("sandbox.confirm", {"command": "ls", "context": {"previous_commands": "x"}}, "context.previous_commands"),
        ("sandbox.check", "command: ls\ncommand: rm a", "command"),
        ("sandbox.check", "command: &a ls", "params"),
        ("sandbox.check", "command: !!python/name:os.system x", "params"),
        ("sandbox.check", "- ls", "params"),
        ("sandbox.check", "command: [", "params"),
    ],
)  # fmt: skip
def test_what_is_not_as_documented_is_an_error_that_names_it(
    action: str, given: dict[str, object] | str, field: str
) -> None:
    with pytest.raises(BadAction) as raised:
        perform(action, given)
    assert raised.value.field == field
    assert raised.value.as_dict()["code"] == "bad-action"


@pytest.mark.requirement("K9")
@pytest.mark.parametrize(
    "request_", [{}, {"action": 3}, {"action": "sandbox.check", "x": 1}, "", []]
)
def test_a_request_that_is_none_is_an_error(request_: object) -> None:
    with pytest.raises(BadAction):
        handle(request_)  # type: ignore[arg-type]


@pytest.mark.requirement("K11")
def test_every_error_of_redoma_has_its_row_or_is_about_the_request() -> None:
    def below(kind: type[RedomaError]) -> set[type[RedomaError]]:
        return {kind}.union(*(below(each) for each in kind.__subclasses__()))

    strange = []
    for kind in below(RedomaError):
        error = kind.__new__(kind)
        try:
            refusal, violation = row_of(error)
        except RedomaError:
            assert issubclass(kind, UsageError), kind
            continue
        if (refusal is Refusal.VIOLATION) is not (
            violation in ("filesystem", "network", "resource")
        ):
            strange.append(kind)
    assert strange == []
    assert {
        kind.code for kind in below(RedomaError) if kind.__module__ == "redoma.model.errors"
    } - {
        *ERRORS,
        *(kind.code for kind in below(UsageError)),
        *("vault", "wrong-key", "unknown-token", "session", "not-a-member", "session-over"),
        *("wrong-passphrase", "secret-changed", "vault-downgraded", "no-keychain"),
    } == set()
    assert set(OUTCOMES) == {*LIMIT_OUTCOMES, Outcome.TIMED_OUT, Outcome.GATE_LOST}


@pytest.mark.requirement("K11")
def test_errors_are_told_as_one_of_the_three() -> None:
    def code(error: RedomaError) -> object:
        made = told(error, "ls", level="safe", policy="default")["error"]
        assert isinstance(made, dict)
        return made["code"]

    raised = [PolicyError("x"), Declined("x"), TimedOut("x"), RedomaError("x")]
    assert [code(each) for each in raised] == [
        "SANDBOX_001",
        "SANDBOX_002",
        "SANDBOX_003",
        "SANDBOX_003",
    ]
    assert [each.value[0] for each in Refusal] == ["SANDBOX_001", "SANDBOX_002", "SANDBOX_003"]
    with pytest.raises(UsageError):
        told(UsageError("no such level"), "ls", level="", policy="")
