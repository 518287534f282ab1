"""The keys of `sandbox.yaml`: one table that reads, orders, describes and drafts a file."""

from __future__ import annotations

from redoma.base.levels import LEVELS
from redoma.judge.policy.conditions import ENVIRONMENTS
from redoma.judge.policy.shipped import POLICIES
from redoma.model.policy import Action
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

PACKS = ("default", "terminal", "skill")
EXPECTED = ("allow", "log", "confirm", "deny")
LOOSENED = ("allowlist_extensions", "pack")
_MOST = 1 << 40


class PolicyKey(Value):
    """One key: what it takes, what it is for, and which way a project may turn it.

    `order`: `smaller` and `larger` numbers, choices further `up` the list, lists that `add` or are
    a `subset`, the `same` value or nothing, `user` for the user's own file only, `ask` for
    what a project's file only requests, and `own` for what cannot loosen because the decision below
    it counts as well.
    """

    kind: str
    about: str
    order: str
    choices: tuple[str, ...] = ()
    least: int = 1
    most: int = _MOST


def _count(about: str, order: str = "smaller", least: int = 1, most: int = _MOST) -> PolicyKey:
    return PolicyKey(kind="integer", about=about, order=order, least=least, most=most)


KEYS: Mapping[str, PolicyKey] = {
    "version": PolicyKey(kind="choice", about="The format.", order="own", choices=("1.0", "1")),
    "environment": PolicyKey(
        kind="choice",
        about="What the machine is for; in production, what lasts is confirmed.",
        order="up",
        choices=ENVIRONMENTS,
    ),
    "policy": PolicyKey(
        kind="policy",
        about="A shipped policy by name, or one of your own: a name and its rules.",
        order="up",
        choices=POLICIES,
    ),
    "pack": PolicyKey(
        kind="choice", about="The rule pack that judges.", order="same", choices=PACKS
    ),
    "rules": PolicyKey(kind="rules", about="Rules beside those of the policy.", order="add"),
    "allowlist_extensions": PolicyKey(
        kind="commands", about="Commands whose level, up to elevated, is set aside.", order="own"
    ),
    "blocklist_extensions": PolicyKey(
        kind="blocks", about="Commands or regular expressions that are refused.", order="add"
    ),
    "isolation.default_level": PolicyKey(
        kind="choice", about="The least isolation of a run.", order="up", choices=LEVELS
    ),
    "isolation.strict_for": PolicyKey(
        kind="commands", about="Commands that run under `strict` at least.", order="add"
    ),
    "isolation.phases": PolicyKey(
        kind="phases", about="The isolation of each phase of a workflow.", order="up"
    ),
    "judgement.deadline_seconds": PolicyKey(
        kind="number",
        about="Processor time that judging may take; what takes longer is refused.",
        order="smaller",
        least=0,
        most=10,
    ),
    "confirmation.timeout_seconds": PolicyKey(
        kind="number", about="How long an answer is waited for.", order="smaller", most=86_400
    ),
    "confirmation.default_action": PolicyKey(
        kind="choice",
        about="What silence means.",
        order="up",
        choices=("dry_run", "deny"),
    ),
    "confirmation.required_for": PolicyKey(
        kind="clauses", about="What a person confirms, beside what rules say.", order="add"
    ),
    "confirmation.ask_about_held": PolicyKey(
        kind="flag",
        about="Whether to ask about what the sandbox holds or undo takes back as well.",
        order="up",
    ),
    "dry_run.auto_enable_for": PolicyKey(
        kind="clauses", about="What is previewed before it runs.", order="add"
    ),
    "filesystem.allowed_paths": PolicyKey(
        kind="paths", about="The only paths that may be written.", order="subset"
    ),
    "filesystem.blocked_paths": PolicyKey(
        kind="paths", about="Paths that are neither read nor written.", order="add"
    ),
    "filesystem.protected_names": PolicyKey(
        kind="names", about="Names that no command may write, wherever they lie.", order="add"
    ),
    "filesystem.max_file_size_mb": _count("The size of one file."),
    "filesystem.max_total_size_mb": _count("All that a run may write."),
    "filesystem.max_changes": _count("Paths that a run may change and have applied by itself."),
    "filesystem.max_depth": _count("Levels of directories in which it may do so."),
    "network.allowed_hosts": PolicyKey(
        kind="hosts", about="The only hosts that a command may name.", order="subset"
    ),
    "network.blocked_ports": PolicyKey(
        kind="ports", about="Ports that no command may name.", order="add", most=65_535
    ),
    "network.cache_hosts": PolicyKey(
        kind="hosts", about="Hosts whose answers are kept and used again.", order="user"
    ),
    "network.cache_ignored_headers": PolicyKey(
        kind="headers", about="Headers that make no difference to their answers.", order="user"
    ),
    "network.cache_min_interval": PolicyKey(
        kind="integer",
        about="Seconds before one of these hosts is asked for the same again.",
        order="larger",
        least=30,
        most=86_400,
    ),
    "network.inspect": PolicyKey(
        kind="flag", about="Whether requests are read one by one, in TLS as well.", order="up"
    ),
    "network.max_connections": _count("Connections that a command may have at one time.", least=0),
    "secrets.allowed": PolicyKey(
        kind="secrets",
        about="The only secrets that a command may get in plaintext.",
        order="subset",
    ),
    "secrets.confirm": PolicyKey(
        kind="flag", about="Whether a person confirms each run that gets one.", order="up"
    ),
    "resources.max_memory_mb": _count("Memory of a run."),
    "resources.max_cpu_percent": _count("Share of one processor.", most=100_000),
    "resources.max_execution_time_seconds": PolicyKey(
        kind="number", about="How long a run may take.", order="smaller"
    ),
    "resources.max_open_files": _count("Open files of each process.", least=8),
    "resources.max_processes": _count("Processes of a run."),
    "logging.level": PolicyKey(
        kind="choice",
        about="How much is written down.",
        order="up",
        choices=("quiet", "normal", "verbose"),
    ),
    "logging.include_command_output": PolicyKey(
        kind="flag", about="Whether what commands print is kept.", order="up"
    ),
    "logging.redact_secrets": PolicyKey(
        kind="flag", about="Whether secrets are taken out of what is written.", order="up"
    ),
    "rate_limits.executions_per_minute": _count("Runs a minute."),
    "rate_limits.concurrent_runs": _count("Runs at a time."),
    "rate_limits.cpu_seconds_per_day": _count("Processor time a day."),
    "rate_limits.bytes_written_per_day": _count("Bytes written a day.", most=1 << 60),
    "retention.entries_per_session": _count(
        "Entries of the audit log that a session keeps.", "larger", most=10_000_000
    ),
    "plans.confirm": PolicyKey(
        kind="choice",
        about="Whether a plan is confirmed once as a whole, or each of its steps.",
        order="up",
        choices=("plan", "step"),
    ),
    "grants.hosts": PolicyKey(
        kind="grants",
        about="Hosts that every run may reach, as --allow-host says them.",
        order="ask",
    ),
    "grants.read": PolicyKey(kind="grants", about="Paths that it may read as well.", order="ask"),
    "grants.write": PolicyKey(kind="grants", about="Paths that it may write as well.", order="ask"),
    "grants.env": PolicyKey(
        kind="grants", about="Variables that are passed: NAME, or NAME=VALUE.", order="ask"
    ),
    "grants.credentials": PolicyKey(
        kind="grants", about="What the gate adds for a host: HOST=NAME.", order="ask"
    ),
    "grants.limits": PolicyKey(
        kind="limits", about="Limits of every run by name, as memory: 4G.", order="ask"
    ),
    "projects_may": PolicyKey(
        kind="choices",
        about="Keys that a project's file may use although they loosen.",
        order="user",
        choices=LOOSENED,
    ),
    "tests": PolicyKey(
        kind="tests", about="Commands and what is expected, for `policy test`.", order="add"
    ),
}
# The document writes its environment as one block `sandbox:`; its keys are the same keys.
WRAPPED = {
    "sandbox.default_level": "isolation.default_level",
    **{
        f"sandbox.{name}": name
        for name in KEYS
        if name.startswith(("filesystem.", "network.", "resources."))
    },
}
ACTIONS = tuple(action.value for action in Action)
RULE_KEYS = ("name", "condition", "action")
TEST_KEYS = ("command", "expect", "phase", "isolation")


