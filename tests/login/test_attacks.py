"""Nothing but this provider's answer to this login brings a token."""

from __future__ import annotations

import http.server
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from redoma.login import flows
from redoma.login.callback import CallbackAnswer, LoopbackListener
from redoma.login.errors import (
    AnswerMismatch,
    InsecureProvider,
    LoginError,
    LoginTimedOut,
    ProviderRefused,
)
from redoma.login.flows import CodeRequest, exchanged, new_request
from redoma.login.id_token import subject_of
from redoma.login.provider import Provider, chosen, discovered, presets
from redoma.login.transport import ProviderConnection
from redoma.model.errors import RedomaError, UsageError
from redoma.model.grant import Secret
from redoma.model.value import replace
from tests.login.openid import CLIENT, Browser

pytestmark = pytest.mark.requirement("S10")
REDIRECT = "http://127.0.0.1:47811/callback"


def answered(known: Provider) -> tuple[CodeRequest, CallbackAnswer]:
    """A login whose code came back, and was not used yet."""
    request = new_request(REDIRECT)
    back = httpx.URL(Browser().until(request.url(known), REDIRECT))
    assert back.params["state"] == request.state
    return request, CallbackAnswer(code=back.params["code"], issuer=back.params["iss"])


def test_a_code_is_good_once(known: Provider, connection: ProviderConnection) -> None:
    request, answer = answered(known)
    tokens = exchanged(answer, request, known, connection)
    assert tokens.subject == "ada"
    with pytest.raises(ProviderRefused) as caught:
        exchanged(answer, request, known, connection)
    assert caught.value.error == "invalid_grant"


def test_a_code_is_worth_nothing_to_who_does_not_have_the_verifier(
    known: Provider, connection: ProviderConnection
) -> None:
    request, answer = answered(known)
    thief = replace(request, verifier=new_request(REDIRECT).verifier)
    with pytest.raises(ProviderRefused) as caught:
        exchanged(answer, thief, known, connection)
    assert caught.value.error == "invalid_grant"


def test_a_code_for_another_address_is_refused(
    known: Provider, connection: ProviderConnection
) -> None:
    request, answer = answered(known)
    elsewhere = replace(request, redirect="http://127.0.0.1:47812/callback")
    with pytest.raises(ProviderRefused):
        exchanged(answer, elsewhere, known, connection)


def test_an_id_token_for_another_login_or_client_or_issuer_is_refused(
    known: Provider, connection: ProviderConnection
) -> None:
    request, answer = answered(known)
    with pytest.raises(AnswerMismatch):
        exchanged(answer, replace(request, nonce="another"), known, connection)
    request, answer = answered(known)
    form = {
        "grant_type": "authorization_code",
        "code": answer.code,
        "redirect_uri": REDIRECT,
        "client_id": CLIENT,
        "code_verifier": request.verifier.reveal(),
    }
    said = connection.post(known.token_endpoint, form)
    token, access = str(said["id_token"]), Secret(str(said["access_token"]))
    good = {"nonce": request.nonce, "access": access}
    assert subject_of(token, known, connection, **good) == "ada"  # type: ignore[arg-type]
    head, body, signature = token.split(".")
    none = "eyJhbGciOiJub25lIn0"  # {"alg":"none"}
    for changed in (
        f"{none}.{body}.",
        f"{none}.{body}.{signature}",
        f"{head}.{body}.{'A' * 342}",
        "",
        "x",
    ):
        with pytest.raises(AnswerMismatch):
            subject_of(changed, known, connection, **good)  # type: ignore[arg-type]
    for other in (
        replace(known, issuer="http://127.0.0.1:1"),
        replace(known, client_id="another"),
    ):
        with pytest.raises(AnswerMismatch):
            subject_of(token, other, connection, **good)  # type: ignore[arg-type]


# --- what comes to the port that a browser comes back to ---

PROVIDER = Provider(name="here", client_id=CLIENT, issuer="https://here.example", names_itself=True)


class Waiting:
    """A listener that waits in a thread, and what came of it."""

    def __init__(self, provider: Provider = PROVIDER, seconds: float = 10) -> None:
        self.listener = LoopbackListener("the-state")
        self.found: list[CallbackAnswer | RedomaError] = []
        self._thread = threading.Thread(target=self._wait, args=(provider, seconds))
        self._thread.start()

    def _wait(self, provider: Provider, seconds: float) -> None:
        try:
            self.found.append(self.listener.answer(provider, seconds))
        except RedomaError as error:
            self.found.append(error)

    def ask(self, query: str, **more: object) -> httpx.Response:
        return httpx.get(f"{self.listener.address}?{query}", follow_redirects=False, **more)  # type: ignore[arg-type]

    def ended(self) -> CallbackAnswer | RedomaError:
        self._thread.join()
        return self.found[0]


