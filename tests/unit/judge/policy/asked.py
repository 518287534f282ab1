"""Policies as the tests write them, and what they say to a command given in a project at home."""

from __future__ import annotations

from redoma.jail.profiles.profile import load
from redoma.judge.policy.layers import merge
from redoma.judge.policy.sandbox_yaml import read
from redoma.model.containment import Containment, containment_of
from redoma.model.decision import Decision
from redoma.model.grant import Guarantee
from redoma.model.policy import Circumstances, Policy
from redoma.model.value import replace
from redoma.pipeline.decisions.check import check

PROJECT = "/home/user/project"
HOME = "/home/user"

# As it stands in the document of the sandbox skill.
DOCUMENT = """\
# sandbox.yaml
version: "1.0"
environment: production

policy: default

allowlist_extensions:
  - npm run lint
  - npm run format
  - prettier --write

blocklist_extensions:
  - "rm -rf /"
  - "rm -rf ~"

isolation:
  default_level: standard
  strict_for:
    - npm publish
    - git push
    - docker

confirmation:
  timeout_seconds: 60
  default_action: deny
  required_for:
    - dangerous
    - elevated (if multiple files)

dry_run:
  auto_enable_for:
    - first execution of command
    - commands affecting > 10 files

logging:
  level: verbose
  include_command_output: true
  redact_secrets: true
"""
ENVIRONMENT = """\
sandbox:
  default_level: standard

  filesystem:
    allowed_paths:
      - ${PROJECT_ROOT}
      - /tmp/sandbox-*
    blocked_paths:
      - /etc
      - /var
      - ~/.ssh
      - ~/.aws
      - ~/.config
    max_file_size_mb: 100
    max_total_size_mb: 1000

  network:
    allowed_hosts:
      - localhost
      - 127.0.0.1
      - npm.registry.org
      - github.com
    blocked_ports:
      - 22
      - 23
      - 3389
    max_connections: 10

  resources:
    max_memory_mb: 2048
    max_cpu_percent: 50
    max_execution_time_seconds: 300
    max_open_files: 100
"""


def policy(text: str, *projects: str) -> Policy:
    """A user's file (none where it is empty) and the project's files over it."""
    layers = [read(text, path="user.yaml")] if text else []
    layers += [
        read(each, path=f"project{number or ''}.yaml", origin="project")
        for number, each in enumerate(projects)
    ]
    return merge(layers, digest="d")


def decided(command: str, text: str, *projects: str, **known: object) -> Decision:
    """What these files say to a command."""
    return under(policy(text, *projects), command, **known)


def under(asked: Policy, command: str, **known: object) -> Decision:
    """What a policy says to a command."""
    around = Circumstances(**known)  # type: ignore[arg-type]
    return check(command, cwd=PROJECT, home=HOME, policy=asked, circumstances=around)


def verdict(command: str, text: str, *projects: str, **known: object) -> str:
    """The verdict in a word."""
    return decided(command, text, *projects, **known).verdict.label


def standard(level: str = "standard", **changes: object) -> Containment:
    """What a run under a level is held by, on a machine that enforces all that it requires."""
    grant = replace(load(level).grant(PROJECT), **changes)
    return containment_of(grant, grant.require | {Guarantee.CHANGES_HELD})
