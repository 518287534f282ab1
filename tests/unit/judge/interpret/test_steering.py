"""A variable that steers programs is judged however it is set, not by an assignment alone."""

from __future__ import annotations

import pytest

from redoma.model.decision import Risk
from tests.unit.judge.judged import risk

SET_BY_OTHER_MEANS = [
    "for PATH in ./bin; do ls; done",
    "select PATH in ./bin; do ls; done",
    "for LD_PRELOAD in ./x.so; do export LD_PRELOAD; ls; done",
    "for GIT_PAGER in 'rm -rf ~'; do export GIT_PAGER; git log; done",
    ": ${GIT_PAGER:=rm -rf ~}; export GIT_PAGER; git log",
    ": ${BASH_ENV=./x}; export BASH_ENV; bash -c :",
    "((PATH=3)); ls",
    ": $((PATH = 3)); ls",
    "for ((PATH=3; ; )); do ls; done",
    "let PATH=3; ls",
    "echo x {PATH}> log; ls",
    "mapfile -t PATH <<< ./bin; ls",
]


@pytest.mark.parametrize("command", SET_BY_OTHER_MEANS)
def test_what_steers_programs_is_judged_however_it_is_set(command: str) -> None:
    assert risk(command) >= Risk.DANGEROUS


@pytest.mark.parametrize("command", ["getopts ab PATH; ls", "coproc PATH { :; }; ls"])
def test_what_it_becomes_need_not_be_known(command: str) -> None:
    assert risk(command) > Risk.SAFE


@pytest.mark.parametrize(
    "command",
    [
        "for i in 1 2 3; do echo $i; done",
        "for ((i=0; i<3; i++)); do echo $i; done",
        "i=0; ((i += 1)); echo $i",
        "while getopts ab: opt; do echo $opt; done",
        "echo ${PAGER:-less} ${NAME:=x}",
        "mapfile -t lines < notes.txt; echo ${lines[0]}",
    ],
)
def test_every_other_variable_is_as_harmless_as_it_was(command: str) -> None:
    assert risk(command) is Risk.SAFE
