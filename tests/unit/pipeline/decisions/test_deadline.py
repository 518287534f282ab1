"""What cannot be judged in time is refused, whoever asks and in whichever thread."""

from __future__ import annotations

import contextlib
import json
import threading
import time

import pytest

import redoma
from redoma.judge.policy.shipped import named
from redoma.judge.text.budget import Budget, Exhausted, Judging, Uncounted, spend
from redoma.model.decision import Decision, Effect, Risk, Verdict
from redoma.model.policy import BUILT_IN, ISOLATION_ONLY, Filesystem, Judgement
from redoma.model.request import PythonCall
from redoma.model.value import replace
from redoma.pipeline.decisions.check import (
    REASON,
    RULE,
    check,
    check_call,
    check_write,
    facts,
    in_time,
    judging,
)
from redoma.pipeline.decisions.knowledge import pack
from tests.unit.cli.running import run
from tests.unit.hook.payloads import claude

VALUE = "a" * 100
ISSUE = f"x={VALUE}; " + "echo ${x//a*a*a*a*b/x}; " * 5
# Far more ways than a judgement may follow, in a few hundred characters.
ENDLESS = "psql -c 'DELETE FROM a WHERE b IN (SELECT 1 FROM c " + "JOIN d " * 60 + ")'"
IMPATIENT = replace(BUILT_IN, name="default", judgement=Judgement(deadline_seconds=1e-6))


class Clock:
    """A clock that goes on by a second whenever it is looked at."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        self.seconds += 1.0
        return self.seconds


def refused(decision: Decision) -> bool:
    found = decision.assessment.findings
    return (
        decision.verdict is Verdict.DENY
        and decision.because == (REASON,)
        and [(one.rule, one.risk, one.effect) for one in found]
        == [(RULE, Risk.FORBIDDEN, Effect.UNKNOWN)]
    )


@pytest.mark.parametrize("operator", ["//", "/", "/#", "/%", "#", "##", "%", "%%"])
@pytest.mark.parametrize("pattern", ["a*a*a*a*b", "*a*a*a*b", "[a]*[a]*[a]*b"])
def test_the_short_command_that_held_the_judge_is_judged_at_once(
    operator: str, pattern: str
) -> None:
    text = f"x={VALUE}; " + f"echo ${{x{operator}{pattern}}}; " * 8
    started = time.thread_time()
    decision = check(text, cwd="/p", home="/h")
    assert time.thread_time() - started < 0.5
    assert decision.verdict is Verdict.ALLOW


def test_the_command_of_the_issue_is_judged_at_once() -> None:
    assert len(ISSUE) < 326
    started = time.thread_time()
    assert check(ISSUE, cwd="/p", home="/h").verdict is Verdict.ALLOW
    assert time.thread_time() - started < 0.5


@pytest.mark.requirement("K2")
def test_what_takes_too_long_is_refused_with_a_finding_of_its_own() -> None:
    started = time.thread_time()
    assert refused(check(ENDLESS, cwd="/p", home="/h"))
    assert time.thread_time() - started < 3
    assert refused(redoma.check(ENDLESS))


def test_the_same_is_refused_in_any_thread() -> None:
    said: list[Decision] = []
    threads = [
        threading.Thread(target=lambda: said.append(check(ENDLESS, cwd="/p", home="/h")))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [refused(decision) for decision in said] == [True, True]


@pytest.mark.parametrize(
    "judged",
    [
        lambda: check("ls", policy=IMPATIENT),
        lambda: check_write("a", policy=IMPATIENT),
        lambda: check_call(PythonCall(name="m.f", arguments="", payload=b""), policy=IMPATIENT),
    ],
    ids=["command", "write", "call"],
)
def test_the_deadline_is_the_policys(judged: object) -> None:
    assert refused(judged())  # type: ignore[operator]


def test_a_hook_says_no_in_time() -> None:
    done = run("hook", "claude-code", stdin=claude("Bash", command=ENDLESS))
    said = json.loads(done.out)["hookSpecificOutput"]
    assert (done.status, said["permissionDecision"]) == (0, "deny")
    assert "too complicated" in said["permissionDecisionReason"]


def test_check_says_no_in_time() -> None:
    done = run("check", "--json", ENDLESS)
    said = json.loads(done.out)
    assert (said["verdict"], said["reasons"][0]["rule"]) == ("deny", RULE)


def test_isolation_only_judges_nothing_and_refuses_nothing() -> None:
    isolated = replace(named(ISOLATION_ONLY), judgement=IMPATIENT.judgement)
    assert check("ls", policy=isolated).verdict is Verdict.LOG
    # Where it has a list of its own, that list could not be asked.
    assert refused(check("ls", policy=replace(isolated, block=("x",))))
    assert refused(check("ls", policy=replace(isolated, floor=named("default"))))


def test_facts_that_cannot_be_found_in_time_are_unknown() -> None:
    assert [fact.effect for fact in facts(ENDLESS, cwd="/p", home="/h")] == [Effect.UNKNOWN]


def test_nothing_that_catches_every_exception_loses_the_refusal() -> None:
    def careless() -> Decision:
        with contextlib.suppress(Exception):
            spend(1 << 40)
        return check("ls", cwd="/p", home="/h")

    assert refused(in_time("ls", pack("default"), BUILT_IN, careless))


def test_a_clock_that_has_gone_on_ends_a_judgement() -> None:
    with Judging(Budget((Clock(), 3.0))), pytest.raises(Exhausted):
        for _ in range(100):
            spend(5000)


def test_loading_a_module_takes_no_time_of_a_judgement() -> None:
    clock = Clock()
    with Judging(Budget((clock, 50.0))):
        with Uncounted():
            clock.seconds += 1000
        spend(5000)


def test_a_judgement_inside_of_another_shares_its_budget() -> None:
    with Judging(Budget(work=10)) as outer:
        with Judging(Budget(work=1 << 40)) as inner:
            assert inner is outer
            with pytest.raises(Exhausted):
                spend(1 << 20)
        with pytest.raises(Exhausted):
            outer.look()
    spend(1 << 40)  # outside of any judgement nothing is counted


def test_both_clocks_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    wall = Clock()
    monkeypatch.setattr("redoma.pipeline.decisions.check.monotonic", wall)
    with judging(BUILT_IN), pytest.raises(Exhausted):
        for _ in range(100):
            spend(5000)


@pytest.mark.parametrize("unit", ["a/", "../", "a", "*a", "[", " a", "\u0430/"])
@pytest.mark.parametrize("size", [4_000, 60_000, 6_000_000])
def test_a_path_of_any_length_is_answered_in_time(unit: str, size: int) -> None:
    asked = replace(
        named("default"), filesystem=Filesystem(blocked_paths=("**/*a*a*a*b", "~/.ssh"))
    )
    started = time.thread_time()
    decision = check_write((unit * size)[:size], cwd="/p", home="/h", policy=asked)
    assert time.thread_time() - started < 2
    assert size < 1_000_000 or decision.verdict is Verdict.DENY
