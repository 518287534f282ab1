"""Words are split and unquoted exactly as bash does it."""

from __future__ import annotations

import pytest

from redoma.judge.shell.parser import parse
from redoma.model.script import Literal, Simple, Word
from tests.unit.judge.shell.show import shown

QUOTES = {
    "'a b'": "«a b»",
    '"a b"': "«a b»",
    "''": "«»",
    '""': "«»",
    "a''b": "a«»b",
    "'a'\"b\"c": "«ab»c",
    r"a\ b": "a« »b",
    r"\r\m": "«rm»",
    r"r\m": "r«m»",
    "\\": "«\\»",
    "a\\": "a«\\»",
    r'"\$x \` \" \\ \n"': '«$x ` " \\ \\n»',
    r"'\n $x `y`'": "«\\n $x `y`»",
    '"it\'s"': "«it's»",
    "'say \"hi\"'": '«say "hi"»',
    "a#b": "a#b",
    "'#a'": "«#a»",
    "a=b": "a=b",
    "{a,b}": "{a,b}",
    "~/x": "~/x",
    "/bin/r?": "/bin/r?",
    "[a-z]*": "[a-z]*",
    "$": "$",
    '"$"': "«$»",
    "a$": "a$",
    "%1": "%1",
    "a\rb": "a\rb",
    "a\u00a0b": "a\u00a0b",
    "a\vb": "a\vb",
    "a\0b": "a\0b",
    "\ud800": "\ud800",
    "'a\nb'": "«a\nb»",
}
ANSI = {
    r"$'a\nb'": "«a\nb»",
    r"$'\a\b\e\E\f\n\r\t\v\\\'\"\?'": "«\a\b\x1b\x1b\f\n\r\t\v\\'\"?»",
    r"$'\x72\x6d'": "«rm»",
    r"$'\x7'": "«\x07»",
    r"$'\xzz'": "«\\xzz»",
    r"$'\x{72}m'": "«rm»",
    r"$'\162\155'": "«rm»",
    r"$'\1623'": "«r3»",
    r"$'\u0072\U0000006d'": "«rm»",
    r"$'\u72m'": "«rm»",
    r"$'\cA\ca\c?\c\\'": "«\x01\x01\x7f\x1c»",
    r"$'\c\x'": "«\x1cx»",
    r"$'rm\0ignored'": "«rm»",
    r"$'\xc3\xa9'": "«é»",
    r"$'\xff'": "«\udcff»",
    r"$'\q'": "«\\q»",
    r"$'\U00110000'": "«\ufffd»",
    r"$'it\'s'": "«it's»",
    "$'plain'": "«plain»",
    "$'a\\\nb'": "«a\\\nb»",
    "$'\ud800\\n'": "«\udced\udca0\udc80\n»",
    "\"$'x'\"": "«$'x'»",
    '$"a $x"': '«a »"${x}',
}
CONTINUED = {
    "r\\\nm": "rm",
    "-r\\\nf\\\n": "-rf",
    '"a\\\nb"': "«ab»",
    "'a\\\nb'": "«a\\\nb»",
    "'\\\na\\\n'": "«\\\na\\\n»",
    "a\\\\\nb": "a«\\»; b",
    "$\\\n(x)": "$(x)",
    "$\\\nx": "${x}",
    "${\\\nx}": "${x}",
    "${x\\\n:-\\\ny}": "${x:-y}",
    '"$\\\n(x)"': '"$(x)',
    "$(x \\\n y)": "$(x y)",
    "`x \\\n y`": "$(x y)",
    "$((1 +\\\n 2))": "$((1 + 2))",
    "\\\n\\\nx": "x",
}
GLOBS = {
    "@(a|b)": "@(a|b)",
    "x!(*.o|'a b')y": "x!(*.o|«a b»)y",
    "+([0-9])": "+([0-9])",
    "?(a(b)c)": "?(a(b)c)",
    "*($(x)|`y`|$z)": "*($(x)|$(y)|${z})",
    "!(a b; c)": "!(a b; c)",
}


@pytest.mark.parametrize("written", [*QUOTES, *ANSI, *CONTINUED])
def test_a_word_is_what_bash_makes_of_it(written: str) -> None:
    expected = {**QUOTES, **ANSI, **CONTINUED}[written]
    assert shown(f"echo {written}") == f"echo {expected}"


@pytest.mark.parametrize("written", GLOBS)
def test_an_extended_glob_is_one_word_where_the_option_is_on(written: str) -> None:
    assert shown(f"echo {written}", extglob=True) == f"echo {GLOBS[written]}"
    assert parse(f"echo {written}", extglob=False).unread


def test_negation_of_a_subshell_and_a_negated_glob_are_told_apart_by_the_option() -> None:
    assert shown("!(a) b", extglob=True) == "!(a) b"
    assert shown("!(a)", extglob=False) == "! ( a )"


def test_an_escaped_glob_character_opens_no_extended_glob() -> None:
    assert parse(r"echo \?(a)").unread


@pytest.mark.parametrize("text", ["ls -la /tmp", "git commit -m message", "a=b c"])
def test_a_plain_word_is_one_unquoted_literal_with_its_own_text(text: str) -> None:
    command = parse(text).body.commands[0]
    assert isinstance(command, Simple)
    for word in command.words:
        assert isinstance(word, Word)
        (literal,) = word.parts
        assert isinstance(literal, Literal)
        assert literal.text == text[slice(*literal.span)]


def test_only_space_tab_and_newline_separate_words() -> None:
    assert shown("a b\tc\nd\re\vf\u2003g") == "a b c; d\re\vf\u2003g"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a # b", "a"),
        ("a #b 'c\nd", "a; d"),
        ("a# b", "a# b"),
        ("a;#b\nc", "a; c"),
        ("# a \\\nb", "b"),
        ("a # b \\\nc", "a; c"),
        ("a \\\n# b\nc", "a; c"),
        ("a '#' \\# \"#\" x#", "a «#» «#» «#» x#"),
        ("(a)#b\nc", "( a ); c"),
        ("$(a # b)\n)", "$(a)"),
    ],
)
def test_a_comment_begins_only_where_a_word_could(text: str, expected: str) -> None:
    assert shown(text) == expected
