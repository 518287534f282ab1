"""What each agent writes to a hook's standard input, in the shapes that they document and send."""

from __future__ import annotations

import json

CWD = "/home/someone/project"


def claude(tool: str, **given: object) -> bytes:
    """A `PreToolUse` call of Claude Code."""
    return json.dumps(
        {
            "session_id": "6f0c1a52-4c0b-4f5a-9f0e-2f3f9b1d7c11",
            "transcript_path": "/home/someone/.claude/projects/p/6f0c1a52.jsonl",
            "cwd": CWD,
            "permission_mode": "default",
            "hook_event_name": "PreToolUse",
            "tool_name": tool,
            "tool_input": given,
            "tool_use_id": "toolu_01ABC123",
        }
    ).encode()


def codex(tool: str, **given: object) -> bytes:
    """A `PreToolUse` call of Codex CLI."""
    return json.dumps(
        {
            "session_id": "0199f9a1-1f4e-7d61-b1a4-0d6f1c9f2a77",
            "turn_id": "1",
            "transcript_path": None,
            "cwd": CWD,
            "hook_event_name": "PreToolUse",
            "model": "gpt-5-codex",
            "permission_mode": "default",
            "tool_name": tool,
            "tool_input": given,
            "tool_use_id": "call_abc",
        }
    ).encode()


def gemini(tool: str, **given: object) -> bytes:
    """A `BeforeTool` call of Gemini CLI."""
    return json.dumps(
        {
            "session_id": "f3b0c442-98fc-4c14-9afb-f4c8996fb924",
            "transcript_path": "/home/someone/.gemini/tmp/p/chats/session.json",
            "cwd": CWD,
            "hook_event_name": "BeforeTool",
            "timestamp": "2026-11-02T10:00:00.000Z",
            "tool_name": tool,
            "tool_input": given,
        }
    ).encode()


PATCH = """*** Begin Patch
*** Update File: src/app.py
*** Move to: src/main.py
@@ def main():
-    pass
+    run()
*** Add File: README.md
+*** Delete File: not-a-header
*** Delete File: old.py
*** End Patch
"""
