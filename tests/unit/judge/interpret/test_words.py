"""Words become what bash would hand to the program, as far as the script tells."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.unit.judge.judged import calls

UNKNOWN = "\0"

KNOWN = [
    ("show plain words", ["show", "plain", "words"]),
    ("show 'single quoted' \"double quoted\"", ["show", "single quoted", "double quoted"]),
    (r"show back\ slash", ["show", "back slash"]),
    (r"show $'tab\there' $'\x41\102\u0043'", ["show", "tab\there", "ABC"]),
    ("show a'b'\"c\"d", ["show", "abcd"]),
    ("show ''", ["show", ""]),
    ("x=one; show $x", ["show", "one"]),
    ("x='one two'; show $x", ["show", "one", "two"]),
    ("x='one two'; show \"$x\"", ["show", "one two"]),
    ("x=' padded '; show a$x'b'", ["show", "a", "padded", "b"]),
    ("x=; show a${x}b", ["show", "ab"]),
    ("show {a,b}c", ["show", "ac", "bc"]),
    ("show {1..4}", ["show", "1", "2", "3", "4"]),
    ("show {a..c}{1,2}", ["show", "a1", "a2", "b1", "b2", "c1", "c2"]),
    ("show x{,y}", ["show", "x", "xy"]),
    ("show '{a,b}'", ["show", "{a,b}"]),
    ("x=path/to/file.txt; show ${x##*/} ${x%.txt} ${x#*/} ${x%%/*}", ["show", "file.txt", "path/to/file", "to/file.txt", "path"]),
    ("x=banana; show ${x/a/o} ${x//a/o} ${x/#b/B} ${x/%a/A}", ["show", "bonana", "bonono", "Banana", "bananA"]),
    ("x=word; show ${x^} ${x^^} ${#x}", ["show", "Word", "WORD", "4"]),
    ("x=LOUD; show ${x,,} ${x,}", ["show", "loud", "lOUD"]),
    ("x=abcdef; show ${x:2} ${x:1:3} ${x: -2}", ["show", "cdef", "bcd", "ef"]),
    ("show ${nope:-fallback} ${nope-other}", ["show", "fallback", "other"]),
    ("x=set; show ${x:+given}", ["show", "given"]),
    ("a=b; b=c; show ${!a}", ["show", "c"]),
    ("a=(one 'two three' four); show \"${a[@]}\"", ["show", "one", "two three", "four"]),
    ("a=(one two); show ${a[1]} ${a[0]}", ["show", "two", "one"]),
    ("a=(one); a+=(two); show ${a[@]}", ["show", "one", "two"]),
    ("set -- p q; show $1 $2 $# \"$@\"", ["show", "p", "q", "2", "p", "q"]),
    ("show $((2+3*4)) $((7/2)) $((10%4))", ["show", "14", "3", "2"]),
    ("show $(echo inner words)", ["show", "inner", "words"]),
    ("show \"$(echo inner words)\"", ["show", "inner words"]),
    ("show `echo ticks`", ["show", "ticks"]),
    ("printf -v x '%s-%s' a b; show $x", ["show", "a-b"]),
    ("read -r first rest <<< 'one two three'; show $first \"$rest\"", ["show", "one", "two three"]),
    ("IFS=,; x=a,b; show $x", ["show", "a", "b"]),
    ("f() { show \"$1\"; }; f given", ["show", "given"]),
    ("for i in one; do show $i; done", ["show", "one"]),
    ("cd sub; show $PWD", ["show", "/home/user/project/sub"]),
    ("show ~ ~/x \"~\"", ["show", "/home/user", "/home/user/x", "~"]),
    ("show a\\\nb", ["show", "ab"]),
    ("echo 'sh''ow piped' | cat | { read -r a b; $a $b; }", ["show", "piped"]),
]  # fmt: skip


@pytest.mark.parametrize(("command", "expected"), KNOWN, ids=[c for c, _ in KNOWN])
def test_known_words_are_told_exactly(command: str, expected: list[str]) -> None:
    assert expected in calls(command)


@pytest.mark.parametrize(("command", "expected"), KNOWN, ids=[c for c, _ in KNOWN])
def test_bash_itself_gives_the_same_words(command: str, expected: list[str], tmp_path) -> None:
    bash = shutil.which("bash")
    assert bash, "install bash"
    (tmp_path / "home" / "user" / "project" / "sub").mkdir(parents=True)
    home = tmp_path / "home" / "user"
    script = 'show() { printf "%s\\0" show "$@"; printf "\\1"; }\n' + command
    done = subprocess.run(
        [bash, "--norc", "-c", script],
        cwd=home / "project",
        env={"HOME": str(home), "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        timeout=10,
        check=False,
    )
    told = done.stdout.replace(str(tmp_path), "")
    seen = [call.split("\0")[:-1] for call in told.split("\1") if call]
    assert expected in seen, done.stderr


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("show $nothing_known", ["show", UNKNOWN]),
        ("show a$RANDOM", ["show", f"a{UNKNOWN}"]),
        ("show $(some_program)", ["show", UNKNOWN]),
        ('show "$(some_program)/x"', ["show", f"{UNKNOWN}/x"]),
        ("if t; then x=a; else x=b; fi; show $x", ["show", UNKNOWN]),
        ("read x; show $x", ["show", UNKNOWN]),
        ("show ${x:0:$n}", ["show", UNKNOWN]),
        ("false || x=1; show $x", ["show", UNKNOWN]),
    ],
)
def test_what_only_the_running_shell_knows_is_marked(command: str, expected: list[str]) -> None:
    assert expected in calls(command)


def test_words_that_would_be_too_many_are_unknown() -> None:
    assert calls("show {1..9}{1..9}{1..9}{1..9}") == [["show", UNKNOWN]]
    assert calls("show " + "{" * 500) == [["show", UNKNOWN]]


def test_a_doubling_variable_stops_being_followed() -> None:
    command = "x=ab;" + "x=$x$x;" * 40 + "show $x"
    assert calls(command)[-1] == ["show", UNKNOWN]
