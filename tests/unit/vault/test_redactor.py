"""Single promises of the redactor, each on a text that a person can read."""

from __future__ import annotations

import base64
import subprocess
import sys
from random import Random
from urllib.parse import quote

import pytest

from redoma.vault.exact import own_values
from redoma.vault.redactor import WITH_KIND, Found, Redactor
from tests.house.tree import PACKAGE
from tests.unit.vault.tokens import private_key, token

UNREADABLE = "[REDACTED: could not be read]"

CHANGED = {
    "DB_PASSWORD=hunter2 ./run": "DB_PASSWORD=[REDACTED] ./run",
    "PASSWORD='it'\"'\"'s' ./run": "PASSWORD=[REDACTED] ./run",
    'PASSWORD="a b\\"c d" ./run': 'PASSWORD="[REDACTED]" ./run',
    "PASSWORD=abc;b=c": "PASSWORD=[REDACTED];b=c",
    "PASSWORD=a(b)c ./run": "PASSWORD=a(b)c ./run".replace("a(b)c", "[REDACTED]"),
    "a=1&password=x%21y&b=2": "a=1&password=[REDACTED]&b=2",
    "--password hunter2 --user ana": "--password [REDACTED] --user ana",
    '{"password": "a, b", "n": 1}': '{"password": "[REDACTED]", "n": 1}',
    '"{\\"token\\": \\"abc123def456\\"}"': '"{\\"token\\": \\"[REDACTED]\\"}"',
    "postgres://ana:p@ss:w0rd@host/db": "postgres://ana:[REDACTED]@host/db",
    "Authorization: Basic YW5hOmh1bnRlcjI=": "Authorization: Basic [REDACTED]",
    'Authorization: Digest username="a", response="0f1e"': "Authorization: Digest [REDACTED]",
    "Cookie: a=b; c=d": "Cookie: [REDACTED]",
    "Set-Cookie: sid=abcdef; Path=/": "Set-Cookie: sid=[REDACTED]; Path=/",
    "AWS_SECRET_ACCESS_KEY=/K7MDENG+bPxRfiCYzzzzzzzz1234567890abcdef": (
        "AWS_SECRET_ACCESS_KEY=[REDACTED]"
    ),
    "password=" + "x1" * 100_000: "password=[REDACTED]",
    '{"token": "' + "x1" * 100_000 + '"}': '{"token": "[REDACTED]"}',
}


@pytest.mark.requirement("S11")
@pytest.mark.parametrize("text", CHANGED, ids=lambda text: str(text)[:40])
def test_the_secret_goes_and_all_else_stays(text: str) -> None:
    assert Redactor().text(text) == CHANGED[text]


def test_the_kind_of_secret_can_be_shown() -> None:
    value = token(Random(1), "github-token")
    redactor = Redactor(replacement=WITH_KIND)
    assert redactor.text(f"push with {value}") == "push with [REDACTED:github-token]"


def test_what_is_found_is_told_by_kind_and_line_and_never_by_value() -> None:
    key, _ = private_key(Random(1), "RSA PRIVATE KEY", lines=3)
    text = f"first\nPASSWORD=hunter2\n{key}\nlogin --password hunter2\n"
    assert Redactor().found(text) == (
        Found(kind="password", line=2),
        Found(kind="private-key", line=4),
        Found(kind="password", line=9),
    )


def test_of_a_private_key_the_frame_is_left() -> None:
    key, _ = private_key(Random(1), "OPENSSH PRIVATE KEY")
    assert Redactor().text(f"$ cat key\n{key}\n$ ") == (
        "$ cat key\n-----BEGIN OPENSSH PRIVATE KEY-----\n[REDACTED]\n"
        "-----END OPENSSH PRIVATE KEY-----\n$ "
    )


def test_a_private_key_that_is_cut_short_is_redacted_and_what_follows_it_is_not() -> None:
    key, body = private_key(Random(1), "RSA PRIVATE KEY")
    text = "\n".join(key.split("\n")[:5]) + "\nmake: *** [all] Error 2\n"
    redacted = Redactor().text(text)
    assert redacted == "-----BEGIN RSA PRIVATE KEY-----\n[REDACTED]\nmake: *** [all] Error 2\n"
    assert not any(line in redacted for line in body)


