"""Real agents in the jail as a whole: they work, write the project, and see no secret."""

from __future__ import annotations

from collections.abc import Callable

from tests.coding_agents.person import DECOY, Person
from tests.unit.cli.running import START


def test_claude_code_works_in_the_jail_without_its_own_prompts(
    person: Callable[[str], Person],
) -> None:
    someone = person("someone")
    calls: list[tuple[str, dict[str, object]]] = [
        ("Bash", {"command": "echo one > one.txt; mkdir -p sub; cd sub"}),
        ("Bash", {"command": 'cat "$HOME/notes/plans.txt"'}),
        ("Bash", {"command": "pwd > where.txt"}),
        ("Write", {"file_path": str(someone.project / "two.txt"), "content": "two\n"}),
        ("Bash", {"command": f"echo x > {someone.home}/notes/planted.txt"}),
    ]
    before = (*START, "wrap", "--preset", "claude", "--allow-host")
    run = someone.claude(calls, "--dangerously-skip-permissions", before=before)
    assert len(run.results) == len(calls), run.said
    assert run.files["two.txt"] == "two\n"
    assert run.files["sub/where.txt"].strip() == str(someone.project / "sub")
    assert DECOY not in "".join([*run.results, run.said])
    assert not (someone.home / "notes/planted.txt").exists()
