"""Allow lists and block lists are held against the commands of a line, each by itself."""

from __future__ import annotations

import pytest

from redoma.model.decision import Risk
from tests.unit.judge.policy.asked import decided, verdict

ALLOW = """\
policy: strict
allowlist_extensions:
  - npm run lint
  - docker run alpine
  - npx prettier
"""


@pytest.mark.requirement("K2")
@pytest.mark.parametrize(
    "command",
    [
        "npm run lint",
        "npm  run   lint",
        "npm run lint -- --fix",
        'npm run "lint"',
        "npm run lint && ls",
        "cd web && npm run lint",
        "npm run lint | head",
        "docker run alpine",
        "npx prettier --write src",
        "npm run lint; docker run alpine",
    ],
)
def test_an_allowed_command_passes_a_strict_policy(command: str) -> None:
    decision = decided(command, ALLOW)
    assert (decision.verdict.label, decision.rule) == ("allow", "allowlist_extensions")


@pytest.mark.requirement("K2")
@pytest.mark.parametrize(
    "command",
    [
        "npx cowsay moo",
        "docker run alpine sh -c 'apk add curl'",
        "npm run linter",
        "npm --prefix /tmp/x run lint",
        "npm run lint; mkdir x",
        "npm run lint && git push",
        "npm run lint || docker run ubuntu",
        "npm run lint | tee out.txt",
        "npm run lint & mkdir x",
        "npm run lint > out.txt",
        "npm run lint $(mkdir x)",
        "npm run lint `mkdir x`",
        "npm run lint <(mkdir x)",
        "npm run lint $x",
        "PATH=/tmp/x npm run lint",
        "PATH=/tmp/x; npm run lint",
        "export PATH=/tmp/x; npm run lint",
        "alias npm='docker build'; npm run lint",
        "npm() { docker build .; }; npm run lint",
        ". ./env; npm run lint",
        "eval 'npm run lint'",
        "sudo npm run lint",
        "bash -c 'npm run lint'",
        "xargs npm run lint",
        "./npm run lint",
        "(npm run lint; mkdir x)",
        "if true; then npm run lint; mkdir x; fi",
        "ech\u043e npm run lint",
    ],
)
def test_nothing_rides_along_with_an_allowed_command(command: str) -> None:
    assert verdict(command, ALLOW) in ("confirm", "deny")


@pytest.mark.parametrize(
    ("entry", "command", "risk"),
    [
        ("rm -rf /", "rm -rf /", Risk.FORBIDDEN),
        ("rm -rf", "rm -rf ~/work", Risk.DANGEROUS),
        ("git push", "git push --force", Risk.DANGEROUS),
    ],
)
def test_an_allow_list_sets_aside_nothing_worse_than_elevated(
    entry: str, command: str, risk: Risk
) -> None:
    with_list = decided(command, f"allowlist_extensions: [{entry!r}]\n")
    assert with_list.assessment.risk is risk
    assert with_list.verdict == decided(command, "version: 1\n").verdict


def test_what_is_blocked_stays_blocked_though_it_is_allowed() -> None:
    text = "allowlist_extensions: [npm run lint]\n"
    rule = "rules: [{name: no_npm, condition: program == npm, action: block}]\n"
    assert verdict("npm run lint", text + rule) == "deny"
    assert verdict("npm run lint", text + "blocklist_extensions: [npm run]\n") == "deny"
    assert verdict("npm run lint /etc/x", text + "filesystem: {blocked_paths: [/etc]}\n") == "allow"
    assert verdict("npm run lint | tee /etc/x", text + "filesystem: {blocked_paths: [/etc]}\n") == "deny"  # fmt: skip


BLOCK = """\
policy: isolation-only
blocklist_extensions:
  - "rm -rf /"
  - "rm -rf ~"
  - git push --force
  - "kubectl.*--context[= ]prod"
  - 'eval\\s+'
  - ":(){ :|:& };:"
"""


@pytest.mark.requirement("K2")
@pytest.mark.parametrize(
    "command",
    [
        "rm -rf /",
        "rm -fr /",
        "rm -r -f /",
        "rm  -rf  /",
        "rm -v -rf / --one-file-system",
        'rm -rf "/"',
        "sudo rm -rf /",
        "bash -c 'rm -rf /'",
        "x=/; rm -rf $x",
        "r''m -rf /",
        "rm -rf ~",
        "rm -rf $HOME",
        "rm -rf /home/user",
        "git push --force",
        "git push origin main --force",
        "true && git push --force",
        "kubectl get pods --context=prod",
        "kubectl --context prod get pods",
        "kubectl '--context=pr'od get pods",
        "eval ls",
        ":(){ :|:& };:",
    ],
)
def test_a_blocked_command_is_refused_however_it_is_spelt(command: str) -> None:
    decision = decided(command, BLOCK)
    assert (decision.verdict.label, decision.rule) == ("deny", "blocklist_extensions")


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf /home/user/project/build",
        "rm -rf ~/project/build",
        "git push",
        "kubectl get pods --context=staging",
        "ls -rf /",
        "retrieval",
    ],
)
def test_a_block_list_blocks_nothing_else(command: str) -> None:
    assert verdict(command, BLOCK) == "log"


@pytest.mark.parametrize(
    ("command", "isolation"),
    [
        ("git push", "strict"),
        ("git -C x push origin main", ""),
        ("sudo git push", "strict"),
        ("ls && docker ps", "strict"),
        ("$tool x", "strict"),
        ("git pull", ""),
        ("echo docker", ""),
    ],
)
def test_strict_isolation_is_for_the_commands_that_are_named(command: str, isolation: str) -> None:
    text = "isolation: {strict_for: [git push, docker]}\n"
    assert decided(command, text).isolation == isolation