def test_bytes_that_are_no_text_come_through_as_they_are() -> None:
    data = bytes(range(256)) * 4
    assert Redactor().data(data) == data
    assert (
        Redactor().data(b"\xff\xfe PASSWORD=hunter2 \x80") == b"\xff\xfe PASSWORD=[REDACTED] \x80"
    )


OWN = "p&ss 'w\"rd/+é"


@pytest.mark.parametrize(
    "shown",
    [
        OWN,
        quote(OWN, safe=""),
        base64.b64encode(OWN.encode()).decode(),
        OWN.encode().hex(),
        "p&ss 'w\\\"rd/+\\u00e9",
        "p&ss '\"'\"'w\"rd/+é",
        "p\\&ss\\ \\'w\\\"rd/+é",
    ],
)
def test_a_value_of_the_callers_own_is_found_in_every_dress(shown: str) -> None:
    redacted = Redactor([OWN]).text(f"<{shown}>")
    assert "[REDACTED]" in redacted
    assert shown not in redacted


@pytest.mark.parametrize("before", ["", "a", "an", "ana"])
def test_a_password_is_found_in_the_base64_of_what_it_is_part_of(before: str) -> None:
    encoded = base64.b64encode(f"{before}:correct-horse:x".encode()).decode()
    redacted = Redactor(["correct-horse"]).text(f"sent {encoded} to the host")
    assert "[REDACTED]" in redacted
    assert encoded[6:20] not in redacted


def test_a_value_of_many_lines_is_found_by_its_lines() -> None:
    key, body = private_key(Random(1), "PRIVATE KEY", lines=3)
    redacted = Redactor([key]).text(f"second line: {body[1]}")
    assert redacted == "second line: [REDACTED]"


def test_the_callers_own_secrets_are_the_values_of_names_that_tell() -> None:
    environ = {
        "HOME": "/home/ana",
        "SSH_AUTH_SOCK": "/tmp/agent.1",
        "KEYBOARD": "us-intl",
        "DB_PASSWORD": "correct-horse",
        "CI_TOKEN": "x7Gh22kQpz",
        "SHORT_TOKEN": "abc",
        "API_KEY": "$OTHER",
        "TOKEN_FILE": "/run/secrets/token",
        "DATABASE_URL": "postgres://ana:battery-staple@db/app",
        "HTTP_PROXY": "http://proxy:3128",
    }
    assert own_values(environ) == ("correct-horse", "x7Gh22kQpz", "battery-staple")


@pytest.mark.parametrize("broken", [None, 7, object()])
def test_what_cannot_be_read_is_never_shown(broken: object) -> None:
    assert Redactor().text(broken) == UNREADABLE  # type: ignore[arg-type]
    assert Redactor().data(broken) == UNREADABLE.encode()  # type: ignore[arg-type]


def test_after_a_failure_a_stream_says_so_once_and_nothing_more() -> None:
    stream = Redactor().stream()
    assert stream.feed(b"held back ") == b""
    assert stream.feed(None) == UNREADABLE.encode()  # type: ignore[arg-type]
    assert stream.feed(b"after\n") == b""
    assert stream.finish() == b""
    assert stream.failed


def test_ordinary_text_compiles_nothing_and_loads_nothing_heavy() -> None:
    code = (
        f"import sys; sys.path[:0] = [{str(PACKAGE.parent)!r}]\n"
        "from redoma.vault.redactor import Redactor\n"
        "from redoma.vault import shapes\n"
        "Redactor().text('git commit -m fix && make -j4 test > out.log')\n"
        "print(len(shapes._compiled), sorted({'typing', 'dataclasses', 'yaml', 'json', 'base64',"
        " 'redoma.vault.names', 'redoma.vault.exact', 'redoma.vault.key_blocks'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "0 []\n"
