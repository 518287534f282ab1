"""Gives the path its hands where nobody brought others: the user's record, and who is asked."""

from __future__ import annotations

import os

from redoma.model.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.ask.chain import Chain
    from redoma.model.policy import Policy
    from redoma.model.question import Answer, Answerer, Choice, Question
    from redoma.model.rates import RateLimits
    from redoma.record.store import Record

HOWS = ("auto", "wait", "nobody")
"""How a command line asks: whoever is there, whoever answers elsewhere, or nobody."""
ANSWERED_LATER = 600.0
"""Seconds in which a question that nobody waits for can be approved for the next try."""
_records: dict[tuple[str, bool, int], Record] = {}


def record(directory: str, policy: Policy) -> Record:
    """The record in a directory, or the user's own; one for each process."""
    from redoma.flow import audit

    place = os.path.abspath(directory) if directory else audit.directory()
    key = (place, policy.logging.redact_secrets, policy.retention.entries_per_session)
    known = _records.get(key)
    if known is None:
        cleaned = redact if policy.logging.redact_secrets else None
        known = _records[key] = audit.writable(redact=cleaned, keep=key[2], place=place)
    return known


def redact(text: str) -> str:
    """The text without secrets, those in the caller's own variables included."""
    from redoma.flow.redaction import redactor

    return redactor().text(text)


def rates(policy: Policy) -> RateLimits:
    """How much may run under a policy, for each caller and for each session."""
    from redoma.model.rates import RateLimits, Rates

    given = policy.rate_limits
    each = Rates(
        executions_per_minute=given.executions_per_minute,
        concurrent_runs=given.concurrent_runs,
        cpu_seconds_per_day=given.cpu_seconds_per_day,
        bytes_per_day=given.bytes_written_per_day,
    )
    return RateLimits(per_caller=each, per_session=each)


def answerer(
    given: Answerer | Callable[[Question], bool | Choice | Answer] | None, policy: Policy
) -> Chain:
    """Everyone who can be asked: approvals that are remembered, then whoever was given."""
    from redoma.ask.chain import Chain
    from redoma.flow import asking

    if isinstance(given, Chain):
        return given
    cleaned = redact if policy.logging.redact_secrets else _as_it_is
    if given is None:
        return asking.answerer(redact=cleaned)
    if hasattr(given, "ask"):
        return asking.answerer(people=(given,), redact=cleaned)
    return asking.answerer(confirm=given, redact=cleaned)


def asked(how: str) -> Chain:
    """Whom a command line asks."""
    from redoma.flow import asking

    if how not in HOWS:
        raise UsageError(f"--ask: {how!r} is none of {', '.join(HOWS)}")
    if how == "nobody":
        return asking.answerer(redact=redact)
    if how == "wait":
        return asking.answerer(elsewhere=True, redact=redact)
    if os.isatty(0) and os.isatty(2):
        return asking.answerer(terminal=True, elsewhere=True, redact=redact)
    return asking.answerer(people=(Left(),), redact=redact)


def opened_by_hand() -> Chain:
    """For a shell that someone opens: that they open it is the answer, and to nothing else."""
    from redoma.flow import asking

    return asking.answerer(confirm=lambda question: question.rules == ("run-interactive",))


class Left:
    """Leaves the question for `redoma answer`, and does not wait: the command is tried again."""

    def ask(self, question: Question) -> Answer:
        from redoma.ask.answers import silence
        from redoma.flow.asking import pending
        from redoma.model.value import replace

        pending().put(replace(question, timeout_seconds=ANSWERED_LATER), waits=False)
        return silence(question, f"redoma answer {question.id} approve, and then the same again")


def _as_it_is(text: str) -> str:
    return text
