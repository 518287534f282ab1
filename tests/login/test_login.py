"""A person logs in at a real provider, and a token that is good now is always there after that."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from redoma.egress.credentials import read_all
from redoma.login import flows
from redoma.login.errors import LoginError, NotLoggedIn
from redoma.login.provider import Provider
from redoma.login.token_store import KeptLogin
from redoma.login.transport import ProviderConnection
from redoma.model.errors import NoKeychain
from redoma.model.value import replace
from redoma.pipeline.logins import LoginRequest, access_token, log_in, log_out, token_store
from redoma.pipeline.secrets import secrets_of
from tests.login.openid import CLIENT, Browser, Form, callback_of, provider

pytestmark = pytest.mark.requirement("S10")
ROOT = Path(__file__).resolve().parents[2]
SCOPES = ("openid", "offline_access")


def browsing(url: str) -> None:
    """A browser beside us, as a person's own is."""
    threading.Thread(target=lambda: Browser().comes_back(url), daemon=True).start()


def nobody(*_: str) -> None:
    raise AssertionError("nobody is asked here")


def logged_in(issuer: str, **more: object) -> KeptLogin:
    request = LoginRequest(
        provider=issuer, client_id=CLIENT, scopes=SCOPES, name="here", tokens="vault"
    )
    return log_in(replace(request, **more), open_page=browsing, show_code=nobody, seconds=30)


def plain_texts(place: Path, *tokens: str) -> list[str]:
    """Every file that has one of these in plaintext."""
    files = [path for path in place.rglob("*") if path.is_file()]
    return [str(f) for f in files for token in tokens if token.encode() in f.read_bytes()]


def test_a_login_brings_a_token_that_the_vault_keeps_sealed(home: Path, issuer: str) -> None:
    made = logged_in(issuer)
    token = access_token("here")
    tokens = token_store().tokens(made)
    assert (tokens.subject, tokens.scope) == ("ada", "openid offline_access")
    assert tokens.refresh is not None
    assert plain_texts(home, token.reveal(), tokens.refresh.reveal()) == []
    assert [each.provider.name for each in token_store().logins()] == ["here"]


def test_tokens_go_to_the_keychain_where_nothing_else_is_said(
    home: Path, issuer: str, keychain: dict[tuple[str, str], str]
) -> None:
    logged_in(issuer, tokens="keychain")
    kept = json.loads(keychain["redoma login", "here"])
    assert kept["access"] == access_token("here").reveal()
    assert plain_texts(home, kept["access"], kept["refresh"]) == []


