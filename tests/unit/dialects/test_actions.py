"""The actions of the skill: documented parameters in, documented fields out, and no others."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from redoma.audit.entries import AuditReader, EntryFilter
from redoma.dialects.actions import ActionSandbox, handle, perform

RECOVERY = {
    "SANDBOX_001": ["use_alternative_command", "request_policy_exception", "use_dry_run_mode"],
    "SANDBOX_002": ["modify_command", "use_dry_run_mode", "abort_operation"],
    "SANDBOX_003": ["adjust_sandbox_level", "modify_operation", "abort_operation"],
}
EXECUTED = ["exit_code", "stdout", "stderr", "execution_time_ms", "resources_used"]


def says(decision: str, **more: str) -> Callable[[dict[str, object]], object]:
    """Someone who answers every `confirmation_request` the same."""

    def confirm(request: dict[str, object]) -> object:
        return {
            "request_id": request["request_id"],
            "decision": decision,
            "approved_by": "ana",
            "timestamp": "2026-01-02T03:04:05Z",
            **more,
        }

    return confirm


def error(code: str, kind: str, message: str, details: dict[str, str]) -> dict[str, object]:
    return {
        "error": {
            "type": kind,
            "code": code,
            "message": message,
            "details": details,
            "recovery": RECOVERY[code],
        }
    }


@pytest.fixture
def build(project: Path) -> Path:
    made = project / "build"
    made.mkdir()
    (made / "a").write_text("a")
    (made / "b").write_text("b")
    return made


@pytest.mark.requirement("K9")
class TestExecute:
    def test_a_run_has_the_documented_fields_and_no_others(self, project: Path) -> None:
        (project / "a").write_text("x")
        done = perform("sandbox.execute", {"command": "cat a; echo no >&2; exit 3"})
        used = done["resources_used"]
        assert list(done) == EXECUTED
        assert (done["exit_code"], done["stdout"], done["stderr"]) == (3, "x", "no\n")
        assert isinstance(done["execution_time_ms"], int)
        assert isinstance(used, dict)
        assert list(used) == ["memory_mb", "cpu_seconds", "files_accessed"]
        assert used["memory_mb"] > 0
        assert str(project / "a") in used["files_accessed"]
        json.dumps(done)

    def test_every_parameter_of_the_document_counts(self, project: Path) -> None:
        (project / "below").mkdir()
        text = """
            action: sandbox.execute
            params:
              command: pwd; echo "$GREETING"
              working_directory: below
              environment: {GREETING: hello}
              isolation_level: strict
              dry_run: false
              timeout_seconds: 30
        """
        assert handle(text)["stdout"] == f"{project}/below\nhello\n"

    @pytest.mark.parametrize(
        "variables",
        [
            {"LD_PRELOAD": "./evil.so"},
            {"BASH_ENV": "./evil.sh"},
            {"GIT_PAGER": "rm -rf ."},
            {"GREETING": "hello", "GIT_SSH_COMMAND": "sh evil.sh"},
        ],
    )
    def test_a_variable_that_runs_something_is_judged_with_its_command(
        self, project: Path, variables: dict[str, str]
    ) -> None:
        asked: list[str] = []

        def confirm(request: dict[str, object]) -> bool:
            asked.append(str(request["command"]))
            return False

        given = {"command": "git log", "environment": variables}
        found = ActionSandbox(str(project), confirm=confirm).perform("sandbox.execute", given)
        assert "error" in found
        assert all(command.startswith("export ") for command in asked)

    @pytest.mark.requirement("K7")
    def test_each_isolation_level_is_its_own(self, project: Path) -> None:
        def real(level: str) -> tuple[object, bool]:
            params = {"command": f"echo x > {level}", "isolation_level": level}
            return perform("sandbox.execute", params)["exit_code"], (project / level).exists()

        levels = ("minimal", "standard", "strict", "maximum")
        assert {level: real(level) for level in levels} == {
            "minimal": (0, True),
            "standard": (0, True),
            "strict": (0, False),  # on a layer, until somebody applies it
            "maximum": (0, False),  # in memory only
        }

    @pytest.mark.requirement("K6")
    def test_a_dry_run_has_the_documented_result(self, build: Path) -> None:
        params = {"command": "mv build/a c; touch d; rm build/b", "dry_run": True}
        found = perform("sandbox.execute", params)
        result = found["dry_run_result"]
        assert isinstance(result, dict)
        assert list(found) == ["dry_run_result"]
        assert str(result.pop("estimated_duration")).endswith("s in this preview")
        assert result == {
            "command": "mv build/a c; touch d; rm build/b",
            "would_execute": True,
            "impact": {
                "files_created": ["c", "d"],
                "files_modified": [],
                "files_deleted": ["build/a", "build/b"],
                "network_calls": [],
                "database_operations": [],
            },
            "warnings": [],
            "rollback_available": True,
        }
        assert sorted(os.listdir(build)) == ["a", "b"]

    def test_a_dry_run_of_what_is_blocked_says_that_it_would_not_run(self, project: Path) -> None:
        found = perform("sandbox.execute", {"command": "sudo ls", "dry_run": True})
        result = found["dry_run_result"]
        assert isinstance(result, dict)
        assert result["would_execute"] is False
        assert "sudo ls: raised rights are never allowed" in result["warnings"]

    @pytest.mark.requirement("K11")
    def test_what_is_forbidden_is_sandbox_001(self, project: Path) -> None:
        assert perform("sandbox.execute", {"command": "sudo ls"}) == error(
            "SANDBOX_001",
            "CommandBlocked",
            "Command blocked by security policy",
            {
                "command": "sudo ls",
                "safety_level": "forbidden",
                "policy": "default",
                "reason": "sudo ls: raised rights are never allowed",
            },
        )

    @pytest.mark.requirement("K11")
    def test_what_nobody_approves_is_sandbox_002(self, build: Path) -> None:
        def refused(by: str, why: str) -> dict[str, object]:
            details = {"command": "rm -rf build", "denied_by": by, "reason": why}
            return error("SANDBOX_002", "ConfirmationDenied", "Command execution denied", details)

        params = {"command": "rm -rf build"}
        nobody = "nobody approved this command in time"
        assert perform("sandbox.execute", params) == refused("nobody", nobody)
        no = ActionSandbox(confirm=says("deny", notes="not today"))
        assert no.perform("sandbox.execute", params) == refused("ana", "not today")
        assert build.exists()

    @pytest.mark.requirement("K11")
    def test_what_goes_beyond_a_limit_is_sandbox_003(self, project: Path) -> None:
        message = "Operation violated sandbox constraints"
        params: dict[str, object] = {"command": "sleep 30", "timeout_seconds": 0.3}
        assert perform("sandbox.execute", params) == error(
            "SANDBOX_003",
            "SandboxViolation",
            message,
            {
                "violation_type": "resource",
                "attempted_action": "sleep 30",
                "constraint": "max_execution_time_seconds",
            },
        )
        params = {"command": "ls", "working_directory": "/etc"}
        assert perform("sandbox.execute", params) == error(
            "SANDBOX_003",
            "SandboxViolation",
            message,
            {
                "violation_type": "filesystem",
                "attempted_action": "ls",
                "constraint": f"working_directory is outside of {project}",
            },
        )

    @pytest.mark.requirement("K4")
    def test_a_modified_command_is_judged_by_itself(self, build: Path) -> None:
        milder = ActionSandbox(confirm=says("modify", modified_command="ls build"))
        done = milder.perform("sandbox.execute", {"command": "rm -rf build"})
        assert done["stdout"] == "a\nb\n"
        worse = ActionSandbox(confirm=says("modify", modified_command="sudo rm -rf build"))
        refused = worse.perform("sandbox.execute", {"command": "rm -rf build"})["error"]
        assert isinstance(refused, dict)
        assert (refused["code"], refused["details"]["command"]) == (
            "SANDBOX_001",
            "sudo rm -rf build",
        )
        assert build.exists()

    @pytest.mark.requirement("K4")
    def test_whoever_wants_a_dry_run_gets_one(self, build: Path) -> None:
        sandbox = ActionSandbox(confirm=says("dry_run"))
        result = sandbox.perform("sandbox.execute", {"command": "rm -rf build"})["dry_run_result"]
        assert isinstance(result, dict)
        assert result["impact"]["files_deleted"] == ["build", "build/a", "build/b"]
        assert sorted(os.listdir(build)) == ["a", "b"]


@pytest.mark.requirement("K9")
class TestCheck:
    def test_what_is_allowed_has_three_fields(self, project: Path) -> None:
        assert perform("sandbox.check", {"command": "ls"}) == {
            "allowed": True,
            "safety_level": "safe",
            "requires_confirmation": False,
        }
        assert perform("sandbox.check", "command: rm -rf build") == {
            "allowed": True,
            "safety_level": "dangerous",
            "requires_confirmation": True,
        }

    def test_what_is_blocked_says_why_and_what_else(self, project: Path) -> None:
        assert handle({"action": "sandbox.check", "params": {"command": "sudo rm a"}}) == {
            "allowed": False,
            "safety_level": "forbidden",
            "requires_confirmation": False,
            "blocked_reason": "sudo rm a: raised rights are never allowed",
            "suggested_alternative": "run it without raised rights, or let a person run it",
        }

    def test_there_is_always_an_alternative_to_what_is_blocked(self, project: Path) -> None:
        found = perform("sandbox.check", {"command": ":(){ :|:& };:"})
        assert found["allowed"] is False
        assert found["suggested_alternative"]


@pytest.mark.requirement("K4", "K9")
class TestConfirm:
    def test_the_request_has_the_documented_fields(self, build: Path) -> None:
        seen: list[dict[str, object]] = []
        sandbox = ActionSandbox(confirm=lambda request: seen.append(request) or False)
        context = {
            "triggered_by": "orchestrator",
            "workflow_phase": "cleanup",
            "previous_commands": ["ls"],
        }
        params = {"command": "rm -rf build", "context": context}
        assert sandbox.perform("sandbox.confirm", params) == {
            "approved": False,
            "decision": "deny",
            "modified_command": "",
        }
        (asked,) = seen
        assert asked.pop("timestamp")
        assert asked.pop("request_id")
        assert asked == {
            "command": "rm -rf build",
            "safety_level": "dangerous",
            "impact_assessment": {
                "files_affected": ["build"],
                "reversible": True,
                "network_access": False,
                "estimated_scope": "deletes; several files",
            },
            "context": context,
            "options": [
                {"approve": "Execute command"},
                {"deny": "Block command"},
                {"dry_run": "Execute in dry-run mode"},
                {"modify": "Modify command"},
            ],
            "timeout_seconds": 60.0,
            "default_action": "deny",
        }

    def test_an_approval_is_for_one_execution_of_exactly_that(self, build: Path) -> None:
        asked: list[object] = []
        sandbox = ActionSandbox(
            confirm=lambda request: len(asked) < 1 and not asked.append(request)
        )
        confirmed = sandbox.perform("sandbox.confirm", {"command": "rm -rf build"})
        assert confirmed == {"approved": True, "decision": "approve", "modified_command": ""}
        other = sandbox.perform("sandbox.execute", {"command": "rm -rf build; true"})
        assert "error" in other
        assert build.exists()
        assert sandbox.perform("sandbox.execute", {"command": "rm -rf build"})["exit_code"] == 0
        assert not build.exists()
        build.mkdir()
        assert "error" in sandbox.perform("sandbox.execute", {"command": "rm -rf build"})
        assert build.exists()

    @pytest.mark.parametrize(
        ("confirm", "answer"),
        [
            (None, (False, "deny", "")),
            (says("approve"), (True, "approve", "")),
            (says("dry_run"), (False, "dry_run", "")),
            (says("modify", modified_command="ls"), (True, "modify", "ls")),
            (says("modify", modified_command="sudo ls"), (False, "modify", "sudo ls")),
            (says("perhaps"), (False, "deny", "")),
            (lambda request: {"decision": "approve"}, (False, "deny", "")),
            (lambda request: "yes", (False, "deny", "")),
            (lambda request: 1 // 0, (False, "deny", "")),
        ],
    )
    def test_each_answer_means_what_the_document_says(
        self,
        build: Path,
        confirm: Callable[[dict[str, object]], object] | None,
        answer: tuple[bool, str, str],
    ) -> None:
        found = ActionSandbox(confirm=confirm).perform("sandbox.confirm", "command: rm -rf build")
        assert tuple(found.values()) == answer
        assert build.exists()

    def test_an_answer_may_be_awaited_and_must_be_in_time(self, build: Path) -> None:
        import asyncio

        async def slow(request: dict[str, object]) -> bool:
            await asyncio.sleep(0.05)
            return True

        sandbox = ActionSandbox(confirm=slow)
        params = {"command": "rm -rf build", "timeout_seconds": 30}
        assert sandbox.perform("sandbox.confirm", params)["approved"] is True
        params = {"command": "rm -rf build", "timeout_seconds": 0.01}
        assert sandbox.perform("sandbox.confirm", params)["approved"] is False

    def test_nobody_is_asked_about_what_is_forbidden(self, project: Path) -> None:
        asked: list[object] = []
        sandbox = ActionSandbox(confirm=lambda request: asked.append(request) or True)
        found = sandbox.perform("sandbox.confirm", {"command": "sudo ls"})
        assert (found["approved"], asked) == (False, [])


@pytest.mark.requirement("K14")
def test_every_action_is_in_the_record(build: Path) -> None:
    place = str(build.parent.parent / "record")
    sandbox = ActionSandbox(confirm=says("deny"), record=place, caller="agent-1")
    for action in ("sandbox.check", "sandbox.confirm", "sandbox.execute"):
        sandbox.perform(action, {"command": "rm -rf build"})
    with AuditReader(place) as reader:
        rows = list(reader.all(EntryFilter()))
    kinds = [row.kind for row in rows]
    assert (kinds.count("judged"), kinds.count("asked"), kinds.count("answered")) == (3, 2, 2)
    assert {row.caller for row in rows} == {"agent-1"}
