"""What `variables.yaml` says of variables holds for its examples, and every entry has a reason."""

from __future__ import annotations

import pytest

import redoma
from redoma.judge.programs.compiler import CardError, compile_own_cards, compile_variables
from redoma.model.decision import Risk
from redoma.pipeline.decisions.knowledge import knowledge, shipped_cards, shipped_variables
from tests.unit.judge.judged import risk

ENTRIES = [entry for entries in shipped_variables().values() for entry in entries]
MATCHING = [command for entry in ENTRIES for command in entry.get("match", ())]
OTHERS = [command for entry in ENTRIES for command in entry.get("not_match", ())]


@pytest.mark.parametrize("command", [c for c in MATCHING if not c.startswith("MANOPT")])
def test_a_variable_that_makes_a_program_load_code_is_asked_about(command: str) -> None:
    assert risk(command) >= Risk.DANGEROUS


@pytest.mark.parametrize("command", OTHERS)
def test_an_ordinary_value_of_it_disturbs_nobody(command: str) -> None:
    assert risk(command) < Risk.DANGEROUS


def test_there_are_examples_of_both() -> None:
    assert len(MATCHING) > 30
    assert len(OTHERS) > 20


def test_options_by_variable_are_judged_as_words() -> None:
    assert risk("MANOPT='-P x' man ls") == risk("man ls -P x")
    assert risk("TF_CLI_ARGS_apply=-auto-approve terraform apply") == risk(
        "terraform apply -auto-approve"
    )


def test_every_entry_has_a_reason_and_no_name_stands_twice() -> None:
    assert all(len(entry["reason"]) > 10 for entry in ENTRIES)
    names = [name for entry in ENTRIES for name in entry["names"].split()]
    assert len(names) == len(set(names)) > 300


@pytest.mark.parametrize(
    "entry",
    [
        {"kind": "loads", "names": "X"},
        {"kind": "tickles", "names": "X", "reason": "none"},
        {"kind": "options", "names": "X", "reason": "marks are missing"},
        {"kind": "loads", "names": "X", "reason": "a key", "marcks": ["y"]},
        {"kind": "loads", "names": "X X", "reason": "twice"},
    ],
)
def test_an_entry_that_says_nothing_is_refused(entry: dict[str, str]) -> None:
    with pytest.raises(CardError):
        compile_variables({"a.yaml": [entry]})


def test_a_card_of_ones_own_cannot_stand_for_a_variable() -> None:
    # Attack: a project's card named $LD_PRELOAD says that the variable means nothing.
    with pytest.raises(CardError, match="no \\$ before it"):
        compile_own_cards({"a.yaml": {"$LD_PRELOAD": "read"}}, shipped_cards())


def test_a_program_cannot_be_named_like_a_variable() -> None:
    assert "$LD_PRELOAD" not in knowledge()
    assert knowledge().variable("LD_PRELOAD")["kind"] == "loads"
    assert knowledge().variable("CARGO_TARGET_ARM_RUNNER")["kind"] == "loads"
    assert knowledge().variable("CARGO_TARGET_DIR") is None


@pytest.mark.parametrize("text", ["select * in a; do :; done", "mapfile '*'", "read '*'"])
def test_a_variable_that_is_named_by_a_star_is_no_table_of_patterns(text: str) -> None:
    assert redoma.check(text).assessment.findings is not None
