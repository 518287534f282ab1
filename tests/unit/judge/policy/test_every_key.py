"""Each key of `sandbox.yaml`, turned, changes something that can be seen; none is left out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from redoma.jail.profiles.profile import load
from redoma.judge.policy.schema import KEYS, WRAPPED
from redoma.judge.policy.secret_names import with_secrets
from redoma.model.errors import NoEngine, PolicySyntax
from redoma.model.grant import Grant, Guarantee, Limits, NetworkMode, SecretGrant, Writes
from redoma.model.network import HostRule, Reach
from redoma.model.policy import LogLevel, Policy
from redoma.model.request import Choice
from redoma.model.value import replace
from redoma.pipeline.decisions.policies import tightened
from redoma.pipeline.decisions.policy_tools import tried
from tests.unit.judge.policy.asked import (
    DOCUMENT,
    ENVIRONMENT,
    HOME,
    PROJECT,
    policy,
    standard,
    under,
)

MEGABYTE = 1 << 20


class Turn(NamedTuple):
    """A key with two values, and what is seen under the one and under the other."""

    key: str
    one: str
    other: str
    look: Callable[[Policy], object]
    seen: object
    then: object


def says(command: str, **known: object) -> Callable[[Policy], object]:
    """The verdict on a command and the rule behind it."""

    def look(asked: Policy) -> object:
        decision = under(asked, command, **known)
        return decision.verdict.label, decision.rule

    return look


def says_of_secret(asked: Policy) -> object:
    """The same of a command that is to get the secret `api`."""
    grant = SecretGrant(name="api", variable="TOKEN")
    decision = with_secrets(under(asked, "ls"), asked, [grant])
    return decision.verdict.label, decision.rule


def level(command: str, **known: object) -> Callable[[Policy], object]:
    return lambda asked: under(asked, command, **known).isolation


def preview(command: str, **known: object) -> Callable[[Policy], object]:
    return lambda asked: under(asked, command, **known).preview


def grant(asked: Policy, **changes: object) -> Grant:
    """What a run of `ls` is granted, from a level without any limit."""
    first = Grant(level="standard", workspace=PROJECT, **changes)  # type: ignore[arg-type]
    return tightened(first, asked, under(asked, "ls"), HOME)


def limit(name: str) -> Callable[[Policy], object]:
    return lambda asked: getattr(grant(asked, limits=Limits(open_files=1024)).limits, name)


TURNS = [
    Turn("environment", "development", "production", says("git push"),
         ("log", "log_elevated"), ("confirm", "environment")),
    Turn("policy", "default", "strict", says("mkdir x"),
         ("allow", "allow_safe"), ("confirm", "confirm_moderate")),
    Turn("policy", "default", "isolation-only", says("rm -rf ~/x"),
         ("confirm", "confirm_dangerous"), ("log", "isolation_decides")),
    Turn("policy", "default", "{name: mine, rules: [{name: only_ls, condition: program == ls, action: allow}]}",
         says("pwd"), ("allow", "allow_safe"), ("deny", "no_rule")),
    Turn("pack", "default", "skill", says("sudo ls"),
         ("confirm", "confirm_dangerous"), ("deny", "block_forbidden")),
    Turn("rules", "[]", "[{name: no_make, condition: program == make, action: block}]",
         says("make all"), ("allow", "allow_safe"), ("deny", "no_make")),
    Turn("allowlist_extensions", "[npm test]", "[npm run lint]",
         lambda asked: says("npm run lint")(_strict(asked)),
         ("confirm", "confirm_moderate"), ("allow", "allowlist_extensions")),
    Turn("blocklist_extensions", "[cargo publish]", "[git status]", says("git status"),
         ("allow", "allow_safe"), ("deny", "blocklist_extensions")),
    Turn("isolation.default_level", "standard", "maximum", level("ls"), "standard", "maximum"),
    Turn("isolation.strict_for", "[npm publish]", "[git push]", level("git push origin main"),
         "", "strict"),
    Turn("isolation.phases", "{build: minimal}", "{build: maximum}", level("ls", phase="build"),
         "minimal", "maximum"),
    Turn("judgement.deadline_seconds", "1", "0.000001", says("ls"),
         ("allow", "allow_safe"), ("deny", "input.too-complicated")),
    Turn("confirmation.timeout_seconds", "60", "5",
         lambda asked: asked.confirmation.timeout_seconds, 60.0, 5.0),
    Turn("confirmation.default_action", "deny", "dry_run",
         lambda asked: asked.confirmation.default_action, Choice.DENY, Choice.DRY_RUN),
    Turn("confirmation.required_for", "[dangerous]", "[elevated (if multiple files)]",
         says("rm -r build"), ("log", "log_elevated"), ("confirm", "confirmation.required_for")),
    Turn("confirmation.ask_about_held", "false", "true",
         says("rm -rf .", containment=standard()),
         ("log", "held_by_the_sandbox"), ("confirm", "confirm_dangerous")),
    Turn("dry_run.auto_enable_for", "[commands affecting > 10 files]", "[first execution of command]",
         preview("touch a", first_execution=True), "", "first execution of command"),
    Turn("dry_run.auto_enable_for", "[first execution of command]", "[commands affecting > 10 files]",
         preview("touch a", files_affected=11), "", "commands affecting > 10 files"),
    Turn("filesystem.allowed_paths", "['${PROJECT_ROOT}']", "['${PROJECT_ROOT}/src']",
         says("touch README.md"), ("allow", "allow_safe"), ("deny", "filesystem.allowed_paths")),
    Turn("filesystem.blocked_paths", "[~/.ssh]", "[/etc]", says("cat /etc/hostname"),
         ("allow", "allow_safe"), ("deny", "filesystem.blocked_paths")),
    Turn("filesystem.protected_names", "[]", "['*.tf', deploy/]",
         lambda asked: grant(asked).protected, (), ("*.tf", "deploy/")),
    Turn("filesystem.max_file_size_mb", "100", "7", limit("file_size"), 100 * MEGABYTE, 7 * MEGABYTE),
    Turn("filesystem.max_total_size_mb", "1000", "9", limit("total_written"),
         1000 * MEGABYTE, 9 * MEGABYTE),
    Turn("filesystem.max_changes", "1000", "9", limit("changes"), 1000, 9),
    Turn("filesystem.max_depth", "1000", "9", limit("depth"), 1000, 9),
    Turn("network.allowed_hosts", "[github.com]", "[localhost]", says("curl https://github.com/a"),
         ("allow", "allow_safe"), ("deny", "network.allowed_hosts")),
    Turn("network.blocked_ports", "[23]", "[22]", says("ssh host.example uptime"),
         ("log", "log_elevated"), ("deny", "network.blocked_ports")),
    Turn("network.cache_hosts", "[]", "[api.github.com]",
         lambda asked: grant(asked, network=NetworkMode.GATED).reach.cache, (), ("api.github.com",)),
    Turn("network.cache_ignored_headers", "[]", "[X-Run-Id]",
         lambda asked: asked.network.cache_ignored_headers, (), ("x-run-id",)),
    Turn("network.cache_min_interval", "30", "90",
         lambda asked: asked.network.cache_min_interval, 30, 90),
    Turn("network.inspect", "false", "true",
         lambda asked: grant(asked, network=NetworkMode.GATED).reach.inspect, False, True),
    Turn("network.max_connections", "1", "0", says("curl https://a.example https://b.example"),
         ("allow", "allow_safe"), ("deny", "network.max_connections")),
    Turn("secrets.allowed", "[api, 'npm_*']", "[]", says_of_secret,
         ("confirm", "secrets.confirm"), ("deny", "secrets.allowed")),
    Turn("secrets.confirm", "true", "false", says_of_secret,
         ("confirm", "secrets.confirm"), ("allow", "allow_safe")),
    Turn("resources.max_memory_mb", "2048", "64", limit("memory"), 2048 * MEGABYTE, 64 * MEGABYTE),
    Turn("resources.max_cpu_percent", "50", "25", limit("cpu_percent"), 50, 25),
    Turn("resources.max_execution_time_seconds", "300", "2.5", limit("wall_seconds"), 300.0, 2.5),
    Turn("resources.max_open_files", "100", "2000", limit("open_files"), 100, 2000),
    Turn("resources.max_processes", "128", "1", limit("processes"), 128, 1),
    *(
        Turn(f"grants.{kind}", "[]", f"['{value}']",
             lambda asked, kind=kind: getattr(asked.grants, kind), (), (value,))
        for kind, value in (("hosts", "git.example:22"), ("read", "~/data"), ("write", "~/out"),
                            ("env", "CI=1"), ("credentials", "a.example=vault:a"))
    ),
    Turn("grants.limits", "{memory: 1G}", "{memory: 2G}", lambda asked: asked.grants.limits,
         (("memory", "1G"),), (("memory", "2G"),)),
    Turn("logging.level", "verbose", "quiet", lambda asked: asked.logging.level,
         LogLevel.VERBOSE, LogLevel.QUIET),
    Turn("logging.include_command_output", "true", "false",
         lambda asked: asked.logging.include_command_output, True, False),
    Turn("logging.redact_secrets", "true", "false",
         lambda asked: asked.logging.redact_secrets, True, False),
    Turn("rate_limits.executions_per_minute", "60", "5",
         lambda asked: asked.rate_limits.executions_per_minute, 60, 5),
    Turn("rate_limits.concurrent_runs", "4", "1",
         lambda asked: asked.rate_limits.concurrent_runs, 4, 1),
    Turn("rate_limits.cpu_seconds_per_day", "3600", "10",
         lambda asked: asked.rate_limits.cpu_seconds_per_day, 3600, 10),
    Turn("rate_limits.bytes_written_per_day", "100", "1",
         lambda asked: asked.rate_limits.bytes_written_per_day, 100, 1),
    Turn("retention.entries_per_session", "1000", "10",
         lambda asked: asked.retention.entries_per_session, 1000, 10),
    Turn("plans.confirm", "step", "plan", lambda asked: asked.plans.confirm.value, "step", "plan"),
    Turn("projects_may", "[pack]", "[allowlist_extensions]", lambda asked: asked.projects_may,
         ("pack",), ("allowlist_extensions",)),
    Turn("tests", "[{command: ls, expect: allow}]", "[{command: ls, expect: deny}]",
         lambda asked: [each.holds for each in tried(asked, cwd=PROJECT, home=HOME)], [True], [False]),
]  # fmt: skip


def _strict(asked: Policy) -> Policy:
    """The same allow list under the strict policy."""
    words = ", ".join(" ".join(each) for each in asked.allow)
    return policy(f"policy: strict\nallowlist_extensions: [{words}]\n")


def with_key(key: str, value: str) -> Policy:
    section, _, name = key.rpartition(".")
    return policy(f"{section}:\n  {name}: {value}\n" if section else f"{name}: {value}\n")


@pytest.mark.requirement("K12")
@pytest.mark.parametrize("turn", TURNS, ids=lambda turn: turn.key)
def test_a_key_turned_changes_what_is_seen(turn: Turn) -> None:
    assert turn.look(with_key(turn.key, turn.one)) == turn.seen
    assert turn.look(with_key(turn.key, turn.other)) == turn.then


@pytest.mark.requirement("K12")
def test_no_key_is_without_a_turn() -> None:
    # `version` says how to read the file: another than ours is refused, below.
    assert {turn.key for turn in TURNS} == set(KEYS) - {"version"}


@pytest.mark.requirement("K12")
def test_a_format_of_another_version_is_refused() -> None:
    assert policy('version: "1.0"\n') == policy("version: 1\n")
    with pytest.raises(PolicySyntax, match=r"user.yaml:1:10: version cannot be '2.0'"):
        policy('version: "2.0"\n')


@pytest.mark.requirement("K8")
@pytest.mark.parametrize("name", WRAPPED)
def test_a_key_of_the_documents_block_is_the_same_key(name: str) -> None:
    turn = next(turn for turn in TURNS if turn.key == WRAPPED[name])
    *sections, key = name.split(".")
    text = "".join(f"{'  ' * depth}{each}:\n" for depth, each in enumerate(sections))
    text += f"{'  ' * len(sections)}{key}: {turn.other}\n"
    assert turn.look(policy(text)) == turn.then


@pytest.mark.requirement("K12")
@pytest.mark.parametrize("layers", [(DOCUMENT,), ("", DOCUMENT)], ids=["user", "project"])
def test_the_documents_file_loads_unchanged(layers: tuple[str, ...]) -> None:
    asked = policy(*layers)
    push = under(asked, "git push origin main", first_execution=True)
    assert (push.verdict.label, push.isolation, push.preview) == (
        *("confirm", "strict"),
        "first execution of command",
    )
    assert under(asked, "npm run lint").verdict.label == "allow"
    assert under(asked, "rm -r build").rule == "confirmation.required_for"
    assert asked.logging.level is LogLevel.VERBOSE
    assert (asked.logging.include_command_output, asked.logging.redact_secrets) == (True, True)


@pytest.mark.requirement("K8")
def test_the_documents_environment_loads_unchanged_and_holds() -> None:
    asked = policy(ENVIRONMENT)
    made = grant(asked)
    assert made.limits == Limits(
        memory=2048 * MEGABYTE,
        cpu_percent=50,
        wall_seconds=300.0,
        open_files=100,
        file_size=100 * MEGABYTE,
        total_written=1000 * MEGABYTE,
    )
    assert made.require == load("standard").require | {Guarantee.CPU_CAPPED}
    assert under(asked, "ssh localhost").rule == "network.blocked_ports"
    assert under(asked, "cp a /tmp/sandbox-1/a").verdict.label == "allow"
    assert under(asked, "cp a /tmp/other/a").rule == "filesystem.allowed_paths"


def test_an_open_network_with_a_list_of_hosts_needs_someone_who_keeps_to_it() -> None:
    asked = policy("network: {allowed_hosts: [github.com]}\n")
    assert grant(asked, network=NetworkMode.OPEN).require == {Guarantee.NETWORK_ALLOW_LISTED}
    assert grant(asked).require == frozenset()


def test_a_list_may_grant_requests_by_method_and_path() -> None:
    rule = "GET,PUT api.example/Repos/**"
    asked = policy(f"network: {{inspect: true, allowed_hosts: ['{rule}']}}\n")
    listed = HostRule(text=rule, host="api.example", methods=("GET", "PUT"), path="/Repos/**")
    expected = Reach(hosts=(listed,), inspect=True, listed=True)
    assert grant(asked, network=NetworkMode.OPEN).reach == expected
    everyone = Reach(anyone=True)
    assert grant(asked, network=NetworkMode.GATED, reach=everyone).reach == expected
    assert under(asked, "curl https://api.example/Repos/x").verdict.label == "allow"
    assert under(asked, "curl https://other.example/").rule == "network.allowed_hosts"


@pytest.mark.parametrize("rule", ["allowed_hosts: [localhost, 127.0.0.1]", "max_connections: 0"])
def test_a_list_of_this_machine_alone_closes_the_network(rule: str) -> None:
    made = grant(policy(f"network:\n  {rule}\n"), network=NetworkMode.OPEN)
    assert (made.network, made.require) == (NetworkMode.CLOSED, {Guarantee.NETWORK_CLOSED})


def test_blocked_paths_are_hidden_and_what_an_enclosure_replaces_is_left(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys-link").symlink_to(tmp_path / "keys")
    asked = policy(f"filesystem:\n  blocked_paths: [/etc, {tmp_path}/keys-*, /not/there]\n")
    assert grant(asked).hidden == (str(tmp_path / "keys"),)


def test_only_what_is_allowed_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "project/src").mkdir(parents=True)
    (tmp_path / "shared").mkdir()
    first = Grant(level="standard", workspace=str(tmp_path / "project"))
    asked = policy(f"filesystem:\n  allowed_paths: ['${{PROJECT_ROOT}}/src', {tmp_path}/shared]\n")
    made = tightened(first, asked, None, HOME)
    assert made.writes is Writes.NONE
    assert made.writable == (str(tmp_path / "project/src"), str(tmp_path / "shared"))
    # A project's own list never widens what a run may write.
    asked = policy("", "filesystem:\n  allowed_paths: ['${PROJECT_ROOT}', /tmp]\n")
    assert tightened(first, asked, None, HOME) == first


def test_a_projects_limit_is_never_above_the_levels() -> None:
    first = Grant(level="standard", workspace=PROJECT, limits=Limits(memory=MEGABYTE * 512))
    above, below = "resources: {max_memory_mb: 2048}\n", "resources: {max_memory_mb: 64}\n"
    assert tightened(first, policy("", above), None, HOME).limits.memory == 512 * MEGABYTE
    assert tightened(first, policy("", below), None, HOME).limits.memory == 64 * MEGABYTE
    assert tightened(first, policy(above), None, HOME).limits.memory == 2048 * MEGABYTE
    assert tightened(first, policy(above, below), None, HOME).limits.memory == 64 * MEGABYTE


@pytest.mark.requirement("K13")
def test_a_run_gets_at_least_the_level_that_is_asked_for() -> None:
    asked = policy("isolation: {strict_for: [docker]}\n")
    decision = under(asked, "docker ps")
    minimal, maximum = (load(name).grant(PROJECT) for name in ("minimal", "maximum"))
    made = tightened(minimal, asked, decision, HOME)
    strict = load("strict").grant(PROJECT)
    assert (made.level, made.network, made.writes) == ("strict", strict.network, strict.writes)
    assert made.require >= strict.require
    assert tightened(maximum, asked, decision, HOME) == maximum
    asked = policy("isolation: {default_level: maximum}\n")
    made = tightened(minimal, asked, under(asked, "ls"), HOME)
    assert made == replace(maximum, limits=made.limits)


def test_an_engine_that_encloses_nothing_does_not_get_around_the_level() -> None:
    asked = policy("isolation: {default_level: standard}\n")
    standard = load("standard").grant(PROJECT)
    direct = replace(standard, require=frozenset(), prefer=("direct",))
    made = tightened(direct, asked, under(asked, "ls"), HOME)
    assert (made.require, made.prefer) == (standard.require, standard.prefer)


def test_what_is_blocked_is_hidden_or_the_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir()
    asked = policy(f"filesystem:\n  blocked_paths: [{tmp_path}/keys]\n")
    assert grant(asked, prefer=("bubblewrap", "systemd", "landlock")).prefer == ("bubblewrap",)
    with pytest.raises(NoEngine) as raised:
        grant(asked, prefer=("landlock",))
    assert raised.value.tried == {"landlock": "shows what the policy blocks"}
