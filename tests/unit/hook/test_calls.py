"""A payload is read into a call, or refused with what is wrong with it."""

from __future__ import annotations

import json

import pytest

from redoma.hook.agents import AGENTS, Agent, ToolCall, Unreadable, read_call
from redoma.model.value import replace
from tests.unit.hook.payloads import CWD, PATCH, claude, codex, gemini

CLAUDE, CODEX, GEMINI = AGENTS["claude-code"], AGENTS["codex"], AGENTS["gemini"]


@pytest.mark.parametrize(
    ("agent", "payload", "call"),
    [
        (
            CLAUDE,
            claude("Bash", command="ls -la", description="List files", timeout=120000),
            ToolCall(tool="Bash", cwd=CWD, command="ls -la"),
        ),
        (
            CLAUDE,
            claude("Write", file_path="/x/a.py", content="print()\n"),
            ToolCall(tool="Write", cwd=CWD, paths=("/x/a.py",)),
        ),
        (
            CLAUDE,
            claude("Edit", file_path="/x/a.py", old_string="a", new_string="b", replace_all=False),
            ToolCall(tool="Edit", cwd=CWD, paths=("/x/a.py",)),
        ),
        (
            CLAUDE,
            claude("MultiEdit", file_path="/x", edits=[{"new_string": "b"}, {"new_string": "c"}]),
            ToolCall(tool="MultiEdit", cwd=CWD, paths=("/x",)),
        ),
        (
            CLAUDE,
            claude("NotebookEdit", notebook_path="/x/n.ipynb", new_source="1"),
            ToolCall(tool="NotebookEdit", cwd=CWD, paths=("/x/n.ipynb",)),
        ),
        (
            CLAUDE,
            claude("PowerShell", command="ls"),
            ToolCall(tool="PowerShell", cwd=CWD, foreign=True),
        ),
        (
            CLAUDE,
            claude("mcp__files__write", path="/x"),
            ToolCall(tool="mcp__files__write", cwd=CWD, paths=("/x",)),
        ),
        (
            CODEX,
            codex("Bash", command="cargo test"),
            ToolCall(tool="Bash", cwd=CWD, command="cargo test"),
        ),
        (
            CODEX,
            codex("shell", command=["bash", "-lc", "rm -rf ~; ls"], workdir="src"),
            ToolCall(
                tool="shell", cwd=f"{CWD}/src", project=CWD, command="bash -lc 'rm -rf ~; ls'"
            ),
        ),
        (
            CODEX,
            codex("exec_command", cmd="ls", workdir="/tmp"),
            ToolCall(tool="exec_command", cwd="/tmp", project=CWD, command="ls"),
        ),
        (
            CODEX,
            codex("apply_patch", command=PATCH),
            ToolCall(
                tool="apply_patch",
                cwd=CWD,
                paths=("src/app.py", "src/main.py", "README.md", "old.py"),
            ),
        ),
        (
            GEMINI,
            gemini("run_shell_command", command="npm test", description="t", dir_path="web"),
            ToolCall(tool="run_shell_command", cwd=f"{CWD}/web", project=CWD, command="npm test"),
        ),
        (
            GEMINI,
            gemini("write_file", file_path="a.txt", content="x"),
            ToolCall(tool="write_file", cwd=CWD, paths=("a.txt",)),
        ),
        (
            GEMINI,
            gemini("replace", file_path="a.txt", instruction="i", old_string="x", new_string="y"),
            ToolCall(tool="replace", cwd=CWD, paths=("a.txt",)),
        ),
        (
            GEMINI,
            gemini("read_file", file_path="a.txt"),
            ToolCall(tool="read_file", cwd=CWD, looks=("cat -- a.txt",)),
        ),
    ],
    ids=lambda value: value.tool if isinstance(value, ToolCall) else "",
)
def test_each_agents_payload_is_read_as_the_call_it_is(
    agent: Agent, payload: bytes, call: ToolCall
) -> None:
    found = read_call(payload, agent)
    assert found == replace(call, session=json.loads(payload)["session_id"])


@pytest.mark.parametrize(
    "payload",
    [
        *(None, b"", b"   ", b"ls", b"[]", b'"Bash"', b"null", b"{", b"\xff\xfe", b"[" * 100_000),
        b'{"tool_name": "Bash"}',
        b'{"tool_name": "Bash", "tool_input": "ls"}',
        b'{"tool_name": "Bash", "tool_input": {}}',
        b'{"tool_name": 3, "tool_input": {"command": "ls"}}',
        b'{"tool_input": {"command": "ls"}}',
        b'{"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_input": {"command": "a"}}',
        claude("Bash", command=""),
        claude("Bash", command=" \n"),
        claude("Bash", command=7),
        claude("Bash", command=None),
        claude("Bash", command=["ls"]),
        claude("Bash", Command="ls"),
        claude("Write", content="x"),
        claude("Write", file_path=["/x"]),
        claude("Edit", file_path=""),
        claude("NotebookEdit", notebook_path=1, file_path="/x"),
        json.dumps({**json.loads(claude("Bash", command="ls")), "cwd": 3}).encode(),
        json.dumps(
            {**json.loads(claude("Bash", command="ls")), "hook_event_name": "Stop"}
        ).encode(),
        gemini("run_shell_command", command="ls"),
    ],
)
def test_what_claude_code_would_not_send_is_unreadable(payload: bytes | None) -> None:
    with pytest.raises(Unreadable):
        read_call(payload, CLAUDE)


@pytest.mark.parametrize("words", [[], [""], ["ls", 3], [["ls"]]], ids=str)
def test_a_list_that_is_no_command_is_unreadable(words: list[object]) -> None:
    with pytest.raises(Unreadable):
        read_call(codex("shell", command=words), CODEX)


def test_a_patch_that_names_no_file_is_unreadable() -> None:
    with pytest.raises(Unreadable):
        read_call(codex("apply_patch", command="nothing"), CODEX)


def test_a_directory_that_is_no_text_is_unreadable() -> None:
    with pytest.raises(Unreadable):
        read_call(gemini("run_shell_command", command="ls", dir_path=["/"]), GEMINI)
