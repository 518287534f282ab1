"""Gives the path its hands where nobody brought others: the user's record, and who is asked."""

from __future__ import annotations

import os
from contextlib import suppress

from redoma.model.errors import AskUnavailable, StateUnavailable, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.ask.answerers import AnswererChain
    from redoma.audit.log import AuditLog
    from redoma.model.policy import Policy
    from redoma.model.question import Answer, Answerer, Choice, Question
    from redoma.model.rates import RateLimits
    from redoma.vault.redactor import Redactor

HOWS = ("auto", "wait", "nobody")
"""How a command line asks: whoever is there, whoever answers elsewhere, or nobody."""
BY_HAND = "by hand"
"""That someone opens a shell by hand is their answer to that, and to nothing else."""
ANSWERED_LATER = 600.0
"""Seconds in which a question that nobody waits for can be approved for the next try."""
MOST_OPEN = 4
_records: dict[tuple[object, ...], AuditLog] = {}
_redactors: list[Redactor] = []
# Texts in which nothing was found: what is written down of a run is mostly what was of the last.
_harmless: set[str] = set()
_MOST_HARMLESS, _SHORT = 2000, 200


def record(directory: str, policy: Policy, secrets: tuple[str, ...] = ()) -> AuditLog:
    """The record in a directory, or the user's own; one for each process.

    `secrets` are values that may not be written down, beside those of our own variables.
    """
    from redoma.pipeline import audit_log

    place = os.path.abspath(directory) if directory else audit_log.directory()
    redacts = policy.logging.redact_secrets
    key = (place, policy.retention.entries_per_session, redacts, secrets)
    known = _records.pop(key, None)
    if known is None:
        cleaned = redact if redacts else None
        if redacts and secrets:
            from redoma.pipeline.redaction import redactor

            cleaned = redactor(values=secrets).text
        known = audit_log.record(redact=cleaned, keep=key[1], place=place)
        # A record holds files open: one that was not used for a while is closed, and opens again.
        for old in list(_records)[: max(0, len(_records) - MOST_OPEN + 1)]:
            _records.pop(old).close()
    _records[key] = known
    return known


def redact(text: str) -> str:
    """The text without secrets, those in the caller's own variables included."""
    if text in _harmless:
        return text
    if not _redactors:
        from redoma.pipeline.redaction import redactor

        _redactors.append(redactor())
    cleaned = _redactors[0].text(text)
    if cleaned == text and len(text) <= _SHORT:
        if len(_harmless) >= _MOST_HARMLESS:
            _harmless.clear()
        _harmless.add(text)
    return cleaned


def cleaner(policy: Policy) -> Callable[[str], str]:
    """What takes secrets out of a text, where the policy wants that."""
    return redact if policy.logging.redact_secrets else _as_it_is


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
) -> AnswererChain:
    """Everyone who can be asked: approvals that are remembered, then whoever was given."""
    from redoma.pipeline import answerers

    cleaned = cleaner(policy)
    if given is None:
        return answerers.answerer(redact=cleaned)
    if isinstance(given, Whoever):
        return given.chain(cleaned)
    if hasattr(given, "ask"):
        return answerers.answerer(people=(given,), redact=cleaned)
    return answerers.answerer(confirm=given, redact=cleaned)


class Whoever:
    """Whom a command line asks; nobody is looked for before there is a question."""

    def __init__(self, how: str) -> None:
        if how not in (*HOWS, BY_HAND):
            raise UsageError(f"--ask: {how!r} is none of {', '.join(HOWS)}")
        self._how = how

    def ask(self, question: Question) -> Answer | None:
        return self.chain(redact).ask(question)

    def chain(self, cleaned: Callable[[str], str]) -> AnswererChain:
        """The answerers behind it."""
        from redoma.pipeline import answerers

        if self._how == "nobody":
            return answerers.answerer(redact=cleaned)
        if self._how == BY_HAND:
            return answerers.answerer(
                confirm=lambda question: question.rules == ("run-interactive",)
            )
        if self._how == "wait":
            return answerers.answerer(elsewhere=True, redact=cleaned)
        if os.isatty(0) and os.isatty(2):
            return answerers.answerer(terminal=True, elsewhere=True, redact=cleaned)
        return answerers.answerer(people=(Left(),), redact=cleaned)


def forget_questions() -> None:
    """Removes the questions that are over and that nobody came back to remove, as after a crash."""
    from redoma.base import own_directories

    try:
        left = os.listdir(f"{own_directories.state()}/ask/questions")
    except (OSError, StateUnavailable):  # who asks next is told
        return
    if left:
        from redoma.pipeline.answerers import pending

        with suppress(AskUnavailable):  # who asks next is told
            pending().sweep()


class Left:
    """Leaves the question for `redoma answer`, and does not wait: the command is tried again."""

    def ask(self, question: Question) -> Answer:
        from redoma.ask.answers import silence
        from redoma.model.value import replace
        from redoma.pipeline.answerers import pending

        if ":" in question.digest:
            why = "its input is not known: with < /dev/null it can be approved for another try"
            return silence(question, why)
        pending().put(replace(question, timeout_seconds=ANSWERED_LATER), waits=False)
        return silence(question, f"redoma answer {question.id} approve, and then the same again")


def _as_it_is(text: str) -> str:
    return text
