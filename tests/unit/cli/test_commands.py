"""The command line finds its commands, and says what is wrong without a traceback."""

from __future__ import annotations

import pytest

import redoma
from redoma import cli
from redoma.model.errors import NoEngine
from tests.unit.cli.running import run


def test_help_lists_every_command_on_standard_output() -> None:
    done = run("--help")
    assert (done.status, done.err) == (0, "")
    for name, (_, about) in cli.COMMANDS.items():
        assert f"  {name} " in done.out
        assert about in done.out


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_explains_itself(name: str) -> None:
    done = run(name, "--help")
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("usage: redoma " + name)


def test_the_version_is_the_packages() -> None:
    assert run("--version").out == f"redoma {redoma.__version__}\n"


def test_an_unknown_command_names_the_one_that_was_meant() -> None:
    done = run("chekc", "ls")
    assert (done.status, done.out) == (2, "")
    assert done.err == "redoma: there is no command 'chekc'\nhint: redoma check\n"


def test_no_command_is_a_usage_error() -> None:
    assert (run().status, run("xyzzy").status) == (2, 2)


def test_an_error_is_prose_with_a_hint_and_its_own_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: list[str]) -> int:
        raise NoEngine(required=["network-closed"], tried={"landlock": "kernel too old\x1b[2J"})

    monkeypatch.setattr(cli, "load", lambda _: fail)
    assert cli.main(["check"]) == 125
    assert capsys.readouterr().err == (
        "redoma: no engine here can enforce network-closed\n"
        "  landlock: kernel too old\\x1b[2J\n"
        "hint: redoma doctor\n"
    )


def test_a_mistake_of_ours_is_one_line_and_status_125(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: list[str]) -> int:
        raise ZeroDivisionError("by\nzero")

    monkeypatch.setattr(cli, "load", lambda _: fail)
    assert cli.main(["check"]) == 125
    assert capsys.readouterr() == (
        "",
        "redoma: could not do its work: ZeroDivisionError: by\\nzero\n",
    )
