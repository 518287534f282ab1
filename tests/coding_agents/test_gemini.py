"""The real Gemini CLI under the hook: its commands are rewritten into the jail, and none is lost."""

from __future__ import annotations

from collections.abc import Callable

from tests.coding_agents.person import DECOY, Person

CALLS: list[tuple[str, dict[str, object]]] = [
    ("run_shell_command", {"command": "echo one > one.txt; mkdir -p sub; pwd"}),
    ("run_shell_command", {"command": 'echo "it\'s é"\ncat <<EOF > two.txt\ntwo\nEOF'}),
    ("run_shell_command", {"command": 'echo three > three.txt; cat "$HOME/notes/plans.txt"'}),
    ("run_shell_command", {"command": "pwd > where.txt", "dir_path": "sub"}),
    ("run_shell_command", {"command": "rm -rf /"}),
]


def test_commands_run_in_the_jail_and_are_taken_back(person: Callable[[str], Person]) -> None:
    someone = person("someone")
    assert someone.redoma("hook", "install", "gemini", "--no-ask").returncode == 0
    run = someone.gemini(CALLS, "--yolo")
    assert len(run.results) == len(CALLS), run.said
    assert set(run.files) == {"one.txt", "two.txt", "three.txt", "sub/where.txt"}
    assert run.files["sub/where.txt"].strip() == str(someone.project / "sub")
    assert "it's é" in run.results[1]
    assert DECOY not in "".join(run.results)
    assert "Redoma refuses this" in run.results[4]
    report = someone.report()
    assert (report["agent"], report["ran"]) == ("gemini", 4)
    assert someone.redoma("undo", "--session", str(report["session"])).returncode == 0
    assert list(someone.project.iterdir()) == []


def test_nothing_runs_that_gemini_would_not_have_run(person: Callable[[str], Person]) -> None:
    someone = person("someone")
    assert someone.redoma("hook", "install", "gemini", "--no-ask").returncode == 0
    run = someone.gemini(CALLS[:2])
    assert (len(run.results), run.files) == (2, {})


def test_a_rewrite_that_does_not_arrive_is_noticed_and_said(
    person: Callable[[str], Person],
) -> None:
    someone = person("someone")
    assert someone.redoma("hook", "install", "gemini", "--no-ask").returncode == 0
    shell = someone.home / ".local/state/redoma/agents/gemini-shell"
    shell.write_text('#!/bin/sh\nexec sh -c "$2"\n')  # as a version that ignores the rewrite
    run = someone.gemini(CALLS[:2], "--yolo")
    assert "run outside the jail" in run.said + run.conversation
