"""Texts made to cost a reader of shell more than they cost their author."""

from __future__ import annotations

SIZE = 64 * 1024
NASTY = (
    *("$(", '"$(', '"$("$(', "`", "\\`", '"`', "`\\`", "${a:-", '"${a:-"', "${a[", "${x//$("),
    *("((", "$((", "((a)", "$((a) ", "((a$((", "$[", "(", "{ ", "if ", "while ", "until "),
    *("for x in a; do ", "case x in a) ", "f() { ", "function f ", "coproc ", "time ", "! ", "!"),
    *("[[ ( ", "[[ a ", "[[ a && ", "<(", "a=(", "[a]=", "x[$(", "@(", "?(", "a["),
    *("a&&", "a|", "a|&", "a;", "a\n", "a&", "&", "|", ";;", ")", "}", "fi ", "done ", "then "),
    *("'", '"', "$'", '$"', "\\", "\\a", "\\\n", "a\\\n", "#\\\n", "a #\\\n", "'\\\n' ", "\n"),
    *(
        "<<A ",
        "<<A\n",
        "<<A <<B\n",
        "cat <<A\n$(",
        "cat <<-A\n\t$(",
        "cat <<A\nA\n",
        "$(<<A\n",
        "<<E<(\\`E",
    ),
    *("a ", "$x", "$x ", '"$x" ', "''", "'' ", "a'b'", 'a"b"', "a=1 ", ">a ", "2>&1 ", "&>"),
    *("{a}>", "<<<a ", "(a);", "{ a; };", "[[ a ]];", "((1));", "$(a)", "`a`", "${a}", "${a[b]} "),
    *("@(a) ", "a=(b) ", "if a; then b; fi;", "case x in a) b;; esac;", "f() { a; };", "coproc a;"),
    *("\r", "\0", "\ud800", "é ", "~", "*", '((a;$((b;"((c;`', "\"${a:-'", "$(( '", "\\$x"),
)
MIXED = {
    "bodies": "cat " + "<<A " * 8000 + "\n" + "A\n" * 8000,
    "nested bodies": "cat <<A\n$(" * 40 + "Ab\n" * 20000,
    "stripped bodies": "cat <<-A\n\t$(" * 40 + "\t\tAb\n" * 12000,
    "backticks in backticks": "`\\`\\\\\\`" + "a " * 32000,
    "brackets both ways": "(" * 32000 + ")" * 32000,
    "arithmetic or not": "((" * 40 + " $((" * 40 + "1+" * 30000,
    "one array": "a=(" + "b " * 32000,
    "one loop": "for x in " + "b " * 32000,
    "one pattern": "case x in " + "b|" * 32000,
    "one test": "[[ " + "a && " * 13000,
    "deep then wide": "${a:-" * 90 + "b'c'" * 16000,
}
