"""Profiles are read strictly, and what was kept of them is never older than the file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from redoma.jail.profiles.profile import LEVELS, load
from redoma.model.errors import PolicySyntax, UnknownKey, UsageError
from redoma.model.grant import Guarantee, Home, NetworkMode, Syscalls, Writes
from redoma.model.value import replace


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


def test_a_profile_extends_a_level_and_says_only_what_differs(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("extends: standard\nlimits: {memory: 1G}\n")
    mine, standard = load(str(file)), load("standard")
    assert (mine.writes, mine.apply, mine.home, mine.network, mine.require) == (
        standard.writes,
        standard.apply,
        standard.home,
        standard.network,
        standard.require,
    )
    assert mine.limits == replace(standard.limits, memory=1 << 30)


def test_what_a_profile_with_a_levels_name_leaves_out_is_the_levels_own(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("level: strict\nlimits: {processes: 20}\n")
    mine, strict = load(str(file)), load("strict")
    assert mine.limits == replace(strict.limits, processes=20)
    assert (mine.require, mine.apply, mine.network_grants) == (strict.require, strict.apply, False)


def test_a_profile_extends_another_profile(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text("extends: strict\nlimits: {processes: 20}\n")
    (tmp_path / "mine.yaml").write_text("extends: base.yaml\nlimits: {memory: 1G}\n")
    limits = load(str(tmp_path / "mine.yaml")).limits
    assert (limits.processes, limits.memory, limits.wall_seconds) == (20, 1 << 30, 60)


def test_a_profile_that_opens_the_network_is_not_required_to_close_it(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("extends: standard\nnetwork: open\nworkspace: direct\n")
    required = load(str(file)).require
    assert Guarantee.NETWORK_CLOSED not in required
    assert Guarantee.READS_CONFINED in required


@pytest.mark.parametrize("base", ["mine.yaml", "other.yaml", "missing.yaml", "nolevel"])
def test_a_profile_that_extends_itself_or_nothing_is_an_error(tmp_path: Path, base: str) -> None:
    (tmp_path / "other.yaml").write_text("extends: mine.yaml\n")
    (tmp_path / "mine.yaml").write_text(f"extends: {base}\n")
    with pytest.raises(UsageError):
        load(str(tmp_path / "mine.yaml"))
