"""Every rule is proved by its own examples, and a broken file is refused with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import redoma.judge.rules
from redoma.judge.programs.compiler import CardError, compile_cards
from redoma.judge.rules.compile import RuleError, compile_pack, prove
from redoma.model.decision import Risk
from redoma.model.errors import UnknownPack
from redoma.pipeline.decisions.knowledge import PACKS, documents, pack
from tests.unit.judge.judged import decision

HERE = Path(redoma.judge.rules.__file__).parent
HEAD: dict[str, Any] = {"verdicts": {risk.label: "allow" for risk in Risk}}


def files_of(name: str) -> dict[str, Any]:
    read = documents({path.name: str(path) for path in sorted((HERE / name).glob("*.yaml"))})
    read.pop("pack.yaml")
    return read


@pytest.mark.parametrize("name", PACKS)
def test_every_example_of_a_pack_holds(name: str) -> None:
    assert prove(files_of(name), lambda c: decision(c, name).assessment) == []


@pytest.mark.parametrize("name", PACKS)
def test_a_pack_has_a_verdict_for_every_level(name: str) -> None:
    verdicts = [pack(name).verdict(risk) for risk in Risk]
    assert verdicts == sorted(verdicts)
    assert verdicts[-1].label == "deny"


def test_an_unknown_pack_names_those_that_exist() -> None:
    with pytest.raises(UnknownPack, match="nonsense") as raised:
        pack("nonsense")
    assert raised.value.hint == "packs: default, terminal, skill"


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"rule": "x", "effect": "reads", "risk": "safe", "reason": "", "colour": "red"}, "colour"),
        ({"rule": "x", "risk": "safe", "reason": ""}, "effect"),
        ({"rule": "x", "effect": "reads", "risk": "spicy", "reason": ""}, "SPICY"),
        ({"rule": "x", "effect": "smells", "risk": "safe", "reason": ""}, "smells"),
        ({"rule": "x", "effect": "reads", "place": "moon", "risk": "safe", "reason": ""}, "moon"),
    ],
)
def test_a_rule_nobody_could_follow_is_an_error(rule: dict[str, Any], message: str) -> None:
    with pytest.raises((RuleError, KeyError, ValueError), match=message):
        compile_pack("x", HEAD, {"file.yaml": [rule]})


def test_two_rules_of_one_name_are_an_error() -> None:
    rule = {"rule": "x", "effect": "reads", "risk": "safe", "reason": ""}
    with pytest.raises(RuleError, match="taken"):
        compile_pack("x", HEAD, {"file.yaml": [rule, rule]})


def test_a_false_example_is_found() -> None:
    rule = {"rule": "never", "match": ["ls"], "not_match": ["ls"]}
    assert prove({"file.yaml": [rule]}, lambda c: decision(c).assessment) == [
        "file.yaml: never should match 'ls' ([])"
    ]


@pytest.mark.parametrize(
    ("card", "message"),
    [
        ({"colour": "red"}, "colour"),
        ({"actions": {"dance": "x"}}, "dance"),
        ({"flags": {"-x": "explode"}}, "explode"),
        ({"operands": "eat"}, "eat"),
        ({"bare": "sing"}, "sing"),
    ],
)
def test_a_card_nobody_could_follow_is_an_error(card: dict[str, Any], message: str) -> None:
    with pytest.raises(CardError, match=message):
        compile_cards({"file.yaml": {"program": card}})


def test_one_program_has_one_card() -> None:
    with pytest.raises(CardError, match="already"):
        compile_cards({"a.yaml": {"x": {}}, "b.yaml": {"y": {"also": "x"}}})
