"""What the document of the skill says of policies and confirmations, through its actions."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from redoma.dialects.actions import ActionSandbox
from redoma.model.policy import BUILT_IN, Policy


def policy(project: Path, text: str) -> None:
    (project / "sandbox.yaml").write_text(f'version: "1.0"\n{text}')


def user_policy(project: Path, text: str) -> None:
    own = project.parent / "config/redoma"
    own.mkdir(parents=True)
    (own / "sandbox.yaml").write_text(f'version: "1.0"\n{text}')


def checked(project: Path, command: str) -> tuple[str, str]:
    """The level of a command, and what becomes of it."""
    found = ActionSandbox(str(project)).perform("sandbox.check", {"command": command})
    verdict = "confirm" if found["requires_confirmation"] else "allow"
    return str(found["safety_level"]), verdict if found["allowed"] else "block"


STRICT = [
    ("ls", "safe", "allow"),
    ("git status", "safe", "allow"),
    ("mkdir x", "moderate", "confirm"),
    ("npm install", "moderate", "confirm"),
    ("rm a.txt", "elevated", "block"),
    ("chmod 644 a.txt", "elevated", "block"),
    ("git push", "elevated", "block"),
    ("docker run alpine true", "elevated", "block"),
    ("frobnicate", "elevated", "block"),
    ("rm -rf build", "dangerous", "block"),
    ("npm publish", "dangerous", "block"),
    ("sudo ls", "forbidden", "block"),
]


@pytest.mark.requirement("K10")
@pytest.mark.parametrize(("command", "level", "verdict"), STRICT)
def test_the_strict_policy_blocks_elevated_and_confirms_moderate_by_the_documents_levels(
    project: Path, command: str, level: str, verdict: str
) -> None:
    policy(project, "policy: strict\n")
    assert checked(project, command) == (level, verdict)


@pytest.mark.requirement("K10")
def test_what_the_strict_policy_blocks_does_not_run(project: Path) -> None:
    policy(project, "policy: strict\n")
    (project / "a.txt").write_text("a")
    sandbox = ActionSandbox(str(project), confirm=lambda _: True)
    found = sandbox.perform("sandbox.execute", {"command": "rm a.txt"})
    error: Any = found["error"]
    assert (error["code"], error["details"]["policy"]) == ("SANDBOX_001", "strict")
    assert (error["details"]["safety_level"], (project / "a.txt").exists()) == ("elevated", True)


# Each would run without a question by its level alone: only the list of the document asks.
ASKED = [
    "mv *.txt dst/",
    "cp *.txt dst/",
    "mv a.txt b.txt dst/",
    "cp -t dst a.txt b.txt",
    "mv -t dst *.txt",
    "cp a{1,2}.txt dst/",
    'for f in *.txt; do mv "$f" dst/; done',
    "find . -name '*.txt' -exec mv {} dst/ \\;",
    "ls *.txt | xargs -I{} cp {} dst/",
    "touch a b",
    "git mv a b dst",
    "chmod +x *.sh",
    "sqlite3 app.db 'ALTER TABLE notes ADD at TEXT'",
    "sqlite3 app.db 'CREATE TABLE notes (id INT)'",
    "sqlite3 app.db 'CREATE INDEX at ON notes (id)'",
    "echo 'ALTER TABLE notes RENAME TO n' | sqlite3 app.db",
    "curl https://a.example/x",
    "git push",
    "kubectl apply -f a.yaml",
]
LEFT = [
    "mv a.txt b.txt",
    "cp a.txt dst/",
    "touch a",
    "mkdir x",
    "sqlite3 app.db 'SELECT 1'",
    "ls *",
]


@pytest.mark.requirement("K3")
@pytest.mark.parametrize("command", ASKED)
def test_operations_on_several_files_schema_changes_and_hosts_are_confirmed(
    project: Path, command: str
) -> None:
    level, verdict = checked(project, command)
    assert (level in ("safe", "moderate", "elevated"), verdict) == (True, "confirm")


@pytest.mark.requirement("K3")
@pytest.mark.parametrize("command", LEFT)
def test_one_file_alone_is_not(project: Path, command: str) -> None:
    assert checked(project, command)[1] == "allow"


@pytest.mark.requirement("K3")
def test_a_dropped_table_is_dangerous(project: Path) -> None:
    assert checked(project, "sqlite3 app.db 'DROP TABLE notes'") == ("dangerous", "confirm")


@pytest.mark.requirement("K4", "K5")
@pytest.mark.both_users
def test_silence_under_default_action_dry_run_is_a_dry_run(project: Path) -> None:
    (project / "build").mkdir()
    (project / "build/a").write_text("a")
    user_policy(project, "confirmation: {default_action: dry_run, timeout_seconds: 1}\n")

    def late(_: object) -> bool:
        time.sleep(1.5)
        return True

    for confirm in (None, late):
        sandbox = ActionSandbox(str(project), confirm=confirm)
        found = sandbox.perform("sandbox.execute", {"command": "rm -r build"})
        told: Any = found["dry_run_result"]
        assert (told["command"], told["would_execute"]) == ("rm -r build", True)
        assert told["impact"]["files_deleted"] == ["build", "build/a"]
        assert (project / "build/a").exists()
    found = ActionSandbox(str(project)).perform("sandbox.confirm", {"command": "rm -r build"})
    assert found == {"approved": False, "decision": "dry_run", "modified_command": ""}


@pytest.mark.requirement("K4")
def test_an_explicit_no_is_a_no_whatever_the_default_action(project: Path) -> None:
    (project / "build").mkdir()
    user_policy(project, "confirmation: {default_action: dry_run}\n")
    sandbox = ActionSandbox(str(project), confirm=lambda _: False)
    found: Any = sandbox.perform("sandbox.execute", {"command": "rm -r build"})
    assert found["error"]["code"] == "SANDBOX_002"


@pytest.mark.requirement("S12")
def test_a_thousand_entries_of_a_session_are_kept_where_nothing_else_is_said() -> None:
    assert BUILT_IN.retention.entries_per_session == 1000
    assert Policy().retention.entries_per_session == 1000


def executed(project: Path, command: str, **params: object) -> dict[str, Any]:
    sandbox = ActionSandbox(str(project), confirm=lambda _: True)
    return sandbox.perform("sandbox.execute", {"command": command, **params})


@pytest.mark.requirement("K11")
@pytest.mark.both_users
@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("touch {beside}/made", "{beside}/made"),
        ("echo x > {beside}/made", "{beside}/made"),
        ("mkdir {beside}/made", "{beside}/made"),
        ("cp sandbox.txt {beside}/made", "{beside}/made"),
        ("cd ..; touch beside/made", "{beside}/made"),
        ("echo x 2>/dev/null > {beside}/made || false", "{beside}/made"),
    ],
)
def test_a_write_that_is_blocked_during_a_run_is_sandbox_003(
    project: Path, command: str, path: str
) -> None:
    beside = project.parent / "beside"
    beside.mkdir()
    (project / "sandbox.txt").write_text("x")
    error = executed(project, command.format(beside=beside))["error"]
    assert (error["code"], error["type"]) == ("SANDBOX_003", "SandboxViolation")
    assert error["details"] == {
        "violation_type": "filesystem",
        "attempted_action": f"write {path.format(beside=beside)}",
        "constraint": f"allowed_paths: {project}",
    }
    assert list(beside.iterdir()) == []


@pytest.mark.requirement("K11")
@pytest.mark.both_users
def test_a_host_that_is_blocked_during_a_run_is_sandbox_003(project: Path) -> None:
    error = executed(project, "curl -s http://a.example/x")["error"]
    assert (error["code"], error["details"]["violation_type"]) == ("SANDBOX_003", "network")
    assert error["details"]["attempted_action"] == "reach http://a.example/x"
    error = executed(project, "bash -c 'echo > /dev/tcp/192.0.2.7/80'")["error"]
    assert "192.0.2.7" in error["details"]["attempted_action"]


@pytest.mark.requirement("K11")
def test_a_failure_of_the_commands_own_is_a_result(project: Path) -> None:
    for command in ("ls nowhere", "cat < nowhere", "false", "echo x > /no/such/directory"):
        assert executed(project, command)["exit_code"] != 0
    # What is refused beside the matter, and what was not needed, is none.
    beside = executed(project, f"touch {project.parent}/x 2>/dev/null; echo failed >&2; exit 3")
    assert (beside["exit_code"], beside["stderr"]) == (3, "failed\n")
    assert executed(project, f"touch {project.parent}/x 2>/dev/null; true")["exit_code"] == 0


@pytest.mark.requirement("K7")
@pytest.mark.both_users
def test_strict_writes_to_a_file_system_of_its_own(project: Path) -> None:
    (project / "kept").write_text("old")
    found = executed(project, "echo new > kept; echo x > made", isolation_level="strict")
    assert found["exit_code"] == 0
    assert ((project / "kept").read_text(), (project / "made").exists()) == ("old", False)


@pytest.mark.requirement("K9")
def test_output_that_is_cut_says_so(project: Path) -> None:
    found = executed(project, "head -c 9000000 /dev/zero")
    assert found["exit_code"] == 0
    said = f"\nsandbox: the output was cut: {8 << 20} of 9000000 bytes are kept\n"
    assert (len(found["stdout"]), found["stderr"]) == (8 << 20, said)
