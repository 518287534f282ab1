"""What a node says of an item after a crash: its end, that it was cut off, or that it never began."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from redoma.fleet.items import Delivery, ItemOutcome
from redoma.fleet.node_ledger import Fate, Fenced, NodeLedger, dismiss, recall, workers_of

DIES = """
import os
from redoma.fleet.items import Delivery, ItemOutcome
from redoma.fleet.node_ledger import NodeLedger
ledger = NodeLedger("job", "worker")
ledger.begin(1)
ledger.end(1, Delivery(number=1, outcome=ItemOutcome.FINISHED))
ledger.begin(2)
os._exit(9)
"""


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    yield


def died() -> None:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run([sys.executable, "-c", DIES], env=env, check=False).returncode == 9


def test_each_fate_is_told_from_the_others_when_a_worker_is_gone() -> None:
    died()
    found = recall("job", "worker", patience=5)
    assert [found.of(number) for number in (1, 2, 3)] == [
        Fate.ENDED,
        Fate.CUT_OFF,
        Fate.NEVER_BEGUN,
    ]
    assert found.ended[1].outcome is ItemOutcome.FINISHED
    assert recall("job", "another", patience=0).of(1) is Fate.NOT_KNOWN
    dismiss("job", "worker")
    assert workers_of("job") == ()


def test_what_was_marked_in_another_boot_says_only_what_ended(tmp_path: Path) -> None:
    died()
    (tmp_path / "redoma/fleet/job/worker/boot").write_text("another")
    found = recall("job", "worker", patience=5)
    assert [found.of(number) for number in (1, 2, 3)] == [
        Fate.ENDED,
        Fate.NOT_KNOWN,
        Fate.NOT_KNOWN,
    ]


def test_a_worker_that_was_given_up_begins_nothing_more(tmp_path: Path) -> None:
    ledger = NodeLedger("job", "worker")
    ledger.begin(1)
    (tmp_path / "redoma/fleet/job/worker/fence").touch()
    with pytest.raises(Fenced):
        ledger.begin(2)
    assert not (tmp_path / "redoma/fleet/job/worker/2.begun").exists()


def test_an_end_that_did_not_arrive_outlives_the_worker() -> None:
    ledger = NodeLedger("job", "worker")
    for number in (1, 2):
        ledger.begin(number)
        ledger.end(number, Delivery(number=number, outcome=ItemOutcome.FINISHED))
    ledger.forget((1,))
    ledger.close()
    assert set(recall("job", "worker", patience=5).ended) == {2}
