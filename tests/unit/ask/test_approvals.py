"""Approvals that last cover what was approved, and nothing that only looks like it."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from redoma.ask import answers
from redoma.ask.approvals import RememberedApprovals, can_remember, prefix_of
from redoma.model.decision import Risk
from redoma.model.errors import AskUnavailable, UsageError
from redoma.model.request import Answer, Choice, Question, Remember
from redoma.model.value import replace
from tests.unit.ask.asked import DELETES, FORCE_PUSH, question, said, yes

LASTING = (Remember.SESSION, Remember.EXACT, Remember.PREFIX)


@pytest.fixture
def remembered(tmp_path: Path) -> RememberedApprovals:
    return RememberedApprovals(str(tmp_path / "approvals"))


@pytest.mark.parametrize("remember", LASTING)
def test_what_was_approved_for_longer_is_not_asked_again(
    remembered: RememberedApprovals, remember: Remember
) -> None:
    kept = remembered.keep(FORCE_PUSH, yes(FORCE_PUSH, remember))
    again = question(command="git  push '--force' origin main", digest="f" * 64)
    answer = remembered.ask(again)
    assert answer is not None
    assert answer.approves(again)
    assert (answer.approved_by, answer.notes) == ("ana", f"remembered: {remember.value} {kept.id}")
    assert remembered.ask(again) is not None


DIFFERENT: dict[str, dict[str, object]] = {
    "another word": {"argvs": (("git", "push", "--force", "origin", "topic"),)},
    "one word more": {"argvs": (("git", "push", "--force", "origin", "main", "x"),)},
    "words joined otherwise": {"argvs": (("git", "push", "--force", "origin main"),)},
    "a second command": {
        "argvs": (("git", "push", "--force", "origin", "main"), ("ls",)),
        "joins": ("&&",),
    },
    "not plain any more": {"argvs": ()},
}
ELSEWHERE: dict[str, dict[str, object]] = {
    "another workspace": {"workspace": "/srv/other"},
    "another directory": {"cwd": "/srv/project/sub"},
    "other rights": {"grant": "0" * 64},
    "a new finding": {"rules": ("force-push", "push-trunk", "runs-code")},
    "a higher risk": {"risk": Risk.FORBIDDEN},
    "no workspace": {"workspace": ""},
}


@pytest.mark.parametrize("remember", LASTING)
@pytest.mark.parametrize("case", ELSEWHERE)
def test_the_same_words_under_other_conditions_are_asked_again(
    remembered: RememberedApprovals, remember: Remember, case: str
) -> None:
    remembered.keep(FORCE_PUSH, yes(FORCE_PUSH, remember))
    assert remembered.ask(question(**ELSEWHERE[case])) is None


@pytest.mark.parametrize("remember", [Remember.SESSION, Remember.EXACT])
@pytest.mark.parametrize("case", DIFFERENT)
def test_other_words_are_asked_again_even_with_the_same_text(
    remembered: RememberedApprovals, remember: Remember, case: str
) -> None:
    remembered.keep(FORCE_PUSH, yes(FORCE_PUSH, remember))
    assert remembered.ask(question(**DIFFERENT[case])) is None


def test_the_same_words_joined_by_another_operator_are_another_command(
    remembered: RememberedApprovals,
) -> None:
    argvs = (("cd", "build"), ("rm", "-r", "out"))
    asked = question(argvs=argvs, joins=("&&",))
    remembered.keep(asked, yes(asked, Remember.EXACT))
    assert remembered.ask(question(argvs=argvs, joins=("&&",))) is not None
    # Where `cd` fails, `;` deletes the wrong directory.
    assert remembered.ask(question(argvs=argvs, joins=(";",))) is None


def test_a_risk_that_was_seen_does_not_cover_a_higher_one(remembered: RememberedApprovals) -> None:
    mild = question(risk=Risk.ELEVATED)
    remembered.keep(mild, yes(mild, Remember.EXACT))
    assert remembered.ask(question(risk=Risk.ELEVATED)) is not None
    assert remembered.ask(question(risk=Risk.MODERATE)) is not None
    assert remembered.ask(question(risk=Risk.DANGEROUS)) is None


def test_nothing_forbidden_can_be_remembered(remembered: RememberedApprovals) -> None:
    never = question(risk=Risk.FORBIDDEN)
    for remember in LASTING:
        with pytest.raises(UsageError, match="cannot be approved for"):
            remembered.keep(never, yes(never, remember))


def test_a_session_ends_with_its_name_and_with_the_machine(
    remembered: RememberedApprovals, monkeypatch: pytest.MonkeyPatch
) -> None:
    remembered.keep(FORCE_PUSH, yes(FORCE_PUSH, Remember.SESSION))
    assert remembered.ask(question(session="s2")) is None
    assert remembered.ask(question(session="")) is None
    assert remembered.ask(question()) is not None
    monkeypatch.setattr(answers, "_boots", ["another"])
    assert remembered.ask(question()) is None


PREFIXES: dict[tuple[str, ...], tuple[str, ...]] = {
    ("git", "push", "origin", "main"): ("git", "push"),
    ("npm", "run", "lint", "--", "--fix"): ("npm", "run", "lint"),
    ("docker", "compose", "down", "-v"): ("docker", "compose", "down"),
    ("kubectl", "delete", "pod", "x"): ("kubectl", "delete", "pod"),
    ("npm", "publish"): ("npm", "publish"),
    ("rm", "-rf", "build"): (),
    ("bash", "-c", "x"): (),
    ("python3", "x.py"): (),
    ("git", "-c", "core.sshCommand=x", "push"): (),
    ("git", "--git-dir=x", "push"): (),
    ("git",): (),
    ("npm", "run"): (),
    ("npm", "exec", "x"): (),
    ("docker", "run", "alpine"): (),
    ("docker", "exec", "x", "sh"): (),
    ("kubectl", "exec", "x"): (),
    ("sudo", "git", "push"): (),
    ("/tmp/git", "push"): (),
    ("./make", "all"): (),
    ("go", "run", "x.go"): (),
    ("uv", "tool", "run"): (),
    ("npm", "publish", "/etc"): (),
    ("npm", "publish", "../other"): (),
    ("git", "push", "https://x.example/y"): (),
    ("docker", "compose", "down", "-f", "/tmp/x.yml"): (),
}


@pytest.mark.parametrize("argv", PREFIXES, ids=" ".join)
def test_a_prefix_names_a_kind_of_command_or_nothing(argv: tuple[str, ...]) -> None:
    assert prefix_of(question(argvs=(argv,))) == PREFIXES[argv]


def test_a_prefix_covers_its_kind_and_nothing_beside_it(remembered: RememberedApprovals) -> None:
    remembered.keep(FORCE_PUSH, yes(FORCE_PUSH, Remember.PREFIX))
    covered = question(argvs=(("git", "push", "origin", "topic"),), rules=())
    assert remembered.ask(covered) is not None
    for argvs in (
        (("git", "pull"),),
        (("git", "push-evil"),),
        (("git",),),
        (("git", "-c", "x=y", "push"),),
        (("git", "push"), ("rm", "-r", "x")),
        (("git", "push", "--mirror"),),
        (("git", "push", "--force", "--receive-pack=x"),),
        (("git", "push", "-o", "x"),),
        (("git", "push", "X=y"),),
    ):
        joins = ("&&",) * (len(argvs) - 1)
        assert remembered.ask(question(argvs=argvs, joins=joins, rules=())) is None


def test_what_can_be_remembered_depends_on_what_is_known_of_the_command() -> None:
    assert can_remember(FORCE_PUSH) == frozenset(Remember)
    assert can_remember(DELETES) == {Remember.ONCE, Remember.EXACT}
    assert can_remember(replace(FORCE_PUSH, argvs=())) == {Remember.ONCE}
    assert can_remember(replace(FORCE_PUSH, workspace="")) == {Remember.ONCE}


def test_an_approval_in_advance_is_for_one_run_of_exactly_this(
    remembered: RememberedApprovals,
) -> None:
    remembered.keep(FORCE_PUSH, yes(FORCE_PUSH))
    assert remembered.ask(question(digest="0" * 64)) is None
    again = question()
    answer = remembered.ask(again)
    assert answer is not None
    assert answer.approves(again)
    assert remembered.ask(question()) is None


def test_an_approval_in_advance_does_not_wait_for_ever(
    remembered: RememberedApprovals, monkeypatch: pytest.MonkeyPatch
) -> None:
    remembered.keep(FORCE_PUSH, yes(FORCE_PUSH))
    later = answers.uptime() + 601
    monkeypatch.setattr(answers, "uptime", lambda: later)
    assert remembered.ask(question()) is None
    assert remembered.list() == ()


def test_of_many_who_ask_at_once_one_has_the_approval_in_advance(
    remembered: RememberedApprovals,
) -> None:
    remembered.keep(FORCE_PUSH, yes(FORCE_PUSH))
    heard: list[Answer | None] = []
    threads = [
        threading.Thread(target=lambda: heard.append(remembered.ask(question()))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([answer for answer in heard if answer is not None]) == 1


@pytest.mark.parametrize(
    "answer",
    [
        said(FORCE_PUSH, Choice.DENY),
        said(FORCE_PUSH, Choice.DRY_RUN),
        yes(DELETES, Remember.EXACT),
        replace(yes(FORCE_PUSH, Remember.EXACT), digest="0" * 64),
    ],
)
def test_only_an_approval_of_this_question_can_be_kept(
    remembered: RememberedApprovals, answer: Answer
) -> None:
    with pytest.raises(UsageError):
        remembered.keep(FORCE_PUSH, answer)
    assert remembered.list() == ()


def test_the_same_approval_twice_is_one(remembered: RememberedApprovals) -> None:
    first = remembered.keep(FORCE_PUSH, yes(FORCE_PUSH, Remember.EXACT))
    again = question()
    assert remembered.keep(again, yes(again, Remember.EXACT)) == first
    assert remembered.list() == (first,)


def test_approvals_are_listed_revoked_and_cleared(remembered: RememberedApprovals) -> None:
    one = remembered.keep(FORCE_PUSH, yes(FORCE_PUSH, Remember.EXACT))
    other = replace(DELETES, workspace="/srv/other")
    two = remembered.keep(other, yes(other, Remember.EXACT))
    assert remembered.list() == (one, two)
    assert remembered.clear(workspace="/srv/nowhere") == 0
    assert remembered.revoke(one.id) == one
    assert remembered.ask(question()) is None
    with pytest.raises(UsageError, match="no approval"):
        remembered.revoke(one.id)
    assert remembered.clear() == 1
    assert remembered.list() == ()


def test_no_word_of_a_command_is_kept_that_the_redactor_takes_out(tmp_path: Path) -> None:
    kept = RememberedApprovals(
        str(tmp_path / "a"), lambda text: text.replace("hunter22", "[REDACTED]")
    )
    secret: Question = question(
        command="deploy --token hunter22", argvs=(("deploy", "--token", "hunter22"),)
    )
    approval = kept.keep(secret, yes(secret, Remember.EXACT))
    assert approval.shown == "deploy --token [REDACTED]"
    assert "hunter22" not in (tmp_path / "a/approvals.json").read_text()
    assert kept.ask(secret) is not None


def test_the_file_is_the_owners_alone(remembered: RememberedApprovals, tmp_path: Path) -> None:
    remembered.keep(FORCE_PUSH, yes(FORCE_PUSH, Remember.EXACT))
    file = tmp_path / "approvals/approvals.json"
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o644)
    with pytest.raises(AskUnavailable, match="open to others"):
        remembered.ask(question())


@pytest.mark.parametrize(
    "damage",
    [
        "{",
        "{}",
        '{"format": 2, "approvals": []}',
        '{"format": 1, "approvals": [{}]}',
        '{"format": 1, "approvals": [1]}',
    ],
)
def test_a_damaged_file_approves_nothing(
    remembered: RememberedApprovals, tmp_path: Path, damage: str
) -> None:
    remembered.keep(FORCE_PUSH, yes(FORCE_PUSH, Remember.EXACT))
    (tmp_path / "approvals/approvals.json").write_text(damage)
    with pytest.raises(AskUnavailable):
        remembered.ask(question())


def test_a_prefix_that_was_written_wider_by_hand_covers_nothing(
    remembered: RememberedApprovals, tmp_path: Path
) -> None:
    remembered.keep(FORCE_PUSH, yes(FORCE_PUSH, Remember.PREFIX))
    file = tmp_path / "approvals/approvals.json"
    content = json.loads(file.read_text())
    content["approvals"][0]["prefix"] = ["git"]
    file.write_text(json.dumps(content))
    assert remembered.ask(question()) is None
