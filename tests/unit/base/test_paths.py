"""What lies below what, and where a user's directories are."""

from __future__ import annotations

from pathlib import Path

import pytest

from redoma.base.paths import cache_home, is_below, is_within, xdg_directory


@pytest.mark.parametrize(
    ("path", "root", "below", "within"),
    [
        ("/work/a", "/work", True, True),
        ("/work/a", "/work/", True, True),
        ("/work", "/work", False, True),
        ("/workshop", "/work", False, False),
        ("/", "/work", False, False),
        ("/work", "/", True, True),
        ("/", "/", False, True),
        ("a/b", "a", True, True),
    ],
)
def test_a_path_lies_below_a_directory_by_whole_names(
    path: str, root: str, below: bool, within: bool
) -> None:
    assert (is_below(path, root), is_within(path, root)) == (below, within)


def test_a_variable_counts_only_where_it_is_absolute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.setenv("XDG_STATE_HOME", "/elsewhere/")
    assert xdg_directory("XDG_STATE_HOME", ".local/state") == "/elsewhere"
    monkeypatch.setenv("XDG_STATE_HOME", "elsewhere")
    assert xdg_directory("XDG_STATE_HOME", ".local/state") == "/home/someone/.local/state"
    monkeypatch.setenv("HOME", "nowhere")
    assert xdg_directory("XDG_STATE_HOME", ".local/state") == ""


def test_a_cache_in_a_project_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "project/.git").mkdir(parents=True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "project/cache"))
    assert cache_home() == ""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert cache_home() == str(tmp_path / "cache")
    monkeypatch.chdir(tmp_path)
    assert cache_home() == ""
