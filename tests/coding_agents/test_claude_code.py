"""The real Claude Code under the hook: never more runs, enclosed, and taken back by one command."""

from __future__ import annotations

from collections.abc import Callable

from tests.coding_agents.person import DECOY, AgentSessionRun, Person

NO_HOOK, JUDGE_ONLY, ENCLOSED = "no hook", "judge only", "enclosed"
CALLS: list[tuple[str, dict[str, object]]] = [
    ("Bash", {"command": "echo one > one.txt; mkdir -p sub; cd sub"}),
    ("Bash", {"command": "echo two > ../two.txt; sleep 1", "run_in_background": True}),
    ("Bash", {"command": 'pwd > where.txt; echo "it\'s é"\ncat <<EOF > three.txt\nthree\nEOF'}),
    ("Bash", {"command": 'echo four > four.txt; cat "$HOME/notes/plans.txt"'}),
    ("Bash", {"command": "python3 -c \"open('five.txt', 'w').write('five')\""}),
    ("Bash", {"command": "sudo -n true; echo six > six.txt"}),
    ("Bash", {"command": "echo seven > seven.txt; exit 3"}),
]
RAN = ("one", "two", "three", "four", "five", "six", "seven")


def started(person: Person, how: str, *options: str) -> AgentSessionRun:
    """The seven calls in one of the three ways."""
    if how != NO_HOOK:
        more = ["--judge-only"] if how == JUDGE_ONLY else []
        done = person.redoma("hook", "install", "claude-code", *more)
        assert done.returncode == 0, done.stderr
    run = person.claude(CALLS, *options)
    assert len(run.results) == len(CALLS), run.said
    return run


def ran(run: AgentSessionRun) -> set[str]:
    """Which of the seven did what they were to do."""
    names = {path.rpartition("/")[2] for path in run.files}
    return {name for name in RAN if f"{name}.txt" in names}


def test_no_call_runs_with_the_hook_that_would_be_blocked_without(
    person: Callable[[str], Person],
) -> None:
    runs = {how: ran(started(person(how), how)) for how in (NO_HOOK, JUDGE_ONLY, ENCLOSED)}
    assert runs[JUDGE_ONLY] <= runs[NO_HOOK]
    assert runs[ENCLOSED] <= runs[NO_HOOK]


def test_allowed_calls_run_enclosed_and_a_session_is_taken_back_by_one_command(
    person: Callable[[str], Person],
) -> None:
    allow = ("--allowedTools", "Bash")
    bare = started(person(NO_HOOK), NO_HOOK, *allow)
    judged = started(person(JUDGE_ONLY), JUDGE_ONLY, *allow)
    someone = person(ENCLOSED)
    (someone.project / "mine.txt").write_text("as it was")
    enclosed = started(someone, ENCLOSED, *allow)

    assert ran(bare) == set(RAN)
    assert ran(judged) == ran(enclosed) == set(RAN) - {"six"}
    # The same everywhere but in what the jail hides.
    assert DECOY in bare.results[3]
    assert DECOY in judged.results[3]
    assert DECOY not in "".join([*enclosed.results, *enclosed.files.values()])
    assert "it's é" in enclosed.results[2]
    assert enclosed.results[6] == bare.results[6]
    # The working directory lasts from call to call.
    assert enclosed.files["sub/where.txt"].strip() == str(someone.project / "sub")
    assert enclosed.files["sub/three.txt"] == "three\n"

    report = someone.report()
    assert report["agent"] == "claude-code"
    assert report["ran"] == 6
    assert len(report["changes"]) == 5  # type: ignore[arg-type]
    assert report["not_undoable"] == ["echo two > ../two.txt; sleep 1"]

    done = someone.redoma("undo", "--session", str(report["session"]))
    assert done.returncode == 0, done.stderr
    assert {path.name for path in someone.project.rglob("*")} == {"mine.txt", "two.txt"}
    assert (someone.project / "mine.txt").read_text() == "as it was"
    again = someone.redoma("undo", "--session", str(report["session"]))
    assert again.returncode == 0


def test_a_session_is_taken_back_up_to_what_a_person_edited_since(
    person: Callable[[str], Person],
) -> None:
    someone = person("someone")
    assert someone.redoma("hook", "install", "claude-code").returncode == 0
    calls: list[tuple[str, dict[str, object]]] = [
        ("Bash", {"command": f"echo {n} > {n}.txt"}) for n in range(3)
    ]
    someone.claude(calls, "--allowedTools", "Bash")
    (someone.project / "1.txt").write_text("a person's own")
    done = someone.redoma("undo", "--session", str(someone.report()["session"]))
    assert done.returncode != 0
    assert "1.txt" in done.stderr
    left = {path.name: path.read_text() for path in someone.project.iterdir()}
    assert left == {"0.txt": "0\n", "1.txt": "a person's own"}


def test_without_redoma_under_the_prefix_nothing_runs_and_the_agent_is_told(
    person: Callable[[str], Person],
) -> None:
    someone = person("someone")
    assert someone.redoma("hook", "install", "claude-code").returncode == 0
    shell = someone.home / ".local/state/redoma/agents/claude-code-shell"
    hooks = shell.read_text().partition("\nfor file in ")[0]
    shell.write_text(f"{hooks}\necho 'redoma: broken, so the command is refused' >&2; exit 126\n")
    run = someone.claude([("Bash", {"command": "echo x > x.txt"})], "--allowedTools", "Bash")
    assert run.files == {}
    assert "the command is refused" in run.results[0]


def test_a_prefix_that_is_not_honoured_is_noticed_and_said(
    person: Callable[[str], Person],
) -> None:
    someone = person("someone")
    assert someone.redoma("hook", "install", "claude-code").returncode == 0
    settings = someone.home / ".claude/settings.json"
    settings.write_text(settings.read_text().replace("CLAUDE_CODE_SHELL_PREFIX", "NO_SUCH_PREFIX"))
    options = ("--allowedTools", "Bash", "--output-format", "stream-json", "--verbose")
    run = someone.claude([("Bash", {"command": "echo x > x.txt"})], *options)
    assert run.files == {"x.txt": "x\n"}
    assert "run outside the jail" in run.conversation
