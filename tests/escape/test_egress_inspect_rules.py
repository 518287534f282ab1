"""Rules by method and path, and credentials: held for every request, whatever a command tries."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from redoma.egress.credentials import read_all
from redoma.model.errors import UsageError
from redoma.model.network import IN_THE_CLEAR, MANY_READINGS, REQUEST_NOT_GRANTED
from tests.escape.gated import PRELUDE, PYTHON, behind_a_gate, refusals, run, said, workspace
from tests.escape.reading import Host, inspected, reading, requests_of, trusted_host

pytestmark = pytest.mark.both_users
TOKEN = "tok-5f2c81d09b7e-inspected"
RAW = """
def ask(path, method="GET", host="a.test", more=""):
    head = f"{method} {path} HTTP/1.1\\r\\nHost: {host}\\r\\nConnection: close\\r\\n{more}\\r\\n"
    return said(opened("a.test", 443), head.encode("latin-1"))
"""


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    with trusted_host(tmp_path, "a.test") as made:
        yield made


def pin(host: Host) -> str:
    return f"=127.0.0.1:{host.port}"


@pytest.mark.requirement("K8")
def test_only_requests_that_a_rule_names_reach_the_host(host: Host) -> None:
    script = """
print(get("https://a.test/repos/one?page=2"))
print(get("https://a.test/user"))
print(urllib.request.urlopen("https://a.test/repos/one/issues", data=b"new").read())
try:
    urllib.request.urlopen("https://a.test/repos/one", data=b"x")
except urllib.error.HTTPError as e:
    print(e.code, e.read())
"""
    rules = ("GET a.test:443/repos/**", "POST a.test:443/repos/*/issues")
    result = reading(script, *(rule + pin(host) for rule in rules))
    user = "redoma: GET a.test:443/user: this request is not granted; "
    post = "redoma: POST a.test:443/repos/one: this request is not granted; "
    assert said(result) == [
        "(200, 'GET /repos/one?page=2')",
        f"(403, '{user}it needs a grant of GET a.test/user\\n')",
        "b'new'",
        f"403 b'{post}it needs a grant of POST a.test/repos/one\\n'",
    ]
    assert host.lines == ["GET /repos/one?page=2 HTTP/1.1", "POST /repos/one/issues HTTP/1.1"]
    assert requests_of(result)[2:] == [
        ("GET", "a.test:443", "/user", 403),
        ("POST", "a.test:443", "/repos/one", 403),
    ]
    assert refusals(result) == {"a.test:443": REQUEST_NOT_GRANTED}


def test_no_way_to_write_a_path_leads_past_its_rule(host: Host) -> None:
    tricks = [
        "/repos/../user",
        "/repos/%2e%2e/user",
        "/repos/..%2fuser",
        "/repos/..%5cuser",
        "/repos/%252e%252e/user",
        "/repos/..;/user",
        "//user",
        "/repos//../../user",
        "/REPOS/../user",
        "/repos/..\\\\user",
        "https://a.test/user",
        "https://a.test/repos/../user",
    ]
    script = (
        RAW
        + f"""
for path in {tricks!r}:
    print(ask(path)[9:12].decode(), end=" ")
print(ask("/repos/fine")[9:12].decode())
"""
    )
    result = reading(script, f"GET a.test:443/repos/**{pin(host)}")
    assert said(result) == ["403 " * len(tricks) + "200"]
    assert host.lines == ["GET /repos/fine HTTP/1.1"]
    whys = {call.why for call in result.network_calls or () if not call.allowed}
    assert whys == {MANY_READINGS, REQUEST_NOT_GRANTED}


def test_a_forbidden_request_behind_a_granted_one_does_not_pass(host: Host) -> None:
    script = """
r = lambda line, more="", body="": f"{line} HTTP/1.1\\r\\nHost: a.test\\r\\n{more}\\r\\n{body}".encode()
inner = r("GET /user").decode()
for data in (
    r("GET /repos/1") + r("GET /user") + r("GET /repos/2"),
    r("POST /repos/1", f"Content-Length: {len(inner)}\\r\\n", inner),
    r("POST /repos/1", "Transfer-Encoding: chunked\\r\\n", f"{len(inner):x}\\r\\n{inner}\\r\\n0\\r\\n\\r\\n") + r("GET /user"),
    r("POST /repos/1", "Content-Length: 0\\r\\n", inner),
):
    answers = said(opened("a.test", 443), data)
    print([answers[at + 9 : at + 12].decode() for at in range(len(answers)) if answers.startswith(b"HTTP/1.1 ", at)])
"""
    script = script.replace("said(opened(", "ended(opened(")
    ending = """
def ended(stream, data):
    stream.settimeout(1); return said(stream, data)
"""
    result = reading(ending + script, f"GET,POST a.test:443/repos/**{pin(host)}")
    assert said(result) == ["['200', '403']", "['200']", "['200', '403']", "['200', '403']"]
    assert host.lines == [
        "GET /repos/1 HTTP/1.1",
        "POST /repos/1 HTTP/1.1",
        "POST /repos/1 HTTP/1.1",
        "POST /repos/1 HTTP/1.1",
    ]


def test_without_reading_requests_a_rule_for_them_is_refused() -> None:
    with pytest.raises(UsageError, match="grants some requests only"):
        behind_a_gate("", "GET a.test/x")


def test_a_credential_reaches_its_host_and_never_the_command(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_TOKEN", TOKEN)
    plain = Host()
    script = (
        RAW
        + """
