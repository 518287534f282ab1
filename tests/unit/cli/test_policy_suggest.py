"""`redoma policy suggest`: habits become an allow list, danger never does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from redoma.audit.log import AuditLog
from redoma.model.event import Event, Kind
from tests.unit.cli.running import Done, run

STRICT = 'version: "1.0"\npolicy: strict\n'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "home/.config/redoma").mkdir(parents=True)
    (tmp_path / "project").mkdir()
    own(tmp_path / "project").write_text(STRICT)
    own(tmp_path / "project").chmod(0o600)
    return tmp_path / "project"


def own(project: Path) -> Path:
    return project.parent / "home/.config/redoma/sandbox.yaml"


def suggest(project: Path, *arguments: str) -> Done:
    home = str(project.parent / "home")
    return run("policy", "suggest", *arguments, cwd=project, HOME=home)


def answered(project: Path, command: str, *choices: str, by: str = "ann", notes: str = "") -> None:
    with AuditLog(str(project.parent / "home/.local/state/redoma/audit")) as log:
        for number, choice in enumerate(choices):
            question = f"{command}-{by}-{notes}-{number}"
            said = {"question": question, "choice": choice, "approved_by": by, "notes": notes}
            log.append(
                Event(
                    kind=Kind.ASKED, run=question, command=command, details={"question": question}
                ),
                Event(kind=Kind.ANSWERED, run=question, details=said),
            )


def commands(done: Done) -> list[str]:
    return [each["command"] for each in json.loads(done.out)["suggestions"]]


def test_what_was_approved_again_and_again_is_proposed_as_a_diff(project: Path) -> None:
    answered(project, "make docs", *["approve"] * 3)
    said = suggest(project)
    assert said.status == 0
    assert '+  - "make docs"' in said.out
    assert own(project).read_text() == STRICT


def test_one_approval_and_one_that_was_only_remembered_teach_nothing(project: Path) -> None:
    answered(project, "make docs", "approve")
    answered(project, "make docs", *["approve"] * 5, notes="remembered: exact 1")
    answered(project, "make docs", *["approve"] * 5, by="nobody")
    assert commands(suggest(project, "--json")) == []


def test_a_single_no_outweighs_every_yes(project: Path) -> None:
    answered(project, "make docs", "approve", "approve", "approve", "deny")
    assert commands(suggest(project, "--json")) == []


@pytest.mark.parametrize(
    "command", ["git push --force", "sudo make docs", "rm -rf /", "make docs > /tmp/x", "make $X"]
)
def test_nothing_dangerous_and_nothing_that_is_not_plain_is_proposed(
    project: Path, command: str
) -> None:
    answered(project, command, *["approve"] * 9)
    assert commands(suggest(project, "--json")) == []


def test_applying_keeps_the_old_file_and_the_command_is_asked_no_more(project: Path) -> None:
    answered(project, "make docs", *["approve"] * 3)
    home = str(project.parent / "home")
    assert run("check", "make docs", cwd=project, HOME=home).status == 10
    done = suggest(project, "--apply", "--json")
    assert json.loads(done.out)["written"] is True
    assert Path(json.loads(done.out)["old"]).read_text() == STRICT
    assert own(project).stat().st_mode & 0o777 == 0o600
    assert run("check", "make docs", cwd=project, HOME=home).status == 0
    assert commands(suggest(project, "--json")) == []


def test_entries_join_a_list_that_is_there(project: Path) -> None:
    own(project).write_text(
        STRICT + "allowlist_extensions:\n- npm run lint\nlogging:\n  level: quiet\n"
    )
    answered(project, "make docs", *["approve"] * 3)
    assert suggest(project, "--apply").status == 0
    lines = own(project).read_text().splitlines()
    assert lines[2:5] == ["allowlist_extensions:", '- "make docs"', "- npm run lint"]


def test_a_list_on_one_line_is_left_alone_and_said(project: Path) -> None:
    own(project).write_text(STRICT + "allowlist_extensions: [npm run lint]\n")
    before = own(project).read_text()
    answered(project, "make docs", *["approve"] * 3)
    done = suggest(project, "--apply")
    assert done.status == 125
    assert "hint:" in done.err
    assert own(project).read_text() == before


def test_without_habits_it_says_so(project: Path) -> None:
    done = suggest(project)
    assert done.status == 0
    assert done.out == "nothing was approved so often that a rule would help\n"
