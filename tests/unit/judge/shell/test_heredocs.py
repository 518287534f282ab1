"""The body of a here-document is found where bash finds it, and read as bash reads it."""

from __future__ import annotations

import pytest

from redoma.judge.shell.parser import parse
from redoma.model.script import Redirect, Simple
from tests.unit.judge.shell.show import shown, unread

BODIES = {
    "cat <<E\na $x $(b) `c`\nE\nd": 'cat <<E«a »"${x}« »"$(b)« »"$(c)«\n»; d',
    "cat <<'E'\na $x $(b) `c` \\\nE\nd": "cat <<E«a $x $(b) `c` \\\n»; d",
    'cat <<"E"\n$x\nE': "cat <<E«$x\n»",
    "cat <<\\E\n$x\nE": "cat <<E«$x\n»",
    "cat <<E''\n$x\nE": "cat <<E«$x\n»",
    "cat <<$'E'\n$x\nE": "cat <<E«$x\n»",
    "cat <<'A B'\n$x\nA B": "cat <<A B«$x\n»",
    "cat <<$x\na\n$x\nb": "cat <<$x«a\n»; b",
    "cat <<$(a b)\nc\n$(a b)\nd": "cat <<$(a b)«c\n»; d",
    "cat <<''\na\n\nb": "cat <<«a\n»; b",
    "cat <<E\nE": "cat <<E",
    "cat <<E\n E\nEE\nE\na": "cat <<E« E\nEE\n»; a",
    "cat << \t E\na\nE": "cat <<E«a\n»",
    "cat <<-E\n\ta\n\t\tb\n\tE\nc": "cat <<-E«a\nb\n»; c",
    "cat <<-'E'\n\ta $x\n\tE\nc": "cat <<-E«a $x\n»; c",
    "cat <<-E\na\nE": "cat <<-E«a\n»",
    "cat <<-E\n\ta $(b\n\tc)\n\tE": 'cat <<-E«a »"$(b; c)«\n»',
    "cat <<A <<B; c\na\nA\nb\nB\nd": "cat <<A«a\n» <<B«b\n»; c; d",
    "cat <<A | c <<B\na\nA\nb\nB": "cat <<A«a\n» | c <<B«b\n»",
    "cat <<E | sh\na\nE": "cat <<E«a\n» | sh",
    "cat <<'E' >f; sh f\nrm\nE": "cat <<E«rm\n» >f; sh f",
    "<<E cat\na\nE": "cat <<E«a\n»",
    "cat 3<<E\na\nE": "cat 3<<E«a\n»",
    "cat <<E # c\na\nE": "cat <<E«a\n»",
    "cat <<E &&\na\nE\nb": "cat <<E«a\n» && b",
    "{ cat <<E\na\nE\n}": "{ cat <<E«a\n» }",
    "if a; then cat <<E\nb\nE\nfi": "if a then cat <<E«b\n» fi",
    "while a; do b; done <<E\nc\nE": "while a do b done <<E«c\n»",
    "case x in a) cat <<E ;; esac\nb\nE": "case x in a) cat <<E«b\n» ;; esac",
    "f() { cat <<E\na\nE\n}": "f() { cat <<E«a\n» }",
    "x=$(cat <<E\n)'\"\nE\n)": "x=$(cat <<E«)'\"\n»)",
    "x=\"$(cat <<'E'\nit's )\nE\n)\"": "x=\"$(cat <<E«it's )\n»)",
    "x=$(cat <<E\na\nE)": "x=$(cat <<E«a\n»)",
    "x=`cat <<E\na\nE\n`": "x=$(cat <<E«a\n»)",
    "cat <(cat <<E\na\nE\n)": "cat <(cat <<E«a\n»)",
    "cat <<E $(a\nb)\nc\nE": "cat $(a; b) <<E«c\n»",
    "cat <<A; $(cat <<B\nb\nB\n)\na\nA": "cat <<A«a\n»; $(cat <<B«b\n»)",
    "cat <<A\n$(cat <<B\nb\nB\n)\nA": 'cat <<A"$(cat <<B«b\n»)«\n»',
    'cat <<E\n\\$x \\` \\\\ \\" \\n "$y" \'$z\'\nE': (
        'cat <<E«$x ` \\ \\" \\n "»"${y}«" \'»"${z}«\'\n»'
    ),
    "cat <<E\na\\\nb\nE": "cat <<E«ab\n»",
    "cat <<E\nE\\\n\na": "cat <<E; a",
    "cat <<'E'\na\\\nb\nE": "cat <<E«a\\\nb\n»",
    "cat <<'E'\na\\\nE\nb": "cat <<E«a\\\n»; b",
    "a \\\n<<'E' b\nc\\\nE\nd": "a b <<E«c\\\n»; d",
    "cat <<E\n${x:-a b} ${y:-$(z)} $((1 + $(w)))\nE": (
        'cat <<E"${x:-«a b»}« »"${y:-"$(z)}« »"$((1 + "$(w)))«\n»'
    ),
}


@pytest.mark.parametrize(("text", "expected"), BODIES.items())
def test_a_body_is_read_where_it_stands(text: str, expected: str) -> None:
    assert (shown(text), unread(text)) == (expected, [])


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("cat <<E\na\nb", "a\nb"),
        ("cat <<E\na\n E\n", "a\n E\n"),
        ("cat <<E", ""),
        ("cat <<E\n", ""),
        ("cat <<-E\n\ta\n", "a\n"),
        ("cat <<'E'\n$(a)\n", "$(a)\n"),
        ("cat <<'E\nF'\na\nE\nF\nb", "a\nE\nF\nb"),
        ("{ cat <<E\na\n}", "a\n}"),
    ],
)
def test_a_body_without_an_end_is_kept_and_noted(text: str, body: str) -> None:
    read = shown(text)
    assert (f"«{body}»" in read) is (body != "")
    assert "<a here-document that never ends>" in read


def test_what_stands_in_an_unended_body_is_still_read() -> None:
    assert '"$(rm -rf x)' in shown("cat <<E\n$(rm -rf x)\n")


def test_a_delimiter_is_kept_beside_its_body() -> None:
    command = parse("cat <<'E F'\na\nE F\n").body.commands[0]
    assert isinstance(command, Simple)
    (redirect,) = command.redirects
    assert isinstance(redirect, Redirect)
    assert (redirect.op, redirect.fd, redirect.delimiter) == ("<<", "", "E F")