print(status(ask("/x", more="Authorization: mine\\r\\nauthorization: twice\\r\\n"))[0])
print("tok-" in ask("/echo").decode(), "****" in ask("/echo").decode())
print(get("http://a.test/x")[0])
found = []
for root in ("/proc/self/environ", "/proc/self/cmdline", "/proc/1/environ", "/proc/1/cmdline"):
    try:
        found.append(b"5f2c81d09b7e" in open(root, "rb").read())
    except OSError:
        found.append(False)
print(found, any("5f2c81d09b7e" in v for v in os.environ.values()))
try:
    urllib.request.urlopen("https://a.test/elsewhere")
except OSError as e:
    print(type(e).__name__)
"""
    )
    rules = (f"a.test:443{pin(host)}", f"a.test:80=127.0.0.1:{plain.port}")
    credentials = read_all(["a.test=A_TOKEN"], ["a.test"])
    result = reading(script, reach=inspected(*rules, credentials=credentials))
    plain.close()
    assert said(result) == [
        "HTTP/1.1 200 OK",
        "False True",
        "403",
        "[False, False, False, False] False",
        "URLError",
    ]
    assert {each.headers["authorization"] for each in host.asked} == {f"Bearer {TOKEN}"}
    assert plain.asked == []
    assert refusals(result)["a.test:80"] == IN_THE_CLEAR
    told = f"{result!r}"
    assert TOKEN not in told


def test_a_host_that_packs_what_it_says_back_gives_no_credential_away(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_TOKEN", TOKEN)
    script = (
        RAW
        + """
heard = ask("/packed", more="Accept-Encoding: gzip\\r\\n")
print(heard.count(b"HTTP/1.1 103"), b"authorization: bearer ****" in heard.lower(), b"tok-" in heard)
"""
    )
    credentials = read_all(["a.test=A_TOKEN"], ["a.test"])
    reach = inspected(f"a.test:443{pin(host)}", credentials=credentials)
    assert said(reading(script, reach=reach)) == ["1 True False"]
    assert [each.headers["authorization"] for each in host.asked] == [f"Bearer {TOKEN}"]


def test_no_header_makes_another_request_of_one_that_is_granted(host: Host) -> None:
    script = (
        RAW
        + """
for more in ("", "X-HTTP-Method-Override: DELETE", "X-Original-URL: /admin", "X_Rewrite_Url: /a"):
    print(status(ask("/repos/x", more=more and more + "\\r\\n"))[0])
"""
    )
    result = reading(script, reach=inspected(f"GET a.test:443/repos/**{pin(host)}"))
    assert said(result) == ["HTTP/1.1 200 OK", *["HTTP/1.1 403 Forbidden"] * 3]
    assert host.lines == ["GET /repos/x HTTP/1.1"]


def test_a_credential_is_not_given_to_a_host_that_cannot_be_trusted(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_TOKEN", TOKEN)
    monkeypatch.delenv("SSL_CERT_FILE")
    credentials = read_all(["a.test=A_TOKEN"], ["a.test"])
    reach = inspected(f"a.test:443{pin(host)}", credentials=credentials)
    result = reading('print(get("https://a.test/x")[0])', reach=reach)
    assert (said(result), host.asked) == (["502"], [])


def test_the_key_of_the_authority_is_nowhere_inside() -> None:
    script = """
found = []
for top in ("/etc", "/tmp", "/run", "/dev/shm", "/var"):
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            try:
                if os.path.isfile(path) and b"PRIVATE KEY-----" in open(path, "rb").read(1 << 20):
                    found.append(path)
            except OSError:
                pass
print([p for p in found if p != os.path.abspath(__file__)])
print(sorted(os.listdir("/proc/self/fd"))[:-1], any("PRIVATE" in v for v in os.environ.values()))
own = os.environ["SSL_CERT_FILE"]
print("one run" in str(ssl.create_default_context().get_ca_certs()), "PRIVATE" in open(own).read())
try:
    open(own, "a"); print("written")
except OSError:
    print("not to be written")
"""
    assert said(reading(script, "a.test")) == [
        "[]",
        "['0', '1', '2'] False",
        "True False",
        "not to be written",
    ]


def test_the_authority_of_one_run_is_trusted_by_no_other_and_not_outside(
    host: Host, tmp_path: Path
) -> None:
    rule = f"a.test:443{pin(host)}"
    with workspace() as place:
        os.chmod(place, 0o777)
        keep = """
open("authority.pem", "w").write(open(os.environ["SSL_CERT_FILE"]).read())
"""
        (place / "script.py").write_text(PRELUDE + keep)
        run([PYTHON, "script.py"], place, reach=inspected(rule))
        check = """
c = ssl.create_default_context(cafile="authority.pem")
try:
    c.wrap_socket(socket.create_connection(("a.test", 443)), server_hostname="a.test")
    print("trusted")
except ssl.SSLCertVerificationError:
    print("not trusted")
"""
        (place / "script.py").write_text(PRELUDE + check)
        assert said(run([PYTHON, "script.py"], place, reach=inspected(rule))) == ["not trusted"]
        own = (place / "authority.pem").read_text().split("-----BEGIN CERTIFICATE-----")[-1]
    bundle = Path("/etc/ssl/certs/ca-certificates.crt")
    assert not bundle.exists() or own.strip() not in bundle.read_text()