def json_schema() -> dict[str, object]:
    """The same table as a JSON Schema, for editors."""
    whole = _object("A policy of Redoma.", {})
    properties: dict[str, object] = whole["properties"]  # type: ignore[assignment]
    for name, key in KEYS.items():
        _place(properties, name.split("."), _described(key))
    for name, meant in WRAPPED.items():
        _place(properties, name.split("."), _described(KEYS[meant]))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "sandbox.yaml",
        **whole,
    }


def _object(about: str, properties: dict[str, object]) -> dict[str, object]:
    made: dict[str, object] = {"description": about} if about else {}
    return {
        **made,
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }


def _place(properties: dict[str, object], names: list[str], described: object) -> None:
    first, *rest = names
    if not rest:
        properties[first] = described
        return
    section: dict[str, object] = properties.setdefault(first, _object("", {}))  # type: ignore[assignment]
    _place(section["properties"], rest, described)  # type: ignore[arg-type]


def _described(key: PolicyKey) -> dict[str, object]:
    text: dict[str, object] = {"type": "string", "minLength": 1}
    rule = {
        **_object("", {"name": text, "condition": text, "action": {"enum": list(ACTIONS)}}),
        "required": list(RULE_KEYS),
    }
    rules: dict[str, object] = {"type": "array", "items": rule}
    own = {**_object("", {"name": text, "rules": rules}), "required": ["name", "rules"]}
    example = {"command": text, "expect": {"enum": list(EXPECTED)}, "phase": text}
    example["isolation"] = {"enum": list(LEVELS)}
    ports = {"type": "integer", "minimum": key.least, "maximum": key.most}
    kinds: dict[str, dict[str, object]] = {
        "choice": {"enum": list(key.choices)},
        "choices": {"type": "array", "items": {"enum": list(key.choices)}},
        "flag": {"type": "boolean"},
        "integer": {"type": "integer", "minimum": key.least, "maximum": key.most},
        "number": {"type": "number", "exclusiveMinimum": 0, "maximum": key.most},
        "ports": {"type": "array", "items": ports},
        "rules": rules,
        "policy": {"oneOf": [{"enum": list(key.choices)}, own]},
        "phases": {"type": "object", "additionalProperties": text},
        "limits": {"type": "object", "additionalProperties": {"type": ["string", "number"]}},
        "tests": {
            "type": "array",
            "items": {**_object("", example), "required": ["command", "expect"]},
        },
    }
    shape = kinds.get(key.kind) or {"type": "array", "items": text}
    return {"description": key.about, **shape}


