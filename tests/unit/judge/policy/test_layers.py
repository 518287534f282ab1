"""A project's file may tighten what the user's own says, and never loosen it."""

from __future__ import annotations

import pytest

from redoma.judge.policy.layers import Loosens
from redoma.judge.policy.schema import KEYS
from redoma.model.decision import Verdict
from redoma.model.policy import Circumstances
from tests.unit.judge.policy.asked import decided, policy, under, verdict

# A key, what the user says, what a project may say, and what it may not.
ORDERED = [
    ("environment", "staging", "production", "development"),
    ("policy", "default", "strict", "isolation-only"),
    ("policy", "strict", "strict", "default"),
    ("pack", "skill", "skill", "terminal"),
    ("isolation.default_level", "strict", "maximum", "standard"),
    ("isolation.phases", "{build: strict}", "{build: maximum}", "{build: standard}"),
    ("isolation.phases", "{build: strict}", "{build: strict}", "{build: profile.yaml}"),
    ("judgement.deadline_seconds", "0.5", "0.4", "2"),
    ("confirmation.timeout_seconds", "30", "10", "31"),
    ("confirmation.default_action", "deny", "deny", "dry_run"),
    ("confirmation.ask_about_held", "true", "true", "false"),
    ("filesystem.allowed_paths", "['${PROJECT_ROOT}', ~/data]", "[~/data/in]", "[~/other]"),
    ("filesystem.max_file_size_mb", "10", "10", "11"),
    ("filesystem.max_total_size_mb", "10", "9", "11"),
    ("filesystem.max_changes", "10", "9", "11"),
    ("filesystem.max_depth", "10", "9", "11"),
    ("network.allowed_hosts", "[github.com, '*.example.org']", "[a.example.org]", "[gitlab.com]"),
    ("network.allowed_hosts", "[a.example.org]", "[a.example.org]", "['*.example.org']"),
    ("network.allowed_hosts", "[a.test]", "['GET a.test/x/**']", "['GET b.test/x/**']"),
    ("network.allowed_hosts", "['GET,PUT a.test/x/**']", "['GET a.test/x/**']", "[a.test]"),
    ("network.allowed_hosts", "['GET a.test/x/*']", "['GET a.test/x/*']", "['GET a.test/x/**']"),
    ("network.inspect", "true", "true", "false"),
    ("network.cache_min_interval", "60", "90", "30"),
    ("network.max_connections", "5", "0", "6"),
    ("secrets.allowed", "['npm_*', github]", "[npm_publish]", "[aws]"),
    ("secrets.allowed", "['npm_*']", "['npm_*']", "['*']"),
    ("secrets.confirm", "true", "true", "false"),
    ("resources.max_memory_mb", "100", "50", "101"),
    ("resources.max_cpu_percent", "50", "1", "51"),
    ("resources.max_execution_time_seconds", "10", "9.5", "10.5"),
    ("resources.max_open_files", "64", "64", "65"),
    ("resources.max_processes", "10", "1", "11"),
    ("logging.level", "normal", "verbose", "quiet"),
    ("logging.include_command_output", "true", "true", "false"),
    ("logging.redact_secrets", "true", "true", "false"),
    ("rate_limits.executions_per_minute", "10", "1", "11"),
    ("rate_limits.concurrent_runs", "2", "1", "3"),
    ("rate_limits.cpu_seconds_per_day", "10", "1", "11"),
    ("rate_limits.bytes_written_per_day", "10", "1", "11"),
    ("retention.entries_per_session", "500", "600", "400"),
    ("plans.confirm", "step", "step", "plan"),
]
# Lists that only grow, and what cannot loosen since the decision below counts as well.
GROWING = {
    *("rules", "blocklist_extensions", "isolation.strict_for", "confirmation.required_for"),
    *("dry_run.auto_enable_for", "filesystem.blocked_paths", "network.blocked_ports", "tests"),
    "filesystem.protected_names",
}


