"""The keys of `sandbox.yaml` that show only when something runs: each turned, each seen."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import NamedTuple

import pytest

from redoma import Caller, Outcome
from redoma.model.errors import RateLimited
from redoma.model.request import Question
from tests.pipeline.place import Place

ASKS = "git push --force origin topic || true"
TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3


def how_often(times: int) -> Callable[[Place], object]:
    """How many of several runs in a row are let in."""

    def look(place: Place) -> object:
        done = 0
        for _ in range(times):
            try:
                place.sandbox(caller=Caller(name="c", session="s")).run(
                    "head -c 65536 /dev/zero > made"
                )
                done += 1
            except RateLimited:
                break
        return done

    return look


def side_by_side(place: Place) -> object:
    """How many of three runs at once are let in."""
    let_in: list[bool] = []

    def go() -> None:
        try:
            let_in.append(place.sandbox(caller=Caller(name="c", session="s")).run("sleep 1").ok)
        except RateLimited:
            let_in.append(False)

    threads = [threading.Thread(target=go) for _ in range(3)]
    for thread in threads:
        thread.start()
        time.sleep(0.2)
    for thread in threads:
        thread.join()
    return sum(let_in)


def after_some_work(place: Place) -> object:
    """Whether a second run is let in when the first has used the processor for a while."""
    sandbox = place.sandbox(caller=Caller(name="c", session="s"))
    # By the processor's own clock: on a busy machine a while is not much of its time.
    sandbox.run("(ulimit -t 2; while :; do :; done); true")
    try:
        return sandbox.run("true").ok
    except RateLimited:
        return "too much"


def silence(place: Place) -> object:
    """What becomes of a question that nobody answers."""
    result = place.sandbox().run(f"touch made; {ASKS}")
    return result.outcome.value


def patience(place: Place) -> object:
    """Whether an answer that takes its time still counts."""

    def slow(question: Question) -> bool:
        time.sleep(2)
        return True

    return place.sandbox(ask=slow).run(f"true; {ASKS}").outcome.value


def kept(place: Place) -> object:
    """Whether the oldest entries are still there after many."""
    for _ in range(30):
        place.sandbox(caller=Caller(session="s")).check("ls")
        place.sandbox(caller=Caller(session="s")).run("true")
    return len(place.rows()) < 100


def told(*names: str) -> Callable[[Place], object]:
    """Which details of a judgement are written down."""

    def look(place: Place) -> object:
        place.sandbox().check("rm -r build")
        facts = place.rows()[-1].facts()
        return tuple(name in facts for name in names)

    return look


def output(place: Place) -> object:
    place.sandbox().run("echo printed")
    return "stdout" in place.rows()[-1].facts()


def secret(place: Place) -> object:
    place.sandbox().check(f"echo {TOKEN}")
    return TOKEN in place.rows()[-1].command


class Turn(NamedTuple):
    key: str
    one: str
    other: str
    look: Callable[[Place], object]
    seen: object
    then: object


TURNS = [
    Turn("confirmation.timeout_seconds", "60", "1", patience, "exited", "declined"),
    Turn("confirmation.default_action", "deny", "dry_run", silence, "declined", "previewed"),
    Turn("logging.level", "verbose", "quiet", told("because", "findings"), (True, True), (False, False)),
    Turn("logging.include_command_output", "true", "false", output, True, False),
    Turn("logging.redact_secrets", "true", "false", secret, False, True),
    Turn("rate_limits.executions_per_minute", "3", "1", how_often(4), 3, 1),
    Turn("rate_limits.concurrent_runs", "3", "1", side_by_side, 3, 1),
    Turn("rate_limits.cpu_seconds_per_day", "3600", "1", after_some_work, True, "too much"),
    Turn("rate_limits.bytes_written_per_day", "9000000", "100000", how_often(4), 4, 2),
    Turn("retention.entries_per_session", "1000", "10", kept, False, True),
]  # fmt: skip


@pytest.mark.requirement("K12")
@pytest.mark.parametrize("turn", TURNS, ids=lambda turn: turn.key)
@pytest.mark.parametrize("which", ["one", "other"])
def test_a_key_turned_shows_in_a_run(place: Place, turn: Turn, which: str) -> None:
    section, _, key = turn.key.partition(".")
    value = turn.one if which == "one" else turn.other
    place.user_policy(f"{section}:\n  {key}: {value}\n")
    assert turn.look(place) == (turn.seen if which == "one" else turn.then)


def test_a_dry_run_by_default_changes_nothing(place: Place) -> None:
    place.user_policy("confirmation:\n  default_action: dry_run\n")
    result = place.sandbox().run(f"touch made; {ASKS}")
    assert (result.outcome, result.applied) == (Outcome.PREVIEWED, False)
    assert "this was a dry run" in result.notes[-1]
    assert not (place.workspace / "made").exists()
