"""`redoma network learn` says which hosts a command needs, and lets nothing private be reached."""

from __future__ import annotations

import json
import os
import pty
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import redoma
from redoma.cli import main
from tests.escape.gated import PYTHON, Server, workspace
from tests.escape.reading import Host, trusted

pytestmark = pytest.mark.both_users


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with workspace() as made:
        yield made


def learn(place: Path, script: str, *options: str) -> int:
    (place / "script.py").write_text(script, encoding="utf-8")
    words = ["network", "learn", "--workspace", str(place), *options]
    return main([*words, "--", PYTHON, "script.py"])


def test_the_hosts_that_a_command_reached_are_what_it_needs(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server, other = Server(), Server()
    script = """
import socket, urllib.request
urllib.request.urlopen("http://a.test/x").read(); urllib.request.urlopen("http://a.test/y").read()
socket.create_connection(("b.test", 7000)).close()
open("made", "w").write("x")
print("the command's own words")
"""
    hosts = [
        *("--allow-host", f"a.test=127.0.0.1:{server.port}"),
        *("--allow-host", f"b.test:7000=127.0.0.1:{other.port}"),
    ]
    assert learn(place, script, "--yes", *hosts) == 0
    heard = capsys.readouterr()
    assert heard.out == "--allow-host a.test\n--allow-host b.test:7000\n"
    # What was written is for a person to apply: the network was open.
    assert "redoma: what it wrote is held: redoma apply " in heard.err
    assert not (place / "made").exists()
    assert learn(place, script, "-y", "--policy", *hosts) == 0
    block = 'network:\n  allowed_hosts:\n    - "a.test"\n    - "b.test:7000"\n'
    assert capsys.readouterr().out == block
    server.close()
    other.close()


def test_what_is_private_stays_closed(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # The judge reads the script, and would ask about what it knows of these addresses.
    addresses = place / "addresses"
    addresses.write_text("10.1.2.3 169.254.169.254 192.168.1.1 100.100.100.200", encoding="utf-8")
    script = """
import socket
for address in open("addresses").read().split():
    try:
        socket.create_connection((address, 80), timeout=3); print("reached", address)
    except OSError:
        pass
"""
    assert learn(place, script, "--yes", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["hosts"], said["exit_code"], said["inspect"]) == ([], 0, False)
    assert {each["target"] for each in said["refused"]} == {
        *("10.1.2.3:80", "169.254.169.254:80", "192.168.1.1:80", "100.100.100.200:80")
    }


def test_where_requests_are_read_methods_and_paths_are_learned(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with trusted(tmp_path, "a.test") as context:
        host = Host(context)
        script = """
import urllib.request
for n in range(6):
    urllib.request.urlopen(f"https://a.test/pkg/{n}").read()
urllib.request.urlopen("https://a.test/hook", data=b"x").read()
"""
        rule = f"a.test=127.0.0.1:{host.port}"
        assert learn(place, script, "--yes", "--inspect", "--allow-host", rule) == 0
        host.close()
    assert capsys.readouterr().out == (
        "--inspect\n--allow-host 'GET a.test/pkg/**'\n--allow-host 'POST a.test/hook'\n"
    )


def test_nobody_is_within_reach_before_a_person_said_yes(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert learn(place, 'open("made", "w")') == 2
    said = capsys.readouterr().err
    assert "every public host, and nobody can be asked here" in said
    assert "hint: redoma network learn --yes 'COMMAND'" in said
    assert list(place.iterdir()) == [place / "script.py"]


@pytest.mark.parametrize(("answer", "status"), [(b"n\n", 2), (b"\x04", 2), (b"y\n", 0)])
def test_a_person_is_asked_at_the_terminal(place: Path, answer: bytes, status: int) -> None:
    pid, terminal = pty.fork()
    if pid == 0:  # pragma: no cover - another process
        words = ["-m", "redoma", "network", "learn", "--workspace", str(place), "true"]
        env = {**os.environ, "PYTHONPATH": str(Path(redoma.__file__).parents[1])}
        os.execve(sys.executable, [sys.executable, *words], env)
    heard = b""
    while b"[y/N]" not in heard:
        heard += os.read(terminal, 4096)
    assert b"for this one run every public host is within reach of true" in heard
    os.write(terminal, answer)
    try:
        while part := os.read(terminal, 4096):
            heard += part
    except OSError:
        pass
    ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(terminal)
    assert ended == status, heard
    assert (b"nobody said yes, so nothing ran" in heard) is (status == 2)


def test_a_learning_run_takes_no_option_that_would_spoil_it(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert learn(place, "", "--yes", "--direct") == 2
    assert "redoma network learn takes no --direct" in capsys.readouterr().err
