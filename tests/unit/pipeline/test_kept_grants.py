"""Grants that are kept: the user's own, a project's with a yes to exactly its content, and allowed ones."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from redoma.egress.host_rules import LOCALHOST
from redoma.model.errors import PolicyError
from redoma.model.grant import Grant, NetworkMode
from redoma.model.policy import BUILT_IN
from redoma.pipeline.decisions.policies import load_policy
from redoma.pipeline.decisions.policy_tools import policy_of_file
from redoma.pipeline.kept_grants import project_of, untrusted
from redoma.pipeline.run_context import RunContext
from redoma.pipeline.sandbox import Sandbox
from redoma.pipeline.settings import Network, PolicyChoice
from redoma.pipeline.trusted_requests import TrustedRequests
from redoma.pipeline.user_grants import add_grant, with_grant

ASKS = """\
grants:
  hosts: [localhost:9999]
  read: [../data]
  env: [GREETING=hello]
  limits: {wall_seconds: 7}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, below in (("HOME", "home"), ("XDG_CONFIG_HOME", "home/.config")):
        monkeypatch.setenv(name, str(tmp_path / below))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("home/.config/redoma", "state", "data", "project/.git"):
        (tmp_path / name).mkdir(parents=True, mode=0o700)
    return tmp_path / "project"


def granted(project: Path, **how: object) -> Grant:
    config = Sandbox(str(project), **how).config  # type: ignore[arg-type]
    context = RunContext(config)
    request = config.caller.request(_command())
    return context.grant(request, context.judge(request))


def _command() -> object:
    from redoma.pipeline.requests import shell_command

    return shell_command("true")


def trust(project: Path) -> None:
    TrustedRequests().trust(untrusted(load_policy(str(project))))


def test_a_projects_file_grants_nothing_until_somebody_says_yes(project: Path) -> None:
    (project / "sandbox.yaml").write_text(ASKS)
    before = granted(project)
    assert (before.network, before.readable, before.env) == (NetworkMode.CLOSED, (), ())
    trust(project)
    after = granted(project)
    assert [rule.host for rule in after.reach.hosts] == [LOCALHOST]
    assert after.readable == (str(project.parent / "data"),)
    assert after.env == (("GREETING", "hello"),)
    assert after.limits.wall_seconds == 7


def test_any_change_of_the_file_takes_the_yes_with_it(project: Path) -> None:
    file = project / "sandbox.yaml"
    file.write_text(ASKS)
    trust(project)
    file.write_text(ASKS + "# \n")
    assert granted(project).network is NetworkMode.CLOSED
    # Attack: the content that had a yes, in another project.
    other = project.parent / "other"
    (other / ".git").mkdir(parents=True)
    (other / "sandbox.yaml").write_text(ASKS)
    assert granted(other).network is NetworkMode.CLOSED
    file.write_text(ASKS)
    assert granted(project).network is NetworkMode.GATED


def test_a_link_in_the_place_of_the_file_is_another_file(project: Path) -> None:
    file = project / "sandbox.yaml"
    file.write_text(ASKS)
    trust(project)
    (project / "mine.yaml").write_text(ASKS)
    file.unlink()
    file.symlink_to("mine.yaml")
    assert granted(project).network is NetworkMode.CLOSED


def test_the_yes_is_to_the_bytes_that_were_shown(project: Path) -> None:
    file = project / "sandbox.yaml"
    file.write_text(ASKS)
    shown = untrusted(load_policy(str(project)))
    # Attack: exchanged between the screen and the yes.
    file.write_text(ASKS.replace("localhost:9999", "localhost:1"))
    TrustedRequests().trust(shown)
    assert granted(project).network is NetworkMode.CLOSED


def test_a_yes_is_taken_back(project: Path) -> None:
    (project / "sandbox.yaml").write_text(ASKS)
    trust(project)
    policy = load_policy(str(project))
    assert TrustedRequests().forget(each.path for each in policy.requests) == 1
    assert granted(project).network is NetworkMode.CLOSED


def test_the_users_own_file_grants_for_good(project: Path) -> None:
    add_grant("hosts", "localhost:8080")
    add_grant("env", "A=1")
    found = granted(project)
    assert ([rule.text for rule in found.reach.hosts], found.env) == (
        ["localhost:8080"],
        (("A", "1"),),
    )
    # A level without any network has none, and a caller's own policy is that alone.
    assert granted(project, level="strict").network is NetworkMode.CLOSED
    assert granted(project, policy=PolicyChoice(name="strict")).network is NetworkMode.CLOSED
    assert granted(project, policy=PolicyChoice(pack="skill")).env == ()
    assert granted(project, policy=BUILT_IN).env == ()
    assert granted(project, network=Network(mock=True)).reach.mock


def test_a_list_of_the_policy_is_stricter_than_what_is_kept(project: Path) -> None:
    (project / "sandbox.yaml").write_text("network:\n  allowed_hosts: [localhost]\n")
    add_grant("hosts", "registry.example")
    assert granted(project).network is NetworkMode.CLOSED


def test_what_is_allowed_once_is_for_one_run(project: Path) -> None:
    store = TrustedRequests()
    store.allow(project_of(str(project)), "env", "A=1", once=False)
    store.allow(project_of(str(project)), "env", "B=2", once=True)
    sandbox = Sandbox(str(project))
    assert dict(RunContext(sandbox.config).config.overrides.applied_to(granted(project)).env) == {
        "A": "1",
        "B": "2",
    }
    sandbox.config.begin()
    assert dict(granted(project).env) == {"A": "1"}
    assert store.disallow(project_of(str(project)))
    assert granted(project).env == ()


def test_a_grant_for_one_run_does_not_wait_for_ever(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = TrustedRequests()
    monkeypatch.setattr("time.time", lambda: 1_000_000.0)
    store.allow(str(project), "env", "B=2", once=True)
    monkeypatch.setattr("time.time", lambda: 1_000_000.0 + 7200)
    assert store.allowed(str(project)).env == ()


def test_somebody_elses_file_of_yeses_is_not_believed(project: Path) -> None:
    (project / "sandbox.yaml").write_text(ASKS)
    trust(project)
    os.chmod(project.parent / "state/redoma/trust/trusted.json", 0o666)
    assert granted(project).network is NetworkMode.CLOSED


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", 'version: "1.0"\ngrants:\n  hosts:\n    - "a.example"\n'),
        (
            "policy: default  # mine\n",
            'policy: default  # mine\ngrants:\n  hosts:\n    - "a.example"\n',
        ),
        (
            "grants:\n    env:\n        - CI\n# end\npack: default\n",
            'grants:\n    hosts:\n      - "a.example"\n    env:\n        - CI\n# end\npack: default\n',
        ),
        (
            "grants:\n  hosts:\n  - b.example\n  env: [CI]\n",
            'grants:\n  hosts:\n  - b.example\n  - "a.example"\n  env: [CI]\n',
        ),
        ("grants:\n  hosts:\n    - a.example\n", "grants:\n  hosts:\n    - a.example\n"),
    ],
)
def test_a_grant_is_added_and_all_else_stays(before: str, after: str, tmp_path: Path) -> None:
    assert with_grant(before, "hosts", "a.example") == after
    file = tmp_path / "sandbox.yaml"
    file.write_text(after)
    assert "a.example" in policy_of_file(str(file)).grants.hosts


def test_a_list_on_one_line_is_left_to_a_person(project: Path) -> None:
    with pytest.raises(PolicyError):
        with_grant("grants:\n  hosts: [b.example]\n", "hosts", "a.example")
