"""Operators see what Redoma does when they ask for it, and nobody pays for it otherwise."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator

import pytest

from redoma.base.log import configure, level_of, logger
from tests.house.tree import PACKAGE


@pytest.fixture
def as_it_was() -> Iterator[None]:
    ours = logging.getLogger("redoma")
    before = (ours.handlers[:], ours.propagate, ours.level)
    yield
    ours.handlers[:], ours.propagate = before[:2]
    ours.setLevel(before[2])


def test_a_program_that_uses_logging_gets_the_lines(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("DEBUG", logger="redoma"):
        logger("redoma.jail.example").info("engine %s: %d", "bubblewrap", 7)
    assert caplog.record_tuples == [("redoma.jail.example", logging.INFO, "engine bubblewrap: 7")]


def test_a_line_is_cleaned_before_it_is_printed(
    as_it_was: None, capsys: pytest.CaptureFixture[str]
) -> None:
    configure("info", lambda text: text.replace("hunter2", "[REDACTED]"))
    logger("redoma.x").info("it is %s", "hunter2")
    logger("redoma.x").debug("not this")
    assert capsys.readouterr().err == "INFO redoma.x: it is [REDACTED]\n"


def test_a_line_that_cannot_be_cleaned_is_not_printed(
    as_it_was: None, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(text: str) -> str:
        raise ValueError(text)

    configure("info", broken)
    logger("redoma.x").warning("hunter2")
    assert capsys.readouterr().err == "redoma: a line could not be cleaned: ValueError\n"


@pytest.mark.parametrize(
    ("arguments", "variable", "level", "rest"),
    [
        (["run", "-v"], "", "", ["run", "-v"]),
        (["-v", "run"], "", "info", ["run"]),
        (["-vv", "run"], "", "debug", ["run"]),
        (["-v", "run"], "debug", "debug", ["run"]),
        (["run"], "DEBUG", "debug", ["run"]),
        (["run"], "loud", "info", ["run"]),
        (["-v"], "", "info", []),
    ],
)
def test_the_level_is_that_of_the_command_line_or_of_the_variable(
    arguments: list[str], variable: str, level: str, rest: list[str]
) -> None:
    assert level_of(arguments, variable) == (level, rest)


def test_a_line_does_not_load_logging() -> None:
    code = (
        f"import sys; sys.path.append({str(PACKAGE.parent)!r})\n"
        "from redoma.base.log import logger\n"
        "logger('redoma.x').warning('nobody hears this')\n"
        "print('logging' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("False\n", "")
