"""Where each agent keeps its settings, for a user and for a project."""

from __future__ import annotations

import os

from redoma.model.errors import UsageError
from redoma.model.value import Value

SCOPES = ("user", "project", "local")


class Place(Value):
    """A settings file; `within` is the directory it must really lie in, if there is one."""

    agent: str
    scope: str
    path: str
    within: str | None = None

    @property
    def is_toml(self) -> bool:
        return self.path.endswith(".toml")


def places(agent: str, scope: str) -> list[Place]:
    """The files that may hold our hook, the usual one first."""
    if scope == "user":
        folder, within = _user_folder(agent), None
    elif scope == "local" and agent != "claude-code":
        raise UsageError(f"{agent} has no local settings", hint="use --project or --user")
    else:
        within = os.getcwd()
        folder = os.path.join(within, _folder_name(agent))
    names = _file_names(agent, scope)
    return [
        Place(agent=agent, scope=scope, path=os.path.join(folder, name), within=within)
        for name in names
    ]


def scopes(agent: str) -> tuple[str, ...]:
    """The scopes that an agent knows."""
    return SCOPES if agent == "claude-code" else SCOPES[:2]


def _file_names(agent: str, scope: str) -> tuple[str, ...]:
    if agent == "codex":
        return ("hooks.json", "config.toml")
    return ("settings.local.json",) if scope == "local" else ("settings.json",)


def _folder_name(agent: str) -> str:
    return {"claude-code": ".claude", "codex": ".codex", "gemini": ".gemini"}[agent]


def _user_folder(agent: str) -> str:
    """The agent's own folder of this user, where the agent's environment variable may move it."""
    home = os.environ.get("HOME", "")
    if agent == "claude-code" and os.environ.get("CLAUDE_CONFIG_DIR"):
        return os.path.abspath(os.environ["CLAUDE_CONFIG_DIR"])
    if agent == "codex" and os.environ.get("CODEX_HOME"):
        return os.path.abspath(os.environ["CODEX_HOME"])
    if agent == "gemini":
        home = os.environ.get("GEMINI_CLI_HOME", home)
    if not os.path.isabs(home):
        raise UsageError("HOME is not set, so the user's settings cannot be found")
    return os.path.join(home, _folder_name(agent))
