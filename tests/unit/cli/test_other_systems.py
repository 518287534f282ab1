"""Where Redoma does not run, it says so, and nothing runs unenclosed."""

from __future__ import annotations

import sys

import pytest

from redoma.__main__ import main


@pytest.mark.parametrize("platform", ["darwin", "win32", "freebsd14"])
@pytest.mark.parametrize(
    ("arguments", "status"),
    [(["run", "touch x"], 125), (["check", "ls"], 125), (["hook", "claude-code"], 2)],
)
def test_another_system_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    platform: str,
    arguments: list[str],
    status: int,
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    assert main(arguments) == status
    said = capsys.readouterr()
    assert (said.out, platform in said.err, "hint:" in said.err) == ("", True, True)