GOOD = "code=the-code&state=the-state&iss=https://here.example"


@pytest.mark.parametrize(
    "query",
    [
        "code=c&state=another&iss=https://here.example",
        "code=c&iss=https://here.example",
        "",
        "state=the-state&state=another&code=c",
        "code=a&code=b&state=the-state",
        "error=access_denied&state=another",
    ],
)
def test_a_foreign_callback_is_refused_and_the_right_one_still_counts(query: str) -> None:
    waiting = Waiting()
    refused = waiting.ask(query)
    assert (refused.status_code, "logged in" in refused.text) == (400, False)
    assert waiting.ask(GOOD).status_code == 200
    assert waiting.ended() == CallbackAnswer(code="the-code", issuer="https://here.example")


def test_a_second_request_to_the_port_finds_nobody() -> None:
    waiting = Waiting()
    assert waiting.ask(GOOD).status_code == 200
    waiting.ended()
    with pytest.raises(httpx.ConnectError):
        waiting.ask(GOOD)


def test_only_one_path_one_method_and_our_own_address_are_answered() -> None:
    waiting = Waiting()
    address = waiting.listener.address
    base = address.removesuffix("/callback")
    assert httpx.get(f"{base}/other?{GOOD}").status_code == 404
    assert httpx.post(f"{address}?{GOOD}").status_code == 404
    rebound = waiting.ask(GOOD, headers={"host": "evil.example"})
    assert rebound.status_code == 400
    with socket.create_connection(("127.0.0.1", waiting.listener.port)) as raw:
        raw.sendall(b"\x16\x03\x01 no http\r\n\r\n")
        assert raw.recv(64).startswith(b"HTTP/1.1 404")
    assert waiting.ask(GOOD).status_code == 200
    assert isinstance(waiting.ended(), CallbackAnswer)
    assert waiting.listener.address.startswith("http://127.0.0.1:")


@pytest.mark.parametrize("issuer", ["&iss=https://other.example", "&iss=", ""])
def test_an_answer_of_another_issuer_is_refused(issuer: str) -> None:
    for outcome in ("code=c", "error=access_denied"):
        waiting = Waiting()
        assert waiting.ask(f"{outcome}&state=the-state{issuer}").status_code == 400
        assert isinstance(waiting.ended(), AnswerMismatch)


def test_a_provider_that_says_no_is_believed() -> None:
    waiting = Waiting()
    waiting.ask("error=access_denied&state=the-state&iss=https://here.example")
    ended = waiting.ended()
    assert isinstance(ended, ProviderRefused)
    assert ended.as_dict()["error"] == "access_denied"


def test_the_page_repeats_nothing_and_leads_nowhere() -> None:
    waiting = Waiting(seconds=5)
    planted = "https://evil.example/<script>"
    for query in (
        f"state=another&redirect_uri={planted}&next={planted}&error={planted}",
        f"{GOOD}&redirect_uri={planted}&next={planted}",
    ):
        answer = waiting.ask(query)
        assert not answer.is_redirect
        assert "evil" not in answer.text + str(answer.headers)
        assert answer.headers["content-security-policy"] == "default-src 'none'"
    waiting.ended()


def test_who_says_nothing_does_not_hold_the_others_up_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("redoma.login.callback._PATIENCE", 0.2)
    waiting = Waiting()
    with socket.create_connection(("127.0.0.1", waiting.listener.port)):
        assert waiting.ask(GOOD, timeout=5).status_code == 200
    assert isinstance(waiting.ended(), CallbackAnswer)


def test_a_port_that_others_have_is_said() -> None:
    with LoopbackListener("s") as one, pytest.raises(LoginError, match="cannot be listened on"):
        LoopbackListener("s", one.port)


# --- who a provider is ---


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ("http://id.example.com", InsecureProvider),
        ("http://127.0.0.1.evil.example", InsecureProvider),
        ("http://127.0.0.1@evil.example", UsageError),
        ("ftp://127.0.0.1", InsecureProvider),
        ("https://user:word@id.example.com", UsageError),
        ("https://", UsageError),
        ("nobody", UsageError),
    ],
)
def test_a_provider_is_spoken_to_over_tls_only(given: str, error: type[RedomaError]) -> None:
    with pytest.raises(error):
        chosen(given, client_id="x")