def text_of(key: str, value: str) -> str:
    section, _, name = key.rpartition(".")
    return f"{section}:\n  {name}: {value}\n" if section else f"{name}: {value}\n"


@pytest.mark.parametrize(("key", "user", "tighter", "looser"), ORDERED)
def test_a_key_can_be_tightened_and_not_loosened(
    key: str, user: str, tighter: str, looser: str
) -> None:
    below = text_of(key, user)
    policy(below, text_of(key, tighter))
    with pytest.raises(Loosens) as raised:
        policy(below, text_of(key, looser))
    line = 2 if "." in key else 1
    column = 3 if "." in key else 1
    assert raised.value.location == f"project.yaml:{line}:{column}"
    assert str(raised.value).startswith(f"project.yaml:{line}:{column}: {key} ")
    assert str(raised.value).endswith(f"; {key} is set at user.yaml:{line}:{column}")
    assert raised.value.hint


def test_every_key_has_its_order_tried() -> None:
    others = {"version", "allowlist_extensions", "projects_may", "network.cache_hosts"}
    others.add("network.cache_ignored_headers")
    others |= {key for key in KEYS if key.startswith("grants.")}  # a project only asks for these
    assert {row[0] for row in ORDERED} | GROWING | others == set(KEYS)
    assert {key for key in KEYS if KEYS[key].order == "add"} == GROWING


def test_what_is_built_in_cannot_be_loosened_either() -> None:
    for text, place in [
        ("isolation: {default_level: minimal}\n", "1:13"),
        ("confirmation: {timeout_seconds: 61}\n", "1:16"),
        ("logging: {redact_secrets: false}\n", "1:11"),
        ("policy: isolation-only\n", "1:1"),
        ("pack: skill\n", "1:1"),
        ("filesystem: {allowed_paths: ['~']}\n", "1:14"),
    ]:
        with pytest.raises(Loosens, match="is set at built in") as raised:
            policy("", text)
        assert raised.value.location == f"project.yaml:{place}"


def test_lists_of_a_project_are_added_to_the_users() -> None:
    user = (
        "blocklist_extensions: [a]\nnetwork: {blocked_ports: [22]}\nisolation: {strict_for: [b]}\n"
    )
    asked = policy(user, user.replace("a]", "c]").replace("22", "23").replace("b]", "d]"))
    assert asked.block == ("a", "c")
    assert asked.network.blocked_ports == (22, 23)
    assert asked.isolation.strict_for == (("b",), ("d",))


@pytest.mark.parametrize(
    "project",
    [
        "policy: {name: mine, rules: [{name: all, condition: safety_level >= safe, action: allow}]}\n",
        "rules: [{name: all, condition: safety_level >= safe, action: allow}]\n",
    ],
)
def test_rules_of_a_project_cannot_allow_what_is_not_allowed_below(project: str) -> None:
    for command in ("git push", "rm -rf ~/x", "rm -rf /", "mkdir x"):
        strict = verdict(command, "policy: strict\n")
        assert verdict(command, "policy: strict\n", project) == strict
        assert decided(command, "", project).verdict == decided(command, "version: 1\n").verdict


def test_a_project_can_be_stricter_by_rules_of_its_own() -> None:
    own = (
        "policy: {name: mine, rules: [{name: only_ls, condition: program == ls, action: allow}]}\n"
    )
    assert verdict("ls", "", own) == "allow"
    assert verdict("pwd", "", own) == "deny"


def test_an_allow_list_of_a_project_sets_aside_only_what_the_project_added() -> None:
    project = "policy: strict\nallowlist_extensions: [npm run lint, git push]\n"
    assert verdict("npm run lint", "", project) == "allow"
    assert verdict("mkdir x", "", project) == "confirm"
    assert verdict("git push", "", project) == "log"  # as it is without any file


