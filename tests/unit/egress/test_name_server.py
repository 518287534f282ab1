"""Names that were granted are asked for outside, and no other name ever is."""

from __future__ import annotations

import time
from struct import unpack_from

import pytest

from redoma.egress import dns
from redoma.egress.dns import MOST_NAMES, MOST_RESOLVED, NameDirectory, NameServer, Resolver
from redoma.egress.host_rules import read
from redoma.egress.ledger import Ledger
from redoma.model.network import NOT_FOUND, NOT_GRANTED, NOT_PUBLIC, Connection
from tests.unit.egress.test_dns import asked


class World(Resolver):
    """A resolver that knows what it is told, and keeps what it was asked for."""

    def __init__(self, known: dict[str, tuple[str, ...]]) -> None:
        super().__init__(lambda: None)
        self.known_world = known
        self.heard: list[str] = []

    def ask(self, name: str, then: object) -> None:
        self.heard.append(name)
        assert callable(then)
        then(self.known_world.get(name, ()))


class Asking:
    """A name server over a world, and what came of asking it."""

    def __init__(self, *hosts: str, **known: tuple[str, ...]) -> None:
        self.world = World({name.replace("_", "."): where for name, where in known.items()})
        self.ledger = Ledger()
        self.answers = NameServer(read(hosts), NameDirectory(), self.world, self.ledger)

    def code(self, name: str, kind: int = dns.A) -> tuple[int, int]:
        heard: list[bytes] = []
        question = dns.read(asked(name, kind))
        assert question is not None
        self.answers.answer(question, heard.append)
        _, flags, _, count = unpack_from("!HHHH", heard[0])
        return flags & 15, count


def test_a_granted_name_is_asked_for_and_answered() -> None:
    asking = Asking("a.example", a_example=("1.1.1.1",))
    assert (asking.code("A.example"), asking.code("a.example", dns.AAAA)) == ((0, 1), (0, 1))
    assert asking.world.heard == ["a.example", "a.example"]


@pytest.mark.parametrize(
    "name", ["evil.example", "secret.a.example", "a.example.evil.example", "x" * 60 + ".example"]
)
def test_no_other_name_is_ever_asked_for(name: str) -> None:
    asking = Asking("a.example", a_example=("1.1.1.1",))
    assert (asking.code(name), asking.world.heard) == ((3, 0), [])
    assert asking.ledger.all() == (
        Connection(allowed=False, kind="dns", name=name, why=NOT_GRANTED),
    )


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "fd00:ec2::254", "0.0.0.0"]
)
def test_a_name_that_leads_into_somebodys_own_network_does_not_exist(address: str) -> None:
    asking = Asking("a.example", a_example=(address,))
    assert asking.code("a.example") == (3, 0)
    assert asking.ledger.all() == (
        Connection(allowed=False, kind="dns", name="a.example", why=NOT_PUBLIC, address=address),
    )


def test_of_several_addresses_only_public_ones_are_dialled() -> None:
    asking = Asking("a.example", a_example=("127.0.0.1", "1.1.1.1", "::1"))
    dialled: list[tuple[str, ...]] = []
    asking.answers.place("a.example", list(read(["a.example"]).hosts), dialled.append)
    assert dialled == [("1.1.1.1",)]


def test_a_name_granted_with_its_own_network_may_be_there() -> None:
    asking = Asking("git.corp.example=10.0.0.0/8", git_corp_example=("10.1.2.3",))
    assert asking.code("git.corp.example") == (0, 1)


def test_a_pinned_name_is_not_asked_for() -> None:
    asking = Asking("a.example=127.0.0.1:8080")
    assert (asking.code("a.example"), asking.world.heard) == ((0, 1), [])


def test_a_granted_name_that_is_not_there_is_told() -> None:
    asking = Asking("a.example")
    assert asking.code("a.example") == (3, 0)
    assert [call.why for call in asking.ledger.all()] == [NOT_FOUND]


def test_localhost_is_the_sandboxs_own() -> None:
    asking = Asking()
    assert [asking.code("localhost"), asking.code("localhost", dns.AAAA)] == [(0, 1), (0, 1)]


def test_a_directory_gives_each_name_one_pair_of_addresses_and_not_endlessly() -> None:
    directory = NameDirectory()
    first = directory.addresses("a.example")
    assert first is not None
    assert directory.addresses("a.example") == first
    assert directory.name("198.18.0.16") == directory.name("fd72:6564:6f6d:6100::10") == "a.example"
    given = [directory.addresses(f"n{number}.example") for number in range(MOST_NAMES)]
    assert given[-1] is None


def test_the_machines_resolver_is_asked_once_for_what_is_asked_often() -> None:
    resolver = Resolver(lambda: None)
    heard: list[tuple[str, ...]] = []
    for _ in range(3):
        resolver.ask("localhost", heard.append)
    end = time.monotonic() + 10
    while len(heard) < 3 and time.monotonic() < end:
        resolver.deliver()
        time.sleep(0.01)
    resolver.close()
    assert len(set(heard)) == 1
    assert "127.0.0.1" in heard[0]


def test_no_more_names_than_a_run_needs_are_ever_asked_for() -> None:
    resolver = Resolver(lambda: None)
    resolver._known = {f"n{n}.example": (0.0, ()) for n in range(MOST_RESOLVED)}
    heard: list[tuple[str, ...]] = []
    resolver.ask("one-more.example", heard.append)
    assert (heard, resolver._waiting) == ([()], {})


def test_a_question_for_anything_is_answered_with_both_addresses() -> None:
    asking = Asking("a.example", a_example=("1.1.1.1",))
    assert (asking.code("a.example", dns.ANY), asking.code("localhost", dns.ANY)) == (
        (0, 2),
        (0, 2),
    )
    assert asking.code("evil.example", dns.ANY) == (3, 0)
    assert asking.code("a.example", 65) == (0, 0)
