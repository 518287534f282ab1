"""What the hook does beside judging where an agent's commands run enclosed.

It remembers where the session began, leaves word of each command that is about to arrive at the
jail, and for an agent that takes another command from its hook, puts the way into the jail in its
place. A rewrite or a prefix that is not honoured shows when the call has ended and the command
never arrived: that is said to the person and to the agent, and from then on nothing of the session
counts as enclosed.
"""

from __future__ import annotations

import json
import os

from redoma.base import own_directories
from redoma.hook.agent_session import AgentSession, ExpectedCommand
from redoma.i18n import phrased

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from redoma.hook.agents import Agent, ToolCall

OWN_SHELL = "{agent}-shell"


def shell_of(agent: str) -> str:
    """The program that an agent starts in place of its shell."""
    return f"{own_directories.state()}/agents/{OWN_SHELL.format(agent=agent)}"


def is_enclosing(agent: Agent) -> bool:
    """Whether the agent that asks would start the command through us.

    An agent starts its hooks with the environment that it starts its shells with.
    """
    if agent.rewrites:
        return os.access(shell_of(agent.name), os.X_OK)
    return os.environ.get("CLAUDE_CODE_SHELL_PREFIX") == shell_of(agent.name)


def enclosed(agent: Agent, call: ToolCall, payload: dict[str, object], said: str) -> str:
    """The answer about a shell command that is not refused; word of it is left first."""
    session = AgentSession(agent.name, call.session)
    if session.is_bare:
        return said
    if not is_enclosing(agent):
        if not session.lose():
            return said
        return json.dumps(_told(agent, agent.event, json.loads(said or "{}"))) + "\n"
    assert call.command is not None
    session.begin(_project(agent, call))
    session.expect(call.command, ExpectedCommand(asked=bool(said), background=call.background))
    if not agent.rewrites:
        return said
    given = payload["tool_input"]
    assert isinstance(given, dict)
    import shlex

    command = shlex.join([shell_of(agent.name), call.session, call.command])
    answer = json.loads(said) if said else {}
    answer["hookSpecificOutput"] = {
        "hookEventName": agent.event,
        "tool_input": {**given, "command": command},
    }
    return json.dumps(answer) + "\n"


def _project(agent: Agent, call: ToolCall) -> str:
    return os.environ.get(agent.project, "") or call.project or call.cwd or ""


def heard(agent: Agent, payload: dict[str, object]) -> int:
    """Takes note of the begin of a session, or of the end of a call."""
    id = payload.get("session_id")
    session = AgentSession(agent.name, id if isinstance(id, str) else "")
    event = payload.get("hook_event_name")
    if event == "SessionStart":
        cwd = payload.get("cwd")
        session.begin(os.environ.get(agent.project, "") or (cwd if isinstance(cwd, str) else ""))
        return 0
    given = payload.get("tool_input")
    if event != agent.finished or not isinstance(given, dict):
        return 0
    command = given.get("command")
    if payload.get("tool_name") not in agent.shells or given.get(agent.background) is True:
        return 0  # what stays behind may not have arrived yet
    if not isinstance(command, str) or session.ran(_own(agent, session, command)):
        return 0
    os.write(1, (json.dumps(_told(agent, agent.finished, {})) + "\n").encode())
    return 0


def _told(agent: Agent, event: str, answer: dict[str, Any]) -> dict[str, Any]:
    """An answer that says to the person and to the model that commands are not enclosed."""
    told = phrased(
        "Redoma: {agent} does not start its commands through Redoma here, so they run outside the"
        " jail: they are judged and not enclosed. `redoma hook status` says what is installed; then"
        " start the agent anew.",
        agent=agent.title,
    )
    inner = {"hookEventName": event, **answer.get("hookSpecificOutput", {})}
    more = {"systemMessage": told, "hookSpecificOutput": {**inner, "additionalContext": told}}
    return {**answer, **more}


def _own(agent: Agent, session: AgentSession, command: str) -> str:
    """The agent's command, where we had put the way into the jail around it."""
    if not agent.rewrites:
        return command
    import shlex

    try:
        words = shlex.split(command)
    except ValueError:
        return command
    begin = [shell_of(agent.name), session.id]
    return words[2] if len(words) == 3 and words[:2] == begin else command
