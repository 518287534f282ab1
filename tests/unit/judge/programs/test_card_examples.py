"""What a card says of its examples holds."""

from __future__ import annotations

import pytest
import yaml

from redoma.judge.programs.compiler import CardError, CardExample, compile_cards, examples
from redoma.pipeline.decisions.check import facts
from tests.unit.judge.programs.card_files import FOLDER

EXAMPLES = examples(
    {
        path.name: yaml.safe_load(path.read_text(encoding="utf-8"))
        for path in sorted(FOLDER.glob("*.yaml"))
    }
)
LONGEST_LINE = 160


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: f"{e.wanted} {e.does}: {e.command}")
def test_an_example_does_what_its_card_says(example: CardExample) -> None:
    assert example.holds(facts(example.command, cwd="/home/me/project", home="/home/me"))


def test_the_best_known_programs_have_examples() -> None:
    told = {example.command.split()[0] for example in EXAMPLES}
    assert told >= set(
        "rm cp dd tar find sed awk sudo bash git curl ssh docker kubectl aws".split()
    )


def test_an_example_of_an_unknown_action_is_refused() -> None:
    with pytest.raises(CardError, match="unknown action 'tickle'"):
        compile_cards({"a.yaml": {"x": {"match": {"tickle": ["x"]}}}})


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yaml")), ids=lambda path: path.name)
def test_a_card_has_lines_that_a_person_can_read(path: object) -> None:
    lines = (FOLDER / str(path)).read_text(encoding="utf-8").splitlines()
    assert [n for n, line in enumerate(lines, 1) if len(line) > LONGEST_LINE] == []