class Answers(http.server.BaseHTTPRequestHandler):
    """Answers every path as its server was told."""

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self._answer()

    def _answer(self) -> None:
        status, headers, body = self.server.says  # type: ignore[attr-defined]
        self.server.asked.append(self.path)  # type: ignore[attr-defined]
        self.send_response(status)
        for name, value in {**headers, "content-length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        return


class Server(http.server.ThreadingHTTPServer):
    """A provider of nobody's."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.asked: list[str] = []
        self.says: tuple[int, dict[str, str], bytes] = (200, {}, b"{}")

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def say(self, page: object) -> None:
        self.says = (200, {}, json.dumps(page).encode())


@contextmanager
def serving(context: ssl.SSLContext | None = None) -> Iterator[Server]:
    with Server() as server:
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def page(address: str, **more: object) -> dict[str, object]:
    endpoints = {f"{n}_endpoint": f"{address}/{n}" for n in ("authorization", "token")}
    return {"issuer": address, "jwks_uri": f"{address}/jwks", **endpoints, **more}


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"issuer": "https://other.example"}, AnswerMismatch),
        ({"issuer": None}, AnswerMismatch),
        ({"token_endpoint": "http://evil.example/token"}, InsecureProvider),
        ({"jwks_uri": "http://evil.example/keys"}, InsecureProvider),
        ({"code_challenge_methods_supported": ["plain"]}, LoginError),
        ({"token_endpoint": 5}, LoginError),
    ],
)
def test_a_page_that_speaks_of_another_or_of_no_tls_is_not_believed(
    connection: ProviderConnection, more: dict[str, object], error: type[RedomaError]
) -> None:
    with serving() as server:
        server.say(page(server.address, **more))
        with pytest.raises(error):
            discovered(chosen(server.address, client_id=CLIENT), connection)


def test_no_redirect_of_a_provider_is_followed(connection: ProviderConnection) -> None:
    with serving() as evil, serving() as server:
        server.says = (307, {"location": f"{evil.address}/token"}, b"")
        with pytest.raises(LoginError, match="leads elsewhere"):
            connection.post(f"{server.address}/token", {"refresh_token": "kept"})
        assert evil.asked == []


@pytest.mark.parametrize("body", [b"x" * (2 << 20), b"[]", b"no json", b""])
def test_an_answer_that_is_too_long_or_no_answer_is_an_error(
    connection: ProviderConnection, body: bytes
) -> None:
    with serving() as server:
        server.says = (200 if body else 500, {}, body)
        with pytest.raises(LoginError):
            connection.get(server.address)


def test_what_a_provider_says_cannot_act_on_a_terminal(connection: ProviderConnection) -> None:
    with serving() as server:
        server.says = (
            400,
            {},
            json.dumps({"error": "\x1b[2J", "error_description": "\x07"}).encode(),
        )
        with pytest.raises(ProviderRefused) as caught:
            connection.get(server.address)
        assert not {"\x1b", "\x07"} & set(str(caught.value))


def test_a_certificate_that_nobody_trusts_ends_the_login(
    connection: ProviderConnection, tmp_path: Path
) -> None:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = made.public_bytes(serialization.Encoding.PEM) + key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    (tmp_path / "pem").write_bytes(pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "pem")
    with serving(context) as server:
        port = server.server_address[1]
        with pytest.raises(LoginError, match="CERTIFICATE_VERIFY_FAILED"):
            connection.get(f"https://localhost:{port}/.well-known/openid-configuration")
        assert server.asked == []


def test_every_preset_is_spoken_to_over_tls_and_asks_for_a_client() -> None:
    for name in presets():
        made = chosen(name, client_id="mine", project="abc")
        urls = [v for k, v in vars_of(made).items() if "endpoint" in k or k == "issuer"]
        assert all(url.startswith("https://") for url in urls if url)
        with pytest.raises(UsageError, match="client id"):
            chosen(name, client_id="", project="abc")
    with pytest.raises(UsageError, match="each project"):
        chosen("supabase", client_id="mine", project="evil.example/")


def vars_of(provider: Provider) -> dict[str, str]:
    return {
        name: getattr(provider, name)
        for name in Provider._fields
        if isinstance(getattr(provider, name), str)
    }


def test_a_device_code_that_nobody_types_ends(connection: ProviderConnection) -> None:
    with serving() as server:
        server.say({"device_code": "d", "user_code": "u", "verification_uri": server.address})
        provider = Provider(
            name="p",
            client_id="c",
            token_endpoint=f"{server.address}/token",
            device_authorization_endpoint=f"{server.address}/device",
        )

        def wait(_page: str, _code: str) -> None:
            server.says = (400, {}, b'{"error": "authorization_pending"}')

        with pytest.raises(LoginTimedOut):
            flows.by_device(provider, connection, wait, seconds=0.3)
        server.say(
            {"device_code": "d", "user_code": "u", "verification_uri": "http://evil.example"}
        )
        with pytest.raises(InsecureProvider):
            flows.by_device(provider, connection, wait, seconds=0.3)
