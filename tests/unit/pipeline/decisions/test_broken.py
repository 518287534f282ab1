"""What is no text is refused, whatever was found in it."""

from __future__ import annotations

from redoma.model.decision import Risk, Verdict
from redoma.pipeline.decisions.check import check, refuse_broken
from redoma.pipeline.decisions.policies import shipped_policy
from tests.unit.cli.judged import finding, judged


def test_a_decision_on_valid_text_is_left_alone() -> None:
    decision = judged("echo 世界", finding((0, 4), Risk.MODERATE))
    assert refuse_broken(decision) is decision


def test_text_that_is_not_utf8_is_denied_whatever_was_found() -> None:
    decision = refuse_broken(judged("ls \udcff"))
    assert decision.verdict is Verdict.DENY
    assert decision.assessment.risk is Risk.FORBIDDEN
    assert [found.span for found in decision.assessment.findings] == [(3, 4)]
    assert "UTF-8" in decision.because[0]


def test_where_isolation_alone_decides_bytes_are_bytes() -> None:
    assert check("ls \udcff").verdict is Verdict.DENY
    assert check("ls \udcff", policy=shipped_policy("isolation-only")).verdict is Verdict.LOG
