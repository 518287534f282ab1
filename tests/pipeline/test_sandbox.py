"""What a sandbox refuses before anything is built."""

from __future__ import annotations

from pathlib import Path

import pytest

import redoma
from redoma import Access, Sandbox
from redoma.model.errors import UsageError


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    return Sandbox(str(tmp_path))


@pytest.mark.parametrize("command", ["", [], [""], "true\0--bind", ["true", "a\0b"]])
def test_a_command_that_cannot_be_one_is_a_usage_error(
    sandbox: Sandbox, command: str | list[str]
) -> None:
    with pytest.raises(UsageError):
        sandbox.run(command)


def test_a_variable_cannot_carry_an_option_of_the_launcher(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="NUL"):
        Sandbox(str(tmp_path), access=Access(env={"A": "x\0--bind\0/\0/"}))


def test_a_directory_outside_the_view_is_an_error_and_not_a_run(sandbox: Sandbox) -> None:
    from redoma.model.errors import EngineFailed

    with pytest.raises(EngineFailed):
        sandbox.run("true", cwd="/nowhere/at/all")


def test_a_single_file_may_be_given_to_be_read(tmp_path: Path) -> None:
    given = str(Path(redoma.__file__).resolve())
    sandbox = Sandbox(str(tmp_path), access=Access(read=[given]), policy="isolation-only")
    result = sandbox.run(["head", "-c", "3", given])
    assert (result.stdout, result.stderr) == (b'"""', b"")
