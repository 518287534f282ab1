"""The document's checklist for a release (its section 7), a test for each line, in its order."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

import redoma
from redoma.dialects import sessions as dialect
from redoma.sessions import codes, trail
from redoma.sessions.people import PermissionLevel
from tests.sessions.server_process import Connection, ServerProcess

pytestmark = pytest.mark.both_users
ASSETS = Path(redoma.__file__).parent / "server" / "assets" / "app"
TOKEN = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def test_1_tokens_are_never_in_plaintext(server: ServerProcess) -> None:
    """Of a session's codes, tickets and bearers none is in any file; the page keeps none for good."""
    session = server.start(record=True)
    ana = session.admitted()
    code = session.code()
    secrets = [ana.bearer, ana.ticket, server.bearer, server.token, code]
    session.end()
    files = [path for path in Path(server.place, "state").rglob("*") if path.is_file()]
    assert files
    for path in files:
        data = path.read_bytes()
        assert not any(secret.encode() in data for secret in secrets), path
    for script in ASSETS.rglob("*.js"):
        lines = script.read_text(encoding="utf-8").splitlines()
        stored = [line for line in lines if "localStorage.setItem" in line]
        assert not any("bearer" in line or "token" in line for line in stored), script


def test_2_pkce_for_oauth() -> None:
    from redoma.login.flows import new_request
    from redoma.login.provider import Provider

    provider = Provider(
        name="p",
        issuer="https://idp.example",
        client_id="c",
        authorization_endpoint="https://idp.example/a",
        token_endpoint="https://idp.example/t",
    )
    asked = parse_qs(urlsplit(new_request("http://127.0.0.1:1/").url(provider)).query)
    assert asked["code_challenge_method"] == ["S256"]
    assert len(asked["code_challenge"][0]) >= 43


def test_3_codes_expire_in_fifteen_minutes() -> None:
    assert codes.LIFETIME == dialect.CODE_MINUTES * 60
    now = [0.0]
    given = codes.InviteCodes(lambda: now[0])
    code = given.give("s").text
    now[0] = 15 * 60.0
    with pytest.raises(codes.CodeRefused):
        given.redeem(code, "192.0.2.1")


def test_4_the_waiting_room_is_obligatory(server: ServerProcess) -> None:
    session = server.start()
    ana = session.guest()
    assert (
        server.request(
            "PUT", f"{session.path}/guests/{ana.guest}/permission", {"permission": "read_write"}
        )[0]
        == 403
    )
    session.host.type(b"echo seen-$((40+2))\r")
    session.host.until(lambda: b"seen-42" in session.host.screen)
    ana.read(0.3)
    assert ana.screen == b""
    assert {each["type"] for each in ana.messages} == {"waiting"}
    session.end()


def test_5_read_only_is_what_a_guest_gets(server: ServerProcess) -> None:
    session = server.start()
    ana = session.guest()
    admitted = session.decide(ana, "admit")
    assert admitted["permission"] == dialect.DEFAULT.value == "read_only"
    assert [each.value for each in dialect.Permission] == [each.value for each in PermissionLevel]
    session.end()


def test_6_a_warning_stands_before_write_access() -> None:
    catalogue = (ASSETS / "language" / "pt-BR.js").read_text(encoding="utf-8")
    scripts = "".join(path.read_text(encoding="utf-8") for path in ASSETS.rglob("*.js"))
    for portuguese, english in dialect.TEXTS.items():
        assert portuguese in catalogue, portuguese
        assert english in scripts, english


def test_7_containers_get_no_new_privileges() -> None:
    from redoma.dialects.containers import docker_service

    assert docker_service.from_document(ProjectPath="/srv/app").project_path == "/srv/app"
    source = Path(redoma.__file__).parent / "jail" / "containers" / "create_request.py"
    assert source.read_text(encoding="utf-8").count('"no-new-privileges"') == 2


def test_7_a_session_has_no_new_privileges_either(server: ServerProcess) -> None:
    session = server.start()
    session.host.type(b"grep NoNewPrivs /proc/self/status\r")
    session.host.until(lambda: b"NoNewPrivs:\t1" in session.host.screen.replace(b" ", b""))
    session.end()


def test_8_prompts_are_sanitized() -> None:
    assert TOKEN not in dialect.SecretSanitizer().sanitize(f"use {TOKEN}")


def test_9_logs_are_sanitized() -> None:
    assert TOKEN not in dialect.LogSanitizer().Sanitize(f"use {TOKEN}")


def test_10_only_https_to_others() -> None:
    from redoma.model.errors import UsageError
    from redoma.server.server_process import ServePlan, serve

    with pytest.raises(UsageError, match="TLS"):
        serve(ServePlan(host="192.0.2.1", port=0), lambda _: None)


def test_11_the_database_is_its_users_alone(server: ServerProcess) -> None:
    server.start().end()
    place = Path(server.place, "state", "redoma", "audit")
    found = [path for path in place.iterdir() if path.is_file()]
    assert found
    for path in found:
        assert stat.S_IMODE(os.stat(path).st_mode) & 0o077 == 0, path


def test_12_who_connects_again_waits_again(server: ServerProcess) -> None:
    session = server.start()
    ana = session.admitted()
    session.permit(ana, "read_write")
    ana.close()
    again = Connection(server, session.id, ana.bearer, ana.guest)
    again.until(lambda: again.said("waiting") is not None)
    again.read(0.2)
    assert again.screen == b""
    session.end()


@pytest.mark.requirement("S12")
def test_an_audit_event_has_the_documents_five_fields(server: ServerProcess) -> None:
    assert trail.MOST == dialect.RETAINED
    assert tuple(kind.value.replace("-", "_") for kind in trail.KINDS) == dialect.ACTIONS
    session = server.start()
    session.admitted()
    events = [dialect.AuditEvent.from_row(row) for row in session.audit()]
    assert [each.Action for each in events] == ["session_started", "guest_joined"]
    assert events[1].UserID == "Ana"
    assert events[1].SessionID == session.id
    assert events[1].Timestamp.tzinfo is not None
    with pytest.raises(AttributeError):
        events[1].details = "other"
    session.end()
