"""An approved push gets what it needs, for this one run and named in the question, and no more."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from redoma.jail.profiles.profile import load
from redoma.model.grant import Grant, NetworkMode
from redoma.model.policy import BUILT_IN, KeptGrants, NetworkRules
from redoma.model.request import Choice, Question
from redoma.model.result import Outcome
from redoma.model.value import replace
from redoma.pipeline.offers import Offer, offer_for, published_facts
from redoma.pipeline.sandbox import Sandbox
from redoma.pipeline.settings import Network

IDENTITY = ["-c", "user.name=t", "-c", "user.email=t@example.org"]


def git(place: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", *IDENTITY, *words], cwd=place, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    place = tmp_path / "work"
    place.mkdir()
    git(place, "init", "-q", "-b", "topic")
    (place / "a").write_text("a\n")
    git(place, "add", "a")
    git(place, "commit", "-q", "-m", "one")
    return place


@pytest.fixture
def remote(repository: Path, tmp_path: Path) -> Iterator[Path]:
    """A bare repository behind git's own server on loopback, as `origin` of the other."""
    bare = tmp_path / "served" / "repo.git"
    bare.mkdir(parents=True)
    git(bare, "init", "-q", "--bare")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["--reuseaddr", "--export-all", "--enable=receive-pack", "--listen=127.0.0.1"]
    server = subprocess.Popen(
        ["git", "daemon", *words, f"--port={port}", f"--base-path={bare.parent}", str(bare)],
        stderr=subprocess.DEVNULL,
    )
    until = time.monotonic() + 30
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            break
        except OSError:
            assert time.monotonic() < until
            time.sleep(0.05)
    git(repository, "remote", "add", "origin", f"git://localhost:{port}/repo.git")
    yield bare
    server.terminate()
    server.wait(30)


class Person:
    def __init__(self, choice: Choice) -> None:
        self.choice = choice
        self.asked: list[Question] = []

    def __call__(self, question: Question) -> Choice:
        self.asked.append(question)
        return self.choice


def test_an_approved_push_works_with_its_remotes_host_alone(repository: Path, remote: Path) -> None:
    person = Person(Choice.APPROVE)
    result = Sandbox(str(repository), ask=person).run("git push origin topic")
    (question,) = person.asked
    port = git(repository, "remote", "get-url", "origin").rpartition(":")[2].partition("/")[0]
    assert f"localhost:{port}" in question.because[-1]
    assert question.argvs == ()  # nothing of it is remembered
    assert (result.outcome, result.exit_code) == (Outcome.EXITED, 0), result.stderr
    assert git(remote, "rev-parse", "topic") == git(repository, "rev-parse", "topic")
    # The next run has none of it.
    after = Sandbox(str(repository), ask=Person(Choice.DENY)).run("git fetch origin; true")
    assert after.network_calls is None


def test_a_push_that_nobody_approves_does_not_run(repository: Path, remote: Path) -> None:
    result = Sandbox(str(repository), ask=Person(Choice.DENY)).run("git push origin topic")
    assert result.outcome is Outcome.DECLINED
    assert git(remote, "branch", "--list") == ""


def test_a_host_that_was_granted_already_is_not_asked_about(repository: Path, remote: Path) -> None:
    port = git(repository, "remote", "get-url", "origin").rpartition(":")[2].partition("/")[0]
    person = Person(Choice.DENY)
    network = Network(hosts=(f"localhost:{port}",))
    result = Sandbox(str(repository), ask=person, network=network).run("git push origin topic")
    assert (person.asked, result.exit_code) == ([], 0), result.stderr
    assert git(remote, "rev-parse", "topic")


def offered(command: str, place: Path, level: str = "standard", **rules: object) -> Offer | None:
    grant = load(level).grant(str(place))
    policy = replace(BUILT_IN, **rules)
    return offer_for(published_facts(command, str(place)), grant, policy, str(place))


def hosts(command: str, place: Path, **how: object) -> list[str]:
    offer = offered(command, place, **how)  # type: ignore[arg-type]
    return [rule.text for rule in offer.grant.reach.hosts] if offer else []


def test_only_what_is_certain_is_offered(repository: Path) -> None:
    git(repository, "remote", "add", "origin", "git@git.example.test:me/x.git")
    git(repository, "remote", "add", "other", "https://other.example.test/x.git")
    assert hosts("git push", repository) == ["git.example.test:22"]
    assert hosts("git push --force origin topic", repository) == ["git.example.test:22"]
    assert hosts("make && git push other topic", repository) == ["other.example.test"]
    for command in (
        "git push unknown topic",
        "git push https://evil.example.test/x topic",
        "git -C /elsewhere push origin topic",
        "cd ../other && git push",
        "git push origin topic; git push other topic",
        'git push "$REMOTE" topic',
        "git status",
    ):
        assert hosts(command, repository) == [], command
    git(repository, "remote", "set-url", "--push", "origin", "https://evil.example.test/x")
    assert hosts("git push", repository) == []


def test_no_offer_goes_past_a_level_or_a_list(repository: Path) -> None:
    git(repository, "remote", "add", "origin", "https://git.example.test/x.git")
    assert hosts("git push", repository, level="strict") == []
    assert hosts("git push", repository, level="minimal") == []
    listed = NetworkRules(allowed_hosts=("registry.example",))
    assert hosts("git push", repository, network=listed) == []
    listed = NetworkRules(allowed_hosts=("git.example.test",))
    assert hosts("git push", repository, network=listed) == ["git.example.test"]


def test_a_kept_credential_for_the_host_goes_with_it_at_the_gate(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_TOKEN", "s3cret-value")
    git(repository, "remote", "add", "origin", "https://git.example.test/x.git")
    kept = KeptGrants(credentials=("git.example.test=GIT_TOKEN", "api.example=GIT_TOKEN"))
    offer = offered("git push", repository, grants=kept)
    assert offer is not None
    assert [each.host for each in offer.grant.reach.credentials] == ["git.example.test"]
    assert any("credential" in word for word in offer.words)
    assert "s3cret-value" not in str(offer.grant)


def test_a_key_agent_goes_with_ssh_alone(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "agent"
    with socket.socket(socket.AF_UNIX) as agent:
        agent.bind(str(place))
        monkeypatch.setenv("SSH_AUTH_SOCK", str(place))
        git(repository, "remote", "add", "origin", "git@git.example.test:me/x.git")
        git(repository, "remote", "add", "web", "https://web.example.test/x.git")
        assert _agent(offered("git push", repository)) is (os.geteuid() != 0)
        assert _agent(offered("git push web topic", repository)) is False


def _agent(offer: Offer | None) -> bool:
    assert offer is not None
    grant: Grant = offer.grant
    assert grant.network is NetworkMode.GATED
    return dict(grant.env).get("SSH_AUTH_SOCK", "") in grant.readable and any(
        "ssh agent" in word for word in offer.words
    )
