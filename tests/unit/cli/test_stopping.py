"""Ctrl-C while Redoma works after a command: one line that is true, and nothing half-way."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from redoma.jail.overlay.locks import locked
from tests.unit.cli.previewing import START, Project


@pytest.fixture(autouse=True)
def heard() -> Iterator[None]:
    """Ctrl-C comes through, also where whoever started these tests had it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = Project(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", made.env["XDG_STATE_HOME"])
    return made


@pytest.fixture
def busy(project: Project) -> Iterator[None]:
    """Somebody else works in the workspace, so that who wants to apply waits."""
    status = os.stat(project.root)
    project.call("history")
    with locked(str(project.root), (status.st_dev, status.st_ino)):
        yield


def waited_for(found: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not found():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    time.sleep(0.3)


def stopped(
    project: Project, number: int, *words: str, when: Callable[[], object]
) -> tuple[int, str]:
    """How `redoma` ended that got a signal, and what it said."""
    going = subprocess.Popen(
        [*START, *words],
        cwd=project.root,
        env=project.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    waited_for(when)
    going.send_signal(number)
    _, said = going.communicate(timeout=60)
    assert "Traceback" not in said
    return going.returncode, said


def entries(project: Project) -> list[Path]:
    return list(Path(project.env["XDG_STATE_HOME"]).glob("redoma/changes/*/entry.json"))


@pytest.mark.usefixtures("busy")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_stopped_before_it_is_applied_says_how_to_go_on(
    project: Project, number: int
) -> None:
    status, said = stopped(project, number, "run", "echo 1 > new", when=lambda: entries(project))
    (entry,) = project.json("history")["history"]
    assert status == 128 + number
    assert said == (
        f"redoma: stopped: the workspace is as it was; redoma apply {entry['id']} keeps what the"
        " command wrote\n"
    )
    assert (entry["standing"], os.listdir(project.root)) == ("held", [])
    rows, _ = project.call("audit", "list")
    assert "apply-failed" in rows


@pytest.mark.parametrize("words", [("apply",), ("undo",)])
def test_an_apply_or_undo_that_is_stopped_says_that_nothing_was_changed(
    project: Project, words: tuple[str, ...]
) -> None:
    name = project.preview("echo 1 > new")
    if words == ("undo",):
        project.call("apply", name)
    before = os.listdir(project.root)
    status = os.stat(project.root)
    with locked(str(project.root), (status.st_dev, status.st_ino)):
        begun = f"{words[0]}-starting"
        ended, said = stopped(
            project,
            signal.SIGTERM,
            *words,
            name,
            when=lambda: project.call("audit", "list")[0].count(begun),
        )
    assert (ended, said) == (143, f"redoma: stopped: nothing of {name} was changed\n")
    assert os.listdir(project.root) == before
