"""`redoma run` as a shell would: what a failed command wrote stays, and can be taken back."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from redoma.pipeline.this_host import project_root
from tests.unit.cli.previewing import Project

pytestmark = pytest.mark.both_users


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def repository(place: Path) -> None:
    subprocess.run(["git", "init", "-q", "--template="], cwd=place, check=True)


def standing(project: Project) -> str:
    found = project.json("history")["history"][0]["standing"]
    assert isinstance(found, str)
    return found


@pytest.mark.parametrize("end", ["exit 3", "kill -TERM $$"])
def test_what_a_failed_command_wrote_stays_and_undo_takes_it_back(
    project: Project, end: str
) -> None:
    (project.root / "old").write_text("before\n")
    _, said = project.call("run", f"echo after > old; echo new > new; {end}", status=None)
    assert project.tree() == {"new": "new\n", "old": "after\n"}
    (line,) = [each for each in said.splitlines() if "changes applied" in each]
    name = line.rpartition(" ")[2]
    project.call("undo", name)
    assert project.tree() == {"old": "before\n"}


@pytest.mark.parametrize("options", [("--timeout", "0.5"), ("--output-total", "1K")])
def test_what_a_limit_cut_short_is_held(project: Project, options: tuple[str, str]) -> None:
    _, said = project.call("run", *options, "echo a > a; yes | head -c 1M; sleep 30", status=None)
    assert project.tree() == {}
    assert (standing(project), "redoma apply" in said) == ("held", True)


@pytest.mark.parametrize(
    ("when", "command", "left"),
    [
        ("on-success", "echo a > a; exit 1", False),
        ("on-success", "echo a > a", True),
        ("never", "echo a > a", False),
        ("ask", "echo a > a", False),
        ("always", "echo a > a; exit 1", True),
    ],
)
def test_when_it_becomes_real_can_be_said(
    project: Project, when: str, command: str, left: bool
) -> None:
    project.call("run", "--apply", when, "--ask", "nobody", command, status=None)
    assert (bool(project.tree()), standing(project)) == (left, "applied" if left else "held")


def test_a_moment_that_is_none_is_refused(project: Project) -> None:
    _, said = project.call("run", "--apply", "later", "true", status=2)
    assert "on_success" in said


def test_a_project_cannot_have_changes_applied_that_a_policy_wants_looked_at(
    project: Project,
) -> None:
    (project.root.parent / "careful.yaml").write_text(
        "profile: careful\nextends: standard\napply: ask\n"
    )
    project.policy("policy: default")
    project.call(
        *("run", "--profile", str(project.root.parent / "careful.yaml"), "--ask", "nobody"),
        "echo a > a",
        status=None,
    )
    assert project.tree() == {}


def test_words_are_a_program_and_its_arguments(project: Project) -> None:
    out, _ = project.call("run", "printf", "%s|", "a b", "$HOME", "--json")
    assert out == "a b|$HOME|--json|"
    _, said = project.call("run", "echo a b", "--json", status=2)
    assert "more than one command" in said


def test_nothing_is_said_where_nothing_happened(project: Project) -> None:
    assert project.call("run", "echo out") == ("out\n", "")
    _, said = project.call("run", "-v", "true")
    assert "writes confined" in said
    _, said = project.call("run", "echo a > a")
    name = project.json("history")["history"][0]["id"]
    assert said == f"redoma: 1 change applied · undo with redoma undo {name[:4]}\n"
    told, _ = project.call("explain", "last")
    assert ("writes confined" in told, "status 0" in told) == (True, True)


def test_in_a_subdirectory_the_workspace_is_the_repository(project: Project) -> None:
    repository(project.root)
    below = project.root / "src/deep"
    below.mkdir(parents=True)
    (project.root / "top").write_text("top\n")
    project.root = below
    out, _ = project.call("run", "pwd; cat ../../top; git status --short; echo a > ../beside")
    assert out.splitlines()[:2] == [str(below), "top"]
    assert "?? top" in out or "?? ../../top" in out
    assert (below.parent / "beside").read_text() == "a\n"
    project.call("undo")
    assert not (below.parent / "beside").exists()


def test_a_policy_of_the_subdirectory_still_holds(project: Project) -> None:
    repository(project.root)
    below = project.root / "careful"
    below.mkdir()
    (below / "sandbox.yaml").write_text(
        'version: "1.0"\nallowlist:\n  rules:\n    - name: no_touch\n      pattern: "^touch "\n'
        "      action: deny\n"
    )
    project.root = below
    out, said = project.call("run", "touch x", status=None)
    assert not (below / "x").exists(), out + said


def test_a_repository_that_others_could_have_made_is_no_workspace(tmp_path: Path) -> None:
    shared, own = tmp_path / "shared", tmp_path / "shared/own"
    own.mkdir(parents=True)
    repository(shared)
    shared.chmod(0o777)
    assert project_root(str(own)) == str(own)
    shared.chmod(0o755)
    assert project_root(str(own)) == str(shared)


def test_a_repository_around_a_home_is_no_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, own = tmp_path / "home", tmp_path / "home/project"
    own.mkdir(parents=True)
    repository(home)
    monkeypatch.setenv("HOME", str(home))
    assert project_root(str(own)) == str(own)


def test_a_submodule_works_in_the_repository_that_holds_its_data(tmp_path: Path) -> None:
    part = tmp_path / "whole/part"
    part.mkdir(parents=True)
    repository(tmp_path / "whole")
    (part / ".git").write_text("gitdir: ../.git/modules/part\n")
    assert project_root(str(part)) == str(tmp_path / "whole")
    # Attack: a file that only says so leads to no repository that is not around it.
    (part / ".git").write_text(f"gitdir: {tmp_path}/elsewhere\n")
    assert project_root(str(part)) == str(part)


def test_what_will_not_last_is_said_with_the_option_that_keeps_it(
    project: Project, tmp_path: Path
) -> None:
    (tmp_path / "notes").mkdir()
    _, said = project.call("run", "mkdir -p ~/notes; echo a > ~/notes/a; echo b > ~/b")
    assert (
        "redoma: ~/notes/a was written for this run only · --allow-write ~/notes keeps it" in said
    )
    assert "redoma: ~/b was written for this run only, and is gone" in said
    assert not (tmp_path / "notes/a").exists()
    _, said = project.call("run", "--allow-write", str(tmp_path / "notes"), "echo a > ~/notes/a")
    assert ("was written for this run only" in said, (tmp_path / "notes/a").exists()) == (
        False,
        True,
    )


def test_a_path_that_is_hidden_is_told_as_hidden(project: Project, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("1\n")
    _, said = project.call("run", "cat ~/data.csv", status=1)
    assert (
        "redoma: ~/data.csv is hidden from the command · --allow-read ~/data.csv shows it" in said
    )
    _, said = project.call("run", "cat ~/missing.csv", status=1)
    assert "is hidden from" not in said
    (project.root / "gone").symlink_to("nowhere")
    _, said = project.call("run", "cat gone", status=1)
    assert "is hidden from" not in said


def test_secrets_are_told_as_hidden_and_no_option_is_named(
    project: Project, tmp_path: Path
) -> None:
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh/known_hosts").write_text("a\n")
    _, said = project.call("run", "p=.ssh; ls ~/$p/known_hosts", status=None)
    if "nobody approved" not in said:
        assert ("is hidden from the command" in said, "--allow-read" in said) == (True, False)


def test_interrupted_is_said_as_interrupted(project: Project) -> None:
    _, said = project.call("run", "echo a > a; kill -INT $$", status=130)
    assert said.startswith("redoma: interrupted · 1 change applied · undo with redoma undo ")


def test_at_a_terminal_the_command_has_a_terminal(project: Project) -> None:
    status, said = project.typed("", "run", "test -t 0 && test -t 1 && test -t 2 && echo all")
    assert (status, said) == (0, "all\n")
    status, said = project.typed("", "run", "--no-tty", "test -t 1 || echo none")
    assert (status, said) == (0, "none\n")
    status, said = project.typed("", "run", "--json", "test -t 1")
    assert '"exit_code": 1' in said


def test_where_output_is_no_terminal_the_command_has_none(project: Project) -> None:
    out, _ = project.call("run", "test -t 1 || echo none")
    assert out == "none\n"
    assert os.listdir(project.root) == []


def test_undo_after_a_plan_takes_back_the_plan(project: Project) -> None:
    (project.root / "plan.json").write_text(
        '{"version": 1, "name": "two", "steps": ['
        '{"id": "a", "operation": "shell", "command": "echo 1 > one"},'
        '{"id": "b", "operation": "shell", "command": "echo 2 > two", "needs": ["a"]}]}'
    )
    _, said = project.call("plan", "run", "plan.json", status=None)
    assert {"one", "two"} <= set(project.tree()), said
    project.call("undo")
    assert set(project.tree()) == {"plan.json"}
