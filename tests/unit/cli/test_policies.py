"""`redoma policy`, and the policy behind `redoma check` and the hooks, as people meet them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from redoma.cli.policies import POLICY
from tests.unit.cli.running import Done, run
from tests.unit.hook.payloads import claude

STRICT = "policy: strict\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def at(project: Path, *arguments: str, stdin: bytes = b"") -> Done:
    """Redoma run in the project, with a home beside it."""
    home = str(project.parent / "home")
    return run(*arguments, stdin=stdin, cwd=project, HOME=home)


def own(project: Path) -> Path:
    path = project.parent / "home/.config/redoma/sandbox.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def test_a_new_policy_is_written_once(project: Path) -> None:
    first = at(project, "policy", "init")
    assert (first.status, first.out) == (0, f"{project}/sandbox.yaml\n")
    text = (project / "sandbox.yaml").read_text()
    again = at(project, "policy", "init")
    assert (again.status, again.out) == (2, "")
    assert again.err.startswith(f"redoma: {project}/sandbox.yaml is there already\nhint: ")
    assert (project / "sandbox.yaml").read_text() == text
    assert at(project, "policy", "init", "--user", "--json").out == json.dumps(
        {"written": str(own(project))}
    ) + "\n"  # fmt: skip
    assert at(project, "policy", "lint").out == (
        f"{own(project)}: good\n{project}/sandbox.yaml: good\n"
    )


def test_a_new_policy_is_never_written_through_a_link(project: Path) -> None:
    (project / "sandbox.yaml").symlink_to(project.parent / "elsewhere")
    assert at(project, "policy", "init").status == 2
    assert not (project.parent / "elsewhere").exists()


def test_lint_names_what_is_wrong(project: Path) -> None:
    (project / "sandbox.yaml").write_text("polcy: strict\n")
    done = at(project, "policy", "lint")
    assert (done.status, done.out) == (1, "")
    assert done.err == (
        f"redoma: {project}/sandbox.yaml:1:1: unknown key polcy\nhint: did you mean policy?\n"
    )
    found = json.loads(at(project, "policy", "lint", "--json", "sandbox.yaml").out)
    assert found["errors"] == [
        {
            "code": "policy-unknown-key",
            "message": "sandbox.yaml:1:1: unknown key polcy",
            "hint": "did you mean policy?",
            "location": "sandbox.yaml:1:1",
        }
    ]


def test_lint_holds_a_project_against_the_users_policy(project: Path) -> None:
    own(project).write_text(STRICT)
    (project / "sandbox.yaml").write_text("policy: default\n")
    for arguments in (["lint"], ["lint", "sandbox.yaml"]):
        done = at(project, "policy", *arguments)
        assert done.status == 1
        assert "policy default would loosen strict; policy is set at" in done.err
    assert at(project, "policy", "lint", "--as", "user", "sandbox.yaml").status == 0


def test_lint_says_where_there_is_nothing(project: Path) -> None:
    done = at(project, "policy", "lint")
    assert (done.status, done.out) == (
        0,
        "no policy file applies here: what is built in decides\n",
    )


def test_a_policys_own_tests_are_run(project: Path) -> None:
    text = f"{STRICT}tests:\n- command: ls\n  expect: allow\n- command: mkdir x\n  expect: {{}}\n"
    path = project / "sandbox.yaml"
    path.write_text(text.format("confirm"))
    assert (at(project, "policy", "test").status, at(project, "policy", "test").out) == (
        *(0, "2 of 2 hold\n"),
    )
    path.write_text(text.format("allow"))
    done = at(project, "policy", "test")
    assert done.status == 1
    assert done.out == (
        f"{path}:5:3: mkdir x: expected allow, got confirm by confirm_moderate\n1 of 2 hold\n"
    )
    found = json.loads(at(project, "policy", "test", "--json", "sandbox.yaml").out)
    assert (found["tests"], [each["verdict"] for each in found["failed"]]) == (2, ["confirm"])


def test_explain_tells_every_voice_and_what_follows(project: Path) -> None:
    own(project).write_text("environment: production\nconfirmation: {timeout_seconds: 30}\n")
    (project / "sandbox.yaml").write_text("isolation: {strict_for: [git push]}\n")
    done = at(project, "policy", "explain", "git push")
    assert done.status == 10
    assert done.out == (
        "elevated: needs confirmation, by environment\n"
        "\n"
        "policy     default, pack default\n"
        f"layers     built-in, {own(project)}, {project}/sandbox.yaml\n"
        "said       confirm environment: in production what lasts is confirmed: publishes\n"
        "           log     log_elevated\n"
        "isolation  strict at least (strict_for: git push)\n"
        "asks       for 30 s; without an answer: deny\n"
    )
    found = json.loads(at(project, "policy", "explain", "--json", "--", "git", "push").out)
    assert (found["verdict"], found["rule"], found["isolation"]) == (
        *("confirm", "environment"),
        "strict",
    )


def test_explain_works_without_any_file(project: Path) -> None:
    done = at(project, "policy", "explain", "ls")
    assert (done.status, done.out) == (
        0,
        "safe: allowed, by allow_safe\n\npolicy     default, pack default\n"
        "layers     built-in\nsaid       allow   allow_safe\n",
    )


def test_show_has_every_key_with_its_source(project: Path) -> None:
    own(project).write_text(STRICT)
    found = json.loads(at(project, "policy", "show", "--json").out)
    assert found["policy"] == {"value": "strict", "source": str(own(project))}
    assert found["confirmation.timeout_seconds"] == {"value": 60.0, "source": "built-in"}
    assert f'policy: "strict"  # {own(project)}\n' in at(project, "policy", "show").out


def test_the_schema_is_json(project: Path) -> None:
    schema = json.loads(at(project, "policy", "schema").out)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["additionalProperties"] is False


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["explane"], "redoma policy explain"),
        (["explain"], "redoma policy explain 'git push'"),
        (["show", "more"], "redoma policy --help"),
        (["lint", "not-there.yaml"], "redoma policy init"),
    ],
)
def test_a_wrong_command_line_is_told_so(project: Path, arguments: list[str], hint: str) -> None:
    done = at(project, "policy", *arguments)
    assert (done.status, done.out) == (2, "")
    assert done.err.endswith(f"hint: {hint}\n")


def test_help_names_every_part(project: Path) -> None:
    text = at(project, "policy", "--help").out
    assert [name for name in POLICY.subcommands if f"\n  {name} " not in text] == []


# Behind check and the hooks ----------------------------------------------------------------------


def test_check_decides_by_the_policy_that_applies(project: Path) -> None:
    assert at(project, "check", "mkdir x").status == 0
    (project / "sandbox.yaml").write_text(STRICT)
    done = at(project, "check", "mkdir x")
    assert done.status == 10
    assert "(policy strict, pack default)" in done.out
    assert "rule confirm_moderate asks for confirmation: safety_level == moderate" in done.out
    assert run("check", "--cwd", str(project), "mkdir x", HOME="/home/someone").status == 10


def test_check_says_which_rule_and_isolation(project: Path) -> None:
    (project / "sandbox.yaml").write_text("isolation: {strict_for: [git push]}\n")
    found = json.loads(at(project, "check", "--json", "git push").out)
    assert (found["rule"], found["isolation"], found["dry_run"]) == ("log_elevated", "strict", None)


@pytest.mark.parametrize("text", ["polcy: strict\n", "", "policy: [", "policy: strict\x00"])
def test_a_broken_policy_stops_everything(project: Path, text: str) -> None:
    (project / "sandbox.yaml").write_text(text)
    done = at(project, "check", "ls")
    assert (done.status, done.out) == (125, "")
    assert f"{project}/sandbox.yaml" in done.err
    payload = json.loads(claude("Bash", command="ls"))
    payload["cwd"] = str(project)
    hook = at(project, "hook", "claude-code", stdin=json.dumps(payload).encode())
    said = json.loads(hook.out)["hookSpecificOutput"]
    assert said["permissionDecision"] == "deny"
    assert f"{project}/sandbox.yaml" in said["permissionDecisionReason"]


def test_a_policy_that_everyone_can_write_stops_everything(project: Path) -> None:
    (project / "sandbox.yaml").write_text(STRICT)
    os.chmod(project / "sandbox.yaml", 0o666)
    assert at(project, "check", "ls").status == 125


def test_a_hook_decides_by_the_policy_of_the_session(project: Path) -> None:
    (project / "sandbox.yaml").write_text("blocklist_extensions: [git status]\n")
    payload = json.loads(claude("Bash", command="git status"))
    payload["cwd"] = str(project)
    done = at(project, "hook", "claude-code", stdin=json.dumps(payload).encode())
    said = json.loads(done.out)["hookSpecificOutput"]
    assert said["permissionDecision"] == "deny"
    assert said["permissionDecisionReason"] == (
        "Redoma refuses this (safe). the block list has: git status."
    )


def test_a_hook_judges_written_files_by_the_policy(project: Path) -> None:
    (project / "sandbox.yaml").write_text("filesystem: {blocked_paths: [migrations]}\n")
    payload = json.loads(claude("Write", file_path=f"{project}/migrations/1.sql", content="x"))
    payload["cwd"] = str(project)
    done = at(project, "hook", "claude-code", stdin=json.dumps(payload).encode())
    assert json.loads(done.out)["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_a_directory_named_by_the_call_does_not_change_the_policy(project: Path) -> None:
    from tests.unit.hook.payloads import codex

    (project / "sandbox.yaml").write_text(STRICT)
    payload = json.loads(codex("shell", command=["bash", "-lc", "mkdir x"], workdir="/tmp"))
    payload["cwd"] = str(project)
    done = at(project, "hook", "codex", stdin=json.dumps(payload).encode())
    assert json.loads(done.out)["hookSpecificOutput"]["permissionDecision"] == "deny"
