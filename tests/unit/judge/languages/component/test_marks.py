"""A component carries its signature and its mark as values, not as words somewhere in it."""

from __future__ import annotations

import pytest

from redoma.judge.languages.component.validate import validate_component
from redoma.model.component import Problem, Validation

pytestmark = pytest.mark.requirement("C2")

NO_SIGNATURE = "the security signature modulo_autopoiesis_data_… is missing"
NO_MARK = "the mark _generated_in_sandbox = True is missing"
SIGNED = '_security_signature = "modulo_autopoiesis_data_adder"\n'
MARKED = "_generated_in_sandbox = True\n"


@pytest.mark.parametrize(
    "code",
    [
        SIGNED + MARKED,
        "class A:\n    _security_signature = 'modulo_autopoiesis_data_a'\n"
        "    _generated_in_sandbox = True\n",
        "class A:\n    def __init__(self):\n"
        "        self._security_signature = 'modulo_autopoiesis_data_a'\n"
        "        self._generated_in_sandbox = True\n",
        "class modulo_autopoiesis_data_a:\n    _generated_in_sandbox: bool = True\n",
        "def modulo_autopoiesis_data_a(): pass\n" + MARKED,
        "modulo_autopoiesis_data_a = {}\n" + MARKED,
    ],
)
def test_a_component_that_carries_both_is_accepted(code: str) -> None:
    assert validate_component(code) == Validation()


@pytest.mark.parametrize(
    "code",
    [
        MARKED,
        "# modulo_autopoiesis_data_a\n" + MARKED,
        '"""modulo_autopoiesis_data_a"""\n' + MARKED,
        "print('modulo_autopoiesis_data_a')\n" + MARKED,
        "x = ['modulo_autopoiesis_data_a']\n" + MARKED,
        "x = 'modulo_autopoiesis_data_'\n" + MARKED,
        "x = 'modulo_autopoiesis_' + 'data_a'\n" + MARKED,
        "x = 'my modulo_autopoiesis_data_a'\n" + MARKED,
        "print(modulo_autopoiesis_data_a=1)\n" + MARKED,
    ],
)
def test_a_signature_that_is_no_value_is_none(code: str) -> None:
    assert validate_component(code).problems == (Problem(line=1, column=1, reason=NO_SIGNATURE),)


@pytest.mark.parametrize(
    "code",
    [
        SIGNED,
        SIGNED + "# _generated_in_sandbox = True\n",
        SIGNED + "x = '_generated_in_sandbox = True'\n",
        SIGNED + "print(_generated_in_sandbox := True)\n",
        SIGNED + "dict(_generated_in_sandbox=True)\n",
    ],
)
def test_a_mark_that_is_no_assignment_is_none(code: str) -> None:
    assert validate_component(code).problems == (Problem(line=1, column=1, reason=NO_MARK),)


@pytest.mark.parametrize("value", ["False", "1", "'True'", "not False", "None"])
def test_a_mark_that_is_not_true_is_refused_where_it_stands(value: str) -> None:
    found = validate_component(f"{SIGNED}{MARKED}_generated_in_sandbox = {value}\n")
    reason = "the mark _generated_in_sandbox is not True"
    assert found.problems == (Problem(line=3, column=1, reason=reason),)


def test_an_empty_component_lacks_both() -> None:
    assert [problem.reason for problem in validate_component("").problems] == [
        NO_SIGNATURE,
        NO_MARK,
    ]
