"""What an engine says it holds is held: one small attack for each guarantee.

The thorough attacks are in `tests/escape`; these are the ones that every engine has to survive
before it may say the word at all. `direct` claims nearly nothing, which is tried too: an attack
that fails there would prove nothing.
"""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from redoma.model.change import Did
from redoma.model.errors import NoEngine
from redoma.model.grant import Guarantee
from redoma.model.result import Outcome
from tests.contract.machine import Machine, claims, report
from tests.unit.jail.overlay.held import Box

pytestmark = pytest.mark.both_users

PYTHON = "/usr/bin/python3"
needs_python = pytest.mark.skipif(not os.path.exists(PYTHON), reason=f"needs {PYTHON} inside")


def attack(machine: Machine, guarantee: Guarantee, command: str, **how: str) -> str:
    """What an attack printed, run on an engine that claims to stop it, or on `direct`."""
    if machine.declared.confines:
        claims(machine.engine, guarantee)
    result = machine.sandbox(**how).run(command, timeout=20)  # type: ignore[arg-type]
    return result.stdout.decode(errors="replace")


def test_writes_are_confined(machine: Machine) -> None:
    attack(
        machine,
        Guarantee.WRITES_CONFINED,
        f"echo changed > {machine.victim}; rm -f {machine.victim}x",
    )
    held = machine.victim.read_text() == "as it was"
    assert held is (machine.declared.confines)


def test_attributes_outside_are_confined(machine: Machine) -> None:
    if os.geteuid() == 0 and not machine.declared.confines:
        pytest.skip("tried as an ordinary user")
    attack(
        machine,
        Guarantee.WRITES_CONFINED,
        f"chmod 600 {machine.victim}; touch -d @1 {machine.victim}",
    )
    status = machine.victim.stat()
    held = (status.st_mode & 0o777, int(status.st_mtime)) != (0o600, 1)
    assert held is (machine.declared.confines)


def test_a_link_leads_nowhere(machine: Machine) -> None:
    (machine.workspace / "link").symlink_to(machine.victim)
    attack(
        machine, Guarantee.WRITES_CONFINED, "echo changed > link; ln -f link hard; echo x > hard"
    )
    held = machine.victim.read_text() == "as it was"
    assert held is (machine.declared.confines)


def test_reads_are_confined(machine: Machine) -> None:
    secret = Path(os.environ["HOME"]) / ".ssh" / "id_ed25519"
    secret.parent.mkdir(exist_ok=True)
    secret.write_text("a key")
    said = attack(machine, Guarantee.READS_CONFINED, f"cat {secret}; cat {machine.victim}")
    assert said == ("a keyas it was" if not machine.declared.confines else "")


def test_protected_paths_stay_as_they_were(machine: Machine) -> None:
    subprocess.run(["git", "init", "-q", str(machine.workspace)], check=True)
    hook = machine.workspace / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\n")
    config = (machine.workspace / ".git/config").read_text()
    attack(
        machine,
        Guarantee.PROTECTED_PATHS,
        "echo evil > .git/hooks/pre-commit; echo evil >> .git/config; echo evil > .mcp.json;"
        " mkdir -p deep/.vscode; echo evil > deep/.vscode/tasks.json",
    )
    changed = [
        hook.read_text() != "#!/bin/sh\n",
        (machine.workspace / ".git/config").read_text() != config,
        (machine.workspace / ".mcp.json").exists(),
        (machine.workspace / "deep/.vscode").exists(),
    ]
    assert changed == [not machine.declared.confines] * 4


@needs_python
def test_the_network_is_closed(machine: Machine) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    by_path = socket.socket(socket.AF_UNIX)
    by_path.bind(str(machine.outside / "socket"))
    by_path.listen()
    code = (
        "import socket\n"
        f"for family, kind, at in ((2, 1, ('127.0.0.1', {listener.getsockname()[1]})),"
        f" (1, 1, {str(machine.outside / 'socket')!r}), (2, 2, ('192.0.2.1', 9))):\n"
        "    try:\n"
        "        s = socket.socket(family, kind); s.settimeout(2); s.connect(at); s.send(b'x')\n"
        "        print('reached', at)\n"
        "    except OSError: pass\n"
    )
    try:
        said = attack(machine, Guarantee.NETWORK_CLOSED, f'{PYTHON} -I -S -c "{code}"')
    finally:
        listener.close()
        by_path.close()
    assert ("reached" in said) is (not machine.declared.confines)


