"""`redoma run` as people and agents call it: statuses, streams, refusals; each in a cold process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.tree import PACKAGE

pytestmark = pytest.mark.both_users


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    place.mkdir()
    (place / "plain").write_text("not a program")
    return place


def redoma(
    workspace: Path, *arguments: str, given: bytes = b"", **more: str
) -> subprocess.CompletedProcess[bytes]:
    """Runs the command line in a workspace."""
    return subprocess.run(
        [sys.executable, "-I", "-S", "-X", "utf8", str(PACKAGE / "__main__.py"), *arguments],
        cwd=workspace,
        env={**os.environ, "SECRET_TOKEN": "s3cret", **more},
        input=given,
        capture_output=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["run", "true"], 0),
        (["run", "exit 7"], 7),
        (["run", "kill -TERM $$"], 143),
        (["run", "--", "/bin/sh", "-c", "exit 3"], 3),
        (["run", "--", "no-such-program"], 127),
        (["run", "no-such-program"], 127),
        (["run", "--", "./plain"], 126),
        (["run", "--timeout", "0.3", "sleep 30"], 124),
        (["run"], 2),
        (["run", ""], 2),
        (["run", "--"], 2),
        (["run", "ls", "-l"], 0),
        (["run", "ls -l", "--json"], 2),
        (["run", "--memory", "plenty", "true"], 2),
        (["run", "--memory", "-1", "true"], 2),
        (["run", "--level", "lax", "true"], 2),
        (["run", "--engine", "magic", "true"], 2),
        (["run", "--workspace", "/", "true"], 2),
        (["run", "--workspace", "/nowhere/at/all", "true"], 2),
        (["run", "--workspace", "plain", "true"], 2),
        (["run", "--allow-read", "/nowhere/at/all", "true"], 2),
        (["run", "--allow-write", "/etc", "true"], 2),
        (["run", "--env", "NOT_SET_ANYWHERE", "true"], 2),
        (["run", "--engine", "direct", "--trace-files", "true"], 2),
        (["run", "--help"], 0),
    ],
)
def test_the_status_says_how_it_ended(workspace: Path, arguments: list[str], status: int) -> None:
    done = redoma(workspace, *arguments)
    assert done.returncode == status, done.stderr
    assert b"Traceback" not in done.stderr


def test_a_home_directory_is_no_workspace(workspace: Path) -> None:
    done = redoma(workspace, "run", "true", HOME=str(workspace))
    assert done.returncode == 2
    assert b"your home directory" in done.stderr


def test_streams_are_the_commands_own_and_a_line_says_what_held_where_asked(
    workspace: Path,
) -> None:
    done = redoma(workspace, "run", "cat; echo oops >&2", given=b"typed\n")
    assert (done.stdout, done.stderr) == (b"typed\n", b"oops\n")
    done = redoma(workspace, "run", "-v", "cat; echo oops >&2", given=b"typed\n")
    assert done.stdout == b"typed\n"
    first, last, *more = done.stderr.splitlines()
    assert (first, more) == (b"oops", [])
    assert last.startswith(b"redoma: bubblewrap: writes confined, reads confined")


def test_a_command_sees_no_variable_that_was_not_given(workspace: Path) -> None:
    assert b"s3cret" not in redoma(workspace, "run", "-q", "env").stdout
    assert b"s3cret" in redoma(workspace, "run", "-q", "--env", "SECRET_TOKEN", "env").stdout


def test_json_tells_the_whole_story(workspace: Path) -> None:
    done = redoma(workspace, "run", "--json", "echo out; echo err >&2; exit 4")
    told = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (4, b"")
    assert {key: told[key] for key in ("outcome", "ok", "exit_code", "stdout", "stderr")} == {
        "outcome": "exited", "ok": False, "exit_code": 4, "stdout": "out\n", "stderr": "err\n",
    }  # fmt: skip
    assert set(told["enforcement"]["required"]) <= set(told["enforcement"]["held"])
    assert told["limited_by"]["temporary"] == "tmpfs size"


def test_output_past_its_cap_is_dropped_and_the_command_goes_on(workspace: Path) -> None:
    told = json.loads(
        redoma(workspace, "run", "--json", "--output", "1K", "seq 100000; echo end > f").stdout
    )
    assert (told["outcome"], told["truncated"], len(told["stdout"])) == ("exited", True, 1024)
    assert told["limits_reached"] == ["output"]
    assert (workspace / "f").read_text() == "end\n"


def test_what_is_written_belongs_to_the_workspaces_owner(workspace: Path) -> None:
    assert redoma(workspace, "run", "mkdir d && echo x > d/f").returncode == 0
    owner = workspace.stat()
    for made in (workspace / "d", workspace / "d/f"):
        assert (made.stat().st_uid, made.stat().st_gid) == (owner.st_uid, owner.st_gid)


def test_in_the_level_maximum_nothing_stays(workspace: Path) -> None:
    done = redoma(workspace, "run", "--level", "maximum", "echo x > f && cat f plain")
    assert done.stdout == b"x\nnot a program"
    assert os.listdir(workspace) == ["plain"]


def test_in_the_level_strict_there_is_one_process(workspace: Path) -> None:
    assert redoma(workspace, "run", "--level", "strict", "--", "/bin/echo", "x").stdout == b"x\n"
    done = redoma(workspace, "run", "-q", "--level", "strict", "/bin/echo a; /bin/echo b")
    assert b"a" not in done.stdout


def test_doctor_finds_this_machine_able(workspace: Path) -> None:
    done = redoma(workspace, "doctor", "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["healthy"]) == (0, True)
    assert told["levels"]["standard"] == "bubblewrap"
    assert "bubblewrap" in told["guarantees"]["writes-confined"]


def test_what_is_allowed_by_name_can_be_written_as_git_writes_it(
    workspace: Path, tmp_path: Path
) -> None:
    subprocess.run(["git", "init", "-q"], cwd=workspace, check=True)
    own = tmp_path / "config/redoma"
    own.mkdir(parents=True)
    (own / "sandbox.yaml").write_text('version: "1.0"\npolicy: isolation-only\n')
    config = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    order = "git config core.fsmonitor ./something && touch beside"
    refused = redoma(workspace, "run", "-q", order, **config)
    assert (refused.returncode, b"did not apply" in refused.stderr) == (0, True)
    assert "fsmonitor" not in (workspace / ".git/config").read_text()
    assert (workspace / "beside").exists()
    allowed = redoma(workspace, "run", "-q", "--allow-write", ".git/config", order, **config)
    assert (allowed.returncode, allowed.stderr) == (0, b"")
    assert "fsmonitor" in (workspace / ".git/config").read_text()


def test_the_files_that_were_opened_are_told_where_asked(workspace: Path) -> None:
    done = redoma(workspace, "run", "--json", "--trace-files", "cat plain")
    used = json.loads(done.stdout)["resources_used"]
    own = [path for path in used["files_accessed"] if path.startswith(str(workspace))]
    assert own == [str(workspace / "plain")]
    quiet = redoma(workspace, "run", "--json", "cat plain")
    assert json.loads(quiet.stdout)["resources_used"]["files_accessed"] is None
    lines = redoma(workspace, "run", "--trace-files", "cat plain").stderr.decode().splitlines()
    assert f"redoma: opened {workspace}/plain" in lines


@pytest.mark.parametrize(
    ("mode", "code"),
    [([], 0), (["--direct"], 0), (["--direct"], 3), (["--level", "minimal"], 3)],
)
def test_the_status_is_the_commands_own_where_a_file_was_taken_away(
    workspace: Path, tmp_path: Path, mode: list[str], code: int
) -> None:
    subprocess.run(["git", "init", "-q", "--template="], cwd=workspace, check=True)
    own = tmp_path / "config/redoma"
    own.mkdir(parents=True)
    (own / "sandbox.yaml").write_text('version: "1.0"\npolicy: isolation-only\n')
    config = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    order = f"mkdir -p .git/hooks; echo x > .git/hooks/post-merge; exit {code}"
    done = redoma(workspace, "run", *mode, order, **config)
    told = b"took away" if mode or code else b"did not apply"
    assert (done.returncode, told in done.stderr) == (code, True)
    assert b"changes applied" not in done.stderr
    (workspace / ".git/hooks").rmdir()
    done = redoma(workspace, "run", "--json", *mode, order, **config)
    told = json.loads(done.stdout)
    assert (told["exit_code"], done.returncode) == (code, code)
    assert [held["path"] for held in told["held_back"]] == [f"{workspace}/.git/hooks/post-merge"]
    assert not (workspace / ".git/hooks/post-merge").exists()


def test_where_all_is_held_back_nothing_is_said_to_be_applied(workspace: Path) -> None:
    done = redoma(workspace, "run", "echo import os > x.pth")
    said = done.stderr.decode()
    assert ("applied;" in said, "did not apply" in said, "--allow-write x.pth" in said) == (
        False,
        True,
        True,
    )
    told = json.loads(redoma(workspace, "run", "--json", "echo import os > y.pth").stdout)
    assert (told["applied"], (workspace / "y.pth").exists()) == (False, False)
    name = json.loads(redoma(workspace, "history", "--json").stdout)["history"][0]["id"]
    kept = redoma(workspace, "apply", name, "y.pth", "--allow-write", "y.pth")
    assert (kept.returncode, (workspace / "y.pth").exists()) == (0, True)
