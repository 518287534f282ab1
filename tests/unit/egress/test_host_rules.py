"""Which hosts may be reached is read strictly, and asked by name, address and port."""

from __future__ import annotations

import pytest

from redoma.egress import host_rules
from redoma.egress.hosts import canonical, is_inside, is_public, normal
from redoma.model.errors import UsageError
from redoma.model.network import HostRule, Reach


@pytest.mark.parametrize(
    ("text", "rule"),
    {
        "example.com": HostRule(text="example.com", host="example.com", ports=(80, 443)),
        "EXAMPLE.com.": HostRule(text="EXAMPLE.com.", host="example.com"),
        "example.com:22": HostRule(text="example.com:22", host="example.com", ports=(22,)),
        "example.com:*": HostRule(text="example.com:*", host="example.com", ports=None),
        "*.example.com": HostRule(text="*.example.com", host="*.example.com"),
        "bücher.example": HostRule(text="bücher.example", host="xn--bcher-kva.example"),
        "192.0.2.7:5432": HostRule(text="192.0.2.7:5432", host="192.0.2.7", ports=(5432,)),
        "[2001:DB8::7]:22": HostRule(text="[2001:DB8::7]:22", host="2001:db8::7", ports=(22,)),
        "2001:db8::7": HostRule(text="2001:db8::7", host="2001:db8::7"),
        "[::ffff:192.0.2.7]:80": HostRule(
            text="[::ffff:192.0.2.7]:80", host="192.0.2.7", ports=(80,)
        ),
        "localhost:5432": HostRule(text="localhost:5432", host="localhost", ports=(5432,)),
        "127.0.0.1:5432": HostRule(text="127.0.0.1:5432", host="localhost", ports=(5432,)),
        "git.example=10.1.2.3": HostRule(
            text="git.example=10.1.2.3", host="git.example", address="10.1.2.3"
        ),
        "git.example:443=127.0.0.1:8443": HostRule(
            text="git.example:443=127.0.0.1:8443",
            host="git.example",
            ports=(443,),
            address="127.0.0.1",
            address_port=8443,
        ),
        "*.corp.example=10.0.0.0/8": HostRule(
            text="*.corp.example=10.0.0.0/8", host="*.corp.example", inside="10.0.0.0/8"
        ),
    }.items(),
)
def test_a_host_is_read_as_it_is_meant(text: str, rule: HostRule) -> None:
    assert host_rules.read([text]) == Reach(hosts=(rule,))


def test_the_own_loopback_needs_no_grant() -> None:
    assert host_rules.read(["localhost", "127.0.0.1", "::1"]) == Reach()


@pytest.mark.parametrize(
    "text",
    (
        "* *.com *.co.uk *.com.br *.github.io *.s3.amazonaws.com *.eu-west-1.amazonaws.com"
        " *.a.run.app *.uk.com *.amazonaws.com *.foo.kawasaki.jp *.xn--p1ai *.рф *.test"
    ).split(),
)
def test_what_gives_anybody_a_name_is_too_broad(text: str) -> None:
    with pytest.raises(UsageError, match="is too broad: anybody may have a name below it") as error:
        host_rules.read([text])
    assert error.value.hint


@pytest.mark.parametrize(
    "text", "*.example.co.uk *.example.com *.me.github.io *.city.kawasaki.jp *.a.test".split()
)
def test_a_domain_of_one_owner_may_have_a_star(text: str) -> None:
    assert [rule.host for rule in host_rules.read([text]).hosts] == [text]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "example.com/path?query",
        "user@example.com",
        "example.com:0",
        "example.com:65536",
        "example.com:http",
        "exa mple.com",
        "ex*mple.com",
        "*example.com",
        "a..b",
        "-a.example",
        "127.1",
        "0x7f.1",
        "2130706433",
        "1.2.3.4.5",
        f"{'a' * 64}.example",
        "a." * 130 + "example",
        "localhost:*",
        "localhost=10.0.0.1",
        "10.0.0.1=10.0.0.2",
        "*.example.com=10.0.0.1",
        "example.com=",
        "example.com=10.0.0.0/99",
        "example.com=other.example",
        "[::1",
        "[2001:db8::1]80",
    ],
)
def test_what_cannot_be_read_is_an_error_that_says_so(text: str) -> None:
    with pytest.raises(UsageError) as error:
        host_rules.read([text])
    assert error.value.hint


def test_a_star_is_for_names_below_and_not_for_the_name_itself() -> None:
    reach = host_rules.read(["*.example.com"])
    named = {
        name: bool(host_rules.for_name(reach, name))
        for name in ("a.example.com", "a.b.example.com", "example.com", "badexample.com", "com")
    }
    assert named == {
        "a.example.com": True,
        "a.b.example.com": True,
        "example.com": False,
        "badexample.com": False,
        "com": False,
    }


def test_a_port_that_is_not_named_is_not_granted() -> None:
    found = host_rules.for_name(host_rules.read(["example.com", "example.com:22"]), "example.com")
    granted = [port for port in (22, 80, 443, 8080) if host_rules.on_port(found, port)]
    assert granted == [22, 80, 443]


def test_a_blocked_port_of_this_machine_is_not_given() -> None:
    reach = host_rules.read(["localhost:22", "localhost:8000"], blocked_ports=[22])
    assert host_rules.local_ports(reach) == (8000,)


@pytest.mark.parametrize(
    "address",
    """
    0.0.0.0 10.0.0.1 100.100.100.200 127.0.0.1 169.254.169.254 172.31.0.1 192.168.1.1
    168.63.129.16 198.18.0.1 224.0.0.1 255.255.255.255 :: ::1 fe80::1 fc00::1 fd00:ec2::254 ff02::1
    ::ffff:10.0.0.1 64:ff9b::10.0.0.1 2002:7f00:1:: 2001::1 2001:db8::1 100::1 ::7f00:1
    example.com 1 -
    """.split(),
)
def test_an_address_in_somebodys_own_network_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "address", "1.1.1.1 8.8.8.8 2606:4700::1111 64:ff9b::8.8.8.8 ::ffff:8.8.8.8".split()
)
def test_an_address_that_anybody_reaches_is_public(address: str) -> None:
    assert is_public(address)


def test_a_network_that_was_granted_by_name_may_be_resolved_into() -> None:
    rule = host_rules.read(["git.corp.example=10.0.0.0/8"]).hosts[0]
    told = {a: host_rules.may_be_at(rule, a) for a in ("10.9.9.9", "192.168.0.1", "1.1.1.1")}
    assert told == {"10.9.9.9": True, "192.168.0.1": False, "1.1.1.1": True}
    assert not is_inside("10.9.9.9", "")


def test_addresses_have_one_spelling() -> None:
    assert [canonical(a) for a in ("[::FFFF:1.2.3.4]", "2001:DB8:0::1", "127.1", "x")] == [
        "1.2.3.4",
        "2001:db8::1",
        "",
        "",
    ]


def test_names_have_one_spelling() -> None:
    assert [normal(n) for n in ("A.B.", "a_b.c", "a..b", "1.2.3.4", "ä.example", "a\0b")] == [
        "a.b",
        "a_b.c",
        "",
        "",
        "xn--4ca.example",
        "",
    ]
