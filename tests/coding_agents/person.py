"""A person with a home, a project and a decoy secret, who starts a real agent."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from tests.coding_agents.installed import program
from tests.coding_agents.scripted_models import (
    AnthropicModel,
    Calls,
    GeminiModel,
    OpenAIModel,
    ScriptedModel,
    serving,
)
from tests.unit.cli.running import START

DECOY = "decoy-5f1e0c"
_PATIENCE = 180


class AgentSessionRun:
    """What became of one session: what each call gave back, and which files are there."""

    def __init__(self, model: ScriptedModel, project: Path, done: Done) -> None:
        self.results = model.results
        self.conversation = model.conversation
        self.files = files(project)
        self.said = done.stdout + done.stderr


Done = subprocess.CompletedProcess[str]


def files(place: Path) -> dict[str, str]:
    """Every file of a project with its text."""
    found = sorted(path for path in place.rglob("*") if path.is_file())
    return {str(path.relative_to(place)): path.read_text() for path in found}


class Person:
    """Has a home of their own, and starts things in a project."""

    def __init__(self, base: Path) -> None:
        self.home = base / "home"
        self.project = base / "project"
        for place in (self.home, self.project):
            place.mkdir(parents=True)
        (self.home / "notes").mkdir()
        (self.home / "notes/plans.txt").write_text(f"{DECOY}\n")
        (self.home / ".gemini").mkdir()
        auth = '{"security": {"auth": {"selectedType": "gemini-api-key"}}}\n'
        (self.home / ".gemini/settings.json").write_text(auth)
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "SHELL": "/bin/bash",
            "LC_ALL": "C.UTF-8",
            "TERM": "xterm-256color",
            "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),
        }

    def redoma(self, *arguments: str) -> Done:
        """Runs `redoma ARGUMENTS…` in the project."""
        return self._start([*START, *arguments], {})

    def claude(self, calls: Calls, *options: str, before: tuple[str, ...] = ()) -> AgentSessionRun:
        """A session of Claude Code that makes these calls; `before` stands before the program."""
        found = program("claude")
        with serving(AnthropicModel(calls)) as model:
            env = {
                **{"ANTHROPIC_BASE_URL": model.address, "ANTHROPIC_API_KEY": "x"},
                **{"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"},
            }
            if before:
                before = (*before, model.address.removeprefix("http://"), "--")
            command = [*before, str(found), "-p", "do it", *options]
            return AgentSessionRun(model, self.project, self._start(command, env))

    def codex(self, commands: list[str], *options: str) -> AgentSessionRun:
        """A session of Codex that runs these commands."""
        return self.codex_calls([("exec_command", {"cmd": each}) for each in commands], *options)

    def codex_calls(self, calls: Calls, *options: str) -> AgentSessionRun:
        """A session of Codex that makes these calls; what its settings have of servers stays."""
        found = program("codex")
        with serving(OpenAIModel(calls)) as model:
            own = self.home / ".codex"
            own.mkdir(exist_ok=True)
            kept = own / "config.toml"
            servers = kept.read_text() if kept.exists() else ""
            kept.write_text(
                'model_provider = "loop"\nmodel = "gpt-5"\n[model_providers.loop]\nname = "loop"\n'
                f'base_url = "{model.address}/v1"\nwire_api = "responses"\n{servers}'
            )
            flags = ["--skip-git-repo-check", "--dangerously-bypass-hook-trust"]
            flags += ["-s", "danger-full-access"]
            command = [str(found), "exec", *flags, *options, "do it"]
            env = {"CODEX_HOME": str(own)}
            return AgentSessionRun(model, self.project, self._start(command, env))

    def gemini(self, calls: Calls, *options: str) -> AgentSessionRun:
        """A session of Gemini CLI that makes these calls."""
        found = program("gemini")
        with serving(GeminiModel(calls)) as model:
            env = {
                **{"GOOGLE_GEMINI_BASE_URL": model.address, "GEMINI_API_KEY": "x"},
                **{"GEMINI_CLI_TRUST_WORKSPACE": "true"},
            }
            command = [str(found), *options, "-m", "gemini-2.5-flash", "-p", "do it"]
            return AgentSessionRun(model, self.project, self._start(command, env))

    def _start(self, command: list[str], env: dict[str, str]) -> Done:
        return subprocess.run(
            command,
            cwd=self.project,
            env={**self.env, **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )

    def report(self) -> dict[str, object]:
        """What `redoma session-report --json` says."""
        done = self.redoma("session-report", "--json")
        assert done.returncode == 0, done.stderr
        found: dict[str, object] = json.loads(done.stdout)
        return found