@pytest.mark.parametrize(
    "users",
    [
        "policy: strict\n",
        "rules: [{name: no, condition: program == npm, action: block}]\n",
        "environment: production\n",
        "confirmation: {required_for: [elevated]}\n",
    ],
)
def test_an_allow_list_of_a_project_against_the_users_policy_is_an_error(users: str) -> None:
    with pytest.raises(Loosens) as raised:
        policy(users, "allowlist_extensions: [npm run lint]\n")
    assert raised.value.location == "project.yaml:1:1"
    assert "is set at user.yaml:1:" in str(raised.value)
    assert raised.value.hint.endswith("projects_may: [allowlist_extensions]")


def test_a_user_may_permit_an_allow_list_of_a_project() -> None:
    users = "policy: strict\nprojects_may: [allowlist_extensions]\n"
    project = "allowlist_extensions: [npm run lint]\n"
    assert verdict("npm run lint", users) == "confirm"
    assert verdict("npm run lint", users, project) == "allow"
    assert verdict("npm run test", users, project) == "confirm"


def test_a_user_may_permit_a_pack_of_a_project() -> None:
    assert policy("projects_may: [pack]\n", "pack: skill\n").pack == "skill"


def test_a_project_cannot_permit_itself_anything() -> None:
    with pytest.raises(Loosens, match="belongs into the user's own file only"):
        policy("", "projects_may: [allowlist_extensions]\nallowlist_extensions: [ls]\n")


def test_a_file_further_in_cannot_loosen_one_further_out() -> None:
    with pytest.raises(Loosens, match=r"is set at project.yaml:1:1"):
        policy("", "policy: strict\n", "policy: default\n")
    assert verdict("mkdir x", "", "policy: strict\n", "logging: {level: verbose}\n") == "confirm"


def test_the_user_may_loosen_what_is_built_in() -> None:
    asked = policy(
        "policy: isolation-only\nisolation: {default_level: minimal}\n"
        "confirmation: {timeout_seconds: 600, default_action: dry_run}\n"
    )
    assert under(asked, "rm -rf ~/x").verdict is Verdict.LOG
    assert asked.isolation.default_level == "minimal"


def test_production_is_never_below_standard() -> None:
    text = "environment: production\nisolation: {default_level: minimal}\n"
    assert decided("ls", text).isolation == "standard"


@pytest.mark.requirement("K13")
def test_a_phase_has_its_isolation() -> None:
    users = "isolation:\n  default_level: standard\n  phases: {fetch: minimal, test: maximum}\n"
    found = {p: decided("ls", users, phase=p).isolation for p in ("", "fetch", "test", "other")}
    assert found == {"": "standard", "fetch": "minimal", "test": "maximum", "other": "standard"}
    project = "isolation: {phases: {fetch: strict}}\n"
    assert decided("ls", users, project, phase="fetch").isolation == "strict"
    assert decided("ls", users, project, phase="test").isolation == "maximum"


def test_without_facts_what_is_not_known_is_taken_for_the_worst() -> None:
    from redoma.judge.judgement import decide
    from redoma.pipeline.decisions.check import check, ground
    from redoma.pipeline.decisions.knowledge import pack

    asked = policy("rules: [{name: no, condition: program == git, action: block}]\n")
    where = ground("/home/user/project", "/home/user")
    assessment = check("ls", cwd=where.workspace, home=where.home).assessment
    blind = decide(assessment, pack("default"), asked, Circumstances())
    assert (blind.verdict, blind.rule) == (Verdict.DENY, "no")


def test_a_project_asks_for_grants_and_gets_none() -> None:
    mine = "grants:\n  hosts: [registry.example]\n  limits: {memory: 1G}\n"
    theirs = "grants:\n  hosts: [evil.example]\n  read: [~/.ssh]\n  limits: {memory: none}\n"
    whole = policy(mine, theirs)
    assert whole.grants.hosts == ("registry.example",)
    assert (whole.grants.read, whole.grants.limits) == ((), (("memory", "1G"),))
    (asked,) = whole.requests
    assert (asked.path, asked.grants.hosts, asked.grants.read) == (
        "project.yaml",
        ("evil.example",),
        ("~/.ssh",),
    )
    assert asked.digest != policy(mine, theirs + "# other\n").requests[0].digest
