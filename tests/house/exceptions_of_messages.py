"""Texts of two words that nobody is told: what programs are started with, names, formats."""

from __future__ import annotations

import re

MODULES_WITHOUT: tuple[str, ...] = (
    "redoma.base.log",  # the operator's log is English
    "redoma.testing",  # for people who write tests, and what those run
    "redoma.dialects",  # published APIs, which speak as their documents say
    "redoma.ask.approvals",  # programs and their subcommands
    "redoma.jail.kernel.syscall_table",  # names of system calls, and reasons for whoever reads the list
    "redoma.jail.probe.inside",  # a script that is run inside
    "redoma.egress.cache_store",  # SQL
    "redoma.integrations",  # what a model reads is English
    "redoma.mcp.approvals",  # what an agent reads is English
    "redoma.mcp.reports",
    "redoma.mcp.resources",
    "redoma.mcp.server",
    "redoma.server.pages",  # headers and types of files for browsers; the page has its own words
    "redoma.judge.intent.plan_schema",
    "redoma.judge.policy.schema",  # JSON Schema is for editors, the template is a file
    "redoma.server.openapi",  # what a program reads is English
    "redoma.audit.database",
    "redoma.audit.stats",  # Prometheus' format
)
# Scripts, expressions and files for other programs, known by how they begin.
CODE = re.compile(
    r'import sys;|"\$@"|while IFS|127\.0\.0\.1|\|\| sh -c|\\b|\*\*\* |# [<>]{3}|\(command'
    r"|HISTCONTROL=|# Completes redoma's|#compdef|complete -c|\{0\}\)\n|\.(?:TH|SH|SS) "
    r"|#!/bin/sh|case \"\$1\" in|cd \{0\} \|\| exit 1|exec (?:zsh -c|\{0\})|\{0\}eval "
    r"|HTTP/1|POST \{0\} HTTP/|import os, signal|Project-Id-Version: |plan \{0\}(?:\n|\Z)|import \{0\}\n"
)
NOT_MESSAGES: frozenset[str] = frozenset(
    {
        # Names of products, and of whoever runs us.
        *("Claude Code", "Codex CLI", "Gemini CLI", "VS Code", "uid {0}", "caller {0}"),
        # Commands, options and settings to type.
        *('cpus="2"', 'env_vars=("NAME=VALUE",)', 'image="alpine:latest"', 'memory="2g"'),
        *('ports=("8080:80",)', 'shell="/bin/sh"', '("ls", "-l")'),
        "Generator[ApiCall | Pause, Any, T]",
        "sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 $(id -un);"
        " podman system migrate",
        "redoma answer {0} approve",
        # Markers of a recording, the same for whoever plays it.
        *("{0} joined", "{0} left"),
        *('attachment; filename="{0}"', "-----END CERTIFICATE-----"),
        "redoma serve --host {host} --self-signed, or --certificate FILE --key FILE",
        "claude-code codex gemini cursor vscode",
        *("Bearer {0}", "Authorization: Bearer {0}"),
        *("--env {0}=VALUE", "git stash", "npm publish --dry-run"),
        *("network.allowed_hosts: {0}", "strict_for: {0}", "environment: production"),
        *("default_action: deny", "and, or", "{0} == … or {1} in [ … ]", "{0} in [one, other]"),
        "--security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined",
        "HOST, HOST:PORT, HOST:*, *.example.com, ADDRESS:PORT, localhost:PORT, HOST=ADDRESS, GET HOST/PATH",
        "[METHOD[,METHOD]] HOST[:PORT][/PATH], as in GET api.example.com/repos/**",
        *("list tail export stats", "install uninstall"),
        *("redoma {0} --help", "redoma {0} -- PROGRAM ARGUMENT..."),
        # What a policy may say, in its own words.
        *("multiple files", "external network", "schema changes", "effects in [publishes, remote]"),
        *("safety_level == {0} and multiple_files", "files_affected {0} {1}"),
        *("safety_level in [safe, moderate]", "safety_level in [elevated, dangerous, forbidden]"),
        # Fields of a document, for programs.
        *("Execute command", "Block command", "Execute in dry-run mode", "Modify command"),
        # Marks that are looked for, and what is given to other programs.
        *("[REDACTED: could not be read]", "redoma: git push:", "apply {0}"),
        *("/bin/sh -c {0} redoma {1}", "true {0}", "--description=a command of redoma"),
        *("kind IN ({0})", "at {0} ?", "head {0}:{1}", "Preview(id={0}, {1} changes)"),
        *("Plan({0}, {1} steps)", "call {0}({1})", "one run {0}"),
        "\\ No newline at end of file",
        *("Python {0}.{1}", "({0} bytes)", "every host", "every public host", "inspect: true"),
        # How a package manager is made to ask for something.
        "CARGO_NET_RETRY=0 cargo install -q --root /tmp/x redoma-asks",
        "GOPATH=/tmp/go GOFLAGS=-modcacherw go install redoma.invalid/asks@latest",
        "pnpm view redoma-asks",
        "python3 -m pip download -q --no-deps --no-cache-dir --retries 0 -d /tmp/x redoma-asks",
        "uv pip install -q --no-cache --dry-run --target /tmp/x redoma-asks",
        "yarn info redoma-asks || yarn npm info redoma-asks",
        # Parts of what is shown of a call.
        *("… {0} more", "of {0}", "'s variable {0}", "'s global {0}", "{0} is {1}"),
        "{0} min",
    }
)
# Words that are the same in both languages.
COGNATES: frozenset[str] = frozenset(
    {"fifo", "socket", "... ({0} bytes)", "use https", "redoma audit verify; {hint}"}
)
