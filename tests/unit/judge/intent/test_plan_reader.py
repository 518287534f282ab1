"""A plan is read whole or not at all, and an error says where."""

from __future__ import annotations

import json
from typing import Any

import pytest

from redoma.judge.intent.json_text import DEEPEST, LARGEST
from redoma.judge.intent.plan_reader import read
from redoma.judge.intent.plan_schema import ARGUMENTS, json_schema
from redoma.model.intent import Intent, Operation, PlanCycle, PlanSyntax, Step, StepConstraints

pytestmark = pytest.mark.requirement("X7")


def plan(*steps: dict[str, Any], **more: Any) -> str:
    return json.dumps({"version": 1, "name": "tidy", "steps": list(steps), **more})


def step(id: str, **more: Any) -> dict[str, Any]:
    return {"id": id, "operation": "shell", "command": "true", **more}


def test_a_plan_is_read_into_steps_in_the_order_of_their_doing() -> None:
    text = plan(
        {"id": "last", "operation": "file.delete", "path": "old", "needs": ["first"]},
        step("first", metadata={"why": "begin"}),
        constraints={"max_execution_time": 5, "forbidden_paths": [".env"]},
        metadata={"author": "planner"},
    )
    both = StepConstraints(max_execution_time=5, forbidden_paths=(".env",))
    read_plan = read(text)
    assert read_plan == Intent(
        name="tidy",
        steps=(
            Step(
                id="first",
                operation=Operation.SHELL,
                arguments={"command": "true"},
                constraints=both,
                metadata={"why": "begin"},
            ),
            Step(
                id="last",
                operation=Operation.FILE_DELETE,
                arguments={"path": "old"},
                needs=("first",),
                constraints=both,
            ),
        ),
        digest=read_plan.digest,
        metadata={"author": "planner"},
    )


def test_steps_without_needs_keep_the_order_in_which_they_are_written() -> None:
    ids = ["d", "b", "a", "c"]
    assert [s.id for s in read(plan(*map(step, ids))).steps] == ids


def test_the_digest_is_of_the_content_and_not_of_its_spelling() -> None:
    text = plan(step("a"), step("b"))
    spread = json.dumps(dict(reversed(json.loads(text).items())), indent=4)
    assert read(text).digest == read(spread).digest
    assert read(text).digest != read(plan(step("b"), step("a"))).digest


CONSTRAINED = [
    ({"max_execution_time": 9}, {"max_execution_time": 3}, StepConstraints(max_execution_time=3)),
    ({"max_execution_time": 3}, {"max_execution_time": 9}, StepConstraints(max_execution_time=3)),
    ({"max_memory_mb": 64}, {}, StepConstraints(max_memory_mb=64)),
    ({"allow_network": False}, {"allow_network": True}, StepConstraints(allow_network=False)),
    (
        {"forbidden_paths": ["a"]},
        {"forbidden_paths": ["b", "a"]},
        StepConstraints(forbidden_paths=("a", "b")),
    ),
    (
        {"allowed_write_paths": ["src", "docs"]},
        {"allowed_write_paths": ["src/app", "lib"]},
        StepConstraints(allowed_write_paths=("src/app",)),
    ),
    (
        {"allowed_write_paths": ["src"]},
        {"allowed_write_paths": ["."]},
        StepConstraints(allowed_write_paths=("src",)),
    ),
    (
        {"allowed_write_paths": ["src"]},
        {"allowed_write_paths": ["src/../etc"]},
        StepConstraints(allowed_write_paths=()),
    ),
    (
        {"allowed_hosts": ["*.example.com"]},
        {"allowed_hosts": ["api.example.com", "example.org"]},
        StepConstraints(allowed_hosts=("api.example.com",)),
    ),
    ({"max_subprocesses": 0}, {}, StepConstraints(max_subprocesses=0)),
]


