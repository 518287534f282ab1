"""`redoma plan` as a process: what it prints, and its exit status."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.previewing import START, Project
from tests.unit.cli.running import run

pytestmark = pytest.mark.requirement("X7")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def write(project: Project, *steps: dict[str, Any]) -> None:
    text = json.dumps({"version": 1, "name": "notes", "steps": list(steps)})
    (project.root / "plan.json").write_text(text)


def step(id: str, command: str) -> dict[str, Any]:
    return {"id": id, "operation": "shell", "command": command}


def redoma(project: Project, *arguments: str) -> tuple[int, str, str]:
    import subprocess

    done = subprocess.run(
        [*START, *arguments],
        cwd=project.root,
        env=project.env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr


def test_run_says_each_step_and_stops_with_the_status_of_the_one_that_failed(
    project: Project,
) -> None:
    write(project, step("one", "echo 1 | tee one"), step("two", "exit 3"), step("three", "ls"))
    status, out, err = redoma(project, "plan", "run", "plan.json")
    assert (status, out) == (3, "1\n")
    *_, last = err.splitlines()
    run_id = last.split()[3]
    assert err == (
        "redoma: step 1 of 3, one: shell: echo 1 | tee one\n"
        "redoma: step 2 of 3, two: shell: exit 3\n"
        "redoma: plan notes: stopped at two: it ended with status 3\n"
        "hint: redoma plan run --resume FILE goes on from there\n"
        f"hint: redoma undo {run_id} takes back what is done\n"
    )
    status, out, _ = redoma(project, "plan", "run", "--resume", "--json", "plan.json")
    found = json.loads(out)
    assert (status, found["ok"], found["stopped_at"]) == (3, False, "two")
    assert found["run"] == run_id
    assert [each["status"] for each in found["steps"]] == ["done-before", "failed", "not-reached"]


def test_check_says_what_policy_says_of_each_step(project: Project) -> None:
    write(project, step("look", "ls"), step("wipe", "rm -rf /"))
    status, out, _ = redoma(project, "plan", "check", "plan.json")
    assert (status, out.splitlines()[0]) == (20, "look  safe: allowed  ls")
    assert out.splitlines()[-1] == "plan notes: denied"
    status, out, _ = redoma(project, "plan", "check", "--json", "plan.json")
    found = json.loads(out)
    assert (status, found["verdict"]) == (20, "deny")
    assert [each["decision"]["verdict"] for each in found["steps"]] == ["allow", "deny"]


def test_preview_shows_what_all_steps_change_and_leaves_the_workspace(project: Project) -> None:
    write(project, step("one", "echo 1 > one"), step("two", "mv one two"))
    status, out, err = redoma(project, "plan", "preview", "plan.json")
    assert status == 0
    assert "+1" in out and "two" in out
    assert "hint: redoma apply " in err
    assert sorted(path.name for path in project.root.iterdir()) == ["plan.json"]
    status, out, _ = redoma(project, "plan", "preview", "--json", "plan.json")
    assert json.loads(out)["changes"] == [{"path": "two", "did": "created"}]


def test_nothing_of_a_plan_acts_on_a_terminal(project: Project) -> None:
    write(project, step("one", "echo '\x1b[2J'"))
    _, _, err = redoma(project, "plan", "run", "-q", "plan.json")
    assert "\x1b" not in err
    assert "echo '\\x1b[2J'" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("plan",), "usage: redoma plan check"),
        (
            ("plan", "rum", "x"),
            "redoma: there is no redoma plan 'rum'\nhint: redoma plan run\n",
        ),
        (("plan", "run"), "redoma: no plan given\n"),
        (("plan", "run", "/nowhere.json"), "redoma: the plan /nowhere.json cannot be read: "),
        (("plan", "check", "--resume", "x"), "redoma: redoma plan check takes no --resume\n"),
        (("plan", "run", "--redo", "x"), "redoma: --redo goes with --resume\n"),
        (("plan", "run", "-t", "x"), "redoma: a plan has no --tty\n"),
    ],
)
def test_a_command_line_that_cannot_be_understood_says_so(
    arguments: tuple[str, ...], said: str
) -> None:
    done = run(*arguments)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(said)


def test_a_plan_is_read_from_standard_input_and_its_errors_say_where() -> None:
    done = run("plan", "check", "-", stdin=b'{"version": 1,\n"name": 5, "steps": []}')
    assert (done.status, done.err) == (2, "redoma: standard input:2:9: /name: name is a text\n")


def test_help_and_the_schema_are_printed() -> None:
    assert run("plan", "--help").out.startswith("usage: redoma plan check")
    assert run("plan", "run", "--help").out.startswith("usage: redoma plan check")
    assert json.loads(run("plan", "schema").out)["title"] == "A plan of work"


def test_a_run_that_was_killed_in_a_step_is_gone_on_with_only_by_who_says_so(
    project: Project,
) -> None:
    import subprocess
    import time

    write(
        project,
        step("one", "echo 1 >> log"),
        step("two", "test -e flag || sleep 600"),
        step("three", "echo 3 >> log"),
    )
    going = subprocess.Popen(
        [*START, "plan", "run", "plan.json"],
        cwd=project.root,
        env=project.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    plans = Path(project.env["XDG_STATE_HOME"]) / "redoma/plans"
    until = time.monotonic() + 60
    while time.monotonic() < until and not any(
        json.loads(path.read_text())["going"] == "two" for path in plans.glob("*.json")
    ):
        time.sleep(0.05)
    going.kill()
    going.wait()
    status, _, err = redoma(project, "plan", "run", "--resume", "plan.json")
    assert (status, err) == (
        125,
        "redoma: the step two was begun, and it is not known how it ended\n"
        "hint: look at what it did; --resume --redo runs it once more\n",
    )
    (project.root / "flag").touch()
    status, out, _ = redoma(project, "plan", "run", "--resume", "--redo", "--json", "plan.json")
    found = [each["status"] for each in json.loads(out)["steps"]]
    assert (status, found) == (0, ["done-before", "done", "done"])
    assert (project.root / "log").read_text() == "1\n3\n"


def test_undo_takes_back_every_step_of_the_run_that_it_names(project: Project) -> None:
    write(project, step("one", "echo 1 > one"), step("two", "mv one two; echo 2 > more"))
    before = project.tree()
    status, _, err = redoma(project, "plan", "run", "-q", "plan.json")
    *_, done, hint = err.splitlines()
    run_id = done.rpartition("(")[2].rstrip(")")
    assert (status, hint) == (0, f"hint: redoma undo {run_id} takes all of them back")
    status, out, err = redoma(project, "undo", run_id[:8])
    assert (status, out, err) == (
        0,
        "took back step two: 2 paths are as they were\n  more\n  two\n"
        "took back step one: 1 path is as it was\n  one\n",
        f"redoma: plan notes: every step is taken back ({run_id})\n",
    )
    assert project.tree() == before
    status, _, err = redoma(project, "undo", run_id)
    assert (status, err.splitlines()[0]) == (
        125,
        f"redoma: no step of {run_id} is done: there is nothing to take back",
    )


def test_undo_of_a_plan_says_at_which_step_it_stopped_and_why(project: Project) -> None:
    write(project, step("one", "echo 1 > one"), step("two", "echo 2 > two"))
    _, out, _ = redoma(project, "plan", "run", "--json", "plan.json")
    run_id = json.loads(out)["run"]
    (project.root / "one").write_text("somebody's work\n")
    status, out, err = redoma(project, "undo", run_id)
    assert (status, out) == (125, "took back step two: 1 path is as it was\n  two\n")
    assert err.startswith(
        "redoma: plan notes: stopped at one, which stays as it is with all before it: "
        "one has changed since; nothing of "
    )
    assert "one" in project.tree() and "two" not in project.tree()
    status, out, _ = redoma(project, "undo", "--json", run_id)
    found = json.loads(out)
    assert (status, found["ok"], found["stopped_at"], found["steps"]) == (125, False, "one", [])
    assert found["error"]["code"] == "undo-impossible"
