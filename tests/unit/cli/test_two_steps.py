"""Where nobody is at a terminal: asked, answered elsewhere, and run once on the second try."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import time
from pathlib import Path

import pytest

from tests.unit.cli.previewing import START, Project

ASKS = "touch ran; git push --force origin topic || true"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_an_approval_given_elsewhere_is_for_exactly_one_run(project: Project) -> None:
    _, said = project.call("run", ASKS, status=126)
    name = re.search(r"redoma answer (\S+) approve", said)
    assert name is not None, said
    waiting = json.loads(project.call("pending", "--json")[0])
    assert [one["confirmation_request"]["command"] for one in waiting["pending"]] == [ASKS]
    project.call("answer", name[1], "approve")
    project.call("run", f"{ASKS}; true", status=126)  # another command is another question
    project.call("run", ASKS)
    assert (project.root / "ran").exists()
    project.call("run", ASKS, status=126)


def test_nobody_is_asked_where_nobody_is_wanted(project: Project) -> None:
    _, said = project.call("run", "--ask", "nobody", ASKS, status=126)
    assert "nobody approved this" in said
    assert json.loads(project.call("pending", "--json")[0])["pending"] == []


def test_a_preview_of_it_is_applied_only_with_an_answer(project: Project) -> None:
    name = project.preview(ASKS)
    _, said = project.call("apply", name, status=126)
    asked = re.search(r"redoma answer (\S+) approve", said)
    assert asked is not None, said
    assert not (project.root / "ran").exists()
    project.call("answer", asked[1], "approve")
    project.call("apply", name)
    assert (project.root / "ran").exists()


def test_a_person_at_the_terminal_sees_a_card_and_answers_with_one_key(project: Project) -> None:
    child, person = pty.fork()
    if not child:
        os.chdir(project.root)
        os.execve(START[0], [*START, "run", ASKS], {**project.env, "TERM": "xterm"})
    shown = b""
    answered = False
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if not select.select([person], [], [], 0.2)[0]:
            if b"approve" in shown and not answered:
                time.sleep(0.6)  # what is typed before the card has settled does not count
                os.write(person, b"a")
                answered = True
            continue
        try:
            data = os.read(person, 65536)
        except OSError:
            break
        if not data:
            break
        shown += data
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert ended == 0, shown.decode(errors="replace")
    assert b"force-push" in shown or b"replaces history" in shown
    assert (project.root / "ran").exists()
    os.close(person)


def test_what_is_piped_in_cannot_be_approved_unseen(project: Project) -> None:
    done = subprocess.run(
        [*START, "run", f"cat > got; {ASKS}"],
        cwd=project.root,
        env=project.env,
        input=b"who knows what",
        capture_output=True,
        check=False,
    )
    assert (done.returncode, b"its input is not known" in done.stderr) == (126, True)
    assert json.loads(project.call("pending", "--json")[0])["pending"] == []


def test_a_check_is_written_down_without_its_secrets(project: Project) -> None:
    token = "ghp_" + "a1B2c3D4e5F6" * 3
    project.call("check", f"curl -H 'Authorization: token {token}' https://x.example", status=None)
    rows = project.call("audit", "list", "--json")[0]
    assert ("judged" in rows, token in rows) == (True, False)
