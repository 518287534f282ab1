"""The Public Suffix List, looked for in its text, answers as its own rules say."""

from __future__ import annotations

from pathlib import Path

import pytest

from redoma.egress import public_suffixes
from redoma.egress.public_suffixes import (
    has_public_suffix_below,
    is_public_suffix,
    registrable_domain,
)


def rules() -> list[str]:
    path = Path(public_suffixes.__file__).with_name("public_suffix_list.dat")
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("//")]


def in_ascii(name: str) -> str:
    return ".".join(label.encode("idna").decode() for label in name.split("."))


def test_every_rule_of_the_list_is_found_its_private_part_too() -> None:
    # Every seventh, as each is looked for in the whole text; stars and exceptions all of them.
    wanted = rules()
    assert len(wanted) > 9000
    some = [rule for at, rule in enumerate(wanted) if at % 7 == 0 or rule[0] in "*!"]
    wrong = [rule for rule in some if not _as_the_rule_says(rule)]
    assert wrong == []


def _as_the_rule_says(rule: str) -> bool:
    if rule.startswith("!"):
        return not is_public_suffix(in_ascii(rule[1:]))
    if rule.startswith("*."):
        below = in_ascii(rule[2:])
        return is_public_suffix(f"anybody.{below}") and has_public_suffix_below(below)
    return is_public_suffix(in_ascii(rule))


@pytest.mark.parametrize(
    ("name", "domain"),
    {
        "a.b.example.com": "example.com",
        "a.b.example.co.uk": "example.co.uk",
        "a.me.github.io": "me.github.io",
        "x.y.foo.kawasaki.jp": "y.foo.kawasaki.jp",
        "x.city.kawasaki.jp": "city.kawasaki.jp",
        "a.b.unheard-of": "b.unheard-of",
        "localhost": "localhost",
    }.items(),
)
def test_the_domain_of_an_owner_ends_in_a_public_suffix(name: str, domain: str) -> None:
    assert registrable_domain(name) == domain


def test_a_comment_is_no_rule() -> None:
    # The list says in a comment where it is to be pulled from.
    assert not has_public_suffix_below("publicsuffix.org")