HEAD = """\
# sandbox.yaml: what commands may do here.
#
# Everything below that starts with `#` is an example and has no effect; take the sign away to use
# it. `redoma policy lint` checks the file, `redoma policy explain 'git push'` says what it does.
# In a project this file may only tighten what your own says (redoma policy show).
version: "1.0"
policy: default
"""
_EXAMPLES = {
    "environment": "production",
    "pack": "skill",
    "rules": (
        "- name: ask_before_terraform",
        "  condition: program == terraform and not (phase == plan)",
        "  action: require_confirmation",
        "- name: keep_out_of_migrations",
        "  condition: path in [migrations/**] and effects in [writes, deletes]",
        "  action: block",
    ),
    "allowlist_extensions": ("- npm run lint", "- prettier --write"),
    "blocklist_extensions": ('- "git push --force"', '- "kubectl.*--context[= ]prod"'),
    "isolation.default_level": "standard",
    "isolation.strict_for": ("- npm publish", "- docker"),
    "isolation.phases": ("build: standard", "test: strict"),
    "judgement.deadline_seconds": "1",
    "confirmation.timeout_seconds": "60",
    "confirmation.default_action": "deny",
    "confirmation.required_for": (
        *("- dangerous", "- elevated (if multiple files)", "- external network"),
        *("- schema changes", "- publishing"),
    ),
    "confirmation.ask_about_held": "true",
    "dry_run.auto_enable_for": (
        "- first execution of command",
        "- commands affecting > 10 files",
    ),
    "filesystem.allowed_paths": ("- ${PROJECT_ROOT}",),
    "filesystem.blocked_paths": ("- ~/.ssh", "- ${PROJECT_ROOT}/secrets"),
    "filesystem.protected_names": ("- deploy.sh", '- "*.tf"'),
    "filesystem.max_file_size_mb": "100",
    "filesystem.max_total_size_mb": "1000",
    "filesystem.max_changes": "1000000",
    "filesystem.max_depth": "10000",
    "network.allowed_hosts": ("- localhost", "- github.com", '- "*.example.org"'),
    "network.blocked_ports": ("- 22", "- 3389"),
    "network.cache_hosts": ("- api.github.com",),
    "network.cache_ignored_headers": ("- X-Run-Id",),
    "network.cache_min_interval": "30",
    "network.inspect": "true",
    "network.max_connections": "10",
    "secrets.allowed": ("- github", '- "npm_*"'),
    "secrets.confirm": "true",
    "resources.max_memory_mb": "1024",
    "resources.max_cpu_percent": "50",
    "resources.max_execution_time_seconds": "300",
    "resources.max_open_files": "512",
    "resources.max_processes": "128",
    "logging.level": "verbose",
    "logging.include_command_output": "true",
    "logging.redact_secrets": "true",
    "rate_limits.executions_per_minute": "60",
    "rate_limits.concurrent_runs": "4",
    "rate_limits.cpu_seconds_per_day": "36000",
    "rate_limits.bytes_written_per_day": "10000000000",
    "retention.entries_per_session": "1000",
    "plans.confirm": "plan",
    "grants.hosts": ("- registry.example", "- git.example:22"),
    "grants.read": ("- ~/datasets",),
    "grants.write": ("- ~/exports",),
    "grants.env": ("- CI", "- LOG_LEVEL=debug"),
    "grants.credentials": ("- registry.example=vault:registry",),
    "grants.limits": ("memory: 4G", "wall_seconds: 20m"),
    "projects_may": ("- allowlist_extensions",),
    "tests": (
        "- command: git push --force",
        "  expect: confirm",
        "- command: npm test",
        "  expect: allow",
    ),
}


def template(*, user: bool = False) -> str:
    """The text of a new file; `projects_may` is only of use in the user's own."""
    lines = [HEAD]
    section = ""
    for name in KEYS:
        if name in ("version", "policy") or (KEYS[name].order == "user" and not user):
            continue
        head, _, key = name.rpartition(".")
        if not head or head != section:
            lines.append("")
        if head and head != section:
            lines.append(f"# {head}:")
        section = head
        lines += _entry(name, key, "  " if head else "")
    return "\n".join(lines) + "\n"


def _entry(name: str, key: str, indent: str) -> list[str]:
    example = _EXAMPLES[name]
    about = f"# {indent}# {KEYS[name].about}"
    if KEYS[name].choices:
        about += f" One of: {', '.join(KEYS[name].choices)}."
    if isinstance(example, str):
        return [about, f"# {indent}{key}: {example}"]
    return [about, f"# {indent}{key}:", *(f"# {indent}  {line}" for line in example)]
