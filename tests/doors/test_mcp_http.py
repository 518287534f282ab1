"""The MCP server over HTTP: only for whoever has the token, and only under this machine's names."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterator

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.doors.conversation import environment, told
from tests.pipeline.place import Place

pytestmark = [pytest.mark.both_users, pytest.mark.usefixtures("one_cache")]
HELLO = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
TYPES = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


@pytest.fixture
def served(place: Place) -> Iterator[tuple[str, str]]:
    """A server's address and the header that it wants."""
    server = subprocess.Popen(
        [sys.executable, "-m", "redoma", "mcp", "serve", "--http", "0"],
        stderr=subprocess.PIPE,
        text=True,
        env=environment(place),
        cwd=place.workspace,
    )
    assert server.stderr is not None
    where = re.search(r"http://\S+", server.stderr.readline())
    token = re.search(r"Bearer \S+", server.stderr.readline())
    assert where is not None and token is not None
    yield where[0], token[0]
    server.terminate()
    server.wait(20)
    server.stderr.close()


def test_whoever_has_the_token_runs_commands(served: tuple[str, str]) -> None:
    where, token = served

    async def talk() -> None:
        async with httpx2.AsyncClient(headers={"authorization": token}) as http:
            transport = streamable_http_client(where, http_client=http)
            async with Client(transport, read_timeout_seconds=60) as client:
                assert (await told(client, "run", command="echo over http"))[
                    "stdout"
                ] == "over http\n"

    asyncio.run(talk())


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer"},
        {"authorization": "Bearer guess"},
        {"authorization": "Basic Z3Vlc3M6Z3Vlc3M="},
        {"cookie": "token=guess"},
    ],
    ids=["nothing", "empty", "guess", "basic", "cookie"],
)
def test_nobody_is_heard_without_the_token(
    served: tuple[str, str], headers: dict[str, str]
) -> None:
    answer = httpx2.post(served[0], json=HELLO, headers={**TYPES, **headers})
    assert (answer.status_code, answer.content) == (401, b"")


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "rebound.example"},
        {"host": "rebound.example:80"},
        {"origin": "https://evil.example"},
    ],
    ids=["host", "host-and-port", "origin"],
)
def test_a_page_under_another_name_is_refused_even_with_the_token(
    served: tuple[str, str], headers: dict[str, str]
) -> None:
    where, token = served
    answer = httpx2.post(where, json=HELLO, headers={**TYPES, "authorization": token, **headers})
    assert answer.status_code in (403, 421)


def test_it_listens_on_loopback_alone(served: tuple[str, str]) -> None:
    assert served[0].startswith("http://127.0.0.1:")
