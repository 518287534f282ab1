"""What is asked of the network is told as it happens, and nothing of a gate outlives its run."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from redoma import Access, Network, Sandbox
from redoma.cli.remedies import granting
from redoma.model.errors import NoEngine
from redoma.model.network import PORT_BLOCKED
from redoma.model.policy import BUILT_IN, NetworkRules
from redoma.model.value import replace
from tests.escape.gated import PYTHON, Server, workspace
from tests.unit.cli.previewing import START, Project

ASK = """
import socket
for name in ("a.test", "b.test"):
    try:
        s = socket.create_connection((name, 80), 5)
        s.send(b"GET / HTTP/1.1\\r\\nHost: a.test\\r\\n\\r\\n"); s.recv(100)
    except OSError as e:
        pass
print("over")
"""


@pytest.fixture
def place() -> Iterator[Path]:
    with workspace() as made:
        yield made


@pytest.fixture
def person(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    (made.root / "ask.py").write_text(ASK)
    return made


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


@pytest.mark.requirement("K8")
def test_a_person_at_a_terminal_sees_each_connection_as_it_happens(
    person: Project, server: Server
) -> None:
    grant = f"a.test=127.0.0.1:{server.port}"
    command = ("run", "--allow-host", grant, "--", PYTHON, "ask.py")
    status, said = person.typed("", *command)
    before, _, after = said.partition("over\n")
    assert status == 0
    assert before.splitlines() == [
        "redoma: python3 reaches a.test:80",
        "redoma: refused: b.test — grant it with --allow-host b.test",
    ]
    assert "redoma: refused: b.test — grant it with --allow-host b.test\n" in after
    status, said = person.typed("", "run", "-q", *command[1:])
    assert (status, said) == (0, "over\n")
    status, said = person.typed("", "run", "--json", *command[1:])
    assert [call["name"] for call in json.loads(said)["network_calls"]] == ["a.test", "b.test"]


@pytest.mark.requirement("K8")
def test_a_policys_list_is_named_where_only_a_line_in_it_would_help(
    place: Path, tmp_path: Path, server: Server
) -> None:
    listed = NetworkRules(allowed_hosts=(f"a.test=127.0.0.1:{server.port}",))
    sandbox = Sandbox(
        str(place),
        level="minimal",
        audit=str(tmp_path / "record"),
        policy=replace(BUILT_IN, network=listed),
    )
    (place / "ask.py").write_text(ASK)
    result = sandbox.run([PYTHON, "ask.py"])
    assert result.network_calls is not None
    assert {call.name: granting(call) for call in result.network_calls} == {
        "a.test": "",
        "b.test": "network.allowed_hosts: [b.test]",
    }


@pytest.mark.requirement("K8")
def test_an_open_network_is_held_to_blocked_ports_alone(place: Path, tmp_path: Path) -> None:
    sandbox = Sandbox(
        str(place),
        level="minimal",
        audit=str(tmp_path / "record"),
        policy=replace(BUILT_IN, network=NetworkRules(blocked_ports=(25,))),
    )
    (place / "ask.py").write_text("""
import socket
try: socket.create_connection(('10.1.2.3', 25), 5).recv(1)
except OSError as e: print(type(e).__name__)
""")
    result = sandbox.run([PYTHON, "ask.py"])
    assert (result.stdout, result.stderr) == (b"ConnectionResetError\n", b"")
    assert result.network_calls is not None
    assert [(call.target, call.why) for call in result.network_calls] == [
        ("10.1.2.3:25", PORT_BLOCKED)
    ]


@pytest.mark.requirement("K8")
@pytest.mark.parametrize("engine", ["landlock", "direct"])
def test_where_no_gate_can_be_a_list_of_hosts_is_refused_and_not_pretended(
    place: Path, tmp_path: Path, engine: str
) -> None:
    sandbox = Sandbox(
        str(place),
        engine=engine,
        audit=str(tmp_path / "record"),
        access=Access(direct=True),
        network=Network(hosts=["a.test"]),
        policy=BUILT_IN,
    )
    with pytest.raises(NoEngine) as error:
        sandbox.run("touch ran")
    assert "network-allow-listed" in error.value.required
    assert not (place / "ran").exists()


def below(pid: int) -> list[int]:
    """A process and everything below it."""
    found = [pid]
    for each in found:
        for task in Path(f"/proc/{each}/task").iterdir():
            found += [int(child) for child in (task / "children").read_text().split()]
    return found


def gone(pids: list[int]) -> bool:
    """Whether all of them end soon; one that only waits to be collected has ended."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        states = [
            Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            for pid in pids
            if Path(f"/proc/{pid}/stat").exists()
        ]
        if all(state in "ZX" for state in states):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.requirement("K8")
def test_with_the_supervisor_its_tree_and_its_gate_are_gone(
    person: Project, server: Server
) -> None:
    (person.root / "ask.py").write_text("""
import socket, time
s = socket.create_connection(("a.test", 80), 5)
s.send(b"GET / HTTP/1.1\\r\\nHost: a.test\\r\\n\\r\\n"); s.recv(100)
print("open", flush=True); time.sleep(60)
""")
    with socket.create_server(("127.0.0.1", 0)) as free:
        publish = free.getsockname()[1]
    grant = f"a.test=127.0.0.1:{server.port}"
    argv = [*START, "run", "--publish", str(publish), "--allow-host", grant, "--", PYTHON, "ask.py"]
    with subprocess.Popen(argv, cwd=person.root, env=person.env, stdout=subprocess.PIPE) as run:
        try:
            assert run.stdout is not None
            assert run.stdout.readline() == b"open\n"
            pids = below(run.pid)
        finally:
            run.send_signal(signal.SIGKILL)
        run.wait()
        assert len(pids) > 2
        assert gone(pids[1:])
    again = subprocess.run(
        [*argv[:-3], "--", "/bin/true"],
        cwd=person.root,
        env=person.env,
        capture_output=True,
        timeout=30,
        check=False,
    )
    assert again.returncode == 0, again.stderr
