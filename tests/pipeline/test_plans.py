"""A plan goes step by step through policy, constraints, sandbox and record, and no further."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from redoma import Access, Network, Sandbox
from redoma.jail.profiles.profile import of_machine
from redoma.model.errors import Declined, Refused, RunError
from redoma.model.intent import EndUnknown, NothingToResume, PlanChanged, PlanError, StepStatus
from redoma.model.request import Question
from redoma.model.value import replace
from redoma.pipeline import stored_changes
from redoma.pipeline.plans import state
from redoma.pipeline.plans.execution import Plan
from tests.pipeline.place import Place

pytestmark = [pytest.mark.requirement("X7"), pytest.mark.usefixtures("one_cache")]
DONE, FAILED, REFUSED = StepStatus.DONE, StepStatus.FAILED, StepStatus.REFUSED
BEFORE, NOT_REACHED = StepStatus.DONE_BEFORE, StepStatus.NOT_REACHED
FORCED = "git push --force origin main"
ASKED = {"id": "ask", "operation": "shell", "command": "chmod -R 777 sub && echo yes > done.txt"}


def plan(*steps: dict[str, Any], **more: Any) -> Plan:
    return Plan(json.dumps({"version": 1, "name": "tidy", "steps": list(steps), **more}))


def shell(id: str, command: str, **more: Any) -> dict[str, Any]:
    return {"id": id, "operation": "shell", "command": command, **more}


def statuses(found: Any) -> list[tuple[str, StepStatus]]:
    return [(step.id, step.status) for step in found.steps]


def test_every_operation_does_what_it_says(place: Place) -> None:
    (place.workspace / "old.txt").write_text("old\n")
    (place.workspace / "tree/below").mkdir(parents=True)
    made = plan(
        {"id": "folder", "operation": "folder.make", "path": "a/b"},
        {"id": "write", "operation": "file.write", "path": "a/b/-n", "content": "é\n"},
        {"id": "read", "operation": "file.read", "path": "a/b/-n"},
        {"id": "move", "operation": "file.move", "path": "old.txt", "to": "a/new.txt"},
        {"id": "delete", "operation": "file.delete", "path": "tree", "recursive": True},
        {"id": "program", "operation": "program", "argv": ["cat"], "stdin": "$HOME `id`"},
        shell("shell", "cat new.txt; pwd", cwd="a"),
    ).run(place.sandbox())
    assert statuses(made) == [
        (name, DONE) for name in ("folder", "write", "read", "move", "delete", "program", "shell")
    ]
    by_name = {step.id: step.stdout for step in made.steps}
    assert by_name["write"] == b""
    assert by_name["read"] == "é\n".encode()
    assert by_name["program"] == b"$HOME `id`"
    assert by_name["shell"] == f"old\n{place.workspace}/a\n".encode()
    files = [str(p.relative_to(place.workspace)) for p in place.workspace.rglob("*")]
    assert sorted(files) == ["a", "a/b", "a/b/-n", "a/new.txt"]
    assert made.ok and made.exit_code == 0 and made.raise_for_outcome() is made


def test_moving_a_file_never_puts_it_into_a_folder_of_that_name(place: Place) -> None:
    (place.workspace / "f").write_text("f")
    (place.workspace / "d").mkdir()
    move = {"id": "move", "operation": "file.move", "path": "f", "to": "d"}
    made = plan(move).run(place.sandbox())
    assert statuses(made) == [("move", FAILED)]
    assert (place.workspace / "f").exists()


def test_it_stops_at_the_first_step_that_fails_and_what_was_done_stays(place: Place) -> None:
    made = plan(
        shell("one", "echo 1 > one"), shell("two", "echo 2 > two; exit 7"), shell("three", "true")
    ).run(place.sandbox())
    assert statuses(made) == [("one", DONE), ("two", FAILED), ("three", NOT_REACHED)]
    assert (made.stopped_at, made.why, made.exit_code) == ("two", "it ended with status 7", 7)
    assert sorted(os.listdir(place.workspace)) == ["one"]
    with pytest.raises(RunError, match="the plan stopped at two: it ended with status 7"):
        made.raise_for_outcome()


def test_a_plan_with_a_step_that_policy_denies_does_not_begin(place: Place) -> None:
    made = plan(shell("one", "echo 1 > one"), shell("two", "rm -rf /")).run(place.sandbox())
    assert statuses(made) == [("one", NOT_REACHED), ("two", REFUSED)]
    assert made.exit_code == 126
    assert os.listdir(place.workspace) == []
    assert "run-starting" not in place.kinds()
    with pytest.raises(Refused):
        made.raise_for_outcome()


def test_every_row_of_a_step_names_the_plan_and_the_step(place: Place) -> None:
    made = plan(shell("one", "echo 1 > one")).run(place.sandbox())
    rows = [(row.kind, row.run, json.loads(row.details)) for row in place.rows()]
    assert [kind for kind, _, _ in rows] == [
        *("plan-starting", "judged", "judged", "run-starting", "run-ended"),
        *("apply-starting", "applied", "plan-ended"),
    ]
    first, *between, last = rows
    assert (first[1], last[1]) == (made.id, made.id)
    assert first[2] == {
        "name": "tidy",
        "digest": made.digest,
        "steps": ["one"],
        "done_before": [],
        "plan": made.id,
    }
    assert last[2] == {
        "name": "tidy",
        "digest": made.digest,
        "done": True,
        "stopped_at": "",
        "why": "",
        "plan": made.id,
    }
    assert {(d["plan"], d["step"]) for _, _, d in between} == {(made.id, "one")}
    assert between[-1][1] == made.steps[0].run


@pytest.mark.requirement("X8")
def test_the_record_says_under_which_constraints_a_step_ran(place: Place) -> None:
    (place.workspace / "secret").mkdir()
    held_to = {"max_execution_time": 9, "max_memory_mb": 64, "forbidden_paths": ["secret"]}
    plan(shell("one", "ls", constraints=held_to)).run(place.sandbox())
    [started] = [json.loads(r.details) for r in place.rows() if r.kind == "run-starting"]
    assert started["limits"]["wall_seconds"] == 9
    assert started["limits"]["memory"] == 64 << 20
    assert started["hidden"] == [str(place.workspace / "secret")]


def test_a_step_that_changes_what_it_may_not_changes_nothing(place: Place) -> None:
    (place.workspace / "src").mkdir()
    only = {"allowed_write_paths": ["src"]}
    good = plan(shell("one", "echo 1 > src/one", constraints=only)).run(place.sandbox())
    bad = plan(shell("two", "echo 2 > src/two; echo 2 > two", constraints=only)).run(
        place.sandbox()
    )
    assert statuses(good) == [("one", DONE)]
    assert statuses(bad) == [("two", REFUSED)]
    assert bad.why == "it changed two, which is not among allowed_write_paths"
    assert sorted(os.listdir(place.workspace / "src")) == ["one"]
    assert sorted(os.listdir(place.workspace)) == ["src"]


def test_a_link_does_not_widen_what_a_step_may_change(place: Place) -> None:
    (place.workspace / "src").mkdir()
    (place.workspace / "other").mkdir()
    (place.workspace / "src/way").symlink_to("../other")
    only = {"allowed_write_paths": ["src"]}
    made = plan(shell("two", "echo 2 > src/way/two", constraints=only)).run(place.sandbox())
    assert statuses(made) == [("two", REFUSED)]
    assert os.listdir(place.workspace / "other") == []


def test_without_a_layer_the_kernel_keeps_a_step_to_what_it_may_change(place: Place) -> None:
    (place.workspace / "src").mkdir()
    only = {"allowed_write_paths": ["src"]}
    sandbox = place.sandbox(access=Access(direct=True))
    made = plan(shell("two", "echo 1 > src/one; echo 2 > two", constraints=only)).run(sandbox)
    assert statuses(made) == [("two", FAILED)]
    assert sorted(os.listdir(place.workspace)) == ["src"]
    assert os.listdir(place.workspace / "src") == ["one"]


def test_what_is_forbidden_is_neither_seen_nor_made(place: Place) -> None:
    (place.workspace / "secret").mkdir()
    (place.workspace / "secret/key").write_text("k")
    never = {"forbidden_paths": ["secret", "later"]}
    made = plan(
        shell("see", "ls secret", constraints=never),
        shell("make", "mkdir later", constraints=never),
    ).run(place.sandbox())
    assert statuses(made) == [("see", DONE), ("make", REFUSED)]
    assert made.steps[0].stdout == b""
    assert made.why == "it changed later, which forbidden_paths keeps from it"
    assert sorted(os.listdir(place.workspace)) == ["secret"]


def test_a_step_that_takes_too_long_is_ended(place: Place) -> None:
    made = plan(shell("slow", "sleep 60", constraints={"max_execution_time": 0.5})).run(
        place.sandbox()
    )
    assert statuses(made) == [("slow", FAILED)]
    assert (made.why, made.exit_code) == ("timed out", 124)


def test_constraints_open_nothing_that_the_sandbox_closes(place: Place) -> None:
    wide = {
        "allow_network": True,
        "allowed_hosts": ["example.com"],
        "allowed_write_paths": ["/", "/etc"],
        "max_memory_mb": 1 << 20,
    }
    plan(shell("one", "true", constraints=wide)).run(place.sandbox())
    [started] = [json.loads(r.details) for r in place.rows() if r.kind == "run-starting"]
    assert (started["network"], started.get("writable")) == ("closed", None)
    assert started["limits"]["memory"] == of_machine("memory")


def test_of_the_hosts_that_are_granted_a_step_has_those_it_names(place: Place) -> None:
    def network(**held_to: Any) -> tuple[str, Any]:
        sandbox = place.sandbox(network=Network(hosts=["api.example.com", "example.org"]))
        plan(shell("one", "true", constraints=held_to)).run(sandbox)
        started = [json.loads(r.details) for r in place.rows() if r.kind == "run-starting"][-1]
        return started["network"], started.get("hosts")

    assert network(allowed_hosts=["*.example.com"]) == ("gated", ["api.example.com"])
    assert network(allowed_hosts=["example.net"]) == ("closed", None)
    assert network(allow_network=False) == ("closed", None)


class Asked:
    """Someone who is asked, and remembers what."""

    def __init__(self, answer: bool) -> None:
        self.answer = answer
        self.questions: list[Question] = []

    def __call__(self, question: Question) -> bool:
        self.questions.append(question)
        return self.answer


@pytest.fixture
def risky(place: Place) -> Plan:
    (place.workspace / "sub").mkdir()
    return plan(
        {**ASKED, "id": "first"},
        shell("between", "echo 1 > between"),
        {**ASKED, "id": "second", "needs": ["between"]},
    )


CONFIRM = "confirmation:\n  required_for: [program == chmod]\n"


def test_each_step_is_confirmed_where_policy_says_step(place: Place, risky: Plan) -> None:
    place.user_policy(CONFIRM)
    person = Asked(answer=True)
    made = risky.run(place.sandbox(ask=person))
    assert made.ok
    assert [question.command for question in person.questions] == [ASKED["command"]] * 2


def test_the_whole_plan_is_confirmed_once_where_policy_says_plan(place: Place, risky: Plan) -> None:
    place.user_policy(CONFIRM + "plans:\n  confirm: plan\n")
    person = Asked(answer=True)
    made = risky.run(place.sandbox(ask=person))
    assert made.ok
    [question] = person.questions
    assert question.command == (
        f"plan tidy\nfirst: {ASKED['command']}\nbetween: echo 1 > between\n"
        f"second: {ASKED['command']}"
    )
    kinds = place.kinds()
    assert kinds.index("asked") < kinds.index("run-starting")


def test_who_approves_a_plan_sees_what_its_steps_read_and_touch(place: Place) -> None:
    place.user_policy(CONFIRM + "plans:\n  confirm: plan\n")
    (place.workspace / "sub").mkdir()
    person = Asked(answer=False)
    write = {"id": "write", "operation": "file.write", "path": "a.sh", "content": "echo hi\n"}
    plan(write, {**write, "id": "long", "content": "x" * 5000}, ASKED).run(
        place.sandbox(ask=person)
    )
    [question] = person.questions
    lines = question.command.splitlines()
    assert lines[1] == "write: tee -- a.sh < 'echo hi\\n'"
    assert lines[2].startswith("long: tee -- a.sh < 'xxx")
    assert lines[2].endswith("...'")
    assert question.impact.reversible
    assert set(question.impact.files_affected) >= {"a.sh", "done.txt"}


def test_a_plan_that_nobody_approves_does_not_begin(place: Place, risky: Plan) -> None:
    place.user_policy(CONFIRM + "plans:\n  confirm: plan\n")
    made = risky.run(place.sandbox(ask=Asked(answer=False)))
    assert [status for _, status in statuses(made)] == [NOT_REACHED] * 3
    assert (made.stopped_at, made.exit_code) == ("", 126)
    assert made.why.startswith("nobody approved this plan")
    assert "run-starting" not in place.kinds()
    with pytest.raises(Declined):
        made.raise_for_outcome()


def test_the_approval_of_a_plan_is_for_exactly_its_steps(place: Place, risky: Plan) -> None:
    place.user_policy(CONFIRM + "plans:\n  confirm: plan\n")

    class TightensMeanwhile(Asked):
        def __call__(self, question: Question) -> bool:
            place.user_policy(CONFIRM + "plans:\n  confirm: plan\nresources:\n  max_processes: 9\n")
            return super().__call__(question)

    person = TightensMeanwhile(answer=True)
    assert risky.run(place.sandbox(ask=person)).ok
    commands = [question.command.split(" ")[0] for question in person.questions]
    assert commands == ["plan", "chmod", "chmod"]  # under another policy they are other steps


def test_a_stopped_plan_is_gone_on_with_where_it_stopped(place: Place) -> None:
    flag = place.workspace / "flag"
    made = plan(
        shell("once", "echo once >> log"),
        shell("when", "test -e flag"),
        shell("last", "echo last >> log"),
    )
    first = made.run(place.sandbox())
    assert statuses(first) == [("once", DONE), ("when", FAILED), ("last", NOT_REACHED)]
    flag.touch()
    second = made.run(place.sandbox(), resume=True)
    assert statuses(second) == [("once", BEFORE), ("when", DONE), ("last", DONE)]
    assert (second.id, second.steps[0].run) == (first.id, first.steps[0].run)
    assert (place.workspace / "log").read_text() == "once\nlast\n"
    with pytest.raises(NothingToResume):
        made.run(place.sandbox(), resume=True)


def test_another_plan_is_not_gone_on_with(place: Place) -> None:
    plan(shell("one", "false")).run(place.sandbox())
    with pytest.raises(PlanChanged):
        plan(shell("one", "true")).run(place.sandbox(), resume=True)


def test_a_run_of_another_workspace_is_not_gone_on_with(place: Place, tmp_path: Path) -> None:
    made = plan(shell("one", "false"))
    made.run(place.sandbox())
    (tmp_path / "elsewhere").mkdir()
    with pytest.raises(NothingToResume):
        made.run(Sandbox(str(tmp_path / "elsewhere"), audit=str(place.record)), resume=True)


def test_a_step_whose_end_is_not_known_is_not_simply_done_again(place: Place) -> None:
    made = plan(shell("one", "echo 1 >> log"))
    begun = state.new_state(made.intent, str(place.workspace))
    state.write(replace(begun, going="one"))  # as a process leaves it that is killed in the step
    with pytest.raises(EndUnknown, match="the step one was begun"):
        made.run(place.sandbox(), resume=True)
    assert made.run(place.sandbox(), resume=True, redo=True).ok


def test_one_run_is_not_gone_on_with_by_two_at_once(place: Place) -> None:
    made = plan(shell("one", "false"))
    made.run(place.sandbox())
    [stopped] = state.states()
    with (
        state.only_one(stopped),
        pytest.raises(PlanError, match="is going on already"),
    ):
        made.run(place.sandbox(), resume=True)
    names = os.listdir(Path(os.environ["XDG_STATE_HOME"]) / "redoma/plans")
    assert sorted(names) == [f"{stopped.id}.json", f"{stopped.id}.lock"]


def test_a_plan_that_did_not_begin_leaves_nothing_to_go_on_with(place: Place) -> None:
    plan(shell("two", "rm -rf /")).run(place.sandbox())
    assert os.listdir(Path(os.environ["XDG_STATE_HOME"]) / "redoma/plans") == []


@pytest.mark.both_users
def test_a_preview_shows_what_all_steps_change_together_and_changes_nothing(place: Place) -> None:
    (place.workspace / "old.txt").write_text("old\n")
    made = plan(
        {"id": "write", "operation": "file.write", "path": "new.txt", "content": "1\n"},
        shell("more", "cat new.txt && echo 2 >> new.txt"),
        {"id": "move", "operation": "file.move", "path": "new.txt", "to": "moved.txt"},
        {"id": "gone", "operation": "file.delete", "path": "old.txt"},
    )
    found = made.preview(place.sandbox())
    assert [status for _, status in statuses(found)] == [DONE] * 4
    assert found.steps[1].stdout == b"1\n"
    assert [(item.path, item.did.value) for item in found.changes.items] == [
        ("moved.txt", "created"),
        ("old.txt", "deleted"),
    ]
    assert os.listdir(place.workspace) == ["old.txt"]
    stored_changes.apply(found.id)
    assert os.listdir(place.workspace) == ["moved.txt"]
    assert (place.workspace / "moved.txt").read_text() == "1\n2\n"


def test_a_preview_ends_where_a_step_would_be_refused(place: Place) -> None:
    (place.workspace / "src").mkdir()
    only = {"allowed_write_paths": ["src"]}
    found = plan(
        shell("one", "echo 1 > one"),
        shell("two", "echo 2 > src/two", constraints=only),
        shell("three", "echo 3 > three", constraints=only),
        shell("four", "true"),
    ).preview(place.sandbox())
    assert statuses(found) == [
        ("one", DONE),
        ("two", DONE),
        ("three", REFUSED),
        ("four", NOT_REACHED),
    ]
    assert found.steps[2].why == "it changed three, which is not among allowed_write_paths"
    stored_changes.discard(found.id)


def test_what_one_step_is_confirmed_for_the_whole_preview_is(place: Place, risky: Plan) -> None:
    place.user_policy(CONFIRM)
    found = risky.preview(place.sandbox())
    [entry] = [each for each in stored_changes.history() if each.id == found.id]
    assert {why.partition(":")[0] for why in entry.asks} == {"first", "second"}
    stored_changes.discard(found.id)


def test_a_preview_goes_on_only_from_changes_of_its_own_workspace(
    place: Place, tmp_path: Path
) -> None:
    from redoma.model.errors import PreviewGone
    from redoma.pipeline.dry_run import OverlayRun
    from redoma.pipeline.foresight.forecast import Foreseen

    found = plan(shell("one", "echo 1 > one")).preview(place.sandbox())
    (tmp_path / "elsewhere").mkdir()
    other = Sandbox(str(tmp_path / "elsewhere"), audit=str(place.record))
    with pytest.raises(PreviewGone, match="holds no changes of"):
        OverlayRun(other.config, onto=found.id)("true", Foreseen())
    stored_changes.discard(found.id)


def test_a_function_is_imported_and_called_inside_only(place: Place) -> None:
    (place.workspace / "notes.py").write_text(
        "import os, sys\n"
        "open('imported', 'w').write(str(os.getpid()))\n"
        "def add(*numbers, by=1):\n"
        "    open('sum', 'w').write(str(sum(numbers) * by))\n"
        "    return {'sum': sum(numbers) * by, 'pid': os.getpid()}\n"
        "def breaks():\n"
        "    raise ValueError('no')\n"
    )
    add = {"id": "add", "operation": "python", "call": "notes:add", "args": [1, 2]}
    made = plan({**add, "kwargs": {"by": 2}}).run(place.sandbox())
    assert statuses(made) == [("add", DONE)]
    value = made.steps[0].value
    assert isinstance(value, dict) and value["sum"] == 6 and value["pid"] != os.getpid()
    assert (place.workspace / "sum").read_text() == "6"
    judged = next(row for row in place.rows() if row.kind == "judged")
    assert judged.command == "call notes.add(1, 2, by=2)"
    found = plan(
        {**add, "kwargs": {"by": 5}},
        shell("see", "cat sum"),
        {**add, "call": "notes:breaks", "id": "bad"},
    ).preview(place.sandbox())
    assert statuses(found) == [("add", DONE), ("see", DONE), ("bad", FAILED)], found.steps
    assert found.steps[1].stdout == b"15"
    assert (place.workspace / "sum").read_text() == "6"
    stored_changes.discard(found.id)


def test_a_function_that_is_not_there_stops_the_plan(place: Place) -> None:
    made = plan({"id": "a", "operation": "python", "call": "no_such_module:f"}).run(place.sandbox())
    assert statuses(made) == [("a", FAILED)]
    assert "no_such_module" in made.why
