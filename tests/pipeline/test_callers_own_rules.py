"""What a caller of a sandbox may bring: a pack and rules, /tmp, when to apply, and questions."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from redoma import Access, Choice, Outcome, PolicyChoice, Question, Verdict, check, facts, rules
from redoma.model.decision import Risk
from redoma.model.errors import EngineFailed, UsageError
from redoma.model.policy import BUILT_IN
from redoma.pipeline.decisions.own_rules import over, own
from tests.pipeline.place import Place
from tests.tidy import remove

MODERATE_IS_BLOCKED = ("strict", "safety_level == moderate", "block")


@pytest.fixture
def in_tmp() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="rdm-", dir="/tmp"))
    yield made
    remove(made)


def test_a_pack_and_rules_stand_alone_where_there_is_no_file(place: Place) -> None:
    plain = place.sandbox(policy=PolicyChoice(pack="terminal"))
    tightened = place.sandbox(policy=PolicyChoice(pack="terminal", rules=[MODERATE_IS_BLOCKED]))
    assert plain.check("frobnicate").verdict is Verdict.ALLOW
    found = tightened.check("frobnicate")
    assert (found.verdict, found.rule, found.level) == (Verdict.DENY, "strict", "moderate")
    assert tightened.run("frobnicate").outcome is Outcome.DENIED


def test_a_rule_that_would_allow_more_does_not(place: Place) -> None:
    loose = place.sandbox(
        policy=PolicyChoice(pack="terminal", rules=[("all", "safety_level >= safe", "allow")])
    )
    assert loose.check("rm -rf /").verdict is Verdict.DENY
    assert loose.check("rm a").verdict is Verdict.CONFIRM


def test_of_the_files_and_the_callers_rules_the_stricter_decides(place: Place) -> None:
    place.policy('policy: strict\nblocklist_extensions: ["echo secret-word"]\n')
    sandbox = place.sandbox(policy=PolicyChoice(pack="terminal", rules=[MODERATE_IS_BLOCKED]))
    asked = ("ls", "echo secret-word", "frobnicate", "mkdir a")
    assert [sandbox.check(each).verdict for each in asked] == [
        Verdict.ALLOW,
        Verdict.DENY,  # by the file
        Verdict.DENY,  # by the caller's rule
        Verdict.CONFIRM,  # by the file, under its own pack
    ]


def test_a_level_that_a_file_asks_for_stays(place: Place) -> None:
    place.policy("isolation:\n  strict_for: [echo]\n")
    found = place.sandbox(policy=PolicyChoice(pack="terminal")).check("echo a")
    assert (found.verdict, found.isolation) == (Verdict.ALLOW, "strict")


def test_an_approval_under_other_rules_is_another_approval() -> None:
    one, other = own("terminal", ()), own("terminal", [MODERATE_IS_BLOCKED])
    assert len({one.digest, other.digest, own("skill", ()).digest, BUILT_IN.digest}) == 4
    assert over(BUILT_IN, one) is one
    assert check("frobnicate", policy=other).verdict is Verdict.DENY


@pytest.mark.parametrize(
    ("how", "named"),
    [
        ({"policy": PolicyChoice(rules=[("r", "safety_level ==", "block")])}, "rule r"),
        ({"policy": PolicyChoice(rules=[("r", "safety_level == safe", "explode")])}, "explode"),
        ({"policy": PolicyChoice(pack="nonsense")}, "nonsense"),
        ({"access": Access(apply="tomorrow")}, "tomorrow"),
    ],
)
def test_what_cannot_be_is_said_before_anything_runs(
    place: Place, how: dict[str, object], named: str
) -> None:
    with pytest.raises(UsageError, match=named):
        place.sandbox(**how)


def test_what_is_applied_always_is_real_after_a_failure_and_can_be_taken_back(place: Place) -> None:
    from redoma.pipeline.stored_changes import undo

    result = place.sandbox(access=Access(apply="always")).run("echo a > made; exit 3")
    assert (result.exit_code, result.applied) == (3, True)
    assert (place.workspace / "made").read_text() == "a\n"
    assert result.changes is not None
    undo(result.changes.id)
    assert not (place.workspace / "made").exists()


@pytest.mark.root
def test_tmp_is_the_real_one_and_what_changes_there_can_be_taken_back(
    place: Place, in_tmp: Path
) -> None:
    from redoma.pipeline.stored_changes import undo

    (in_tmp / "old").write_text("old")
    sandbox = place.sandbox(access=Access(temporary=True))
    result = sandbox.run(f"pwd; rm {in_tmp}/old; echo new > {in_tmp}/new; echo b > beside")
    assert (result.exit_code, result.stdout) == (0, f"{place.workspace}\n".encode())
    assert os.listdir(in_tmp) == ["new"]
    assert (place.workspace / "beside").read_text() == "b\n"
    assert result.changes is not None
    undo(result.changes.id)
    assert os.listdir(in_tmp) == ["old"]


@pytest.mark.root
def test_a_socket_in_tmp_leads_nowhere(place: Place, in_tmp: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(in_tmp / "agent"))
        (in_tmp / "agent").chmod(0o777)
        in_tmp.chmod(0o755)
        listening.listen()
        code = f"import socket; socket.socket(socket.AF_UNIX).connect('{in_tmp}/agent')"
        with socket.socket(socket.AF_UNIX) as outside:
            outside.connect(str(in_tmp / "agent"))  # from outside it can be reached
        sandbox = place.sandbox(access=Access(temporary=True), policy="isolation-only")
        inside = sandbox.run(["/usr/bin/python3", "-c", code])
    assert inside.exit_code == 1
    assert b"Error" in inside.stderr


@pytest.mark.not_root
@pytest.mark.both_users
def test_a_tmp_of_somebody_elses_is_not_copied(place: Place) -> None:
    with pytest.raises(EngineFailed, match="belongs to another user"):
        place.sandbox(access=Access(temporary=True)).run("true")


def test_a_question_can_be_asked_without_a_run(place: Place) -> None:
    seen: list[Question] = []
    sandbox = place.sandbox(ask=lambda question: seen.append(question) or True)
    (place.workspace / "a").mkdir()
    found = sandbox.confirm("rm -rf a", timeout=5, previous=("ls",))
    assert (found.approved, found.choice) == (True, Choice.APPROVE)
    assert (place.workspace / "a").exists()
    assert seen[0].timeout_seconds <= 5
    assert seen[0].context.previous_commands == ("ls",)
    assert place.kinds() == ["judged", "asked", "answered"]
    denied = sandbox.confirm("rm -rf /")
    assert (denied.approved, denied.choice, denied.question) == (False, Choice.DENY, None)
    assert len(seen) == 1


def test_the_approval_of_a_question_is_for_what_a_run_would_ask(place: Place) -> None:
    digests: list[str] = []

    def ask(question: Question) -> bool:
        digests.append(question.digest)
        return False

    sandbox = place.sandbox(ask=ask, policy=PolicyChoice(pack="terminal"))
    (place.workspace / "a").mkdir()
    sandbox.confirm("rm -rf a")
    sandbox.run("rm -rf a")
    sandbox.run("rm -rf  a")
    assert digests[0] == digests[1] != digests[2]


def test_files_are_traced_where_only_one_process_is_allowed(place: Place) -> None:
    (place.workspace / "a").write_text("x")
    result = place.sandbox(level="strict").run(["/bin/cat", "a"], trace_files=True)
    assert (result.exit_code, result.stdout) == (0, b"x")
    assert result.files_accessed is not None
    assert str(place.workspace / "a") in result.files_accessed


def test_facts_and_rules_are_told_without_a_judgement() -> None:
    found = facts("rm -rf /tmp/x; ls", cwd="/home/ana/p", home="/home/ana")
    assert [(fact.effect.value, fact.program) for fact in found] == [
        ("calls", "rm"),
        ("deletes", "rm"),
        ("calls", "ls"),
    ]
    listed = {rule.rule: rule for rule in rules("terminal")}
    assert listed["critical-removal"].risk is Risk.ELEVATED
    assert "git push --force" in listed["critical-force-push"].commands
