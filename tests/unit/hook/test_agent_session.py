"""What the hook leaves is taken once, lies where it should, and what never arrives is noticed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from redoma.hook.agent_session import AgentSession, ExpectedCommand


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AgentSession:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return AgentSession("claude-code", "s-1")


def test_the_first_project_of_a_session_counts(session: AgentSession) -> None:
    session.begin("/srv/one")
    session.begin("/srv/two")
    assert session.project == "/srv/one"


def test_an_expected_command_arrives_once_and_with_its_marks(session: AgentSession) -> None:
    session.expect("ls\n", ExpectedCommand(asked=True))
    assert session.arrive("ls") is None
    assert session.arrive("ls\n") == ExpectedCommand(asked=True)
    assert session.arrive("ls\n") is None
    assert session.is_proven


def test_two_who_take_the_same_word_at_once_do_not_both_get_it(session: AgentSession) -> None:
    session.begin("/srv/one")
    for _ in range(20):
        session.expect("x", ExpectedCommand(asked=True))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: session.arrive("x"), range(60)))
    assert sum(each is not None for each in found) <= 20


def test_what_ran_and_never_arrived_is_noticed(session: AgentSession) -> None:
    session.expect("x", ExpectedCommand())
    assert not session.ran("x")
    assert session.is_bare
    assert not session.is_proven
    assert not session.lose()


@pytest.mark.parametrize("id", ["", "../up", "a/b", ".", "-x", "x" * 200])
def test_a_name_that_leads_elsewhere_is_no_session(
    id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    session = AgentSession("claude-code", id)
    session.begin("/srv/one")
    session.expect("x", ExpectedCommand())
    assert (session.project, session.arrive("x")) == ("", None)
    assert list(tmp_path.rglob("*")) == []
