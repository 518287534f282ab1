"""A job on disk: each result once, whatever was cut off, and only the same job goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from redoma import RedomaError, UsageError
from redoma.fleet.command import duration, progress_text
from redoma.fleet.items import FleetItem, ItemOutcome, ItemResult
from redoma.fleet.job_journal import JobFiles, JobJournal, items, read_item
from redoma.fleet.job_run import JobProgress
from redoma.i18n import phrased

GUIDE = Path(__file__).resolve().parents[3] / "docs/guides/fleet.md"


def ended(number: int) -> ItemResult:
    return ItemResult(number=number, outcome=ItemOutcome.REFUSED, why="no")


def opened(place: Path, settings: str = "a") -> JobJournal:
    return JobJournal(JobFiles(str(place / "results")), str(place / "jobs"), settings)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "jobs").write_text(
        '"echo 1"\n\n["echo", "2"]\n{"command": "x", "stdin": "in"}\nno\n'
    )
    return tmp_path


def test_a_job_goes_on_behind_what_has_a_result_and_takes_a_cut_line_back(place: Path) -> None:
    journal = opened(place)
    journal.sending(0, "node-a", forced=True)
    journal.sending(2, "node-b", forced=False)
    journal.write([ended(0)])
    name = journal.job
    journal.close()
    whole = (place / "results").read_bytes()
    (place / "results").write_bytes(whole + b'{"item": 2, "ok": tr')
    again = opened(place)
    assert again.resumed and again.job == name and (again.total, again.done) == (4, 1)
    assert again.has(0) and not again.has(2) and again.sent == {2: "node-b"}
    again.write([ended(0), ended(2)])
    again.close()
    lines = (place / "results").read_bytes()
    assert lines.startswith(whole)
    assert [json.loads(line)["item"] for line in lines.splitlines()] == [0, 2]


def test_two_processes_do_not_work_on_one_job(place: Path) -> None:
    journal = opened(place)
    with pytest.raises(RedomaError, match="another process"):
        opened(place)
    journal.close()


def test_other_items_options_or_workspaces_are_another_job(place: Path) -> None:
    journal = opened(place)
    journal.same_workspace("one")
    with pytest.raises(UsageError, match="workspace is not the one"):
        journal.same_workspace("other")
    journal.close()
    with pytest.raises(UsageError, match="other options"):
        opened(place, "b")
    (place / "jobs").write_text('"echo 2"\n')
    with pytest.raises(UsageError, match="other jobs"):
        opened(place)


def test_a_file_of_results_that_is_nobodys_is_left_alone(place: Path) -> None:
    (place / "results").write_text("mine\n")
    with pytest.raises(UsageError, match="not of a job"):
        opened(place)
    assert (place / "results").read_text() == "mine\n"


def test_a_line_is_an_item_or_says_what_is_wrong_with_it(place: Path) -> None:
    found = dict(items(str(place / "jobs")))
    assert found[0] == FleetItem(command="echo 1")
    assert found[1] == FleetItem(command=("echo", "2"))
    assert found[2] == FleetItem(command="x", stdin=b"in")
    assert isinstance(found[3], str)
    for line in (b'{"command": []}', b'{"x": 1}', b'{"command": "a", "timeout": -1}', b"7", b"{"):
        assert isinstance(read_item(line), str)


def test_the_progress_says_done_running_failed_rate_and_how_long_it_will_take() -> None:
    now = JobProgress(total=100, done=40, failed=2, running=4, rate=0.5)
    said = "40/100 done, 4 running, 2 failed, 0.5/s, 2m00s left"
    assert progress_text(now) == said and phrased(progress_text(now)) == said
    assert [duration(each) for each in (5.5, 3700)] == ["5s", "1h01m"]


def test_the_manifests_of_the_guide_are_yaml_without_privileges() -> None:
    fences = [part.split("```")[0] for part in GUIDE.read_text().split("```yaml\n")[1:]]
    found = [yaml.safe_load(fence) for fence in fences]
    assert [each["kind"] for each in found] == ["RayCluster", "SandboxTemplate"]
    workers = found[0]["spec"]["workerGroupSpecs"][0]["template"]["spec"]
    for pod in (workers, found[1]["spec"]["podTemplate"]["spec"]):
        assert pod["hostUsers"] is False
        held = pod["containers"][0]["securityContext"]
        assert held["privileged"] is False and held["allowPrivilegeEscalation"] is False
        assert held["capabilities"] == {"drop": ["ALL"]} and held["runAsNonRoot"] is True
