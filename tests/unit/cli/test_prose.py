"""What a person reads: level, decision, every reason under its part, the safer way."""

from __future__ import annotations

import os
import pty

from redoma.cli.prose import MOST_NOTES, Screen, report, screen
from redoma.model.decision import Risk
from tests.unit.cli.judged import finding, judged

COMMAND = "cd build && rm -rf ~/old"


def test_a_report_says_level_decision_reasons_and_the_safer_way() -> None:
    decision = judged(
        COMMAND,
        finding((12, 24), reason="deletes a folder of your home", instead="mv ~/old /tmp/"),
        finding((0, 8), Risk.SAFE, reason="changes the directory"),
    )
    assert report(decision, Screen()) == (
        "dangerous: needs confirmation  (policy default, pack default)\n"
        "\n"
        "  cd build && rm -rf ~/old\n"
        "              ^^^^^^^^^^^^ dangerous: deletes a folder of your home [a.rule]\n"
        "              instead: mv ~/old /tmp/\n"
        "  ^^^^^^^^ safe: changes the directory [a.rule]\n"
    )


def test_a_command_without_findings_is_one_line() -> None:
    assert report(judged("ls"), Screen()) == "safe: allowed  (policy default, pack default)\n"


def test_colour_changes_nothing_but_colour() -> None:
    decision = judged(COMMAND, finding((12, 24)))
    coloured = report(decision, Screen(colour=True))
    assert "\x1b[31m^^^^^^^^^^^^ dangerous: why [a.rule]\x1b[0m" in coloured
    plain = coloured.replace("\x1b[31m", "").replace("\x1b[0m", "")
    assert plain == report(decision, Screen())


def test_what_a_command_put_into_a_reason_does_not_act() -> None:
    decision = judged("x", finding((0, 1), reason="runs \x1b[2J\n", instead="\u202els"))
    assert report(decision, Screen()).replace("\n", "").isprintable()


def test_very_many_findings_are_counted_rather_than_shown() -> None:
    text = "x " * 100
    decision = judged(text, *(finding((2 * at, 2 * at + 1)) for at in range(100)))
    assert report(decision, Screen()).endswith(
        f"  and {100 - MOST_NOTES} more (--json shows all)\n"
    )


def test_there_is_colour_only_on_a_terminal_and_never_against_no_color(monkeypatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    leader, follower = pty.openpty()
    with os.fdopen(follower, "w") as terminal, open(os.devnull, "w") as file:
        assert screen(terminal).colour
        assert not screen(file).colour
        monkeypatch.setenv("NO_COLOR", "1")
        assert not screen(terminal).colour
    os.close(leader)
