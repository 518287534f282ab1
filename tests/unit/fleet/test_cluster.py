"""What is said before there is a cluster: without the extra, and while one is started here."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import pytest

from redoma import RedomaError
from redoma.cli import main
from redoma.fleet import Fleet
from redoma.fleet.cluster import quiet


def test_without_ray_the_answer_is_the_command_to_type(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs").write_text('"true"\n')
    with pytest.raises(RedomaError, match="a fleet needs ray") as refused:
        Fleet()
    assert refused.value.hint == "pip install 'redoma[fleet]'"
    for line in (["nodes"], ["run", "jobs", "-o", "results"]):
        assert main(["fleet", *line]) != 0
        said = capsys.readouterr().err
        assert "a fleet needs ray" in said and "hint: pip install 'redoma[fleet]'" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["jobs"]


def test_what_ray_says_to_nobody_is_not_said_and_its_level_is_what_it_was(
    capsys: pytest.CaptureFixture[str],
) -> None:
    theirs = logging.getLogger("ray.some.module")
    before = logging.getLogger("ray").level
    with quiet():
        assert not theirs.isEnabledFor(logging.WARNING) and theirs.isEnabledFor(logging.ERROR)
    assert logging.getLogger("ray").level == before
