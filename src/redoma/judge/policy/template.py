"""A `sandbox.yaml` to start from: every key there is, with its meaning and an example, unused."""

from __future__ import annotations

from redoma.judge.policy.schema import KEYS

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
    "network.cache_min_interval": "30",
    "network.inspect": "true",
    "network.max_connections": "10",
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
