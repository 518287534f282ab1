"""A plan that somebody else wrote gets nothing by its form that its commands would not get."""

from __future__ import annotations

import json
from typing import Any

import pytest

from redoma.ask.card import Look, card
from redoma.egress.grants import gated
from redoma.egress.host_rules import read
from redoma.jail.profiles.profile import load
from redoma.model.grant import NetworkMode
from redoma.model.intent import StepConstraints
from redoma.model.network import Reach
from redoma.model.request import Question
from redoma.model.value import replace
from redoma.pipeline.plans.execution import Plan
from redoma.pipeline.step_constraints import narrowed
from tests.pipeline.place import Place

pytestmark = pytest.mark.requirement("X7")


class Asked:
    """Someone who says no, and remembers to what."""

    def __init__(self) -> None:
        self.questions: list[Question] = []

    def __call__(self, question: Question) -> bool:
        self.questions.append(question)
        return False


def plan(*steps: dict[str, Any]) -> Plan:
    return Plan(json.dumps({"version": 1, "name": "tidy\nfake: ls", "steps": list(steps)}))


def test_hosts_that_a_step_names_are_held_as_every_host_was() -> None:
    everyone = Reach(anyone=True, inspect=True, blocked_ports=(25,), max_connections=7)
    open_ = load("minimal").grant("/project")
    grant = gated(open_, everyone)
    kept = narrowed(grant, StepConstraints(allowed_hosts=("example.com", "10.0.0.8:80"))).reach
    assert kept == replace(everyone, anyone=False, hosts=read(["example.com", "10.0.0.8:80"]).hosts)
    # Attack: none of these is among the hosts that everybody may reach.
    wide = (
        "localhost:5432",
        "169.254.169.254:80",
        "a.example=127.0.0.1:22",
        "b.example=10.0.0.0/8",
    )
    found = narrowed(grant, StepConstraints(allowed_hosts=wide))
    assert (found.network, found.reach) == (NetworkMode.CLOSED, Reach())
    mocked = gated(open_, replace(everyone, mock=True))
    assert narrowed(mocked, StepConstraints(allowed_hosts=("example.com",))).reach.mock


@pytest.mark.parametrize(
    ("call", "given"),
    [
        ("os:system", {"args": ["rm -rf -- *"]}),
        ("subprocess:run", {"args": [["rm", "-rf", "."]]}),
        ("subprocess:run", {"args": ["rm -rf ."], "kwargs": {"shell": True}}),
        ("shutil:rmtree", {"kwargs": {"path": "."}}),
        ("builtins:exec", {"args": ["import os\nos.system('rm -rf .')"]}),
        ("os:system", {"kwargs": {"command": "rm -rf .", "not a name": 1}}),
    ],
)
def test_a_call_is_asked_about_as_the_same_command_would_be(
    place: Place, call: str, given: dict[str, Any]
) -> None:
    asked = Asked()
    (place.workspace / "kept").touch()
    made = plan({"id": "one", "operation": "python", "call": call, **given})
    found = made.run(place.sandbox(ask=asked))
    assert (found.ok, len(asked.questions), found.exit_code) == (False, 1, 126)
    assert (place.workspace / "kept").exists()


def test_a_risky_step_in_the_middle_of_a_long_plan_is_seen(place: Place) -> None:
    def step(number: int, command: str) -> dict[str, Any]:
        return {"id": f"s{number}", "operation": "shell", "command": command}

    steps = [step(at, f"echo {at}") for at in range(60)]
    steps.insert(30, step(200, "echo hidden\ns999: ls; rm -rf ~/.ssh"))
    asked = Asked()
    place.user_policy("plans:\n  confirm: plan\n")
    plan(*steps).run(place.sandbox(ask=asked))
    [question] = asked.questions
    rows = card(question, Look(), str)
    assert any("rm -rf ~/.ssh" in row for row in rows)
    lines = question.command.split("\n")
    assert [line for line in lines if line.startswith(("fake", "s999"))] == []
    start, end = question.spans[0]
    assert question.command[start:end].startswith("s200: echo hidden")
