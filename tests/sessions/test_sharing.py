"""A host shares a terminal: guests wait, watch, type by leave, and stop at once."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.sessions.own_terminal import OwnTerminal
from tests.sessions.server_process import ServerProcess

pytestmark = pytest.mark.both_users


@pytest.mark.requirement("S6", "S7", "S12")
def test_a_guest_waits_watches_types_by_leave_and_stops_at_once(server: ServerProcess) -> None:
    session = server.start()
    session.host.type(b"echo before-$((40+2))\r")
    session.host.until(lambda: b"before-42" in session.host.screen)
    ana = session.guest("Ana")
    ana.read(0.3)
    assert ana.screen == b""
    assert [each["type"] for each in ana.messages] == ["waiting"]
    session.decide(ana, "admit")
    ana.until(lambda: b"before-42" in ana.screen)
    assert ana.said("admitted")["permission"] == "read_only"
    ana.type(b"echo not-$((40+2))\r")
    session.permit(ana, "read_write")
    ana.until(lambda: (ana.said("permission") or {}).get("permission") == "read_write")
    ana.type(b"echo hers-$((40+2)); : ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8\r")
    ana.until(lambda: b"hers-42" in ana.screen)
    session.permit(ana, "read_only")
    ana.type(b"echo after-$((40+2))\r")
    session.host.type(b"echo mine-$((40+2))\r")
    ana.until(lambda: b"mine-42" in ana.screen)
    assert b"not-42" not in ana.screen
    assert b"after-" not in ana.screen
    rows = session.audit()
    assert [row["type"] for row in rows] == [
        "session_started",
        "guest_joined",
        "permission_changed",
        "command_executed",
        "permission_changed",
    ]
    granted, ran, revoked = rows[2], rows[3], rows[4]
    assert (granted["facts"]["from"], granted["facts"]["to"]) == ("read_only", "read_write")
    assert (revoked["facts"]["from"], revoked["facts"]["to"]) == ("read_write", "read_only")
    assert granted["facts"]["by"] == "host"
    assert ran["actor"] == "Ana"
    assert ran["command"].startswith("echo hers-$((40+2)); : ")
    assert "ghp_" not in json.dumps(rows)
    ana.close()
    session.host.until(
        lambda: [g["state"] for g in session.host.said("people")["guests"]] == ["left"]
    )
    ended = session.end()
    assert ended["state"] == "ended"
    last = session.audit()[-2:]
    assert [row["type"] for row in last] == ["guest_left", "session_ended"]
    assert last[1]["facts"]["by"] == "host"
    assert last[1]["facts"]["duration_seconds"] > 0


@pytest.mark.requirement("S6")
def test_who_comes_late_sees_the_screen_and_nothing_that_scrolled_away(
    server: ServerProcess,
) -> None:
    session = server.start()
    session.host.type(b"echo secret-$((40+2)); seq 1 300; printf '\\033[31mred\\033[0m\\n'\r")
    session.host.until(lambda: b"red" in session.host.screen and b"300\r\n" in session.host.screen)
    ana = session.admitted()
    assert b"secret-42" not in ana.screen
    assert b"300" in ana.screen
    assert b"\x1b[38;5;1m" in ana.screen or b"\x1b[31m" in ana.screen
    session.end()


@pytest.mark.requirement("S6", "S8")
def test_whoever_comes_back_waits_again(server: ServerProcess) -> None:
    session = server.start()
    ana = session.admitted()
    session.permit(ana, "read_write")
    from tests.sessions.server_process import Connection

    again = Connection(server, session.id, ana.bearer, ana.guest)
    again.until(lambda: again.said("waiting") is not None)
    again.type(b"echo never-$((40+2))\r")
    ana.until(lambda: ana.closed)
    assert ana.closed == "replaced"
    session.host.type(b"echo done-$((40+2))\r")
    session.host.until(lambda: b"done-42" in session.host.screen)
    assert b"never" not in session.host.screen
    again.read(0.2)
    assert again.screen == b""
    session.end()


@pytest.mark.requirement("S7")
def test_guests_freeze_when_their_host_is_gone_and_the_session_ends(server: ServerProcess) -> None:
    session = server.start()
    ana = session.admitted()
    session.permit(ana, "read_write")
    session.host.close()
    ana.until(lambda: ana.said("frozen") is not None)
    ana.type(b"touch never\r")
    ana.until(lambda: ana.closed)
    assert ana.said("ended")["by"] == "host gone"
    assert ana.screen.count(b"never") == 0


def test_a_host_who_comes_back_in_time_goes_on(server: ServerProcess) -> None:
    from tests.sessions.server_process import Connection

    session = server.start()
    ana = session.admitted()
    session.host.close()
    ana.until(lambda: ana.said("frozen") is not None)
    host = Connection(server, session.id, server.bearer)
    ana.until(lambda: ana.said("thawed") is not None)
    host.type(b"echo again-$((40+2))\r")
    ana.until(lambda: b"again-42" in ana.screen)
    session.host = host
    session.end()


def test_refused_and_blocked_guests_see_nothing_and_do_not_come_back(server: ServerProcess) -> None:
    session = server.start()
    ana = session.guest("Ana")
    session.decide(ana, "refuse")
    ana.until(lambda: ana.closed)
    assert ana.said("refused") is not None
    assert server.request("POST", f"{session.path}/ticket", {}, bearer=ana.bearer)[0] == 401
    ben = session.guest("Ben")
    session.decide(ben, "block")
    ben.until(lambda: ben.closed)
    status, said = server.request(
        "POST", "/api/join", {"code": session.code(), "name": "Other"}, bearer=None
    )
    assert status == 403
    assert b"blocked" in said
    session.end()


def test_the_size_is_the_hosts(server: ServerProcess) -> None:
    session = server.start()
    ana = session.admitted()
    ana.socket.send(b"\x04\x00\x14\x00\x05")
    session.host.socket.send(b"\x04\x00\x64\x00\x1e")
    ana.until(lambda: ana.sizes)
    assert ana.sizes == [(100, 30)]
    session.host.type(b"echo size-$COLUMNS-$LINES\r")
    session.host.until(lambda: b"size-100-30" in session.host.screen)
    session.end()


def test_what_a_session_changed_waits_for_its_host(server: ServerProcess) -> None:
    session = server.start()
    session.host.type(b"echo kept > made-here; echo ok-$((40+2))\r")
    session.host.until(lambda: b"ok-42" in session.host.screen)
    assert not os.path.exists(f"{server.workspace}/made-here")
    ended = session.end()
    assert ended["changes"]
    applied = subprocess.run(
        [sys.executable, "-m", "redoma", "apply", ended["changes"]],
        env=server.env,
        cwd=server.workspace,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert applied.returncode == 0, applied.stderr
    with open(f"{server.workspace}/made-here", encoding="ascii") as made:
        assert made.read() == "kept\n"
    os.unlink(f"{server.workspace}/made-here")


def test_a_recording_has_the_permissions_and_no_secret(server: ServerProcess) -> None:
    session = server.start(record=True)
    ana = session.admitted()
    session.permit(ana, "read_write")
    session.host.type(b"echo ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8; echo shown-$((40+2))\r")
    session.host.until(lambda: b"shown-42" in session.host.screen)
    session.end()
    text = server.request("GET", f"{session.path}/recording")[1].decode()
    assert "shown-42" in text
    assert "ghp_a1B2" not in text
    assert '"m", "Ana: read_only → read_write"' in text
    older = server.request("GET", f"{session.path}/recording?format=v2")[1].decode().splitlines()
    assert json.loads(older[0])["version"] == 2


def test_the_commands_of_another_terminal_speak_to_the_server(server: ServerProcess) -> None:
    def redoma(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "redoma", "session", *words],
            env=server.env,
            cwd=server.workspace,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    made = json.loads(redoma("start", "--share", "--record-input", "--json"))
    assert (made["recording"], made["typing_recorded"]) == (True, True)
    assert made["invitation"]["link"].startswith(f"{server.url}/join#code=")
    assert made["id"] in redoma("list")
    assert json.loads(redoma("code", made["id"], "--json"))["code"].count("-") == 3
    assert "#login=" in redoma("link")
    assert json.loads(redoma("end", made["id"], "--json"))["state"] == "ended"
    mode = os.stat(f"{server.place}/state/redoma/serve.json").st_mode
    assert mode & 0o077 == 0


def test_a_server_that_is_ended_tells_everybody_and_ends_its_shells() -> None:
    own = ServerProcess()
    session = own.start()
    ana = session.admitted()
    session.host.type(b"sleep 1000 & echo pid-$((40+2))\r")
    session.host.until(lambda: b"pid-42" in session.host.screen)
    began = time.monotonic()
    own.stop()
    assert time.monotonic() - began < 25
    ana.until(lambda: ana.closed)
    assert ana.said("ended")["by"] == "the server"


def test_what_is_typed_is_recorded_by_choice_alone_and_without_secrets(
    server: ServerProcess,
) -> None:
    def events(record: dict[str, object]) -> list[list[object]]:
        session = server.start(**record)
        ana = session.admitted()
        assert ana.said("admitted")["session"]["typing_recorded"] is bool(
            record.get("record_input")
        )
        session.host.type(b"echo typed-by-$((40+2))\r")
        session.host.until(lambda: b"typed-by-42" in session.host.screen)
        # Attack: what is rubbed out parts a secret in two.
        session.host.type(
            b": ghp_a1B2c3D4XX\x7f\x7fe5F6g7H8i9J0k1L2m3N4o5P6q7R8; echo b-$((40+2))\r"
        )
        session.host.until(lambda: b"b-42" in session.host.screen)
        session.host.type(b"read -sp password word\r")
        session.host.until(lambda: session.host.screen.endswith(b"password"))
        session.host.type(b"never shown\r")
        session.host.until(lambda: session.host.screen.endswith(b"$ "))
        session.host.type(b"echo $((${#word}+40))-long\r")
        session.host.until(lambda: b"51-long" in session.host.screen)
        session.end()
        lines = server.request("GET", f"{session.path}/recording")[1].decode().splitlines()
        return [json.loads(line) for line in lines[1:]]

    told = events({"record_input": True})
    typed = "".join(str(text) for _, code, text in told if code == "i")
    assert "echo typed-by-$((40+2))\r" in typed
    assert "echo $((${#word}+40))-long\r" in typed
    assert "never shown" not in typed
    assert "ghp_a1B2" not in str(told)
    assert "e5F6g7" not in str(told)
    assert [code for _, code, _ in events({"record": True}) if code == "i"] == []


def test_a_terminal_that_cannot_be_had_is_refused_and_no_session(server: ServerProcess) -> None:
    before = server.ask("GET", "/api/sessions")["sessions"]
    body = {"cwd": server.workspace, "engine": "nonsense", "record": True}
    status, said = server.request("POST", "/api/sessions", body)
    assert status == 400
    assert "there is no engine 'nonsense'" in json.loads(said)["error"]["message"]
    # Landlock alone hides no process: what a session is to hold cannot be had by it.
    status, said = server.request("POST", "/api/sessions", {**body, "engine": "landlock"})
    assert status == 409
    assert json.loads(said)["error"]["code"] == "no-engine"
    assert "\n  landlock: " in json.loads(said)["error"]["message"]
    assert server.ask("GET", "/api/sessions")["sessions"] == before


def test_a_shell_that_the_policy_refuses_is_no_session(server: ServerProcess) -> None:
    place = f"{server.workspace}/strict"
    os.mkdir(place)
    with open(f"{place}/sandbox.yaml", "w", encoding="ascii") as policy:
        policy.write("blocklist_extensions:\n  - bash\n")
    status, said = server.request("POST", "/api/sessions", {"cwd": place})
    assert (status, json.loads(said)["error"]["code"]) == (403, "denied")


@pytest.mark.skipif(not shutil.which("asciinema"), reason="SKIPPED: asciinema is not installed")
def test_asciinema_plays_what_is_exported_for_older_players(
    server: ServerProcess, tmp_path: Path
) -> None:
    session = server.start(record=True)
    session.host.type("printf '\\033[32mação 🦊\\033[0m-%s\\n' $((40+2))\r".encode())
    session.host.until(lambda: "🦊\x1b[0m-42".encode() in session.host.screen)
    ana = session.admitted()
    session.permit(ana, "read_write")
    session.host.socket.send(b"\x04\x00\x64\x00\x1e")
    ana.until(lambda: ana.sizes)
    session.host.type(b"echo last-$((40+2))\r")
    session.host.until(lambda: b"last-42" in session.host.screen)
    session.end()
    place = tmp_path / "v2.cast"
    place.write_bytes(server.request("GET", f"{session.path}/recording?format=v2")[1])
    for how in (["cat"], ["play", "--speed", "1000", "--idle-time-limit", "0.01"]):
        # It plays to the terminal that it belongs to.
        argv = ["setsid", "--ctty", "--wait", "asciinema", *how, str(place)]
        env = {**os.environ, "HOME": str(tmp_path), "LC_ALL": "C.UTF-8", "TERM": "xterm"}
        player = OwnTerminal(argv, env, 80, 24)
        try:
            player.until(lambda: player.process.poll() is not None)  # noqa: B023
            player.until(lambda: b"last-42" in player.screen)  # noqa: B023
        finally:
            player.close()
        assert player.process.returncode == 0
        assert "\x1b[32mação 🦊\x1b[0m-42".encode() in player.screen


def test_what_cannot_be_done_is_said_in_the_readers_language(server: ServerProcess) -> None:
    def said(language: str) -> str:
        _, answer = server.request(
            "GET", "/api/sessions/none", headers={"Accept-Language": language}
        )
        return str(json.loads(answer)["error"]["message"])

    english = "there is no session 'none'"
    assert {said(each) for each in ("en", "", "xx", "*", "en-GB,pt;q=0.5", "x" * 999)} == {english}
    assert said("pt-BR") == said("pt;q=0.9, en") == "não há sessão 'none'"
