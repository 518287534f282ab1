"""Only configuration that cannot run a program is left in a repository that a command made."""

from __future__ import annotations

import pytest

from redoma.jail.protect.git_repository import harmless, obeyed_places

CLONE = """\
[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tlogallrefupdates = true
[remote "origin"]
\turl = https://example.org/a.git
\tfetch = +refs/heads/*:refs/remotes/origin/*
[branch "main"]
\tremote = origin
\tmerge = refs/heads/main
"""


def test_what_git_itself_writes_for_a_clone_is_left_as_it_is() -> None:
    assert harmless(CLONE) == (CLONE, ())


@pytest.mark.parametrize(
    "line",
    [
        "[core]\n\tfsmonitor = ./x",
        "[core]\n\tsshCommand = ./x",
        "[core] hooksPath = x",
        "[core]\n\teditor = x",
        '[filter "x"]\n\tclean = ./x',
        '[diff "x"]\n\ttextconv = ./x',
        "[alias]\n\tst = !./x",
        '[remote "o"]\n\turl = ext::sh -c x',
        '[remote "o"]\n\turl = -oProxyCommand=x',
        '[remote "o"]\n\tuploadpack = ./x',
        "[include]\n\tpath = ../x",
        '[url "ext::sh"]\n\tinsteadOf = https://',
        "[core]\n\tworktree = a\\\n\tfsmonitor = x",
        "[credential]\n\thelper = !x",
        "[gpg]\n\tprogram = x",
        "[something git learns next year]\n\tkey = x",
    ],
)
def test_a_line_that_could_run_a_program_is_left_out(line: str) -> None:
    kept, dropped = harmless(CLONE + line + "\n")
    assert dropped
    assert "x" not in kept.removeprefix(CLONE).replace("ext", "").replace('x"', "")


def test_places_that_git_obeys_are_found_however_they_are_written() -> None:
    text = '[core] hooksPath = "hooks here"\n[include]\n path = ../a\n[includeIf "gitdir:~/"]\npath=b\n'
    assert obeyed_places(text) == (["hooks here"], ["../a", "b"])