def test_processes_are_hidden(machine: Machine) -> None:
    said = attack(
        machine,
        Guarantee.PROCESSES_HIDDEN,
        f"cat /proc/{os.getpid()}/comm && echo seen; kill -0 {os.getpid()} && echo signalled",
    )
    assert ("seen" in said or "signalled" in said) is (not machine.declared.confines)


def test_no_process_outside_is_signalled(machine: Machine) -> None:
    victim = subprocess.Popen(["sleep", "30"])
    try:
        attack(machine, Guarantee.WRITES_CONFINED, f"kill -9 {victim.pid}; sleep 0.2")
        ended = victim.poll() is not None
    finally:
        victim.kill()
        victim.wait()
    assert ended is (not machine.declared.confines)


def test_no_new_privileges(machine: Machine) -> None:
    claims(machine.engine, Guarantee.NO_NEW_PRIVILEGES)
    said = attack(
        machine,
        Guarantee.NO_NEW_PRIVILEGES,
        "while read -r k v; do case $k in NoNewPrivs:|CapEff:|CapPrm:|CapInh:) echo $k $v;; esac; "
        "done < /proc/$$/status; id -u",
    )
    lines = said.splitlines()
    assert lines[:-1] == [
        "CapInh: 0000000000000000",
        "CapPrm: 0000000000000000",
        "CapEff: 0000000000000000",
        "NoNewPrivs: 1",
    ]
    assert int(lines[-1]) != 0


def test_system_calls_are_filtered(machine: Machine) -> None:
    said = attack(
        machine,
        Guarantee.SYSCALLS_FILTERED,
        "while read -r k v; do [ $k = Seccomp: ] && echo $v; done < /proc/$$/status;"
        " unshare --user --map-root-user true 2>/dev/null && echo namespace",
    )
    assert (said.split() == ["2"]) is (machine.declared.confines)


def test_changes_are_held(machine: Machine) -> None:
    claims(machine.engine, Guarantee.CHANGES_HELD)
    (machine.workspace / "file").write_text("before")
    result = machine.sandbox(writes="memory").run(
        "echo after > file; echo new > made; cat file made"
    )
    assert (result.stdout, result.outcome) == (b"after\nnew\n", Outcome.EXITED)
    left = {path.name: path.read_text() for path in machine.workspace.iterdir()}
    assert left == {"file": "before"}


def test_changes_are_held_in_a_layer_and_told(machine: Machine) -> None:
    claims(machine.engine, Guarantee.CHANGES_HELD)
    (machine.workspace / "file").write_text("before")
    (machine.workspace / "gone").mkdir()
    (machine.workspace / "gone/below").write_text("below")
    result = Box(machine.workspace, engine=machine.engine).run(
        "echo after > file; echo new > made; rm -r gone; cat file made; ls"
    )
    assert (result.stdout, result.outcome) == (b"after\nnew\nfile\nmade\n", Outcome.EXITED)
    assert result.changes is not None
    assert [(item.path, item.did) for item in result.changes.items] == [
        ("file", Did.MODIFIED),
        ("gone", Did.DELETED),
        ("gone/below", Did.DELETED),
        ("made", Did.CREATED),
    ]
    assert (machine.workspace / "file").read_text() == "before"
    assert sorted(path.name for path in machine.workspace.iterdir()) == ["file", "gone"]


def test_what_cannot_hold_changes_does_not_run_where_they_must_be_held(machine: Machine) -> None:
    if Guarantee.CHANGES_HELD in report(machine.engine).guarantees:
        pytest.skip(f"{machine.engine} holds changes")
    with pytest.raises(NoEngine, match="changes-held"):
        Box(machine.workspace, engine=machine.engine).run("echo new > made")
    assert list(machine.workspace.iterdir()) == []


def test_a_read_only_workspace_is_read_only(machine: Machine) -> None:
    if not machine.declared.confines:
        pytest.skip("direct confines nothing")
    (machine.workspace / "file").write_text("before")
    machine.sandbox(writes="read-only").run("echo after > file; echo new > made; rm -f file")
    left = {path.name: path.read_text() for path in machine.workspace.iterdir()}
    assert left == {"file": "before"}


def test_what_is_not_claimed_has_a_reason(machine: Machine) -> None:
    found = report(machine.engine)
    known = frozenset(Guarantee) - {Guarantee.NETWORK_ALLOW_LISTED}
    reasons = dict(found.missing)
    assert {g for g in known - found.guarantees if not reasons.get(g)} == set()
    assert {g for g, _ in found.mechanisms} <= found.guarantees
