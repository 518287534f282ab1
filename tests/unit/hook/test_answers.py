"""Answers are in the agent's own words, and reasons name the part and the safer way."""

from __future__ import annotations

import json

import pytest

from redoma.hook.agents import AGENTS
from redoma.hook.answer import LONGEST_REASON, reason
from redoma.model.decision import Risk
from tests.unit.cli.judged import finding, judged


def claude(word: str) -> dict[str, object]:
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": word,
            "permissionDecisionReason": "why",
        }
    }


@pytest.mark.parametrize("word", ["ask", "deny"])
def test_claude_code_is_asked_and_refused(word: str) -> None:
    assert json.loads(AGENTS["claude-code"].says(word, "why")) == claude(word)


@pytest.mark.parametrize("agent", AGENTS)
def test_no_agent_has_words_for_leave(agent: str) -> None:
    with pytest.raises(ValueError, match="allow"):
        AGENTS[agent].says("allow", "why")


def test_codex_is_told_no_where_a_person_would_be_asked_and_how_to_go_on() -> None:
    said = json.loads(AGENTS["codex"].says("ask", "why"))["hookSpecificOutput"]
    assert said["permissionDecision"] == "deny"
    assert said["permissionDecisionReason"].startswith("why Codex cannot ask from a hook")
    assert "run it in a terminal of their own" in said["permissionDecisionReason"]
    assert json.loads(AGENTS["codex"].says("deny", "why")) == claude("deny")


def test_gemini_is_asked_and_refused_in_its_own_words() -> None:
    says = AGENTS["gemini"].says
    assert json.loads(says("deny", "why")) == {"decision": "deny", "reason": "why"}
    assert json.loads(says("ask", "why")) == {
        "decision": "ask",
        "reason": "why",
        "systemMessage": "why",
    }


def test_a_reason_names_the_part_that_raised_the_level_and_the_safer_way() -> None:
    decision = judged(
        "cd build && rm -rf ~/old",
        finding((12, 24), reason="deletes a folder of your home", instead="mv ~/old /tmp/"),
        finding((0, 8), Risk.MODERATE, reason="changes the directory"),
    )
    assert reason(decision) == (
        "Redoma asks a person first (dangerous). deletes a folder of your home,"
        " in: rm -rf ~/old. Instead: mv ~/old /tmp/."
    )


def test_a_part_that_is_the_whole_command_is_not_said_again() -> None:
    decision = judged("rm -rf /", finding((0, 8), Risk.FORBIDDEN, reason="deletes everything"))
    assert reason(decision) == "Redoma refuses this (forbidden). deletes everything."


def test_a_long_reason_is_cut() -> None:
    text = "x" * 5000
    decision = judged(f"{text} y", *[finding((0, 5000), reason="word " * 200)] * 9)
    said = reason(decision)
    assert len(said) <= LONGEST_REASON
    assert said.endswith("...")


def test_more_findings_than_fit_are_counted() -> None:
    decision = judged("a b c d e", *(finding((2 * at, 2 * at + 1)) for at in range(5)))
    assert "And 2 more." in reason(decision)


def test_nothing_in_a_reason_acts_on_the_persons_terminal() -> None:
    decision = judged("a\x1b[2J b", finding((0, 5), reason="r\x1b\n", instead="\u202ex"))
    assert reason(decision).isprintable()
