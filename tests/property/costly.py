"""Texts made to cost the judge more than they cost their author, each of any size."""

from __future__ import annotations

from collections.abc import Callable

MOST = 65_000
"""Just below the length at which a text is refused unread."""


def _repeated(unit: str, before: str = "", after: str = "") -> Callable[[int], str]:
    """A text of about so many characters: a head, a unit again and again, a tail."""

    def made(size: int) -> str:
        room = max(size - len(before) - len(after), len(unit))
        return before + unit * (room // len(unit)) + after

    return made


def _halves(template: str, first: str, second: str) -> Callable[[int], str]:
    """A text with two places that grow alike."""

    def made(size: int) -> str:
        each = max((size - len(template)) // 2, 1)
        one, other = (unit * max(each // len(unit), 1) for unit in (first, second))
        return template.replace("<1>", one).replace("<2>", other)

    return made


def _again(unit: str, head: str) -> Callable[[int], str]:
    """A value of two hundred letters, and as many expansions of it as there is room for."""
    return _repeated(unit, before=f"x={'a' * 200}; {head}")


def _doubled(count_of: Callable[[int], int]) -> Callable[[int], str]:
    def made(size: int) -> str:
        doubling = "".join(f"x{i + 1}=$x{i}$x{i};" for i in range(min(count_of(size), 2000)))
        return f"x0=aaaaaaaa;{doubling} echo ${{x5//a*a*a*b/c}}"

    return made


_OPERATORS = ("#", "##", "%", "%%", "/", "//", "/#", "/%")
_PATTERNS = (
    "a*a*a*a*b",
    "*a*a*a*b",
    "*a*a*a*a*a*a*a*a*b",
    "[!b]*[!b]*[!b]*b",
    "*([a])*([a])b",
    "+(a|aa)+(a|aa)b",
    "!(b)!(b)!(b)c",
    "?" * 64 + "*" + "?" * 64 + "b",
)

EXPANSIONS: dict[str, Callable[[int], str]] = {
    f"{op} {pattern[:24]}": _again(f"echo ${{x{op}{pattern}}};", "")
    for op in _OPERATORS
    for pattern in _PATTERNS
}

SHELL: dict[str, Callable[[int], str]] = {
    "the value and the pattern grow": _halves("x=<1>; echo ${x//<2>b/x}", "a", "a*"),
    "the value and the replacement grow": _halves("x=<1>; y=<2>; echo ${x//a/$y}", "a", "b"),
    "replaced again and again": _repeated("y=${y//a/aaaaaaaa};", before="y=aaaaaaaa;"),
    "doubled again and again": _doubled(lambda size: size // 16),
    "braces multiply": _repeated("{1..9}", before="echo "),
    "braces nest": _halves("echo <1><2>", "{a,", "}"),
    "braces and commas": _repeated("{a,b}", before="echo ", after="{"),
    "open braces": _repeated("{", before="echo ", after="a,b}"),
    "a range of many": _repeated("{1..250} ", before="echo "),
    "arithmetic nests": _halves("echo $((<1>1<2>))", "(", ")"),
    "arithmetic is long": _repeated("1+", before="echo $((", after="1))"),
    "arithmetic names": _repeated("a+", before="a=1; echo $((", after="1))"),
    "arithmetic of substitutions": _repeated("$((1+", before="echo "),
    "powers": _repeated("9**", before="echo $((", after="9))"),
    "eval of eval": _repeated("eval ", after="echo a"),
    "eval of quotes": _repeated('eval "', after="a"),
    "eval chains": _repeated('x="eval $x";', before="x=ls;", after="$x"),
    "many evals": _repeated("eval 'a';"),
    "shells in shells": _repeated("bash -c ", after="ls"),
    "many shells": _repeated("sh -c 'a';"),
    "here-documents": _repeated("cat <<A\n$(a)\nA\n"),
    "here-documents in one": _halves("cat <1>\n<2>", "<<A ", "A\n"),
    "here-document to a shell": _repeated("ls\n", before="bash <<A\n", after="A\n"),
    "here-strings": _repeated("bash <<< 'ls';"),
    "aliases of aliases": _repeated("alias b=a a=b;", after="a"),
    "functions that call": _repeated("f() { g; }; g() { f; };", after="f"),
    "functions that double": lambda size: (
        "".join(f"f{i}() {{ f{i + 1}; f{i + 1}; }};" for i in range(max(size // 24, 1))) + "f0"
    ),
    "substitutions nest": _halves("<1>a<2>", "$(", ")"),
    "substitutions in a row": _repeated("$(a)", before="echo "),
    "process substitutions": _repeated("<(a) ", before="cat "),
    "pipes": _repeated("cat | ", after="cat"),
    "pipes of text": _repeated("tr a b | ", before="echo aaaa | ", after="cat"),
    "background": _repeated("a & "),
    "loops in loops": _halves("<1>a<2>", "for x in 1 2 3 4 5 6; do ", "; done"),
    "loops in a row": _repeated("for x in 1 2 3 4 5 6; do a; b; done;"),
    "conditions": _repeated("if a; then b; elif c; then d; fi;"),
    "cases": _repeated("*a*a*a*b) c;; ", before=f"case {'a' * 300} in ", after="esac"),
    "case patterns": _repeated("*a*|", before=f"case {'a' * 300} in ", after="b) c;; esac"),
    "tests": _repeated("[[ aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa == *a*a*a*a*b ]];"),
    "tests of expressions": _repeated("[[ aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa =~ (a+)+b ]];"),
    "one long test": _repeated("a == b && ", before="[[ ", after="c ]]"),
    "globs": _repeated("*a*a*a*b ", before="ls "),
    "globs to secrets": _repeated("~/.s*s*s*h/i*d*_*r*s*a ", before="cat "),
    "one long glob": _repeated("*?", before="cat ~/.", after="h"),
    "bracket globs": _repeated("[a-z]*", before="rm "),
    "open brackets": _repeated("[", before="rm "),
    "words": _repeated("a ", before="rm "),
    "options": _repeated("-a ", before="rm "),
    "long words": _repeated("a", before="rm "),
    "paths": _repeated("../", before="rm "),
    "slashes": _repeated("/", before="rm "),
    "assignments": _repeated("a=b "),
    "arrays": _repeated("a+=(b);", after="echo ${a[@]}"),
    "array elements": _repeated("a[1]=b;", after='echo "${a[@]}"'),
    "array products": _repeated("${a[@]}", before="a=(1 2 3 4 5 6 7 8);echo "),
    "positional": _repeated('set -- "$@" "$@";', before="set -- a;"),
    "fields": _halves("IFS=a; x=<1>; echo <2>", "a", "$x"),
    "read": _repeated("read a b c <<< 'a b c';"),
    "printf": _repeated("%s", before="printf '", after="' a b c d e f"),
    "printf repeats": _halves("printf '<1>' <2>", "%s", "a "),
    "redirects": _repeated(">a "),
    "descriptors": _repeated("exec 3>a;"),
    "files written": lambda size: "".join(f"echo a > f{i};" for i in range(max(size // 14, 1))),
    "files written and run": lambda size: (
        "".join(f"echo 'sh f{i + 1}' > f{i};" for i in range(max(size // 20, 1))) + "sh f0"
    ),
    "coprocesses": _repeated("coproc a;"),
    "traps": _repeated("trap 'a' EXIT;"),
    "changes of directory": _repeated("cd a;"),
    "continued lines": _repeated("a\\\n"),
    "comments": _repeated("# a\n"),
    "carriage returns": _repeated("ls\r"),
    "letters that look alike": _repeated("rm \u2010rf \u0430;"),
    "extended patterns": _repeated("@(a|b)", before="ls "),
    "extended patterns nest": _halves("ls <1>a<2>", "@(", ")"),
    "extended patterns, open": _repeated("!(", before="ls "),
    "sudo": _repeated("sudo ", after="ls"),
    "env": _repeated("env A=1 ", after="ls"),
    "xargs": _repeated("xargs ", after="ls"),
    "find": _repeated("-exec rm {} \\; ", before="find . "),
    "find names": _repeated("-name '*a*a*a*b' -o ", before="find . ", after="-print"),
    "tr": _halves("echo <1> | tr <2> b", "a", "a"),
    "tr ranges": _repeated("a-z", before="echo abc | tr ", after=" b"),
    "urls": _repeated("http://a/", before="curl "),
    "at signs": _repeated("a@", before="scp ", after=":b c"),
    "colons": _repeated("a:", before="docker run -v "),
}

TEXT_PROGRAMS: dict[str, Callable[[int], str]] = {
    "sed alternatives": lambda size: (
        f"echo {'a' * (size // 8)} | sed -E 's/{'(a|a)' * min(size // 8, 40)}b/x/'"
    ),
    "sed options": lambda size: (
        f"echo {'a' * (size // 8)} | sed -E 's/{'a?' * min(size // 8, 90)}{'a' * 60}b/x/'"
    ),
    "sed stars": lambda size: f"echo {'a' * size} | sed 's/a*a*a*b/x/'",
    "sed starts": lambda size: f"echo {'a' * size} | sed 's/a*b/x/'",
    "sed back references": lambda size: f"echo {'a' * size} | sed -E 's/(a*)\\1\\1b/x/'",
    "sed counts": lambda size: f"echo {'a' * size} | sed -E 's/(a{{1,9}}){{1,9}}b/x/'",
    "sed big counts": lambda size: f"echo {'a' * size} | sed -E 's/a{{1,60000}}b/x/'",
    "sed grows": lambda size: f"echo {'a' * size} | sed 's/a/{'&' * 200}/g'",
    "sed again": _repeated("s/a/aaaa/g;", before="echo aaaa | sed '", after="'"),
    "sed pipes": _repeated(" | sed s/a/aaaaaaaa/g", before="echo a"),
    "sed lines": lambda size: "printf '" + "a\\n" * (size // 3) + "' | sed 's/a*b/c/'",
    "sed branches": _repeated("b;", before="sed '", after="' a"),
    "sed commands": _repeated("1e ls;", before="sed '", after="' a"),
    "grep": lambda size: f"echo {'a' * size} | grep 'a*a*a*b'",
    "grep alternatives": lambda size: (
        f"echo {'a' * (size // 8)} | grep -E '{'(a|a)' * min(size // 8, 40)}b'"
    ),
    "grep groups": lambda size: f"echo {'a' * size} | grep -E '(a+)+b'",
    "grep optional groups": lambda size: f"echo {'a' * size} | grep -E '{'(a?)?' * 30}b'",
    "awk": _repeated("{ print }", before="awk '", after="' a"),
    "awk strings": _repeated('"a" ', before="awk '{ print ", after="}' a"),
    "awk expressions": _repeated("/a*/", before="awk '", after="' a"),
    "awk brackets": _repeated("/[[", before="awk '", after="' a"),
    "awk begins": _repeated("\\", before="awk 'BEGIN{print \"", after="x' a"),
    "cut": lambda size: f"echo {'a,' * (size // 2)} | cut -d, -f1-{size}",
    "sort": lambda size: "printf '" + "b\\na\\n" * (size // 6) + "' | sort | uniq",
    "base64": lambda size: f"echo {'YWFh' * (size // 4)} | base64 -d | sh",
    "base64 of base64": _repeated(" | base64 -d", before="echo YWFh"),
    "hex": lambda size: f"echo {'61' * (size // 2)} | xxd -r -p | sh",
    "rev": _repeated(" | rev", before="echo abc"),
    "tee": _repeated(" | tee a", before="echo abc"),
    "vim": _repeated("!a|", before="vim -c '", after="'"),
    "vim blanks": _repeated(" ", before="vim -c ':", after="x'"),
    "emacs": _repeated("(a ", before="emacs --eval '", after="'"),
    "emacs strings": _repeated('"\\', before="emacs --eval '(delete-file ", after="'"),
    "make": _repeated("$(shell a ", before="make 'A=", after="'"),
    "tmux": _repeated("#(a", before="tmux display '", after="'"),
    "expect": _repeated("spawn a;", before="expect -c '", after="'"),
    "expect blanks": _repeated("\n ", before="expect -c '", after="x'"),
    "jq": _repeated(". | ", before="jq '", after=".' a"),
    "mongo": _repeated("db.a.", before="mongosh --eval '", after="'"),
}


def _code(program: str) -> dict[str, Callable[[int], str]]:
    units = {
        "words": "a ",
        "calls": "a();",
        "opens": "(",
        "braces": "{",
        "brackets": "[",
        "quotes": "'\\''",
        "double quotes": '"',
        "dots": "a.",
        "colons": "a::",
        "arrows": "a->",
        "backslashes": "\\",
        "dollars": "$a",
        "dollar braces": "${a",
        "hashes": "#{",
        "strings": '"a"+',
        "comments": "/* ",
        "lines": "a\n",
        "blanks": " ",
        "newlines": "\n",
        "slashes": "/a",
        "backticks": "`",
        "q": "q(",
        "system": 'system("ls");',
        "assigned": 'a="ls";',
        "joined": "a=a+a;",
        "requires": 'require("a").',
    }
    return {
        f"{program}: {name}": _repeated(unit, before=f"{program} '", after="'")
        for name, unit in units.items()
    }


FOREIGN: dict[str, Callable[[int], str]] = {
    name: made
    for program in (
        *("perl -e", "ruby -e", "node -e", "php -r", "lua -e", "tclsh <<<", "julia -e"),
        *("elixir -e", "groovy -e", "pwsh -c", "Rscript -e", "osascript -e"),
    )
    for name, made in _code(program).items()
}

PYTHON: dict[str, Callable[[int], str]] = {
    f"python: {name}": _repeated(unit, before=f"python3 -c '{head}", after=f"{tail}'")
    for name, (head, unit, tail) in {
        "lines": ("", "a\n", ""),
        "calls": ("", "f(", ""),
        "brackets": ("", "[", ""),
        "braces": ("", "{", ""),
        "dictionaries": ("", "{1:", ""),
        "parentheses": ("", "(", ""),
        "closed parentheses": ("a=", "()", ""),
        "lambdas": ("", "lambda:", "1"),
        "negations": ("", "not ", "1"),
        "minus": ("", "-", "1"),
        "attributes": ("a", ".a", ""),
        "calls of calls": ("a", "()", ""),
        "subscripts": ("a", "[0]", ""),
        "sums": ("a=", "1+", "1"),
        "strings summed": ("a=", '"a"+', '"b"'),
        "strings beside": ("a=", '"a"', ""),
        "powers": ("a=", "9**", "9"),
        "products": ("a=", "9999999*", "9"),
        "times": ("a=", '"a"*99999+', '"b"'),
        "f-strings": ("a=", 'f"{a}"', ""),
        "nested f-strings": ("", 'f"{', ""),
        "assigned": ("", "a=a+a\n", ""),
        "doubled": ('a="aaaaaaaa"\n', "a=a+a\n", "exec(a)"),
        "joined": ("a=", '"".join(["a","b"])+', '"c"'),
        "decoded": ("", 'exec(bytes.fromhex("61").decode())\n', ""),
        "executed": ("", 'exec("a")\n', ""),
        "executed in executed": ("", "exec(", ""),
        "imports": ("", "import os\n", ""),
        "aliases": ("", "a=b;b=a\n", "a()"),
        "systems": ("import os\n", 'os.system("ls")\n', ""),
        "functions": ("", "def f(): f()\n", ""),
        "nested functions": ("", "def f(a=", ""),
        "comprehensions": ("", "[a for a in ", "b"),
        "conditions": ("a=", "1 if b else ", "2"),
        "comparisons": ("a=", "1<", "2"),
        "stars": ("", "*a,", "=b"),
        "walrus": ("", "(a:=", ""),
        "indentation": ("", "if a:\n ", ""),
        "loops": ("", "for a in b: ", "c"),
        "comments": ("", "#", ""),
        "backslashes": ("", "\\\n", "a"),
        "tabs": ("", "\t", "a"),
        "decorators": ("", "@a\n", "def f(): pass"),
        "replaced": ('a="a"', '.replace("a","aa")', "\nexec(a)"),
    }.items()
}

SQL: dict[str, Callable[[int], str]] = {
    f"{program}: {name}": _repeated(unit, before=f'{program} "{head}', after=f'{tail}"')
    for program in ("psql -c", "mysql -e", "sqlite3 a.db", "duckdb a.db")
    for name, (head, unit, tail) in {
        "statements": ("", "SELECT 1;", ""),
        "deletions": ("", "DELETE FROM a WHERE b=1;", ""),
        "nested": ("DELETE FROM a WHERE ", "(", "1"),
        "nested closed": ("DELETE FROM a WHERE b IN ", "(SELECT 1 FROM a WHERE b IN ", "1"),
        "sums": ("DELETE FROM a WHERE b=", "1+", "1"),
        "or": ("DELETE FROM a WHERE ", "b=1 OR ", "c=2"),
        "not": ("DELETE FROM a WHERE ", "NOT ", "b"),
        "case": ("DELETE FROM a WHERE ", "CASE WHEN ", "b"),
        "casts": ("DELETE FROM a WHERE ", "CAST(", "b"),
        "functions": ("DELETE FROM a WHERE ", "f(", "b"),
        "minus": ("DELETE FROM a WHERE b=", "- ", "1"),
        "intervals": ("DELETE FROM a WHERE b=", "INTERVAL ", "1"),
        "brackets": ("DELETE FROM a WHERE b=", "[", "1"),
        "braces": ("DELETE FROM a WHERE b=", "{", "1"),
        "joins": ("DELETE FROM a WHERE b IN (SELECT 1 FROM c ", "JOIN d ", ")"),
        "unions": ("WITH a AS (", "SELECT 1 UNION ", "SELECT 2) DELETE FROM b"),
        "tables": ("WITH ", "a AS (SELECT 1), ", "b AS (SELECT 1) DELETE FROM c"),
        "lambda": ("DELETE FROM a WHERE ", "x -> ", "1"),
        "struct": ("DELETE FROM a WHERE b=", "STRUCT<a ", "1"),
        "quotes": ("", "''", ""),
        "dollars": ("", "\\$a\\$", ""),
        "comments": ("", "/* ", "DELETE FROM a"),
        "dashes": ("", "-- a\n", "DELETE FROM a"),
        "blanks": ("DELETE FROM", " ", "a"),
        "meta": ("", "\\\\! ls\n", ""),
        "backticks": ("DELETE FROM ", "\\`", "a"),
    }.items()
}

ALL = {**EXPANSIONS, **SHELL, **TEXT_PROGRAMS, **FOREIGN, **PYTHON, **SQL}
