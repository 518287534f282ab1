"""`redoma hook` as agents start it: a judgement in their protocol, or a refusal that they obey."""

from __future__ import annotations

import io
import json
import re
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redoma import hook
from redoma.cli.streams import MOST_BYTES
from redoma.hook.agents import AGENTS
from tests.unit.cli.running import Done, run
from tests.unit.hook.payloads import PATCH, claude, codex, gemini

ALLOWED, ASKED, DENIED = "ls -la", "sudo apt update", "rm -rf /"
SHELLS = {"claude-code": (claude, "Bash"), "codex": (codex, "Bash")}
SHELLS["gemini"] = (gemini, "run_shell_command")


def call(agent: str, command: str) -> bytes:
    make, tool = SHELLS[agent]
    return make(tool, command=command, description="why")


def word(agent: str, done: Done) -> str:
    """The decision in an answer; silence is leave, or no opinion."""
    if not done.out:
        return "silent"
    said = json.loads(done.out)
    if agent == "gemini":
        return str(said["decision"])
    inner = said["hookSpecificOutput"]
    assert inner["hookEventName"] == "PreToolUse"
    assert inner["permissionDecisionReason"]
    return str(inner["permissionDecision"])


@pytest.mark.parametrize(
    ("agent", "command", "said"),
    [
        ("claude-code", ALLOWED, "silent"),
        ("claude-code", ASKED, "ask"),
        ("claude-code", DENIED, "deny"),
        ("codex", ALLOWED, "silent"),
        ("codex", ASKED, "deny"),
        ("codex", DENIED, "deny"),
        ("gemini", ALLOWED, "silent"),
        ("gemini", ASKED, "ask"),
        ("gemini", DENIED, "deny"),
    ],
)
def test_a_shell_command_gets_the_agents_answer(agent: str, command: str, said: str) -> None:
    done = run("hook", agent, stdin=call(agent, command))
    assert (done.status, done.err, word(agent, done)) == (0, "", said)


@pytest.mark.parametrize(
    ("agent", "payload"),
    [
        ("claude-code", claude("Write", file_path="/etc/passwd", content="x")),
        ("claude-code", claude("Edit", file_path="/etc/sudoers", old_string="a", new_string="b")),
        ("claude-code", claude("MultiEdit", file_path="/etc/passwd", edits=[])),
        ("claude-code", claude("NotebookEdit", notebook_path="/etc/x.ipynb", new_source="")),
        ("codex", codex("apply_patch", command=PATCH.replace("old.py", "/etc/passwd"))),
        ("gemini", gemini("write_file", file_path="/etc/passwd", content="x")),
        ("gemini", gemini("replace", file_path="/etc/passwd", old_string="", new_string="")),
    ],
)
def test_a_file_of_the_system_is_not_written_without_a_person(agent: str, payload: bytes) -> None:
    done = run("hook", agent, stdin=payload)
    assert done.status == 0
    assert word(agent, done) in ("ask", "deny")


@pytest.mark.parametrize(
    ("agent", "payload"),
    [
        ("claude-code", claude("Write", file_path="src/app.py", content="x")),
        ("codex", codex("apply_patch", command=PATCH)),
        ("gemini", gemini("write_file", file_path="src/app.py", content="x")),
    ],
)
def test_a_file_of_the_project_is_left_to_the_agents_own_rules(agent: str, payload: bytes) -> None:
    done = run("hook", agent, stdin=payload)
    assert (done.status, done.out, done.err) == (0, "", "")


@pytest.mark.parametrize("agent", SHELLS)
@pytest.mark.parametrize(
    "command",
    ["npx some-package", "bash setup.sh", "scp -r . host:", "ls -la", "make", "pip install x"],
)
def test_a_hook_never_takes_away_a_prompt_of_the_agents(agent: str, command: str) -> None:
    # Attack: leave given by a hook skips the question that the agent itself would put.
    done = run("hook", agent, stdin=call(agent, command))
    assert (done.status, done.err) == (0, "")
    assert "allow" not in done.out
    assert word(agent, done) in ("silent", "ask", "deny")


@pytest.mark.parametrize(
    ("agent", "payload"),
    [
        ("claude-code", claude("mcp__memory__create", entities=[])),
        ("claude-code", claude("Read", file_path="/x")),
        ("codex", codex("mcp__fs__read", path="/x")),
        ("gemini", gemini("google_web_search", query="x")),
    ],
)
def test_other_tools_get_no_opinion(agent: str, payload: bytes) -> None:
    done = run("hook", agent, stdin=payload)
    assert (done.status, done.out, done.err) == (0, "", "")


