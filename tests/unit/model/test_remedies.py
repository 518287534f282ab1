"""Hints of one interface never speak of another's parameters."""

from __future__ import annotations

import ast
import re

import pytest

from redoma.cli import in_flags
from redoma.model.errors import UsageError
from redoma.model.remedies import Help, Interface, Remedy
from tests.house.tree import modules, tree_of

# What only one interface, or some, have in their words.
MARKS = {
    r"--[a-z]": set(),
    r"(?<!Action)Sandbox\(": {Interface.PYTHON},
    r"Call\(": {Interface.PYTHON},
    r"\b(allow_write|allow_read|inspect|engine|trace_files|cache_hosts|limits)=": {
        Interface.PYTHON
    },
    r"\ballow_hosts=": {Interface.PYTHON, Interface.TERMINAL},
    r"\blevel=": {Interface.PYTHON, Interface.TERMINAL},
    r"\btimeout=": {Interface.PYTHON, Interface.TERMINAL},
    r"\bcwd=": {Interface.TERMINAL},
    r"\b(allowed_\w+_paths|allowed_hosts=|max_execution_time|allow_network)": {Interface.TOOLS},
    r"\b(isolation_level|timeout_seconds|ActionSandbox)": {Interface.ACTIONS},
    r"\b(temp_dir|max_cpu_time_seconds)": {Interface.COMPONENTS},
}


@pytest.mark.parametrize("by", list(Interface), ids=lambda each: each.value)
def test_each_interface_speaks_its_own_words(by: Interface) -> None:
    for help_ in Help:
        said = Remedy(help=help_, about="Point").said(by)
        strange = [
            mark for mark, whose in MARKS.items() if re.search(mark, said) and by not in whose
        ]
        assert (said, strange) == (said, [])


def test_an_error_speaks_python_until_somebody_else_shows_it() -> None:
    error = UsageError("no", hint=Remedy(help=Help.TIME))
    assert error.hint == "timeout=SECONDS"
    assert in_flags(error).hint == "--timeout SECONDS"
    assert error.speak(Interface.ACTIONS).hint == "timeout_seconds: SECONDS"
    assert UsageError("no", hint="redoma doctor").speak(Interface.TOOLS).hint == "redoma doctor"


def test_no_error_below_the_entry_points_has_an_interfaces_words_in_its_hint() -> None:
    """A flag of `redoma …`, a command to type, is everybody's; a flag alone is one interface's."""
    parameter = re.compile("|".join(MARKS))
    strays = []
    for module, path in modules().items():
        if module.startswith(
            ("redoma.cli", "redoma.hook", "redoma.mcp", "redoma.dialects", "redoma.model.remedies")
        ):
            continue
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.keyword) and node.arg == "hint":
                said = ast.unparse(node.value)
                if parameter.search(said) and "redoma " not in said:
                    strays.append(f"{module}: {said}")
    assert strays == []
