"""Every node knows where it stands in the outermost text."""

from __future__ import annotations

import pytest

from redoma.judge.shell.parser import parse
from redoma.model.script import (
    CommandSubstitution,
    Literal,
    Node,
    Parameter,
    Redirect,
    Script,
    Simple,
    Word,
)
from tests.unit.judge.shell.samples import ACCEPTED, EXTENDED, REFUSED
from tests.unit.judge.shell.walk import children, nodes

PLACED = {
    "a; b $(c)": ["a", "b $(c)", "c"],
    "a `b` c": ["a `b` c", "b"],
    "a `b \\`c d\\` e`": ["a `b \\`c d\\` e`", "b \\`c d\\` e", "c d"],
    'a "`b \\"c\\"`"': ['a "`b \\"c\\"`"', 'b \\"c\\"'],
    "x\\\ny $(z\\\nw)": ["x\\\ny $(z\\\nw)", "z\\\nw"],
    "# c \\\na b": ["a b"],
    "cat <<E\n$(a b)\nE\nc": ["cat <<E", "a b", "c"],
    "cat <<-E\n\tx\n\t$(a\n\tb)\n\tE": ["cat <<-E", "a", "b"],
    "cat <<'E' \\\n x\nq\\\nE\na": ["cat <<'E' \\\n x", "a"],
    "a ${x:-$(b)} ${y[$(c)]}": ["a ${x:-$(b)} ${y[$(c)]}", "b", "c"],
    "((1 + $(a)))": ["a"],
    "for x in $(a); do b; done >$(c)": ["a", "b", "c"],
    "A=1 b >c": ["A=1 b >c"],
    "  a  ": ["a"],
}


@pytest.mark.parametrize("text", PLACED)
def test_each_command_stands_where_it_is_written(text: str) -> None:
    found = [node.span for node in nodes(parse(text)) if isinstance(node, Simple)]
    assert sorted(text[slice(*span)] for span in found) == sorted(PLACED[text])


@pytest.mark.parametrize("text", [*ACCEPTED, *EXTENDED, *REFUSED])
def test_every_span_lies_inside_the_text_and_inside_the_node_around(text: str) -> None:
    for node in nodes(parse(text)):
        start, end = node.span
        assert 0 <= start <= end <= len(text), node
        if isinstance(node, Word | Parameter | CommandSubstitution | Script):
            for child in children(node):
                for inner in child if isinstance(child, tuple) else (child,):
                    if isinstance(inner, Node) and not isinstance(node, Script):
                        assert start <= inner.span[0], (node, inner)
                        assert inner.span[1] <= end, (node, inner)


@pytest.mark.parametrize("text", [*ACCEPTED, *EXTENDED])
def test_unquoted_text_is_exactly_what_is_written(text: str) -> None:
    for node in nodes(parse(text)):
        if isinstance(node, Literal) and not node.quoted and text[slice(*node.span)] != "|&":
            assert text[slice(*node.span)].replace("\\\n", "") == node.text


def test_a_redirect_covers_its_operator_and_its_target() -> None:
    text = "a 2>&1 >'b c' {fd}<d <<<e"
    found = [node.span for node in nodes(parse(text)) if isinstance(node, Redirect)]
    assert sorted(text[slice(*span)] for span in found) == [
        "2>&1",
        "<<<e",
        ">'b c'",
        "{fd}<d",
    ]


def test_decoded_text_stands_where_it_is_written() -> None:
    text = r'''a "${x:-$'\x24(id)'}"'''
    found = [node for node in nodes(parse(text)) if isinstance(node, CommandSubstitution)]
    assert [text[slice(*node.span)] for node in found] == [r"$'\x24(id)'"]
    assert [node.script.text for node in found] == ["id"]


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("echo $(a b)", "a b"),
        ("echo `a b`", "a b"),
        ("echo `a \\`b\\``", "a `b`"),
        ("echo <(a; b)", "a; b"),
    ],
)
def test_a_substitution_keeps_the_script_it_would_run(text: str, inside: str) -> None:
    scripts = [node for node in nodes(parse(text)) if isinstance(node, Script)]
    assert inside in [script.text for script in scripts]
    assert text in [script.text for script in scripts]
