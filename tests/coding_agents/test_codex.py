"""The real Codex under the hook: it is judged, and nothing more runs than without."""

from __future__ import annotations

from collections.abc import Callable

from tests.coding_agents.person import Person

COMMANDS = ["echo one > one.txt", "sudo -n true; echo two > two.txt", "cat one.txt; exit 3"]


def test_what_the_judge_stops_does_not_run_and_the_rest_runs_as_without(
    person: Callable[[str], Person],
) -> None:
    bare = person("no hook").codex(COMMANDS)
    someone = person("judged")
    assert someone.redoma("hook", "install", "codex").returncode == 0
    judged = someone.codex(COMMANDS)
    assert set(bare.files) == {"one.txt", "two.txt"}
    assert set(judged.files) == {"one.txt"}
    assert "Redoma" in judged.results[1]
    assert "code 3" in judged.results[2]
