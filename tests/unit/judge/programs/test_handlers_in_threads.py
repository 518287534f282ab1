"""Handlers load when a command first needs them, also where two threads need one at once."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from redoma.judge import programs
from redoma.judge.programs.cards import function_named

SLOW = """
import sys
sys.started.set()
sys.may_end.wait(20)
def handler():
    return "whole"
"""


def test_a_handler_that_another_thread_is_loading_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "slow_handler.py").write_text(SLOW)
    monkeypatch.setattr(programs, "__path__", [*programs.__path__, str(tmp_path)])
    started, may_end = threading.Event(), threading.Event()
    monkeypatch.setattr(sys, "started", started, raising=False)
    monkeypatch.setattr(sys, "may_end", may_end, raising=False)
    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(function_named, "slow_handler.handler")
        assert started.wait(20)
        other = pool.submit(function_named, "slow_handler.handler")
        threading.Timer(0.3, may_end.set).start()
        assert (one.result(30)(), other.result(30)()) == ("whole", "whole")
