"""Whatever is handed over as a component, reading it ends with an answer."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from redoma.judge.languages.component.validate import validate_component
from redoma.model.component import Validation

COMPONENT = '''\
"""Adds up what it is given."""
from __future__ import annotations
import math as m
from dataclasses import dataclass, field

@dataclass(frozen=True)
class Adder:
    parts: list[float] = field(default_factory=list)
    _security_signature = "modulo_autopoiesis_data_adder"
    _generated_in_sandbox = True

    def run(self, *, scale: float = 1.0) -> str:
        match [m.fsum(self.parts) * scale for _ in range(1)]:
            case [float() as total, *_]:
                return f"{type(total).__name__}: {total:>{8}}"
            case _:
                return "{} parts".format(len(self.parts))

if __name__ == "__main__":
    print(Adder(parts=[1.0, 2.5]).run(scale=2))
'''
PIECES = st.sampled_from(
    [*"()[]{}:,.=+*@;\n\t\\'\"#", "    ", *COMPONENT.split(), "eval", "__class__", "type", "lambda"]
)

pytestmark = pytest.mark.requirement("C2")


def complete(found: Validation) -> bool:
    places = [(problem.line >= 1, problem.column >= 1) for problem in found.problems]
    return all(line and column for line, column in places)


@given(st.text(max_size=200))
@example("\ud800")
@example("\x00")
@example("(" * 500)
@example("f'{" * 20)
@example("\\")
@settings(deadline=None, max_examples=150)
def test_any_text_has_an_answer(text: str) -> None:
    assert complete(validate_component(text))


@given(st.lists(PIECES, max_size=40).map(" ".join))
@settings(deadline=None, max_examples=200)
def test_any_row_of_pieces_has_an_answer(text: str) -> None:
    assert complete(validate_component(text))


@given(st.integers(0, len(COMPONENT)), st.text(max_size=8), st.integers(0, 20))
@settings(deadline=None, max_examples=200)
def test_a_component_cut_or_changed_anywhere_has_an_answer(at: int, new: str, gone: int) -> None:
    assert complete(validate_component(COMPONENT[:at] + new + COMPONENT[at + gone :]))


def test_the_component_itself_is_accepted() -> None:
    assert validate_component(COMPONENT) == Validation()
