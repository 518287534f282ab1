"""The path's order, walked with hands that only write down what they are asked."""

from __future__ import annotations

import pytest

from redoma.flow.drive import drive
from redoma.flow.path import path
from redoma.flow.steps import Ask, Execute
from redoma.jail.plan import plan
from redoma.model.access import Grant, Limits
from redoma.model.decision import Decision, Verdict
from redoma.model.errors import NoEngine
from redoma.model.guarantee import EngineReport, Guarantee
from redoma.model.plan import Plan
from redoma.model.request import Mode, Request, ShellCommand
from redoma.model.result import Outcome, Result
from redoma.model.risk import Assessment

STRONG = EngineReport(name="strong", guarantees=frozenset(Guarantee))
WEAK = EngineReport(
    name="weak",
    guarantees=frozenset({Guarantee.TREE_KILLED}),
    missing=((Guarantee.WRITES_CONFINED, "it confines nothing"),),
)


class Machine:
    """Reports of a machine that is not there."""

    def __init__(self, *reports: EngineReport, controllers: frozenset[str] = frozenset()) -> None:
        self._reports = {report.name: report for report in reports}
        self._controllers = controllers

    def report(self, name: str) -> EngineReport:
        return self._reports[name]

    def controllers(self) -> frozenset[str]:
        return self._controllers


class World:
    """One that decides as it is told."""

    def __init__(self, verdict: Verdict | None, host: Machine, grant: Grant) -> None:
        self.judge = (lambda request: decided(verdict)) if verdict is not None else None
        self._host, self._grant = host, grant

    def grant(self, request: Request, decision: Decision | None) -> Grant:
        return self._grant

    def plan(self, request: Request, grant: Grant) -> Plan:
        return plan(request, grant, self._host)


class Notes:
    """Hands that do nothing but write down."""

    def __init__(self, *, answer: object = True) -> None:
        self.seen: list[str] = []
        self._answer = answer

    def ask(self, step: Ask) -> bool:
        self.seen.append("ask")
        return self._answer  # type: ignore[return-value]

    def execute(self, step: Execute) -> Result:
        self.seen.append(f"execute by {step.plan.engine}")
        return Result(outcome=Outcome.EXITED)


def decided(verdict: Verdict) -> Decision:
    return Decision(
        verdict=verdict, because=("said so",), policy="test",
        assessment=Assessment(text="x", pack="default"),
    )  # fmt: skip


def grant(*require: Guarantee, prefer: tuple[str, ...] = ("weak", "strong")) -> Grant:
    return Grant(level="t", workspace="/w", require=frozenset(require), prefer=prefer)


def walk(verdict: Verdict | None, hands: Notes, mode: Mode = Mode.RUN) -> Result:
    world = World(verdict, Machine(STRONG, WEAK), grant(Guarantee.WRITES_CONFINED))
    return drive(path(Request(workload=ShellCommand(text="x"), mode=mode), world), hands)


def test_a_denied_command_never_reaches_an_engine() -> None:
    hands = Notes()
    assert (walk(Verdict.DENY, hands).outcome, hands.seen) == (Outcome.DENIED, [])


@pytest.mark.parametrize("answer", [False, None, "yes", 1])
def test_anything_but_a_plain_yes_is_a_no(answer: object) -> None:
    hands = Notes(answer=answer)
    assert (walk(Verdict.CONFIRM, hands).outcome, hands.seen) == (Outcome.DECLINED, ["ask"])


def test_an_approved_command_runs_in_the_first_engine_that_gives_everything() -> None:
    hands = Notes()
    assert walk(Verdict.CONFIRM, hands).outcome is Outcome.EXITED
    assert hands.seen == ["ask", "execute by strong"]


def test_a_check_runs_nothing() -> None:
    hands = Notes()
    assert (walk(Verdict.ALLOW, hands, Mode.CHECK).outcome, hands.seen) == (Outcome.CHECKED, [])


def test_a_missing_guarantee_is_a_refusal_that_says_why_for_each_engine() -> None:
    request = Request(workload=ShellCommand(text="x"))
    with pytest.raises(NoEngine) as raised:
        plan(request, grant(Guarantee.WRITES_CONFINED, prefer=("weak",)), Machine(WEAK))
    assert raised.value.tried == {"weak": "it confines nothing"}


def test_a_share_of_the_processor_is_not_claimed_without_a_control_group() -> None:
    wanted = Grant(
        level="t", workspace="/w", limits=Limits(cpu_percent=50),
        require=frozenset({Guarantee.CPU_CAPPED}), prefer=("strong",),
    )  # fmt: skip
    request = Request(workload=ShellCommand(text="x"))
    with pytest.raises(NoEngine, match="cpu capped"):
        plan(request, wanted, Machine(STRONG))
    held = plan(request, wanted, Machine(STRONG, controllers=frozenset({"cpu"}))).enforcement.held
    assert Guarantee.CPU_CAPPED in held


def test_what_is_not_limited_is_not_called_capped() -> None:
    request = Request(workload=ShellCommand(text="x"))
    made = plan(request, grant(prefer=("strong",)), Machine(STRONG))
    assert not made.enforcement.held & {Guarantee.MEMORY_CAPPED, Guarantee.DISK_CAPPED}
