"""A file of mocks is read strictly: what it says is answered, what it cannot say names its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from redoma.cli.run import RUN
from redoma.egress.exchange import USUAL, answer_to, shown
from redoma.egress.host_rules import read as read_hosts
from redoma.model.errors import PolicySyntax, UsageError
from redoma.model.network import MockedAnswer, Reach
from redoma.pipeline.mocks import mocking, read_mocks

pytestmark = pytest.mark.requirement("K5")


def written(place: Path, text: str) -> str:
    path = place / "mocks.yaml"
    path.write_text(text)
    return str(path)


def test_every_key_says_something(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
- method: post
  host: API.example.com
  path: /v1/items/*
  status: 201
  headers: {Location: /v1/items/7}
  body: {id: 7, names: [a, b]}
- host: "*.example.org"
  body: plain text
- status: 404
""",
    )
    assert read_mocks(path) == (
        MockedAnswer(
            method="POST",
            host="api.example.com",
            path="/v1/items/*",
            status=201,
            headers=(("Location", "/v1/items/7"), ("content-type", "application/json")),
            body=b'{"id": 7, "names": ["a", "b"]}\n',
        ),
        MockedAnswer(host="*.example.org", body=b"plain text"),
        MockedAnswer(status=404),
    )


@pytest.mark.parametrize(
    ("text", "said"),
    {
        "a: 1": "mocks are a list of answers",
        "- 1": ":1:3: an answer is keys with values",
        "- hosts: a.test": ":1:3: unknown key 'hosts'",
        "- status: 101": ":1:11: a status is a number from 200 to 599",
        "- status: true": ":1:11: a status is a number from 200 to 599",
        "- host: a b": ":1:9: 'a b' is no host",
        "- path: x": ":1:9: a path starts with /",
        "- method: GET /": ":1:11: 'GET /' is no method",
        "- headers: [a]": ":1:12: headers are names with values",
        "- headers: {Content-Length: 3}": "Content-Length is set by the mock itself",
        '- headers: {X: "a\\r\\nb"}': "the value of X is not plain ASCII",
        "- host: a.test\n  host: b.test": ":2:3: host is given twice",
        "- body: !!python/object:os.system {}": "this is no plain value",
        "- [": "expected the node content",
        "- body: &a [*a]": ":1:9: an alias is not used here",
        "- body: {a: &a [1, 2], b: *a}": "an alias is not used here",
        "- body: " + "[" * 40 + "]" * 40: "this lies too deep",
        "- body: " + "[" * 5000 + "]" * 5000: "this lies too deep",
        "- body: 2020-01-01": "this body has no form in JSON or in UTF-8",
        '- body: "\\ud800"': "this body has no form in JSON or in UTF-8",
    }.items(),
)
def test_what_cannot_be_read_names_its_place(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(PolicySyntax) as error:
        read_mocks(written(tmp_path, text))
    assert said in str(error.value)


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        read_mocks(str(tmp_path / "none.yaml"))


def test_the_first_answer_that_fits_counts() -> None:
    answers = (
        MockedAnswer(method="GET", host="a.test", path="/x/**", status=201),
        MockedAnswer(host="*.b.test", status=202),
    )

    def status(method: str, host: str, target: str) -> int:
        return answer_to(answers, method, host, target).status

    assert status("GET", "a.test", "/x/y/z?q=1") == 201
    assert status("PUT", "a.test", "/x/y") == status("GET", "b.test", "/") == USUAL.status
    assert status("PUT", "c.b.test", "/") == 202


def test_what_may_be_a_secret_is_noted_by_name_only() -> None:
    headers = ((b"authorization", b"Bearer x"), (b"accept", b"*/*"), (b"x-api-key", b"k"))
    assert shown(headers) == (("authorization", "…"), ("accept", "*/*"), ("x-api-key", "…"))


def test_a_mock_takes_the_place_of_every_host_that_was_granted(tmp_path: Path) -> None:
    path = written(tmp_path, "- status: 404\n")
    granted = read_hosts(["a.test"], publish=[8000])
    mocks = (MockedAnswer(status=404),)
    assert mocking(granted, mock=path) == Reach(mock=True, mocks=mocks, publish=(8000,))
    assert mocking(granted, mock=True) == Reach(mock=True, publish=(8000,))


def test_a_command_line_asks_for_a_mock_with_or_without_a_file() -> None:
    plain, filed = RUN.read(["--mock", "x"]), RUN.read(["--mock=m.yaml", "x"])
    assert ("--mock" in plain.flags, plain.values, plain.command) == (True, {}, "x")
    assert (filed.values, filed.command) == ({"--mock": "m.yaml"}, "x")