def test_without_a_keychain_nobody_is_sent_to_a_provider(
    home: Path, issuer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    request = LoginRequest(provider=issuer, client_id=CLIENT)
    with pytest.raises(NoKeychain):
        log_in(request, open_page=nobody, show_code=nobody)
    assert token_store().logins() == ()


def test_a_token_whose_time_is_over_is_renewed_when_it_is_used(home: Path, issuer: str) -> None:
    made = logged_in(issuer)
    store = token_store()
    before = store.tokens(made)
    assert access_token("here").reveal() == before.access.reveal()
    store.keep(made, replace(before, expires_at=time.time() + 5))
    now = access_token("here").reveal()
    after = store.tokens(made)
    assert now == after.access.reveal() != before.access.reveal()
    assert after.subject == "ada"
    assert before.refresh is not None
    assert after.refresh is not None
    assert after.refresh.reveal() != before.refresh.reveal()  # it was good for one use


def test_several_who_renew_at_once_use_one_refresh_token_once(home: Path, issuer: str) -> None:
    made = logged_in(issuer)
    store = token_store()
    store.keep(made, replace(store.tokens(made), expires_at=0.0))
    with ThreadPoolExecutor(6) as several:
        found = {token.reveal() for token in several.map(lambda _: access_token("here"), range(6))}
    assert len(found) == 1


def test_a_login_that_the_provider_does_not_renew_is_over(home: Path, issuer: str) -> None:
    made = logged_in(issuer)
    store = token_store()
    tokens = store.tokens(made)
    with ProviderConnection() as connection:
        flows.revoked(tokens, made.provider, connection)
    store.keep(made, replace(tokens, expires_at=0.0))
    with pytest.raises(NotLoggedIn) as caught:
        access_token("here")
    assert caught.value.hint == "redoma login here"
    store.keep(made, replace(tokens, expires_at=0.0, refresh=None))
    with pytest.raises(NotLoggedIn, match="is over"):
        access_token("here")


def test_who_logs_out_has_no_token_any_more_and_the_provider_knows(home: Path, issuer: str) -> None:
    made = logged_in(issuer)
    tokens = token_store().tokens(made)
    assert log_out("here") is True
    assert token_store().logins() == ()
    with pytest.raises(NotLoggedIn):
        access_token("here")
    with ProviderConnection() as connection, pytest.raises(LoginError):
        flows.renewed(tokens, made.provider, connection)
    with pytest.raises(NotLoggedIn):
        log_out("here")


def test_a_provider_that_is_gone_does_not_keep_anybody_logged_in(home: Path) -> None:
    with provider() as address:
        logged_in(address)
    assert log_out("here") is False
    assert token_store().logins() == ()


def test_the_gate_takes_the_token_of_a_login(home: Path, issuer: str) -> None:
    logged_in(issuer)
    (credential,) = read_all(["api.example.com=login:here"], ["api.example.com"])
    assert (credential.login, credential.secret, credential.variable) == ("here", "", "")
    (secret,) = secrets_of([credential])
    assert secret.reveal() == access_token("here").reveal()
    with pytest.raises(NotLoggedIn):
        secrets_of(read_all(["api.example.com=login:nobody"], ["api.example.com"]))


def type_code(page: str, code: str) -> None:
    """A person at another machine: opens the page, types the code, logs in, agrees."""
    browser = Browser("grace")

    def go() -> None:
        answer = browser.client.get(page)
        form = Form(answer.text)
        typed = {**form.fields, "user_code": code}
        browser.walk(browser.client.post(form.action, data=typed), "nowhere")

    threading.Thread(target=go, daemon=True).start()


def test_a_code_that_is_typed_elsewhere_logs_in_too(
    known: Provider, connection: ProviderConnection
) -> None:
    tokens = flows.by_device(known, connection, type_code, seconds=40)
    assert tokens.subject == "grace"
    assert tokens.access.reveal()


BROWSER = """#!{python}
import sys
sys.path[:0] = {paths!r}
from tests.login.openid import Browser
Browser().comes_back(sys.argv[1])
"""


def redoma(home: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    usual = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "XDG_STATE_HOME": str(home / "state"),
        "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), *sys.path)),
        "REDOMA_LOG": "DEBUG",
    }
    return subprocess.run(
        [sys.executable, "-m", "redoma", *words],
        env={**usual, **env},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )


def test_the_command_line_logs_in_lists_and_logs_out_without_showing_a_token(
    home: Path, issuer: str
) -> None:
    script = home / "browser"
    script.write_text(BROWSER.format(python=sys.executable, paths=[str(ROOT), *sys.path]))
    script.chmod(0o700)
    made = redoma(
        home,
        *("login", issuer, "--client-id", CLIENT, "--tokens", "vault", "--name", "here"),
        *("--scope", "openid", "--scope", "offline_access"),
        BROWSER=f"{script} %s",
    )
    assert (made.returncode, made.stdout) == (
        0,
        "logged in at here; its tokens are in the vault\n",
    ), made.stderr
    listed = redoma(home, "login", "--list", "--json")
    assert json.loads(listed.stdout) == {
        "logins": [{"name": "here", "issuer": issuer, "tokens": "vault"}]
    }
    token = access_token("here").reveal()
    out = redoma(home, "logout", "here")
    assert (out.returncode, out.stdout) == (0, "logged out at here\n"), out.stderr
    said = "".join(each.stdout + each.stderr for each in (made, listed, out))
    assert token not in said
    assert plain_texts(home, token) == []
    none = redoma(home, "login", "--list")
    assert (none.stdout, none.stderr.splitlines()[-1]) == ("", "you are logged in nowhere")


def test_a_browser_that_does_not_come_back_is_not_waited_for_for_ever(
    known: Provider, connection: ProviderConnection
) -> None:
    began = time.monotonic()
    with pytest.raises(LoginError) as caught:
        flows.by_code(known, connection, lambda _url: None, seconds=0.3)
    assert (caught.value.code, caught.value.exit_status) == ("login-timed-out", 124)
    assert time.monotonic() - began < 5


def test_each_login_has_a_port_state_nonce_and_verifier_of_its_own(
    known: Provider, connection: ProviderConnection
) -> None:
    seen: list[str] = []
    for _ in range(3):
        with pytest.raises(LoginError):
            flows.by_code(known, connection, seen.append, seconds=0.05)
    assert len({callback_of(url) for url in seen}) == 3
    for name in ("state", "nonce", "code_challenge"):
        values = {url.partition(f"&{name}=")[2].partition("&")[0] for url in seen}
        assert len(values) == 3
        assert all(len(value) >= 43 for value in values)
    assert all("code_challenge_method=S256" in url for url in seen)
