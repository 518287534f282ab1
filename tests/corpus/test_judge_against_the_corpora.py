"""The bars of the judge, on labelled commands kept outside the project."""

from __future__ import annotations

import random
import re

import pytest

from bench.judge import digest, disputed, judged, naive, ours, questions, rows
from tests.corpus.corpora import CORPORA, needs_corpora
from tests.unit.judge.judged import calls, risk

pytestmark = needs_corpora

BARS = {
    "forbidden-caught": 100.0,
    "forbidden-blocked": 95.0,
    "twins": 5.0,
    "block-caught": 99.5,
    "ask-safe": 1.0,
    "allow-above": 12.0,
    "deny-allow-blocked": 1.0,
    "block-person": 97.0,
    "allow-person": 2.0,
}


@pytest.fixture(scope="module")
def table() -> dict[str, float]:
    """For each question the percentage of its rows that give the answer it counts.

    Labels that our written policy contradicts are left out; each has its reason in
    bench/disputed.yaml.
    """
    out_of_it = disputed()
    answered = [
        (row, found) for row, found in judged(CORPORA, ours) if digest(row["cmd"]) not in out_of_it
    ]
    out = {}
    for question in questions():
        hits = [question.hit(found) for row, found in answered if question.wanted(row)]
        out[question.key] = 100 * sum(hits) / len(hits)
    return out


@pytest.mark.parametrize("key", BARS)
def test_a_bar_is_held(key: str, table: dict[str, float]) -> None:
    good = next(q.good for q in questions() if q.key == key)
    assert table[key] >= BARS[key] if good else table[key] <= BARS[key]


def test_few_labels_are_disputed() -> None:
    assert len(disputed()) < 0.015 * sum(1 for _ in rows(CORPORA, "labelled.jsonl"))


def test_a_list_of_regular_expressions_would_not_hold_them() -> None:
    answered = judged(CORPORA, naive)
    block = [found > 0 for row, found in answered if row.get("expect") == "block"]
    assert sum(block) / len(block) < 0.5


def test_our_words_are_those_that_bash_really_ran() -> None:
    """Each row tells the argv that bash executed when the programs were stubs."""
    missed = []
    seen = 0
    for row in rows(CORPORA, "bypass.jsonl"):
        expected = [argv for argv in row["observed"] if len(argv) < 6]
        told = calls_seen_from_home(row["cmd"]) if expected else []
        for argv in expected:
            seen += 1
            if not any(could_be(ours_, argv) for ours_ in told):
                missed.append((row["cmd"], argv))
    assert seen > 500
    assert len(missed) / seen < 0.06, missed


def calls_seen_from_home(command: str) -> list[list[str]]:
    return [[w.replace("/home/user", "/home/u") for w in argv] for argv in calls(command)]


def could_be(told: list[str], argv: list[str]) -> bool:
    """Whether our words, with unknown stretches and globs left open, allow what bash ran."""
    told = [told[0].rpartition("/")[2], *told[1:]]
    argv = [argv[0].rpartition("/")[2], *argv[1:]]
    pattern = re.escape("\x1f".join(told))
    pattern = pattern.replace(re.escape("\0"), r"[\s\S]*").replace(r"\*", "[^/]*")
    return re.fullmatch(pattern.replace(r"\?", "."), "\x1f".join(argv)) is not None


def test_every_text_and_every_beginning_of_some_gets_a_judgement() -> None:
    texts = [
        row["cmd"] for path in sorted(CORPORA.glob("*.jsonl")) for row in rows(CORPORA, path.name)
    ]
    chosen = random.Random(7)
    for text in chosen.sample(texts, 6000):
        risk(text)
    for text in chosen.sample([t for t in texts if len(t) < 200], 150):
        for end in range(len(text)):
            risk(text[:end])
