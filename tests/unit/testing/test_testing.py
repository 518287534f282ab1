"""What users get for their own tests works: the scripted person, the fake host, the contract."""

from __future__ import annotations

from pathlib import Path

import pytest

from redoma import Choice, Sandbox
from redoma.model.grant import EngineReport, Guarantee
from redoma.testing import CONTRACT, FakeHost, ScriptedAnswerer, check_engine, contract
from tests.contract.machine import usable


def test_a_script_answers_one_question_after_the_other(tmp_path: Path) -> None:
    person = ScriptedAnswerer(False, Choice.APPROVE, "ls")
    sandbox = Sandbox(str(tmp_path), ask=person, audit=str(tmp_path / ".audit"))
    said = [sandbox.confirm("git push --force origin main") for _ in range(4)]
    assert [each.choice for each in said] == [
        Choice.DENY,
        Choice.APPROVE,
        Choice.MODIFY,
        Choice.DENY,
    ]
    assert [each.approved for each in said] == [False, True, False, False]
    assert len(person.questions) == 4


def test_a_fake_host_reports_what_it_was_given() -> None:
    report = EngineReport(name="strong", guarantees=frozenset(Guarantee))
    host = FakeHost(report, controllers=frozenset({"cpu"}))
    assert (host.report("strong"), host.controllers()) == (report, {"cpu"})


@pytest.mark.parametrize("engine", ["bubblewrap", "forkserver"])
def test_an_engine_keeps_what_it_claims(engine: str) -> None:
    usable(engine)
    assert check_engine(engine) == {}


def test_a_contract_that_is_broken_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    usable("bubblewrap")
    monkeypatch.setitem(CONTRACT, Guarantee.WRITES_CONFINED, lambda *_: "it wrote")
    assert check_engine("bubblewrap") == {Guarantee.WRITES_CONFINED: "it wrote"}


def test_the_checks_tell_an_engine_that_holds_nothing(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "work").mkdir()
    sandbox = Sandbox(
        str(tmp_path / "work"),
        engine="direct",
        policy="isolation-only",
        audit=str(tmp_path / "audit"),
    )
    assert contract.processes_hidden(sandbox, str(outside)) == "this process was seen"
    assert contract.network_closed(sandbox, str(outside)) == "a listener on the host was reached"
