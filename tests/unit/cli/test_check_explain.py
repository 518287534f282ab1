"""`redoma check --explain`: every fact with the card, the code and the rule behind it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import redoma
from tests.unit.cli.running import run

JUDGE = Path(redoma.__file__).parent / "judge"


def explained(tmp_path: Path, command: str) -> list[dict[str, object]]:
    done = run("check", "--explain", "--json", command, cwd=tmp_path, HOME=str(tmp_path / "home"))
    facts = json.loads(done.out)["facts"]
    assert isinstance(facts, list)
    return facts


def line_at(place: object) -> str:
    path, _, number = str(place).rpartition(":")
    return (JUDGE / path).read_text("utf-8").splitlines()[int(number) - 1]


@pytest.mark.parametrize(
    ("command", "card", "handler", "rule"),
    [
        ("git push --force", "git:", "def git(", "- rule: force-push"),
        ("npx rimraf build", "rimraf:", "", "- rule: delete-file"),
        ("doas ls", "sudo:", "def sudo(", "- rule: privilege"),
    ],
)
def test_card_handler_and_rule_stand_where_it_says(
    tmp_path: Path, command: str, card: str, handler: str, rule: str
) -> None:
    facts = explained(tmp_path, command)
    cards = {line_at(each["card"]).partition(" ")[0] for each in facts if each["card"]}
    handlers = {line_at(each["handler"]) for each in facts if each["handler"]}
    rules = {line_at(each["at"]) for each in facts if each["at"]}
    assert card in cards
    assert not handler or any(line.startswith(handler) for line in handlers)
    assert rule in rules


def test_prose_names_the_facts_and_nothing_in_it_acts_on_a_terminal(tmp_path: Path) -> None:
    command = "rm -rf 'a\x1b[2J'"
    done = run("check", "--explain", command, cwd=tmp_path, HOME=str(tmp_path / "home"))
    assert "facts\n" in done.out
    assert re.search(r"rule   [a-z-]+: [a-z]+ \(rules/default/\S+\.yaml:\d+\)", done.out)
    assert "\x1b" not in done.out


def test_a_program_without_a_card_is_said_to_have_none(tmp_path: Path) -> None:
    done = run("check", "--explain", "frobnicate x", cwd=tmp_path, HOME=str(tmp_path / "home"))
    assert "none: frobnicate is not known" in done.out


def test_without_the_option_there_are_no_facts(tmp_path: Path) -> None:
    done = run("check", "--json", "ls", cwd=tmp_path, HOME=str(tmp_path / "home"))
    assert "facts" not in json.loads(done.out)
