"""Rules for requests and credentials are read strictly, and hold only where requests are read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from redoma.cli import in_flags
from redoma.egress import credentials, host_rules
from redoma.egress.credentials import CredentialHandler, header_value, read_all, starred
from redoma.egress.exchange import HttpRequest, HttpResponse, RequestBody
from redoma.egress.host_rules import held
from redoma.model.errors import UsageError
from redoma.model.grant import Secret
from redoma.model.network import REQUEST_NOT_GRANTED, Connection, Credential, HostRule, Reach
from redoma.model.value import replace

SECRET = "tok-5f2c81d09b7e"


@pytest.mark.parametrize(
    ("text", "changes"),
    {
        "GET api.test/repos/**": {"methods": ("GET",), "path": "/repos/**"},
        "GET,POST api.test": {"methods": ("GET", "POST")},
        "api.test/v1/*": {"path": "/v1/*"},
        "PUT api.test:8443/x": {"methods": ("PUT",), "path": "/x", "ports": (8443,)},
        "GET api.test:443/a=b=127.0.0.1:8443": {
            "methods": ("GET",),
            "path": "/a=b",
            "ports": (443,),
            "address": "127.0.0.1",
            "address_port": 8443,
        },
        "GET api.test=10.0.0.0/8": {"methods": ("GET",), "inside": "10.0.0.0/8"},
    }.items(),
)
def test_a_rule_for_requests_is_read_as_it_is_meant(text: str, changes: dict[str, object]) -> None:
    assert host_rules.read_host(text) == replace(HostRule(text=text, host="api.test"), **changes)


@pytest.mark.parametrize(
    "text",
    [
        "get api.test/x",
        "GET https://api.test/x",
        "https://api.test/x",
        "GET api.test/x?y=1",
        "GET api.test/a/../b",
        "GET api.test//b",
        "GET api.test/a**",
        "GET api.test/**/**/**/**",
        "GET localhost:80/x",
        "GET 192.0.2.1/x",
        "GET *.com/x",
        "GET /x",
    ],
)
def test_a_rule_that_cannot_be_meant_is_an_error(text: str) -> None:
    with pytest.raises(UsageError):
        host_rules.read_host(text)


def test_a_rule_for_requests_needs_someone_who_reads_them() -> None:
    reach = host_rules.read(["GET api.test/x"])
    with pytest.raises(UsageError) as error:
        held(reach)
    assert in_flags(error.value).hint == "--inspect, or network.inspect: true in your sandbox.yaml"
    held(replace(reach, inspect=True))
    with pytest.raises(UsageError):
        held(Reach(credentials=(credentials.read("api.test=TOKEN"),)))


def test_a_refused_request_says_what_to_grant() -> None:
    asked = Connection(
        allowed=False,
        kind="https",
        name="api.test",
        port=443,
        why=REQUEST_NOT_GRANTED,
        method="POST",
        path="/x/y?z=…",
    )
    assert asked.grant == "POST api.test/x/y"
    assert replace(asked, port=8443).grant == "POST api.test:8443/x/y"
    assert replace(asked, path="/x/*").grant == ""


@pytest.mark.parametrize(
    ("text", "made"),
    {
        "api.test=TOKEN": {"variable": "TOKEN"},
        "api.test:8443=vault:work": {"port": 8443, "secret": "work"},
        "API.test=bearer:TOKEN": {"variable": "TOKEN"},
        "api.test=basic:vault:git": {"form": "basic", "secret": "git"},
        "api.test=X-Api-Key:KEY": {"header": "x-api-key", "form": "plain", "variable": "KEY"},
    }.items(),
)
def test_a_credential_is_read_as_it_is_meant(text: str, made: dict[str, object]) -> None:
    expected = replace(Credential(text=text, host="api.test"), **made)
    assert credentials.read(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "api.test",
        "=TOKEN",
        "*.api.test=TOKEN",
        "api.test=",
        "api.test=a b",
        "api.test=vault:",
        "api.test=Host:TOKEN",
        "api.test=Content-Length:TOKEN",
        "api.test:0=TOKEN",
        "192.0.2.1=TOKEN",
        "api.test=x:y:vault:z",
    ],
)
def test_a_credential_that_cannot_be_meant_is_an_error(text: str) -> None:
    with pytest.raises(UsageError):
        credentials.read(text)


def test_a_credential_is_for_a_host_that_is_granted() -> None:
    with pytest.raises(UsageError) as error:
        read_all(["api.test=TOKEN"], ["b.test"])
    assert error.value.hint == "allow_hosts=[…] gives hosts"
    flag = in_flags(error.value).hint
    assert flag == "--allow-host api.test"
    assert len(read_all(["a.b.test=TOKEN"], ["*.b.test"])) == 1


@pytest.mark.parametrize(
    ("form", "secret", "value"),
    [
        ("bearer", SECRET, b"Bearer " + SECRET.encode()),
        ("basic", "me:pass", b"Basic bWU6cGFzcw=="),
        ("plain", SECRET, SECRET.encode()),
    ],
)
def test_a_secret_is_sent_in_its_form(form: str, secret: str, value: bytes) -> None:
    one = Credential(text="", host="api.test", form=form)
    assert header_value(one, Secret(secret)) == value


@pytest.mark.parametrize("secret", ["", "a\r\nX: y", "ä"])
def test_a_secret_that_would_break_a_header_is_not_sent(secret: str) -> None:
    with pytest.raises(UsageError) as error:
        header_value(Credential(text="", host="api.test"), Secret(secret))
    assert secret not in str(error.value) or not secret


async def _pieces(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


async def _nothing(*_: object) -> None:
    return


def exchanged(scheme: str, host: str, port: int, *parts: bytes) -> tuple[list[HttpRequest], bytes]:
    """What a host is asked, and what comes back of its answer."""
    known = ((credentials.read("api.test=TOKEN"), Secret(SECRET)),)
    asked: list[HttpRequest] = []

    async def forward(request: HttpRequest) -> HttpResponse:
        asked.append(request)
        return HttpResponse(status=200, headers=((b"x", SECRET.encode()),), body=_pieces(*parts))

    async def go() -> bytes:
        request = HttpRequest(
            method="GET",
            scheme=scheme,
            host=host,
            port=port,
            target="/",
            headers=((b"authorization", b"mine"), (b"accept-encoding", b"gzip")),
            body=RequestBody(_pieces(), _nothing, empty=True),
            inform=_nothing,
        )
        response = await CredentialHandler(known).handle(request, forward)
        assert not isinstance(response.body, bytes)
        return (response.header(b"x") or b"") + b"".join([p async for p in response.body])

    return asked, asyncio.run(go())


def test_a_secret_is_added_for_its_host_and_taken_out_of_what_comes_back() -> None:
    asked, back = exchanged("https", "api.test", 443, b"a tok-5f2c", b"81d0", b"9b7e z")
    assert asked[0].headers == (
        (b"authorization", f"Bearer {SECRET}".encode()),
        (b"accept-encoding", b"identity"),
    )
    assert back == b"*" * 16 + b"a " + b"*" * 16 + b" z"


@pytest.mark.parametrize(
    "place",
    [
        ("http", "api.test", 443),
        ("https", "b.test", 443),
        ("https", "x.api.test", 443),
        ("https", "api.test", 8443),
    ],
)
def test_a_secret_is_added_for_no_other_place(place: tuple[str, str, int]) -> None:
    asked, _ = exchanged(*place, b"x")
    assert asked[0].headers[0] == (b"authorization", b"mine")


def test_stars_keep_lengths() -> None:
    assert starred(b"a secret b", (b"secret",)) == b"a ****** b"
