"""A question says exactly what would run, and an approval of it is for nothing else."""

from __future__ import annotations

import pytest

from redoma.model.change import Change, Changes, Did
from redoma.model.decision import Risk
from redoma.model.grant import Grant, Guarantee, Limits, NetworkMode, Writes
from redoma.model.policy import Confirmation, Policy
from redoma.model.request import Choice, Context, Impact, Program, Question, Request, ShellCommand
from redoma.model.value import replace
from redoma.pipeline.decisions.check import check
from redoma.pipeline.questions import digest, question, rights

GRANT = Grant(
    level="standard",
    workspace="/srv/project",
    limits=Limits(wall_seconds=60.0),
    env=(("PATH", "/usr/bin"),),
    require=frozenset({Guarantee.WRITES_CONFINED, Guarantee.NETWORK_CLOSED}),
)
POLICY = Policy(digest="p1", confirmation=Confirmation(timeout_seconds=45.0))
TEXT = "git push --force origin main"


def shell(text: str = TEXT, **more: object) -> Request:
    return Request(
        **{"workload": ShellCommand(text=text), "caller": "agent", "session": "s1", **more}
    )


def asked(text: str = TEXT, grant: Grant = GRANT, **more: object) -> Question:
    decision = check(text, cwd="/srv/project", home="/home/ana")
    changes = more.pop("changes", None)
    return question(
        shell(text, **more),
        decision,
        grant=grant,
        policy=POLICY,
        changes=changes,
        home="/home/ana",
    )


def test_a_question_holds_what_a_person_has_to_know() -> None:
    made = asked(phase="release")
    again = replace(made, id="", digest="", asked_at="", grant="")
    assert again == Question(
        id="",
        digest="",
        command=TEXT,
        risk=Risk.DANGEROUS,
        safety_level="dangerous",
        because=(
            "git push --force replaces history that others may have built on",
            "pushes straight to the branch that everybody builds on",
        ),
        spans=((0, 28), (24, 28)),
        alternative="git push --force-with-lease stops when someone else pushed meanwhile",
        impact=Impact(
            reversible=False,
            network_access=True,
            estimated_scope="rewrites history, publishes",
            network_closed=True,
        ),
        context=Context(triggered_by="agent", workflow_phase="release"),
        workspace="/srv/project",
        session="s1",
        argvs=(("git", "push", "--force", "origin", "main"),),
        cwd="/srv/project",
        rules=("force-push", "push-trunk"),
        timeout_seconds=45.0,
        default_action=Choice.DENY,
        policy="default: confirm_dangerous",
    )
    assert (len(made.id), len(made.digest)) == (36, 64)
    assert made.asked_at.endswith("Z")


def test_every_question_has_a_name_of_its_own_and_the_same_request_one_digest() -> None:
    one, other = asked(), asked()
    assert one.id != other.id
    assert one.digest == other.digest


def _digest(request: Request, grant: Grant = GRANT, policy: Policy = POLICY) -> str:
    return digest(request, grant=grant, policy=policy)


ANOTHER = {
    "text": _digest(shell("git push --force origin topic")),
    "a blank more": _digest(shell(TEXT + " ")),
    "shell": _digest(shell(workload=ShellCommand(text=TEXT, shell="/bin/bash"))),
    "program": _digest(shell(workload=Program(argv=("git", "push", "--force", "origin", "main")))),
    "words": _digest(shell(workload=Program(argv=("git", "push", "--force", "origin main")))),
    "input": _digest(shell(stdin=b"x")),
    "directory": _digest(shell(cwd="sub")),
    "workspace": _digest(shell(), replace(GRANT, workspace="/srv/other")),
    "network": _digest(shell(), replace(GRANT, network=NetworkMode.OPEN)),
    "writes": _digest(shell(), replace(GRANT, writes=Writes.LAYER)),
    "level": _digest(shell(), replace(GRANT, level="minimal")),
    "writable": _digest(shell(), replace(GRANT, writable=("/srv/x",))),
    "environment": _digest(shell(), replace(GRANT, env=(("PATH", "/tmp"),))),
    "limits": _digest(shell(), replace(GRANT, limits=Limits())),
    "guarantees": _digest(shell(), replace(GRANT, require=frozenset())),
    "policy": _digest(shell(), policy=replace(POLICY, digest="p2")),
    "nothing": _digest(shell()),
}


