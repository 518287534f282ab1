"""A path is granted only where everything it may be read as is granted."""

from __future__ import annotations

import pytest

from redoma.egress.request_paths import granting, matches, overridden, readings, shown
from redoma.model.network import MANY_READINGS, REQUEST_NOT_GRANTED, SMALL_METHOD, HostRule

REPOS = HostRule(text="r", host="a.test", methods=("GET",), path="/repos/**")
ISSUES = HostRule(text="i", host="a.test", methods=("POST",), path="/repos/*/*/issues")
ANY_PATH = HostRule(text="d", host="a.test", methods=("DELETE",))


@pytest.mark.parametrize(
    ("method", "target", "rule"),
    [
        ("GET", "/repos/one/two?page=2", REPOS),
        ("HEAD", "/repos/one", REPOS),
        ("GET", "/repos", REPOS),
        ("GET", "/rep%6fs/x", REPOS),
        ("GET", "/repos/a%2Fb", REPOS),
        ("GET", "/repos/x/../y", REPOS),
        ("POST", "/repos/one/two/issues", ISSUES),
        ("DELETE", "/whatever/../it", ANY_PATH),
    ],
)
def test_what_a_rule_names_is_granted(method: str, target: str, rule: HostRule) -> None:
    assert granting((REPOS, ISSUES, ANY_PATH), method, target) == (rule, "")


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("POST", "/repos/one/two"),
        ("get", "/repos/one"),
        ("GET", "/user"),
        ("GET", "/REPOS/one"),
        ("GET", "/reposx"),
        ("GET", "*"),
        ("POST", "/repos/one/two/issues/4"),
        ("POST", "/repos/one/issues"),
    ],
)
def test_what_no_rule_names_is_not(method: str, target: str) -> None:
    found = granting((REPOS, ISSUES), method, target)
    assert (found[0], found[1] in (REQUEST_NOT_GRANTED, MANY_READINGS, SMALL_METHOD)) == (
        None,
        True,
    )


@pytest.mark.parametrize(
    "target",
    [
        "/repos/../user",
        "/repos/%2e%2e/user",
        "/repos/%2E./user",
        "/repos/..%2fuser",
        "/repos/..%5Cuser",
        "/repos/..\\user",
        "/repos/%252e%252e/user",
        "/repos/..%252fuser",
        "/repos/..;x=1/user",
        "/repos/x;/../../user",
        "//user/../repos/x",
        "/repos/x/..//..//user",
        "/repos/%00",
        "/repos/%25252525252e",
        "/repos/..",
        "/./user",
        # Two servers in a row, the first of which does not decode.
        "/repos/a%2fb/../..%2fuser",
        "/repos/a%252fb/..%2f..%252fuser",
        "/repos/a%5cb/../..%5cuser",
        # Forms of a dot and a slash that only some decode.
        "/repos/%u002e%u002e/user",
        "/repos/%c0%ae%c0%ae/user",
        "/repos/%25c0%25ae/user",
        "/repos/%e0%80%ae%e0%80%ae/user",
        "/repos/%",
    ],
)
def test_a_path_that_leads_elsewhere_for_some_reader_is_refused(target: str) -> None:
    assert granting((REPOS,), "GET", target)[0] is None


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("/a/*", "/a/b", True),
        ("/a/*", "/a/b/c", False),
        ("/a/*.json", "/a/b.json", True),
        ("/a/**/z", "/a/z", True),
        ("/a/**/z", "/a/b/c/z", True),
        ("/a/**/z", "/a/b/c/zz", False),
        ("/a", "/a/", False),
        ("/a.b", "/aXb", False),
        ("/**", "/", True),
    ],
)
def test_a_star_is_one_part_and_two_are_any_number(pattern: str, path: str, expected: bool) -> None:
    assert matches(pattern, path) is expected


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("/**/a/**/a/**/b", "/a" * 2000),
        ("/x/" + "*a" * 20 + "*b", "/x/" + "a" * 4000),
        ("/**/*a*a*a*/**/*a*a*a*b", "/aaaaaaaaa" * 400),
    ],
)
def test_no_path_takes_longer_to_compare_than_it_is_long(pattern: str, path: str) -> None:
    # What goes back over it again and again would take hours, and hold up the whole run.
    assert not matches(pattern, path)


def test_a_path_with_more_readings_than_anybody_means_is_refused() -> None:
    assert readings("/..%2f//%253by//%3b\\%5c%3b//\\/..//\\\\;\\.") == ()


@pytest.mark.parametrize(
    "name", [b"x-http-method-override", b"x-original-url", b"x_rewrite_url", b"x_http_method"]
)
def test_a_header_that_names_another_request_is_seen(name: bytes) -> None:
    assert overridden([(b"host", b"a.test"), (name, b"DELETE")])
    assert not overridden([(b"host", b"a.test"), (b"x-request-id", b"1")])


def test_a_plain_path_has_one_reading() -> None:
    assert readings("/repos/one") == ("/repos/one",)


def test_values_of_a_query_are_not_shown() -> None:
    assert shown("/x/y?token=abc&page=2&flag") == "/x/y?token=…&page=…&…"
    assert shown("/x/y") == "/x/y"
