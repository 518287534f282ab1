"""Choices and values are what Python programmers expect of them."""

from __future__ import annotations

import enum
import pickle
import shlex

import pytest

from redoma.model.decision import Risk
from redoma.model.request import Program
from redoma.model.result import Outcome


def test_choices_are_enums_of_the_standard_library() -> None:
    assert isinstance(Risk.SAFE, enum.Enum)
    assert isinstance(Outcome.EXITED, enum.Enum)


def test_a_member_comes_back_from_a_pickle_as_itself() -> None:
    for member in (*Risk, *Outcome):
        assert pickle.loads(pickle.dumps(member)) is member


@pytest.mark.parametrize(
    "argv",
    [("ls",), ("a b", "it's", ""), ("-x=y", "@%+=:,./-_"), ("é", "$HOME", "a\nb", "~", "\udcff")],
)
def test_a_command_line_is_shown_as_a_shell_would_read_it(argv: tuple[str, ...]) -> None:
    assert Program(argv=argv).shown == shlex.join(argv)