@pytest.mark.parametrize(("around", "own", "both"), CONSTRAINED)
def test_a_step_is_held_to_the_plans_constraints_and_to_its_own(
    around: dict[str, Any], own: dict[str, Any], both: StepConstraints
) -> None:
    assert read(plan(step("a", constraints=own), constraints=around)).steps[0].constraints == both


WRONG = [
    ("", "plan", "", "the plan is empty"),
    ("{", "plan:1:2", "", "a key in double quotes was expected"),
    ('{"version": 1,}', "plan:1:15", "", "a key in double quotes was expected"),
    ('{"version": 1', "plan:1:14", "", "the text ends in the middle"),
    ('{"version": 1} x', "plan:1:16", "", "something stands after the end of the plan"),
    ('{"version": NaN}', "plan:1:13", "/version", "this is not JSON"),
    ('{"version": 1e999}', "plan:1:13", "/version", "this number is too large"),
    ('{"version": ' + "1" * 50 + "}", "plan:1:13", "/version", "a number has at most 40 digits"),
    ('{"version": 1,\n "version": 2}', "plan:2:2", "/version", "'version' is given twice"),
    ('{"a": "\\ud800"}', "plan:1:7", "/a", "half of a surrogate pair is no character"),
    ('{"a": "x\ny"}', "plan:1:9", "/a", "this is not JSON: Invalid control character at"),
    ("[]", "plan:1:1", "", "a plan is an object"),
    ("{}", "plan:1:1", "", "a plan needs 'version'"),
    (b"\xff", "plan:1", "", "this is not UTF-8"),
    ('{"version": 2, "name": "x", "steps": []}', "plan:1:13", "/version", "this reads version 1"),
    (
        '{"version": true, "name": "x", "steps": []}',
        "plan:1:13",
        "/version",
        "this reads version 1",
    ),
    (
        '{\n"version": 1, "name": "x",\n"steps": [\n{"id": "a", "operation": "shell"}]}',
        "plan:4:1",
        "/steps/0",
        "a step shell needs 'command'",
    ),
    (
        '{"version": 1, "name": "x",\n"steps": [\n{"id": "a", "operation": "file.shred"}]}',
        "plan:3:26",
        "/steps/0/operation",
        "there is no operation 'file.shred'",
    ),
]


@pytest.mark.parametrize(("text", "location", "pointer", "what"), WRONG)
def test_what_is_no_plan_is_an_error_with_its_place(
    text: str | bytes, location: str, pointer: str, what: str
) -> None:
    with pytest.raises(PlanSyntax) as raised:
        read(text)
    at = f"{location}: {pointer}" if pointer else location
    assert str(raised.value) == f"{at}: {what}"
    assert (raised.value.location, raised.value.pointer) == (location, pointer)


WRONG_AT = [
    (plan(), "/steps", "a plan has at least one step"),
    (plan({"id": "a"}), "/steps/0", "a step has an operation"),
    (plan(step("a", x=1)), "/steps/0/x", "a step shell has no 'x'"),
    (plan(step("a b")), "/steps/0/id", "'a b' is no name of a step"),
    (plan(step("a\n")), "/steps/0/id", "'a\\n' is no name of a step"),
    (plan(step("a", needs=["z"])), "/steps/0/needs/0", "there is no step z"),
    (plan(step("a", needs="z")), "/steps/0/needs", "needs is a list"),
    (plan(step("a", command="")), "/steps/0/command", "command is empty"),
    (plan(step("a", command="a\0b")), "/steps/0/command", "command has a NUL in it"),
    (plan(step("a", command=["ls"])), "/steps/0/command", "command is a text"),
    (
        plan(step("a", constraints={"max_memory_mb": 1.5})),
        "/steps/0/constraints/max_memory_mb",
        "max_memory_mb is a whole number",
    ),
    (
        plan(step("a", constraints={"max_memory_mb": True})),
        "/steps/0/constraints/max_memory_mb",
        "max_memory_mb is a whole number",
    ),
    (
        plan(step("a", constraints={"max_execution_time": 0})),
        "/steps/0/constraints/max_execution_time",
        "max_execution_time lies between 0 and 86400",
    ),
    (
        plan(step("a", constraints={"allowed_read_paths": ["/"]})),
        "/steps/0/constraints/allowed_read_paths",
        "constraints has no 'allowed_read_paths'",
    ),
    (
        plan({"id": "a", "operation": "program", "argv": []}),
        "/steps/0/argv",
        "argv begins with the name of a program",
    ),
    (
        plan({"id": "a", "operation": "python", "call": "os.system"}),
        "/steps/0/call",
        "'os.system' names no function",
    ),
    (
        plan({"id": "a", "operation": "file.delete", "path": "x", "recursive": "yes"}),
        "/steps/0/recursive",
        "recursive is true or false",
    ),
]


