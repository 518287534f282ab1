"""Which variables a command gets, by its profile."""

from __future__ import annotations

from pathlib import Path

import pytest

from redoma.jail.engines.view import clean, passing
from redoma.jail.profiles.profile import load
from redoma.model.grant import Variables


@pytest.mark.parametrize(
    ("said", "meant"),
    [("", Variables.FEW), ("variables: few", Variables.FEW), ("variables: none", Variables.NONE)],
)
def test_a_profile_says_which_variables_pass(said: str, meant: Variables, tmp_path: Path) -> None:
    profile = tmp_path / "mine.yaml"
    profile.write_text(f"level: mine\n{said}\n")
    assert load(str(profile)).grant("/nonexistent").variables is meant


@pytest.mark.parametrize(
    ("variables", "term"), [(Variables.FEW, "of-the-caller"), (Variables.NONE, None)]
)
def test_none_of_the_callers_variables_pass_where_the_profile_says_so(
    variables: Variables, term: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "of-the-caller")
    made = clean(
        passing(variables),
        home="/home/ana",
        path="/bin",
        user="ana",
        given=(("OMP_NUM_THREADS", "1"),),
        visible=(),
    )
    assert (made.get("TERM"), made["OMP_NUM_THREADS"], made["HOME"]) == (term, "1", "/home/ana")
