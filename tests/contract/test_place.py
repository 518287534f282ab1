"""Where a command runs, what it finds there, and whose the things are that it makes."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from redoma import Access
from redoma.model.errors import EngineFailed
from tests.contract.machine import Machine

pytestmark = pytest.mark.both_users

ODD = [
    "with space", "ünï–cödé 漢字 🦊", "new\nline", "tab\tand\\backslash", "quo'te and \"two\"",
    "$HOME `id` $(id)", "-dash", "colon:comma,semi;", "percent%41", "*?[star]", "#hash",
]  # fmt: skip


def test_the_working_directory_is_the_workspace(machine: Machine) -> None:
    assert machine.sandbox().run("pwd -P").stdout.decode() == f"{machine.workspace}\n"


def test_a_directory_below_the_workspace_can_be_chosen(machine: Machine) -> None:
    below = machine.workspace / "below"
    below.mkdir()
    assert machine.sandbox().run("pwd -P", cwd=str(below)).stdout.decode() == f"{below}\n"


@pytest.mark.parametrize("name", ODD)
def test_a_workspace_may_have_any_name(machine: Machine, name: str) -> None:
    place = machine.base / name
    place.mkdir()
    (place / name).write_text("inside")
    try:
        result = machine.sandbox(workspace=place).run(["cat", f"./{name}"])
    except EngineFailed as error:
        # Podman without root takes a mount apart as a line of options.
        assert machine.engine == "container"
        assert str(error).startswith("Podman takes no name with")
        assert error.hint
        return
    assert (result.stdout, result.exit_code) == (b"inside", 0)


@pytest.mark.parametrize("name", [*ODD, os.fsdecode(b"not \xff utf-8")])
def test_an_argument_is_passed_as_it_is(machine: Machine, name: str) -> None:
    result = machine.sandbox().run(["printf", "%s", name])
    assert os.fsdecode(result.stdout) == name


def test_the_callers_environment_stays_outside(machine: Machine) -> None:
    env = machine.sandbox().run("env").stdout.decode()
    names = {line.partition("=")[0] for line in env.splitlines()}
    assert "of-the-caller" not in env
    assert names - {"PWD", "SHLVL", "_", "OLDPWD"} <= {
        *("COLORTERM", "HOME", "LANG", "LOGNAME", "PATH", "PYTHONDONTWRITEBYTECODE", "REDOMA"),
        *("SHELL", "TERM", "TMPDIR", "TZ", "USER", "NO_COLOR", "LINES", "COLUMNS", "LC_ALL"),
        *("LC_CTYPE", "LANGUAGE", "FORCE_COLOR"),
    }


def test_a_variable_given_by_name_is_there(machine: Machine) -> None:
    sandbox = machine.sandbox(access=Access(env={"GIVEN": "one = two\nthree"}))
    assert sandbox.run('printf %s "$GIVEN"').stdout == b"one = two\nthree"


def test_what_is_written_in_the_workspace_lands_and_is_its_owners(machine: Machine) -> None:
    result = machine.sandbox().run(
        "echo text > file; mkdir -p a/b; echo more > a/b/c; ln -s file link"
    )
    assert result.exit_code == 0
    made = {"file": "text\n", "a/b/c": "more\n", "link": "text\n"}
    assert {name: (machine.workspace / name).read_text() for name in made} == made
    owner = machine.workspace.stat()
    for path in machine.workspace.rglob("*"):
        status = path.lstat()
        assert (status.st_uid, status.st_gid) == (owner.st_uid, owner.st_gid), path
        assert not status.st_mode & (stat.S_ISUID | stat.S_ISGID)


@pytest.mark.root
def test_what_root_runs_in_someone_elses_workspace_stays_theirs(machine: Machine) -> None:
    if not machine.declared.confines:
        pytest.skip("direct confines nothing: the command is root")
    os.chown(machine.workspace, 12345, 23456)
    result = machine.sandbox().run("echo text > file && cat file")
    status = (machine.workspace / "file").stat()
    assert (result.stdout, status.st_uid, status.st_gid) == (b"text\n", 12345, 23456)


def test_what_was_there_can_be_changed_renamed_and_removed(machine: Machine) -> None:
    for name in ("change", "rename", "remove"):
        (machine.workspace / name).write_text(name)
    result = machine.sandbox().run("echo new >> change; mv rename renamed; rm remove")
    assert result.exit_code == 0
    left = {path.name: path.read_text() for path in machine.workspace.iterdir()}
    assert left == {"change": "changenew\n", "renamed": "rename"}


def test_a_second_run_finds_what_the_first_one_left(machine: Machine) -> None:
    sandbox = machine.sandbox()
    sandbox.run("echo kept > file")
    assert sandbox.run("cat file").stdout == b"kept\n"


def test_temporary_files_work_and_are_gone_afterwards(machine: Machine) -> None:
    if not machine.declared.confines:
        pytest.skip("direct confines nothing: /tmp is the machine's own")
    before = set(os.listdir("/tmp"))
    result = machine.sandbox().run('f=$(mktemp) && echo x > "$f" && cat "$f" && echo "$f"')
    text, path = result.stdout.decode().split()
    assert (text, Path(path).exists()) == ("x", False)
    assert {n for n in set(os.listdir("/tmp")) - before if n.startswith("redoma-")} == set()