def test_a_shell_that_is_not_read_is_put_to_a_person() -> None:
    done = run("hook", "claude-code", stdin=claude("PowerShell", command="Remove-Item x"))
    assert word("claude-code", done) == "ask"


@pytest.mark.parametrize("agent", SHELLS)
@pytest.mark.parametrize(
    "payload",
    [b"", b"{", b"[]", b"\xff", b'{"tool_name": []}', b"[" * 99_999, b" " * (MOST_BYTES + 1)],
    ids=["nothing", "half", "a list", "not UTF-8", "wrong type", "nested", "flood"],
)
def test_what_cannot_be_read_is_refused_in_every_way_the_agent_listens_to(
    agent: str, payload: bytes
) -> None:
    done = run("hook", agent, stdin=payload)
    assert done.status == 2
    assert word(agent, done) == "deny"
    assert done.err.startswith("Redoma cannot read this call, so it is refused: ")


@pytest.mark.parametrize("command", ["ls \x00", "echo 'ls", "x" * 70_000, "ls \udcff", "$(("])
def test_a_command_that_cannot_be_read_is_not_allowed(command: str) -> None:
    done = run("hook", "claude-code", stdin=call("claude-code", command))
    assert word("claude-code", done) in ("ask", "deny")


def test_with_no_ask_a_question_is_a_refusal() -> None:
    for agent in SHELLS:
        done = run("hook", agent, "--no-ask", stdin=call(agent, ASKED))
        assert (done.status, word(agent, done)) == (0, "deny")
        assert "Nobody is here to ask" in done.out


def test_settings_that_name_tighten_only_keep_working() -> None:
    said = {
        command: word("claude-code", run("hook", "claude-code", "--tighten-only", stdin=payload))
        for command in (ALLOWED, ASKED, DENIED)
        for payload in [call("claude-code", command)]
    }
    assert said == {ALLOWED: "silent", ASKED: "ask", DENIED: "deny"}


def test_a_pack_can_be_chosen() -> None:
    payload = call("claude-code", "sudo apt update")
    assert word("claude-code", run("hook", "claude-code", "--pack=skill", stdin=payload)) == "deny"


@pytest.mark.parametrize(
    "arguments", [["--pack", "none"], ["--pack"], ["--loose"], ["extra"]], ids=str
)
def test_an_option_that_is_not_understood_refuses_the_call(arguments: list[str]) -> None:
    done = run("hook", "claude-code", *arguments, stdin=call("claude-code", ALLOWED))
    assert (done.status, word("claude-code", done)) == (2, "deny")


@pytest.mark.parametrize("arguments", [[], ["claude"], ["--version"]], ids=str)
def test_an_agent_that_is_not_known_stops_the_call(arguments: list[str]) -> None:
    done = run("hook", *arguments, stdin=call("claude-code", ALLOWED))
    assert (done.status, done.out) == (2, "")
    assert re.search("claude-code.*codex.*gemini", done.err)


def test_a_mistake_of_ours_refuses_the_call(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("redoma.hook.answer.respond", fail)
    assert hook.main(["codex"]) == 2
    said = capsys.readouterr()
    assert json.loads(said.out)["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert "ZeroDivisionError" in said.err


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
SHAPED = st.fixed_dictionaries(
    {},
    optional={
        "tool_name": JSON | st.just("Bash"),
        "tool_input": JSON | st.dictionaries(st.just("command"), JSON),
        "hook_event_name": JSON,
        "cwd": JSON,
    },
).map(lambda payload: json.dumps(payload).encode())


@settings(max_examples=300, deadline=None)
@given(payload=st.binary(max_size=300) | JSON.map(lambda j: json.dumps(j).encode()) | SHAPED)
def test_no_bytes_are_allowed_that_are_not_a_call(payload: bytes) -> None:
    for agent in SHELLS:
        out, err = io.StringIO(), io.StringIO()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(payload)))
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            status = hook.main([agent])
        assert status in (0, 2)
        assert '"allow"' not in out.getvalue()
        if status == 0 and not out.getvalue() and _is_shell(payload, agent):
            command = json.loads(payload)["tool_input"]["command"]
            assert isinstance(command, str)
            assert command.strip()


def _is_shell(payload: bytes, agent: str) -> bool:
    return json.loads(payload).get("tool_name") in AGENTS[agent].shells
