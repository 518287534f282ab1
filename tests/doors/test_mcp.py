"""The MCP server, spoken to by the official client: both ways of asking, undo, cancelling, load."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitResult

from tests.doors.conversation import conversation, environment, says, told
from tests.pipeline.place import Place

pytestmark = [pytest.mark.both_users, pytest.mark.usefixtures("one_cache")]
MODES = ("legacy", "2026-07-28")
TOOLS = ["check", "run", "preview", "apply", "undo", "history", "confirm"]
# Asked about by the shipped policy, harmless in a sandbox without a network.
ASKED = "git push origin main; echo ran"


@pytest.mark.parametrize("mode", MODES)
def test_an_agent_finds_the_tools_with_their_schemas_and_what_they_may_do(
    place: Place, mode: str
) -> None:
    async def talk() -> None:
        async with conversation(place, mode=mode) as client:
            found = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert list(found) == TOOLS
            for tool in found.values():
                assert tool.annotations is not None
                assert tool.output_schema is not None
                assert "context" not in tool.input_schema["properties"]
            reads = {n for n, tool in found.items() if tool.annotations.read_only_hint}  # type: ignore[union-attr]
            assert reads == {"check", "history"}
            assert found["run"].input_schema["required"] == ["command"]

    asyncio.run(talk())


@pytest.mark.parametrize("mode", MODES)
def test_a_run_is_applied_and_undone(place: Place, mode: str) -> None:
    async def talk() -> None:
        async with conversation(place, mode=mode) as client:
            ran = await told(client, "run", command="echo hello | tee made; echo oh >&2")
            assert (ran["outcome"], ran["ok"], ran["exit_code"]) == ("exited", True, 0)
            assert (ran["stdout"], ran["stderr"]) == ("hello\n", "oh\n")
            assert ran["applied"] and ran["undoable"]
            assert "writes-confined" in ran["enforced"]  # type: ignore[operator]
            assert (place.workspace / "made").read_text() == "hello\n"
            known = await told(client, "history")
            assert known["entries"][0]["id"] == ran["transaction"]  # type: ignore[index]
            undone = await told(client, "undo", id=ran["transaction"])
            assert undone["paths"] == ["made"]
            assert not (place.workspace / "made").exists()

    asyncio.run(talk())


def test_a_forbidden_command_is_refused_with_its_reason_and_runs_nothing(place: Place) -> None:
    async def talk() -> None:
        async with conversation(place) as client:
            said = await told(client, "check", command="rm -rf ~")
            assert (said["verdict"], said["risk"]) == ("deny", "forbidden")
            ran = await told(client, "run", command="touch made; rm -rf ~")
            assert (ran["outcome"], ran["exit_code"]) == ("denied", 126)
            assert ran["decision"]["reasons"]  # type: ignore[index]
            assert not (place.workspace / "made").exists()

    asyncio.run(talk())


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("choice", "outcome", "printed"),
    [("approve", "exited", "ran\n"), ("deny", "declined", ""), ("dry_run", "previewed", "ran\n")],
)
def test_the_person_behind_the_client_decides(
    place: Place, mode: str, choice: str, outcome: str, printed: str
) -> None:
    asked: list[str] = []

    async def talk() -> None:
        async with conversation(place, mode=mode, answers=says(choice, asked)) as client:
            ran = await told(client, "run", command=ASKED)
            assert (ran["outcome"], ran["stdout"]) == (outcome, printed)

    asyncio.run(talk())
    assert len(asked) == 1
    assert ASKED in asked[0]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "said",
    [
        ElicitResult(action="decline"),
        ElicitResult(action="cancel"),
        ElicitResult(action="accept", content={}),
        ElicitResult(action="accept", content={"choice": "yes please"}),
    ],
    ids=["declined", "cancelled", "empty", "unreadable"],
)
def test_whatever_is_not_a_clear_yes_is_a_no(place: Place, mode: str, said: ElicitResult) -> None:
    async def talk() -> None:
        async with conversation(place, mode=mode, answers=lambda _: said) as client:
            assert (await told(client, "run", command=ASKED))["outcome"] == "declined"

    asyncio.run(talk())


def test_an_answer_that_is_brought_twice_is_heard_once(place: Place) -> None:
    async def talk() -> None:
        async with conversation(place, mode=MODES[1], answers=says("approve", [])) as client:
            arguments = {"command": ASKED}
            session = client.session
            first = await session.call_tool("run", arguments, allow_input_required=True)
            state, wanted = first.request_state, first.input_requests  # type: ignore[union-attr]
            assert wanted is not None
            said = {
                key: ElicitResult(action="accept", content={"choice": "approve"}) for key in wanted
            }
            again = {"input_responses": said, "request_state": state, "allow_input_required": True}
            ran = await session.call_tool("run", arguments, **again)  # type: ignore[arg-type]
            assert ran.structured_content["outcome"] == "exited"  # type: ignore[union-attr, index]
            replayed = await session.call_tool("run", arguments, **again)  # type: ignore[arg-type]
            assert replayed.is_error  # type: ignore[union-attr]
            # Attack: the approval of one command is brought with another.
            second = await session.call_tool("run", arguments, allow_input_required=True)
            again["request_state"] = second.request_state  # type: ignore[union-attr]
            with pytest.raises(MCPError):
                await session.call_tool("run", {"command": "rm -rf made"}, **again)  # type: ignore[arg-type]

    asyncio.run(talk())


def test_a_client_that_cannot_ask_leaves_the_question_to_redoma_answer(place: Place) -> None:
    def redoma(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "redoma", *words],
            env=environment(place),
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    async def approve() -> None:
        until = time.monotonic() + 30
        while time.monotonic() < until:
            waiting = json.loads(await asyncio.to_thread(redoma, "pending", "--json"))
            for one in waiting["pending"]:
                name = one["confirmation_request"]["request_id"]
                await asyncio.to_thread(redoma, "answer", name, "approve")
                return
            await asyncio.sleep(0.1)

    async def talk() -> None:
        async with conversation(place) as client:
            person = asyncio.create_task(approve())
            ran = await told(client, "run", command=ASKED)
            await person
            assert ran["stdout"] == "ran\n"

    asyncio.run(talk())


@pytest.mark.parametrize("mode", MODES)
def test_a_preview_shows_its_diff_and_is_applied_in_part(place: Place, mode: str) -> None:
    async def talk() -> None:
        async with conversation(place, mode=mode) as client:
            seen = await told(client, "preview", command="echo 1 > one; echo 2 > two")
            assert seen["created"] == ["one", "two"]
            assert "+1\n" in str(seen["diff"]) and seen["diff_is_whole"]
            assert not (place.workspace / "one").exists()
            read = await client.read_resource(f"redoma://previews/{seen['id']}/diff")
            assert read.contents[0].text == seen["diff"]  # type: ignore[union-attr]
            applied = await told(client, "apply", id=seen["id"], paths=["one"])
            assert applied["paths"] == ["one"]
            assert (place.workspace / "one").exists()
            assert not (place.workspace / "two").exists()

    asyncio.run(talk())


def test_what_it_prints_comes_as_progress_while_it_runs(place: Place) -> None:
    heard: list[str] = []

    async def hear(_done: float, _total: float | None, message: str | None) -> None:
        heard.append(message or "")

    async def talk() -> None:
        async with conversation(place) as client:
            slow = {"command": "echo first; sleep 1; echo last"}
            await client.call_tool("run", slow, progress_callback=hear)

    asyncio.run(talk())
    assert "".join(heard) == "first\nlast\n"
    assert len(heard) > 1


def test_a_cancelled_call_ends_the_whole_tree(place: Place) -> None:
    marker = place.workspace / "beats"
    beat = "(while sleep 0.1; do date +%N > beats; done) & sleep 60"

    async def talk() -> None:
        async with conversation(place, "--direct") as client:
            call = asyncio.create_task(client.call_tool("run", {"command": beat}))
            until = time.monotonic() + 30
            while not marker.exists() and time.monotonic() < until:
                await asyncio.sleep(0.05)
            assert marker.exists()
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            await asyncio.sleep(1.0)
            last = marker.read_text()
            await asyncio.sleep(0.5)
            assert marker.read_text() == last

    asyncio.run(talk())


def test_fifty_calls_at_once_each_get_their_own_answer(place: Place) -> None:
    async def talk() -> None:
        async with conversation(place) as client:
            calls = [told(client, "run", command=f"echo {n}") for n in range(50)]
            found = await asyncio.gather(*calls)
            assert [one["stdout"] for one in found] == [f"{n}\n" for n in range(50)]

    asyncio.run(talk())


def test_an_agent_works_only_where_it_was_let_in(place: Place) -> None:
    other = place.base / "other"
    other.mkdir()
    (place.workspace / "out").symlink_to(other)

    async def talk() -> None:
        async with conversation(place, "--workspace", str(place.workspace)) as client:
            for outside in (str(other), "..", "out", "/"):
                found = await client.call_tool("run", {"command": "pwd", "workspace": outside})
                assert found.is_error, outside
        async with conversation(place, mode="legacy", roots=(other,)) as client:
            assert (await told(client, "run", command="pwd"))["stdout"] == f"{other}\n"

    asyncio.run(talk())


def test_the_resources_tell_of_this_session_alone(place: Place) -> None:
    async def talk() -> None:
        async with conversation(place) as client:
            await told(client, "run", command="echo first-session")
        async with conversation(place) as client:
            await told(client, "run", command="echo second-session")
            audit = (await client.read_resource("redoma://audit")).contents[0].text  # type: ignore[union-attr]
            assert "second-session" in audit
            assert "first-session" not in audit
            doctor = (await client.read_resource("redoma://doctor")).contents[0].text  # type: ignore[union-attr]
            assert json.loads(doctor)["levels"]
            policy = (await client.read_resource("redoma://policy")).contents[0].text  # type: ignore[union-attr]
            assert "isolation" in policy

    asyncio.run(talk())


@pytest.mark.parametrize(
    "frame",
    [
        b"not json\n",
        b"[]\n",
        b"{}\n",
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": 7}\n',
        b'{"jsonrpc": "2.0", "id": {}, "method": "tools/list"}\n',
        b"\xff\xfe\n",
        b"[" * 100_000 + b"\n",
    ],
    ids=["text", "list", "empty", "params", "id", "bytes", "deep"],
)
def test_a_malformed_frame_neither_ends_the_server_nor_runs_anything(
    place: Place, frame: bytes
) -> None:
    hello = {
        "jsonrpc": "2.0",
        "id": 7,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    server = subprocess.Popen(
        [sys.executable, "-m", "redoma", "mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(place),
        cwd=place.workspace,
    )
    assert server.stdin is not None and server.stdout is not None
    with server:
        server.stdin.write(frame + json.dumps(hello).encode() + b"\n")
        server.stdin.flush()
        while answer := json.loads(server.stdout.readline()):
            if answer.get("id") == 7:
                break
        assert answer["result"]["serverInfo"]["name"] == "redoma"
        server.stdin.close()
        assert server.wait(20) == 0
    assert list(Path(place.workspace).iterdir()) == []
