"""Whoever asks for a command cannot answer the question about it."""

from __future__ import annotations

import pytest

from redoma.model.decision import Risk
from tests.unit.judge.judged import risk


@pytest.mark.parametrize(
    "command",
    [
        "redoma answer 3f2a9c1e approve",
        "redoma --json answer 3f2a9c1e approve",
        "redoma --language pt-BR answer 3f2a9c1e approve",
        "redoma --language=pt-BR answer 3f2a9c1e approve",
        "redoma --language check answer 3f2a9c1e approve",
        "redoma --language en hook uninstall claude-code",
        "./bin/redoma answer 3f2a9c1e approve --remember exact",
        "python3 -m redoma answer 3f2a9c1e approve",
        "python3 -m redoma.__main__ answer 3f2a9c1e approve",
        "bash -c 'redoma answer 3f2a9c1e approve'",
        "redoma pending | xargs -n1 redoma answer",
        "echo '{}' > ~/.local/state/redoma/ask/approvals/approvals.json",
    ],
)
def test_an_agent_cannot_approve_its_own_command(command: str) -> None:
    assert risk(command) is Risk.FORBIDDEN


def test_looking_at_the_questions_is_harmless() -> None:
    assert risk("redoma pending --json") is Risk.SAFE


@pytest.mark.parametrize(
    "command",
    [
        "redoma run --inspect --allow-host a.test --credential a.test=vault:work ./x",
        "redoma run --credential=a.test=TOKEN ls",
        "redoma preview --credential a.test=TOKEN ls",
        "redoma run $(cat options) ls",
        'redoma plan run "--cred$REST" plan.json',
    ],
)
def test_an_agent_has_no_token_used_without_being_asked_about(command: str) -> None:
    assert risk(command) is Risk.DANGEROUS


def test_the_vault_is_listed_freely_and_changed_by_a_person() -> None:
    assert [risk(f"redoma vault {rest}") for rest in ("", "list")] == [Risk.SAFE] * 2
    assert [risk(f"redoma vault {rest}") for rest in ("set a", "remove a", "reset")] == [
        Risk.DANGEROUS
    ] * 3


def test_what_stands_behind_two_dashes_is_no_option_of_ours() -> None:
    assert risk("redoma run -- ls $FOLDER --credential x") is Risk.MODERATE


@pytest.mark.parametrize(
    "command",
    ["cp -r {} x", "sqlite3 {}/secrets.db .dump", "cat {}/vault.key", "cat {}/old-1/vault.key"],
)
def test_the_vault_itself_is_read_by_nobody_unasked(command: str) -> None:
    assert risk(command.format("~/.local/state/redoma/vault")) >= Risk.DANGEROUS


def test_asking_in_a_language_is_harmless_unless_nobody_knows_which() -> None:
    assert risk("redoma --language pt-BR pending") is Risk.SAFE
    assert risk("redoma --language $LANGUAGE") is Risk.MODERATE