@pytest.mark.parametrize(("text", "pointer", "what"), WRONG_AT)
def test_a_wrong_field_is_an_error_that_points_at_its_value(
    text: str, pointer: str, what: str
) -> None:
    with pytest.raises(PlanSyntax) as raised:
        read(text, name="plan.json")
    value = json.loads(text)
    for part in pointer.split("/")[1:]:
        value = value[int(part)] if isinstance(value, list) else value[part]
    column = int(raised.value.location.removeprefix("plan.json:1:"))
    assert text[column - 1 :].startswith(json.dumps(value))
    assert str(raised.value) == f"plan.json:1:{column}: {pointer}: {what}"


def test_two_steps_of_one_name_are_an_error_that_names_both_places() -> None:
    text = (
        '{"version": 1, "name": "x", "steps": [\n{"id": "a", "operation": "shell", "command": "a"},'
    )
    text += '\n{"id": "a", "operation": "shell", "command": "b"}]}'
    with pytest.raises(PlanSyntax) as raised:
        read(text)
    assert str(raised.value) == "plan:3:8: /steps/1/id: the step a is there already, at plan:2:8"


def test_a_circle_is_an_error_that_names_its_steps() -> None:
    text = plan(
        step("free"), step("a", needs=["c"]), step("b", needs=["a"]), step("c", needs=["b"])
    )
    with pytest.raises(PlanCycle) as raised:
        read(text)
    assert raised.value.steps == ("a", "c", "b")
    assert "the steps go in a circle: a needs c needs b needs a" in str(raised.value)
    assert raised.value.pointer == "/steps/1/needs"


def test_a_step_that_needs_itself_is_a_circle() -> None:
    with pytest.raises(PlanCycle, match="a needs a"):
        read(plan(step("a", needs=["a"])))


def test_a_plan_that_is_too_deep_or_too_large_is_refused() -> None:
    deep = "[" * (DEEPEST + 2)
    with pytest.raises(PlanSyntax, match=f"deeper than {DEEPEST} levels"):
        read('{"metadata": ' + deep)
    with pytest.raises(PlanSyntax, match="at most 1048576 bytes"):
        read(" " * (LARGEST + 1))
    with pytest.raises(PlanSyntax, match="at most 50000 values"):
        read('{"metadata": [' + "1," * 60_000)
    with pytest.raises(PlanSyntax, match="at most 1000 steps"):
        read(plan(*(step(f"s{number}") for number in range(1001))))


def test_the_schema_has_every_operation_with_its_own_arguments() -> None:
    steps = json_schema()["properties"]["steps"]["items"]["oneOf"]  # type: ignore[index]
    described = {s["properties"]["operation"]["const"]: s for s in steps}
    assert set(described) == {operation.value for operation in Operation}
    for operation, arguments in ARGUMENTS.items():
        found = described[operation.value]
        assert set(arguments) <= set(found["properties"])
        required = {name for name, field in arguments.items() if field.required}
        assert set(found["required"]) == {"id", "operation"} | required
        assert found["additionalProperties"] is False
