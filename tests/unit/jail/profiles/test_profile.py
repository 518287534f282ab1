"""Profiles are read strictly, and what was kept of them is never older than the file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from redoma.jail.profiles.profile import LEVELS, load
from redoma.model.errors import PolicySyntax, UnknownKey, UsageError
from redoma.model.grant import Guarantee, Home, NetworkMode, Syscalls, Writes


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.requirement("K7")
@pytest.mark.parametrize("level", LEVELS)
def test_a_shipped_level_requires_what_every_run_must_have(level: str) -> None:
    always = {
        Guarantee.WRITES_CONFINED,
        Guarantee.READS_CONFINED,
        Guarantee.NO_NEW_PRIVILEGES,
        Guarantee.TREE_KILLED,
    }
    assert always <= load(level).require


@pytest.mark.requirement("K7")
def test_the_levels_differ_in_what_they_are_for() -> None:
    found = {
        level: (load(level).writes, load(level).home, load(level).network, load(level).syscalls)
        for level in LEVELS
    }
    assert found == {
        "minimal": (Writes.DIRECT, Home.TOOLCHAINS, NetworkMode.OPEN, Syscalls.USUAL),
        "standard": (Writes.LAYER, Home.TOOLCHAINS, NetworkMode.CLOSED, Syscalls.USUAL),
        "strict": (Writes.LAYER, Home.NOTHING, NetworkMode.CLOSED, Syscalls.USUAL),
        "maximum": (Writes.MEMORY, Home.NOTHING, NetworkMode.CLOSED, Syscalls.STRICTEST),
    }
    assert load("strict").limits.processes == 1


def test_what_was_kept_is_the_same_and_not_used_after_a_change(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("level: own\nlimits:\n  memory: 64M\n")
    assert load(str(own)) == load(str(own))
    own.write_text("level: own\nlimits:\n  memory: 32M\n")
    os.utime(own, ns=(1, 1))
    assert load(str(own)).limits.memory == 32 << 20


@pytest.mark.parametrize(
    ("text", "error", "place"),
    [
        ("levle: x\n", UnknownKey, ":1:1"),
        ("level: x\nlimits:\n  memroy: 1G\n", UnknownKey, ":3:3"),
        ("limits:\n  memory: much\n", PolicySyntax, ":2:11"),
        ("network: maybe\n", PolicySyntax, ":1:10"),
        ("require: [writes-confined, fun]\n", PolicySyntax, ":1:28"),
        ("require: all\n", PolicySyntax, ":1:10"),
        ("- a\n- b\n", PolicySyntax, ""),
        ("level: [\n", PolicySyntax, ":2:1"),
    ],
)
def test_a_wrong_profile_is_an_error_with_its_place(
    tmp_path: Path, text: str, error: type[Exception], place: str
) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(text)
    with pytest.raises(error, match=f"own.yaml{place}"):
        load(str(own))


def test_a_level_that_does_not_exist_names_those_that_do() -> None:
    with pytest.raises(UsageError) as raised:
        load("paranoid")
    assert raised.value.hint == "levels: minimal, standard, strict, maximum"
