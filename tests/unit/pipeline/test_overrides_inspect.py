"""Asking for requests to be read widens nothing: what is granted stays granted, and is read."""

from __future__ import annotations

import pytest

from redoma.jail.profiles.profile import load
from redoma.model.grant import NetworkMode
from redoma.model.network import Reach
from redoma.pipeline.overrides import Overrides
from redoma.pipeline.secrets import reach_of


@pytest.mark.parametrize(
    ("level", "network", "anyone"),
    [
        ("minimal", NetworkMode.GATED, True),
        ("standard", NetworkMode.CLOSED, False),
        ("maximum", NetworkMode.CLOSED, False),
    ],
)
def test_reading_alone_grants_no_host_that_was_not_granted(
    level: str, network: NetworkMode, anyone: bool
) -> None:
    given = Overrides(
        "",
        limits={},
        writable=(),
        readable=(),
        env=(),
        reach=reach_of((), (), (), inspect=True),
        direct=False,
        temporary=False,
        apply="",
        undo=True,
    )
    made = given.applied_to(load(level).grant("/nowhere"))
    assert (made.network, made.reach.anyone, made.reach.inspect) == (network, anyone, True)
    assert made.reach.hosts == ()


def test_nothing_asked_for_is_no_gate() -> None:
    assert reach_of((), (), (), inspect=False) is None
    assert reach_of((), (), (), inspect=True) == Reach(inspect=True)
