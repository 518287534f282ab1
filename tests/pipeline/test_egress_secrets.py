"""A secret that the gate adds is not shown, whatever a command makes of what it hears."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from redoma import Network, Sandbox
from redoma.model.errors import UsageError
from redoma.model.policy import BUILT_IN
from tests.escape.gated import Server, workspace
from tests.escape.reading import trusted

NAME = "packages.test"
TOKEN = "tok-5f2c81d09b7e-backwards"


@pytest.fixture
def keys(tmp_path: Path) -> Iterator[ssl.SSLContext]:
    with trusted(tmp_path, NAME) as context:
        yield context


def sandbox(place: Path, port: int) -> Sandbox:
    network = Network(
        inspect=True,
        hosts=[f"{NAME}:443=127.0.0.1:{port}"],
        credentials=[f"{NAME}=A_TOKEN"],
    )
    return Sandbox(str(place), network=network, policy=BUILT_IN)


@pytest.mark.requirement("S11")
@pytest.mark.both_users
@pytest.mark.parametrize(
    "dressed", ["cat", "base64 -w 0", "(printf x; cat) | base64", "od -An -v -tx1 | tr -d ' \\n'"]
)
def test_a_secret_that_a_command_puts_together_again_is_not_shown(
    keys: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch, dressed: str
) -> None:
    # Attack: the host says it back in a form that the gate does not know, here turned round.
    said = TOKEN[::-1].encode()
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(said)
    server = Server(head + said, context=keys)
    monkeypatch.setenv("A_TOKEN", TOKEN)
    shown: list[bytes] = []
    with workspace() as place:
        result = sandbox(place, server.port).run(
            f"curl -sS https://{NAME}/x | rev | tr -d '\\n' | {dressed}; echo done",
            sink=lambda _, data: shown.append(data),
        )
    server.close()
    assert TOKEN.encode() in b"".join(server.heard)
    assert result.stdout == b"".join(shown)
    assert b"*" * 20 in result.stdout
    assert result.stdout.endswith(b"done\n")
    assert TOKEN.encode() not in result.stdout


def test_a_secret_too_short_to_be_found_again_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_TOKEN", "abc12")
    with workspace() as place:
        with pytest.raises(UsageError, match="shorter than 6 characters") as error:
            sandbox(place, 1).run("touch made")
        assert not (place / "made").exists()
    assert error.value.hint
