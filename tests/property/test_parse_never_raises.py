"""Any text at all gets a tree: every span in the text, every gap noted, nothing raised."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redoma.judge.shell.parser import parse
from redoma.model.script import Script, Unread
from tests.unit.judge.shell.samples import ACCEPTED, EXTENDED, REFUSED
from tests.unit.judge.shell.walk import nodes

FRAGMENTS = (
    *("a", "b ", "x=1 ", "if ", "then ", "elif ", "else ", "fi", "for ", "in ", "do ", "done"),
    *("while ", "case ", "esac", "select ", "function ", "coproc ", "time ", "! ", "{ ", "}"),
    *("( ", ")", "((", "))", "[[ ", " ]]", ";", "&", "|", "||", "&&", "|&", ";;", ";&", "\n", " "),
    *("<", ">", ">>", "<<E", "<<-E", "<<'E'", "\nE\n", "E", "<<<", "<&", ">&-", "&>", "2>&1"),
    *("'", '"', "\\", "\\\n", "$", "$x", "${x", "${x:-", "${x//", "${x[", "$(", "$((", "`", "\\`"),
    *("$'", '$"', "$[", "]", "[", "a[", "x=(", "+=", "=", "?(", "@(", "!(", "#", " #c", "=~ "),
    *("f()", "declare ", "<(", ">(", "{fd}>", "\r", "\0", "\ud800", "\u202e", "é", "\t"),
)
SCRIPTS = st.one_of(
    st.text(st.characters(codec=None, categories=None), max_size=120),
    st.lists(st.sampled_from(FRAGMENTS), max_size=60).map("".join),
    st.lists(st.sampled_from([*ACCEPTED, *REFUSED, *FRAGMENTS]), max_size=8).map("".join),
)
SETTINGS = settings(
    max_examples=400,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def sound(script: Script, text: str) -> None:
    """What holds of every tree."""
    assert script.text == text
    below = list(nodes(script))
    assert all(0 <= node.span[0] <= node.span[1] <= len(text) for node in below)
    assert {id(n) for n in below if isinstance(n, Unread)} == {id(n) for n in script.unread}


@given(SCRIPTS, st.booleans())
@SETTINGS
def test_any_text_gets_a_sound_tree(text: str, extglob: bool) -> None:
    sound(parse(text, extglob=extglob), text)


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join))
@SETTINGS
def test_a_text_that_is_read_without_a_gap_is_read_so_after_another_line(text: str) -> None:
    if parse(text).unread or "\0" in text:
        return
    after = parse(f"first\n{text}")
    assert after.unread == ()
    assert len(after.body.commands) == 1 + len(parse(text).body.commands)


@pytest.mark.parametrize("text", [*ACCEPTED, *EXTENDED, *REFUSED])
def test_every_beginning_of_a_script_gets_a_sound_tree(text: str) -> None:
    for length in range(len(text)):
        beginning = text[:length]
        sound(parse(beginning), beginning)


@pytest.mark.parametrize(
    "text", ["a" * 1_000_000, "a " * 500_000, "$(" * 500_000, "\\\n" * 500_000]
)
def test_a_megabyte_gets_a_tree(text: str) -> None:
    assert parse(text).text == text
