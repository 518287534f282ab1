"""The real agents as clients of our MCP server: what they call runs in the jail, and is undone."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.coding_agents.person import DECOY, AgentSessionRun, Person
from tests.coding_agents.scripted_models import Calls
from tests.house.tree import ROOT

TOOLS = ("check", "run", "preview", "undo")
CALLS: list[tuple[str, dict[str, object]]] = [
    ("check", {"command": "rm -rf ~"}),
    ("run", {"command": "echo one | tee one.txt"}),
    ("run", {"command": "cat ~/notes/plans.txt"}),
    ("run", {"command": "rm -rf /; echo x > x.txt"}),
    ("preview", {"command": "echo two > two.txt"}),
    ("undo", {}),
    ("run", {"command": "echo three > three.txt; exit 3"}),
]


def installed(someone: Person, client: str, settings: str) -> None:
    """Our server in the agent's settings, as we write it, started by the tests' own environment."""
    done = someone.redoma("mcp", "install", client)
    assert done.returncode == 0, done.stderr
    start = someone.home / "redoma"
    words = shlex.join([sys.executable, "-m", "redoma"])
    start.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT}/src exec {words} "$@"\n')
    start.chmod(0o755)
    file = someone.home / settings
    text = file.read_text()
    assert str(ROOT / "bin/redoma") in text
    file.write_text(text.replace(str(ROOT / "bin/redoma"), str(start)))


def claude(someone: Person) -> AgentSessionRun:
    installed(someone, "claude-code", ".claude.json")
    calls: Calls = [(f"mcp__redoma__{tool}", arguments) for tool, arguments in CALLS]
    allowed = ",".join(f"mcp__redoma__{tool}" for tool in TOOLS)
    # It begins before its servers are there, and has a tool to wait for them.
    run = someone.claude([("WaitForMcpServers", {}), *calls], "--allowedTools", allowed)
    run.results.pop(0)
    return run


def codex(someone: Person) -> AgentSessionRun:
    installed(someone, "codex", ".codex/config.toml")
    calls: Calls = [(f"mcp__redoma/{tool}", arguments) for tool, arguments in CALLS]
    wait = (
        "-c",
        "mcp_servers.redoma.required=true",
        "-c",
        "mcp_servers.redoma.startup_timeout_sec=60",
    )
    return someone.codex_calls(calls, *wait)


@pytest.mark.parametrize("agent", [claude, codex])
def test_what_an_agent_calls_is_judged_enclosed_and_undone(
    person: Callable[[str], Person], agent: Callable[[Person], AgentSessionRun]
) -> None:
    someone = person("someone")
    someone.env["MCP_TIMEOUT"] = "120000"
    run = agent(someone)
    assert len(run.results) == len(CALLS), run.said
    checked, ran, hidden, refused, previewed, undone, last = map(structured, run.results)
    assert checked["verdict"] == "deny"
    assert (ran["stdout"], ran["exit_code"], ran["applied"]) == ("one\n", 0, True)
    assert "No such file" in hidden["stderr"] and DECOY not in "".join(run.results)
    assert (refused["outcome"], refused["exit_code"]) == ("denied", 126)
    assert "+two" in previewed["diff"] and previewed["created"] == ["two.txt"]
    assert (undone["id"], undone["paths"]) == (ran["transaction"], ["one.txt"])
    assert (last["exit_code"], last["applied"]) == (3, True)
    assert run.files == {"three.txt": "three\n"}
    # A command that an agent's own shell ran would have left no row.
    assert someone.redoma("audit", "list").stdout.count("three.txt") > 0


def structured(result: str) -> dict[str, Any]:
    """What a tool answered, without what the agent writes before it."""
    found: dict[str, Any] = json.loads(result[result.index("{") :])
    return found
