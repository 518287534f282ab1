"""Commands have the same canonical argv when their words are the same; an unknown word: none."""

from __future__ import annotations

import pytest

from redoma.judge.canonical_argv import NOTHING, CanonicalCommand, canonical_argv, canonical_program

ALIKE: dict[str, CanonicalCommand] = {
    "rm -r build": CanonicalCommand(argvs=(("rm", "-r", "build"),)),
    "  rm   -r\t'build' ": CanonicalCommand(argvs=(("rm", "-r", "build"),)),
    'rm -r b"ui"ld;': CanonicalCommand(argvs=(("rm", "-r", "build"),)),
    "rm -r \\\n build": CanonicalCommand(argvs=(("rm", "-r", "build"),)),
    "rm -r build # for good": CanonicalCommand(argvs=(("rm", "-r", "build"),)),
    "rm -r build 2>/dev/null": CanonicalCommand(argvs=(("rm", "-r", "build"),)),
    "rm -r build >/dev/null 2>&1 </dev/null": CanonicalCommand(argvs=(("rm", "-r", "build"),)),
    "rm '*'": CanonicalCommand(argvs=(("rm", "*"),)),
    "echo ''": CanonicalCommand(argvs=(("echo", ""),)),
    "git reset --hard HEAD~1": CanonicalCommand(argvs=(("git", "reset", "--hard", "HEAD~1"),)),
    "cd x && rm y": CanonicalCommand(argvs=(("cd", "x"), ("rm", "y")), joins=("&&",)),
    "cd x; rm y": CanonicalCommand(argvs=(("cd", "x"), ("rm", "y")), joins=(";",)),
    "cd x\nrm y": CanonicalCommand(argvs=(("cd", "x"), ("rm", "y")), joins=(";",)),
    "a | b || c": CanonicalCommand(argvs=(("a",), ("b",), ("c",)), joins=("|", "||")),
    "bash -lc 'rm -r build'": CanonicalCommand(argvs=(("bash", "-lc", "rm -r build"),)),
    "python3 deploy.py --now": CanonicalCommand(argvs=(("python3", "deploy.py", "--now"),)),
}
LIKE_NOTHING = [
    "",
    "   ",
    "# only a remark",
    "rm $x",
    'rm "$x"',
    "rm ${x:-y}",
    "rm $(cat list)",
    "rm `cat list`",
    "rm <(x)",
    "rm $((1+1))",
    "rm *",
    "rm ?",
    "rm [ab]",
    "rm {a,b}",
    "rm ~/x",
    "rm ~",
    "cp x --to=~/y",
    "scp x host:~/y",
    "rm x > log",
    "rm x >> log",
    "rm x >| log",
    "rm x &> log",
    "rm x 3>/dev/null",
    "sort < list",
    "sort <<< words",
    "sort <<END\nwords\nEND",
    "X=1 rm x",
    "X=1",
    "rm x &",
    "a & b",
    "(rm x)",
    "{ rm x; }",
    "! rm x",
    "time rm x",
    "if a; then rm x; fi",
    "for f in a b; do rm x; done",
    "while a; do rm x; done",
    "case a in b) rm x;; esac",
    "f() { rm x; }",
    "coproc rm x",
    "[[ -f x ]] && rm x",
    "(( x )) && rm x",
    "eval 'rm x'",
    "source ./x",
    ". ./x",
    "trap 'rm x' EXIT",
    "exec rm x",
    "alias ls='rm x'",
    "bash",
    "cat x | sh",
    "cat x | sh -s",
    "cat x | python3 -",
    "cat x | python3.11 -",
    "cat x | xargs rm",
    "bash -c 'rm $x'",
    "sh -ec 'rm *'",
    "bash -c 'bash -c \"rm $x\"'",
    "rm 'x",
    "rm x |",
    "rm \u202ex",
    "rm x\u200b",
    "rm \x1b[2J",
    "rm x\r",
    "rm x\0",
    "rm \udc80",
    "echo " + "x" * 20_000,
    "; ".join(["rm x"] * 40),
]


@pytest.mark.parametrize("text", ALIKE)
def test_a_plain_command_is_its_words(text: str) -> None:
    assert canonical_argv(text) == ALIKE[text]


@pytest.mark.parametrize("text", LIKE_NOTHING, ids=lambda text: repr(text[:40]))
def test_a_command_whose_words_are_not_known_is_like_nothing(text: str) -> None:
    assert canonical_argv(text) == NOTHING


def test_a_program_is_its_own_words() -> None:
    assert canonical_program(("rm", "*")) == CanonicalCommand(argvs=(("rm", "*"),))
    for argv in ((), ("sh",), ("bash", "-c", "rm $x"), ("rm", "\x1b"), ("/bin/sh", "-s")):
        assert canonical_program(argv) == NOTHING