def test_whatever_is_other_about_a_run_makes_another_digest() -> None:
    assert len(set(ANOTHER.values())) == len(ANOTHER)


def test_who_asks_and_when_is_no_part_of_what_runs() -> None:
    assert _digest(shell(id="r1", caller="b", session="s2", phase="x")) == ANOTHER["nothing"]
    order = frozenset([Guarantee.NETWORK_CLOSED, Guarantee.WRITES_CONFINED])
    assert _digest(shell(), replace(GRANT, require=order)) == ANOTHER["nothing"]


def test_rights_are_what_a_run_may_touch_and_not_how_long_it_may_take() -> None:
    assert rights(replace(GRANT, limits=Limits())) == rights(GRANT)
    assert rights(replace(GRANT, env=())) != rights(GRANT)
    assert rights(replace(GRANT, network=NetworkMode.OPEN)) != rights(GRANT)


def test_a_command_with_input_is_not_known_again_by_its_words() -> None:
    assert asked(stdin=b"rm -rf ~").argvs == ()
    assert asked("rm -rf $x").argvs == ()


def test_a_program_is_remembered_by_its_own_words() -> None:
    decision = check("rm -rf 'a b'", cwd="/srv/project", home="/home/ana")
    request = Request(workload=Program(argv=("rm", "-rf", "a b")))
    made = question(request, decision, grant=GRANT, policy=POLICY)
    assert made.argvs == (("rm", "-rf", "a b"),)
    assert made.command == "rm -rf 'a b'"


def test_the_directory_is_that_of_the_request_within_its_workspace() -> None:
    assert asked(cwd="sub/../other").cwd == "/srv/project/other"
    assert asked(cwd="/srv/project/x").cwd == "/srv/project/x"


def test_files_are_those_named_until_a_preview_has_seen_which_they_are() -> None:
    assert asked("rm -rf build dist").impact == Impact(
        files_affected=("build", "dist"),
        reversible=False,
        network_access=False,
        estimated_scope="deletes; several files",
    )
    seen = Changes(
        id="c1",
        workspace="/srv/project",
        items=(
            Change(path="build/a", did=Did.DELETED),
            Change(path="build/b", did=Did.DELETED),
            Change(path="log", did=Did.CREATED),
            Change(path="new", did=Did.RENAMED, renamed_from="old"),
        ),
    )
    made = asked("rm -rf build dist", replace(GRANT, writes=Writes.LAYER), changes=seen)
    assert made.impact == Impact(
        files_affected=("build/a", "build/b", "log", "new", "old"),
        reversible=True,
        network_access=False,
        estimated_scope="4 paths in a dry run: 1 created, 2 deleted, 1 renamed; deletes",
    )


@pytest.mark.parametrize(
    ("text", "reversible"),
    [
        ("mkdir x", True),
        ("rm -rf build", False),
        ("git push --force", False),
        ("npm publish", False),
        ("kill -9 1234", False),
    ],
)
def test_what_holding_back_changes_cannot_take_back_is_for_good(
    text: str, reversible: bool
) -> None:
    assert asked(text).impact.reversible is reversible


@pytest.mark.parametrize(
    ("text", "network", "files"),
    [
        ("curl https://x.example", True, ()),
        ("curl http://localhost:8080/", False, ()),
        ("git fetch", True, ()),
        ("npm install left-pad", True, ()),
        ("ls", False, ()),
        ("rm -r build > log 2> /dev/null", False, ("build", "log")),
        ("cp a b; sed -i s/a/b/ c", False, ("b", "c")),
    ],
)
def test_what_no_rule_minds_is_told_as_well(
    text: str, network: bool, files: tuple[str, ...]
) -> None:
    told = asked(text).impact
    assert (told.network_access, told.files_affected) == (network, files)


def test_previous_commands_are_told() -> None:
    decision = check(TEXT, cwd="/srv/project", home="/home/ana")
    made = question(shell(), decision, grant=GRANT, policy=POLICY, previous=("git add .",))
    assert made.context.previous_commands == ("git add .",)


def test_a_question_shows_what_the_command_reads() -> None:
    short = asked(stdin=b"drop table x;\n").because
    long = asked(stdin=b"x" * 5000).because
    assert short[-1] == "it reads 14 bytes from its standard input: 'drop table x;\\n'"
    assert long[-1].startswith("it reads 5000 bytes from its standard input: 'xxx")
    assert long[-1].endswith("...'")
    assert asked().because == short[:-1] == long[:-1]
