"""An error knows its code, its cause and the next step."""

from __future__ import annotations

import pytest

from redoma.model import errors
from redoma.model.errors import NoEngine, RedomaError, UnknownPack
from tests.unit.cli.judged import finding, judged


def every_kind(root: type[RedomaError] = RedomaError) -> list[type[RedomaError]]:
    below = [kind for child in root.__subclasses__() for kind in every_kind(child)]
    return [root, *below]


def test_every_kind_has_a_code_of_its_own() -> None:
    codes = [kind.code for kind in every_kind()]
    assert len(set(codes)) == len(codes)


def test_every_kind_is_drawn_in_the_tree() -> None:
    drawn = errors.__doc__ or ""
    ours = [kind for kind in every_kind() if not kind.__module__.startswith("redoma.dialects.")]
    assert [kind.__name__ for kind in ours if kind.__name__ not in drawn] == []


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (errors.UsageError, 2),
        (errors.PolicyError, 125),
        (errors.Refused, 126),
        (errors.IsolationError, 125),
        (errors.TimedOut, 124),
        (errors.LimitReached, 125),
        (errors.RecordError, 125),
    ],
)
def test_the_exit_status_belongs_to_the_kind(kind: type[RedomaError], status: int) -> None:
    assert kind.exit_status == status


def test_an_error_is_one_json_object() -> None:
    assert UnknownPack("x", ("default", "skill")).as_dict() == {
        "code": "unknown-pack",
        "message": "there is no rule pack 'x'",
        "hint": "packs: default, skill",
        "pack": "x",
        "known": ["default", "skill"],
    }


def test_no_engine_says_for_each_engine_why_not() -> None:
    error = NoEngine(required=["writes-confined"], tried={"bubblewrap": "no user namespaces"})
    assert str(error) == (
        "no engine here can enforce writes-confined\n  bubblewrap: no user namespaces"
    )
    assert error.hint == "redoma doctor"


def test_a_denial_says_why() -> None:
    error = errors.Denied(judged("rm -rf ~", finding((0, 8), reason="deletes your home")))
    assert str(error) == "deletes your home"
    assert error.as_dict()["because"] == ["deletes your home"]
