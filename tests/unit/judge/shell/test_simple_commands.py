"""Simple commands keep every assignment, word and redirect, wherever it stands."""

from __future__ import annotations

import pytest

from redoma.judge.shell.parser import parse
from redoma.model.script import Assignment, Simple
from tests.unit.judge.shell.show import shown, unread

COMMANDS = {
    "a b c": "a b c",
    "A=1 B=2 cmd C=3": "A=1 B=2 cmd C=3",
    "A=": "A=",
    "A+=x": "A+=x",
    "a[i]=x": "a[i]=x",
    "a[x y]+=z": "a[x y]+=z",
    "a=(b 'c d' $e)": "a=(b «c d» ${e})",
    "a=([1]=b [x y]=c d)": "a=([1]=b [x y]=c d)",
    "a+=(\n b # c\n d\n)": "a+=(b d)",
    "a=() b": "a=() b",
    "a=(1)echo rm x": "a=«(»1«)»echo rm x",
    "a=()'b' c": "a=«()b» c",
    "a+=(1 $(b) [2]=c)d e": "a+=«(»1« »$(b)« [»2«]=»c«)»d e",
    "declare a=(1)b c": "declare a=«(»1«)»b c",
    "a=(1)<(b) c": "a=«(»1«)»<(b) c",
    "1a=b": "1a=b",
    "a-b=c": "a-b=c",
    "'a'=b": "«a»=b",
    "$a=b": "${a}=b",
    "a=b=c": "a=b=c",
    "x=~/a": "x=~/a",
    "a[1] b": "a[1] b",
    "[ a ]": "[ a ]",
    "declare -A x=([k]=v) y": "declare -A x=([k]=v) y",
    ">x a": "a >x",
    ">x A=1 a": "A=1 a >x",
    "a 2>&1 b >c": "a b 2>&1 >c",
    "a >b c <d e 2>>f": "a c e >b <d 2>>f",
    "find x 2>/dev/null -exec rm -fR {} \\;": "find x -exec rm -fR {} «;» 2>/dev/null",
    "a &>b &>>c": "a &>b &>>c",
    "a>&b": "a >&b",
    "a >&-": "a >&-",
    "a 2<&- b": "a b 2<&-",
    "a >&-b": "a b >&-",
    "a 2>&1- b": "a b 2>&1-",
    "a >&2>b": "a >&2 >b",
    "a {fd}>b {fd}>&-": "a {fd}>b {fd}>&-",
    "a {x[1]}<b": "a {x[1]}<b",
    "a 1 >b": "a 1 >b",
    "a1>b": "a1 >b",
    "a '1'>b": "a «1» >b",
    "a <<<b": "a <<<b",
    "a <<<'b c'": "a <<<«b c»",
    "a <>b >|c": "a <>b >|c",
    "a > 'b c'": "a >«b c»",
    "a > $b": "a >${b}",
    "a < <(b)": "a <<(b)",
    ">a": ">a",
    ">f if": "if >f",
    "A=1 if": "A=1 if",
    "\\if a": "«i»f a",
    "'if' a": "«if» a",
    "echo if then fi": "echo if then fi",
    "-x a": "-x a",
    "{a,b} c": "{a,b} c",
    "}x": "}x",
}
LISTS = {
    "a; b": "a; b",
    "a & b": "a & b",
    "a &": "a &",
    "a && b || c": "a && b || c",
    "a&&b||c;d&e": "a && b || c; d & e",
    "a\nb\n\n\nc": "a; b; c",
    "a &&\n# c\n\nb": "a && b",
    "a | b | c": "a | b | c",
    "a |\nb": "a | b",
    "a |& b": "a 2>&1 | b",
    "a >x |& b": "a >x 2>&1 | b",
    "{ a; } |& b": "{ a } 2>&1 | b",
    "! a": "! a",
    "! ! a": "a",
    "! a | b": "! a | b",
    "time a | b": "time a | b",
    "time -p -- a": "time a",
    "time ! a": "time ! a",
    "time": "time ",
    "!": "! ",
    "a | time b": "a | time b",
    "time -v a": "time -v a",
    "times": "times",
    "!a": "!a",
    "a;\n": "a",
    "": "",
    "\n \t\n": "",
}


@pytest.mark.parametrize(("text", "expected"), [*COMMANDS.items(), *LISTS.items()])
def test_a_command_is_read_as_bash_reads_it(text: str, expected: str) -> None:
    assert (shown(text), unread(text)) == (expected, [])


@pytest.mark.parametrize(
    "builtin", ["alias", "declare", "eval", "export", "let", "local", "readonly", "typeset"]
)
def test_only_a_declaring_builtin_takes_an_array(builtin: str) -> None:
    command = parse(f"{builtin} x=(1)").body.commands[0]
    assert isinstance(command, Simple)
    assert [type(word) is Assignment for word in command.words] == [False, True]
    assert unread(f"echo {builtin} x=(1)") != []


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("a; b & c && d || e\nf", (";", "&", "&&", "||", ";", "")),
        ("a &", ("&",)),
        ("a;", (";",)),
        ("a", ("",)),
        ("", ()),
    ],
)
def test_each_command_knows_what_ended_it(text: str, marks: tuple[str, ...]) -> None:
    assert parse(text).body.after == marks
