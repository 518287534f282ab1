"""Compound commands are read in every form that bash accepts."""

from __future__ import annotations

import pytest

from tests.unit.judge.shell.show import shown, unread

COMPOUND = {
    "{ a; b; } >c": "{ a; b } >c",
    "{\na\n}": "{ a }",
    "{ { a; } }": "{ { a } }",
    "(a; b) 2>&1": "( a; b ) 2>&1",
    "(a)|(b)": "( a ) | ( b )",
    "( (a) )": "( ( a ) )",
    "((a) | b)": "( ( a ) | b )",
    "((a);(b))": "( ( a ); ( b ) )",
    "((1 + (2)))": "((1 + (2)))",
    "((a<b)) >c": "((a<b)) >c",
    "((a++)) && b": "((a++)) && b",
    "((\n1\n))": "((\n1\n))",
    "if a; then b; fi": "if a then b fi",
    "if a; then b; else c; fi >d": "if a then b else c fi >d",
    "if a; then b; elif c; then d; elif e; then f; else g; fi": (
        "if a then b elif c then d elif e then f else g fi"
    ),
    "if(a)then(b)fi": "if ( a ) then ( b ) fi",
    "if [[ a ]] then b; fi": "if [[ a ]] then b fi",
    "if if a; then b; fi; then c; fi": "if if a then b fi then c fi",
    "while a; do b; done <c": "while a do b done <c",
    "until a\ndo b\ndone": "while a do b done",
    "while(a)do(b)done": "while ( a ) do ( b ) done",
    "while a; do b & done": "while a do b & done",
    "for x in a 'b c'; do d; done": "for x in a «b c» do d done",
    "for x; do a; done": "for x do a done",
    "for x do a; done": "for x do a done",
    "for x in; do a; done": "for x in do a done",
    "for x\nin a\ndo b\ndone": "for x in a do b done",
    "for x in a; { b; }": "for x in a do b done",
    "for x in do done; do a; done": "for x in do done do a done",
    "for ((i=0; i<3; i++)); do a; done": "for ((i=0; i<3; i++)) do a done",
    "for ((;;)) { a; }": "for ((;;)) do a done",
    "select x in a b; do c; done": "for x in a b do c done",
    "case x in a) b;; esac": "case x in a) b ;; esac",
    "case x in (a|b) c;; *) d; esac >e": "case x in a | b) c ;; *) d ;; esac >e",
    "case x in a) b;& c) d;;& e) f;; esac": "case x in a) b ;; c) d ;; e) f ;; esac",
    "case x in a) ;; b) esac": "case x in a)  ;; b)  ;; esac",
    "case x in esac": "case x in  esac",
    "case x in (esac) a;; esac": "case x in esac) a ;; esac",
    'case "$x" in "a b"|c*|[!d]) e;; esac': 'case "${x} in «a b» | c* | [!d]) e ;; esac',
    "case x\nin\n# c\na)\nb\n;;\nesac": "case x in a) b ;; esac",
    "f() { a; }": "f() { a }",
    "f () ( a ) >b": "f() ( a ) >b",
    "function f { a; }": "f() { a }",
    "function f() { a; }": "f() { a }",
    "f()\n# c\n{ a; }": "f() { a }",
    "f() if a; then b; fi": "f() if a then b fi",
    "f.g-h:i() { a; }": "f.g-h:i() { a }",
    "f() { f | f & }; f": "f() { f | f & }; f",
    ":(){ :|:& };:": ":() { : | : & }; :",
    "coproc a b": "coproc : a b",
    "coproc N { a; }": "coproc N: { a }",
    "coproc { a; } >b": "coproc : { a } >b",
    "coproc N (a)": "coproc N: ( a )",
    "coproc N while a; do b; done": "coproc N: while a do b done",
    "coproc a=(b) c": "coproc : a=(b) c",
}
CONDITIONS = {
    "[[ a ]]": "[[ a ]]",
    "[[ -f a && ! -d b || c ]] >d": "[[ -f a && ! -d b || c ]] >d",
    "[[ ( a && b ) || ! ( c ) ]]": "[[ ( a && b ) || ! ( c ) ]]",
    "[[ a == b* ]]": "[[ a == b* ]]",
    "[[ a != @(b|c d)e ]]": "[[ a != @(b|c d)e ]]",
    "[[ a<b ]]": "[[ a < b ]]",
    "[[ a > b ]]": "[[ a > b ]]",
    "[[ $a -eq 1 ]]": "[[ ${a} -eq 1 ]]",
    "[[ a =~ ^(b c|d)+$ ]]": "[[ a =~ ^(b c|d)+$ ]]",
    "[[ a =~ b|c && d ]]": "[[ a =~ b|c && d ]]",
    '[[ a =~ "b c"\\ d$e ]]': "[[ a =~ «b c »d${e} ]]",
    "[[ a =~ [[:alpha:]]{2} ]]": "[[ a =~ [[:alpha:]]{2} ]]",
    "[[ a &&\n b ]]": "[[ a && b ]]",
    "[[\na ]]": "[[ a ]]",
    "[[ -n a\n]]": "[[ -n a ]]",
    "[[ ! ! a ]]": "[[ ! ! a ]]",
    "[[ '<' == \\> ]]": "[[ «<» == «>» ]]",
    "[[ $(a) ]]": "[[ $(a) ]]",
    "[[ a ]] && b": "[[ a ]] && b",
}


@pytest.mark.parametrize(("text", "expected"), [*COMPOUND.items(), *CONDITIONS.items()])
@pytest.mark.parametrize("extglob", [True, False])
def test_a_compound_command_is_read_as_bash_reads_it(
    text: str, expected: str, extglob: bool
) -> None:
    assert (shown(text, extglob=extglob), unread(text, extglob=extglob)) == (expected, [])


@pytest.mark.parametrize("word", ["if", "then", "do", "done", "esac", "fi", "{", "}", "[[", "in"])
def test_a_reserved_word_is_one_only_in_command_position(word: str) -> None:
    for text in (f"a {word}", f"a={word}", f"a >{word}", f"a=1 {word}", f"'{word}' a"):
        assert unread(text) == []
