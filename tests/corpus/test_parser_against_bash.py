"""Bash is the judge of how shell is read: our samples always, the corpora where they lie.

No text is ever run: bash reads it with `-n`, or takes it as the body of a function that nobody
calls and prints it back, inside a box without network, files or programs. A text that could end
that function early is found by our own parser and left out.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterable

import pytest

from redoma.judge.shell.parser import parse
from redoma.model.script import Function, Literal, Sequence, Simple, Word
from tests.corpus.bash import accepted, expanded, reprinted
from tests.corpus.corpora import CORPORA, needs_corpora
from tests.corpus.normal_form import Form, sequence
from tests.unit.judge.shell.samples import ACCEPTED, EXTENDED, REFUSED
from tests.unit.judge.shell.walk import nodes

# What bash itself prints in a form that it would not read back.
PRINTED_BADLY = (">f if; <f time a; A=1 if", "case b in (esac)")
LIVE = "'\"\\$"


@pytest.fixture(scope="module")
def rows() -> list[str]:
    """Every command of the corpora once, save those with a NUL, which no shell can be given."""
    found: dict[str, None] = {}
    for path in sorted(CORPORA.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            text = json.loads(line)["cmd"]
            if "\0" not in text:
                found.setdefault(text.encode("utf-8", "replace").decode("utf-8"))
    return list(found)


@pytest.fixture(scope="module")
def sample(rows: list[str]) -> list[str]:
    """A third of them, the same each time; all with REDOMA_CORPORA_ALL=1."""
    if os.environ.get("REDOMA_CORPORA_ALL"):
        return rows
    return random.Random(7).sample(rows, len(rows) // 3)


def as_body(text: str, *, extglob: bool) -> Sequence | None:
    """The text as the body of a function, or None where it is not safely one."""
    script = parse(f"probe () {{\n{text}\n}}", extglob=extglob)
    whole = script.body.commands
    if script.unread or len(whole) != 1 or not isinstance(whole[0], Function):
        return None
    return script.body


def misread(texts: Iterable[str], *, extglob: bool) -> list[tuple[str, str]]:
    """Texts that bash, printing what it understood, gives another shape than we do."""
    bodies = {text: as_body(text, extglob=extglob) for text in texts}
    readable = [text for text, body in bodies.items() if body is not None and body.commands]
    printed = reprinted(readable, extglob=extglob)
    return [
        (text, answer)
        for text, answer in zip(readable, printed, strict=True)
        if shape(bodies[text]) != shape(parse(answer, extglob=extglob).body)
    ]


def shape(body: Sequence | None) -> Form:
    return None if body is None else sequence(body)


@pytest.mark.parametrize("extglob", [True, False])
def test_bash_accepts_and_refuses_our_samples_as_we_do(extglob: bool) -> None:
    good = [*ACCEPTED, *EXTENDED] if extglob else [*ACCEPTED]
    assert [t for t, ok in zip(good, accepted(good, extglob=extglob), strict=True) if not ok] == []
    bad = list(REFUSED)
    assert [t for t, ok in zip(bad, accepted(bad, extglob=extglob), strict=True) if ok] == []


def test_bash_understands_our_samples_as_we_do() -> None:
    samples = [t for t in ACCEPTED if not any(mark in t for mark in PRINTED_BADLY)]
    assert misread(samples, extglob=False) == []
    assert misread(EXTENDED, extglob=True) == []


@needs_corpora
@pytest.mark.slow
@pytest.mark.parametrize("extglob", [True, False])
def test_we_refuse_hardly_anything_that_bash_accepts(rows: list[str], extglob: bool) -> None:
    refused = [text for text in rows if parse(text, extglob=extglob).unread]
    verdicts = accepted(refused, extglob=extglob)
    wrongly = [text for text, ok in zip(refused, verdicts, strict=True) if ok]
    assert len(wrongly) <= len(rows) / 1000


@needs_corpora
@pytest.mark.slow
def test_nothing_in_the_corpora_is_misread(sample: list[str]) -> None:
    assert misread(sample, extglob=False) == []


@needs_corpora
@pytest.mark.slow
def test_nothing_in_the_corpora_is_misread_with_extended_globs(rows: list[str]) -> None:
    telling = [t for t in rows if any(opener in t for opener in ("?(", "*(", "+(", "@(", "!("))]
    assert misread(telling, extglob=True) == []


@needs_corpora
@pytest.mark.slow
def test_words_without_substitutions_are_what_bash_makes_of_them(sample: list[str]) -> None:
    words = {
        text[slice(*word.span)]: "".join(p.text for p in word.parts if isinstance(p, Literal))
        for text in sample
        if "`" not in text
        for script in [parse(text)]
        if not script.unread
        for command in nodes(script)
        if isinstance(command, Simple) and not command.assignments
        for word in command.words
        if isinstance(word, Word) and all(isinstance(part, Literal) for part in word.parts)
    }
    telling = [w for w in words if any(mark in w for mark in LIVE) and "~" not in w]
    answers = expanded(telling)
    assert len(telling) > 1000
    assert {w: a for w, a in zip(telling, answers, strict=True) if a != words[w]} == {}


@needs_corpora
@pytest.mark.slow
def test_every_beginning_of_a_command_gets_a_tree(rows: list[str]) -> None:
    chosen = random.Random(4).sample(rows, 300)
    for text in chosen:
        for length in range(min(len(text), 400)):
            assert parse(text[:length]).text == text[:length]
