"""What each agent calls its tools, and how it wants to be answered.

A hook only ever tightens: it asks, it refuses, or it says nothing and leaves the call to the
agent's own rules. It never says `allow`, which would skip a prompt that the agent itself shows.

The three protocols look alike and differ where it matters. Claude Code takes `ask` and `deny`.
Codex takes only `deny`: it reports an explicit `ask` as a broken hook and then runs the command, so
a question becomes a refusal that says how a person can go on. Gemini CLI takes both under other
names (`ask` since 0.36; without a terminal it waits for the answer for ever). For all of them exit
status 2 with a message on standard error stops the call, and every other failure of a hook lets it
through.
"""

from __future__ import annotations

import json

from redoma.i18n import phrased
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

ASK, DENY = "ask", "deny"


class Agent(Value):
    """One agent: its event, its tools, its answers."""

    name: str
    title: str
    event: str
    shells: dict[str, tuple[str, ...]]  # tool → fields that may hold the command
    writers: dict[str, tuple[str, ...]]  # tool → fields that may hold the path
    patchers: dict[str, tuple[str, ...]]  # tool → fields that may hold a patch
    worded: tuple[str, ...] = ()  # shell tools that may give the command as a list of words
    foreign: tuple[str, ...] = ()  # tools that run a language we do not read
    directories: tuple[str, ...] = ()  # fields of a shell tool that name where it runs
    answer: Callable[[str, str], dict[str, object]]

    def says(self, word: str, reason: str) -> str:
        """A question or a refusal in the agent's own words; there is no other answer."""
        if word not in (ASK, DENY):
            raise ValueError(word)
        return json.dumps(self.answer(word, reason)) + "\n"


def _claude_answer(word: str, reason: str) -> dict[str, object]:
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": word,
            "permissionDecisionReason": reason,
        }
    }


def _codex_answer(word: str, reason: str) -> dict[str, object]:
    if word == ASK:
        reason += phrased(
            " Codex cannot ask from a hook, so this is refused. Do not look for a way around it:"
            " tell the person, who can run it in a terminal of their own."
        )
    return _claude_answer(DENY, reason)


def _gemini_answer(word: str, reason: str) -> dict[str, object]:
    answer: dict[str, object] = {"decision": word, "reason": reason}
    if word == ASK:
        answer["systemMessage"] = reason  # what the person sees beside the question
    return answer


CLAUDE_CODE = Agent(
    name="claude-code",
    title="Claude Code",
    event="PreToolUse",
    shells={"Bash": ("command",), "Monitor": ("command",)},
    writers={
        "Write": ("file_path",),
        "Edit": ("file_path",),
        "MultiEdit": ("file_path",),
        "NotebookEdit": ("notebook_path", "file_path"),
    },
    patchers={},
    foreign=("PowerShell",),
    answer=_claude_answer,
)

CODEX = Agent(
    name="codex",
    title="Codex CLI",
    event="PreToolUse",
    shells={
        "Bash": ("command",),
        "shell": ("command",),
        "local_shell": ("command",),
        "shell_command": ("command",),
        "exec_command": ("command", "cmd"),
    },
    writers={},
    patchers={"apply_patch": ("command", "input", "patch")},
    worded=("shell", "local_shell"),
    directories=("workdir",),
    answer=_codex_answer,
)

GEMINI = Agent(
    name="gemini",
    title="Gemini CLI",
    event="BeforeTool",
    shells={"run_shell_command": ("command",)},
    writers={"write_file": ("file_path",), "replace": ("file_path",)},
    patchers={},
    directories=("dir_path", "directory"),
    answer=_gemini_answer,
)

AGENTS: dict[str, Agent] = {agent.name: agent for agent in (CLAUDE_CODE, CODEX, GEMINI)}
