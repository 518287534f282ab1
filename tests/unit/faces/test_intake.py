"""Bytes from outside are read up to a limit, and refused where they are no text."""

from __future__ import annotations

import io

from redoma.faces import intake
from redoma.model.decision import Verdict
from redoma.model.risk import Risk
from tests.unit.faces.judged import finding, judged


class Dripping(io.BytesIO):
    """A stream that gives a byte at a time, as a pipe may."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(min(1, size if size is not None and size >= 0 else 1))


def test_everything_is_read_however_it_drips() -> None:
    assert intake.read_all(Dripping(b"rm -rf ~")) == b"rm -rf ~"
    assert intake.read_all(io.BytesIO(b"")) == b""


def test_more_than_the_limit_is_refused_and_not_cut() -> None:
    assert intake.read_all(io.BytesIO(b"x" * intake.MOST_BYTES)) == b"x" * intake.MOST_BYTES
    assert intake.read_all(io.BytesIO(b"x" * (intake.MOST_BYTES + 1))) is None


def test_a_decision_on_valid_text_is_left_alone() -> None:
    decision = judged("echo 世界", finding((0, 4), Risk.MODERATE))
    assert intake.refuse_broken(decision) is decision


def test_text_that_is_not_utf8_is_denied_whatever_was_found() -> None:
    decision = intake.refuse_broken(judged("ls \udcff"))
    assert decision.verdict is Verdict.DENY
    assert decision.assessment.risk is Risk.FORBIDDEN
    assert [found.span for found in decision.assessment.findings] == [(3, 4)]
    assert "UTF-8" in decision.because[0]
