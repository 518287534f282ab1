"""Whatever a project writes: no decision is milder than without it, and no text breaks a policy."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from redoma.base.levels import LEVELS
from redoma.judge.policy.evaluation import isolation
from redoma.model.errors import PolicyError
from redoma.model.policy import Circumstances
from tests.unit.judge.policy.asked import DOCUMENT, ENVIRONMENT, policy, under

COMMANDS = [
    *("ls", "mkdir x", "git push", "rm -r build", "rm -rf ~/x", "rm -rf /", "npm run lint"),
    *("curl https://a.example", "npm run lint; git push", "cat /etc/hosts", "$x", "docker ps"),
]
CONDITIONS = [
    *("safety_level >= safe", "safety_level == elevated", "program in [npm, ls]", "path in [/etc]"),
    *(
        "host == a.example",
        "not program == git",
        "effects in [publishes, deletes]",
        "multiple_files",
    ),
]
RULE = st.fixed_dictionaries(
    {
        "name": st.sampled_from(["one", "two", "three"]),
        "condition": st.sampled_from(CONDITIONS),
        "action": st.sampled_from(["allow", "log_and_allow", "dry_run", "require_confirmation", "block"]),
    }
)  # fmt: skip
RULES = st.lists(RULE, min_size=1, max_size=3, unique_by=lambda rule: rule["name"])
FILE = st.fixed_dictionaries(
    {},
    optional={
        "environment": st.sampled_from(["development", "production"]),
        "policy": st.sampled_from(["default", "strict", "isolation-only"])
        | RULES.map(lambda rules: {"name": "mine", "rules": rules}),
        "pack": st.sampled_from(["default", "skill"]),
        "rules": RULES,
        "allowlist_extensions": st.lists(st.sampled_from(["npm run lint", "git push", "docker"])),
        "blocklist_extensions": st.lists(st.sampled_from(["ls", "git.*push"])),
        "isolation": st.fixed_dictionaries(
            {},
            optional={
                "default_level": st.sampled_from(LEVELS),
                "strict_for": st.just(["docker"]),
                "phases": st.dictionaries(st.just("build"), st.sampled_from(LEVELS)),
            },
        ),
        "confirmation": st.fixed_dictionaries(
            {}, optional={"required_for": st.lists(st.sampled_from(CONDITIONS))}
        ),
        "filesystem": st.fixed_dictionaries(
            {},
            optional={
                "allowed_paths": st.just(["${PROJECT_ROOT}"]),
                "blocked_paths": st.just(["/etc"]),
            },
        ),
        "network": st.fixed_dictionaries(
            {}, optional={"allowed_hosts": st.sampled_from([["localhost"], ["a.example"]])}
        ),
    },
).map(json.dumps)


@settings(deadline=None, max_examples=150)
@given(FILE, FILE, st.sampled_from(COMMANDS), st.sampled_from(["", "build"]))
def test_a_project_makes_no_decision_milder(
    users: str, project: str, command: str, phase: str
) -> None:
    try:
        alone, both = policy(users), policy(users, project)
    except PolicyError:
        return
    before, after = (under(each, command, phase=phase) for each in (alone, both))
    assert after.verdict >= before.verdict
    around = Circumstances(phase=phase)
    levels = [isolation(each, around)[0] for each in (alone, both)]
    ranks = [LEVELS.index(level) if level else -1 for level in levels]
    assert ranks[0] <= ranks[1]
    assert not before.preview or after.preview


@settings(deadline=None, max_examples=150)
@given(st.text(max_size=60) | st.text(alphabet="ab'\"$(){}|;&<>\\ \n`*~/", max_size=40))
def test_any_text_gets_a_decision(text: str) -> None:
    both = DOCUMENT + ENVIRONMENT.replace("  default_level: standard\n", "")
    assert under(policy(both), text).verdict in range(4)
