"""Answers a command's questions for names: those that were granted, and no other.

Attack: whatever a name server is asked for reaches whoever owns the name, so a name is a way to
send something out. A name that was not granted is answered here, and nobody else hears of it.
"""

from __future__ import annotations

from socket import AF_INET, AF_INET6, inet_pton
from struct import pack

from redoma.egress import dns, rules
from redoma.egress.names import normal
from redoma.model.network import NOT_FOUND, NOT_GRANTED, NOT_PUBLIC, TOO_MANY_NAMES, Connection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from socket import socket
    from typing import TypeAlias

    from redoma.egress.directory import Directory
    from redoma.egress.ledger import Ledger
    from redoma.egress.resolver import Resolver
    from redoma.model.network import HostRule, Reach

    Reply: TypeAlias = Callable[[bytes], None]

_IPPROTO_IP, _IPPROTO_IPV6, _IP_PKTINFO, _IPV6_PKTINFO = 0, 41, 8, 50
_AT_ONCE = 64
_LARGEST = 4096
_MOST_BY_TCP = 1 << 16
_LOOPBACK = {dns.A: inet_pton(AF_INET, "127.0.0.1"), dns.AAAA: inet_pton(AF_INET6, "::1")}


class Answers:
    """A name server for one enclosure."""

    def __init__(
        self, reach: Reach, directory: Directory, resolver: Resolver, ledger: Ledger
    ) -> None:
        self._reach = reach
        self._directory = directory
        self._resolver = resolver
        self._ledger = ledger
        self._endings = _search_list()

    def datagrams(self, sock: socket) -> None:
        """Answers what has come on a socket, from the address that was asked."""
        for _ in range(_AT_ONCE):
            try:
                data, extra, _, asker = sock.recvmsg(_LARGEST, 256)
            except (BlockingIOError, InterruptedError):
                return
            except OSError:
                continue  # an answer to someone who is gone
            question = dns.read(data)
            if question is None:
                continue
            sender = _sender(extra)

            def reply(
                answer: bytes,
                asker: object = asker,
                sender: list[tuple[int, int, bytes]] = sender,
            ) -> None:
                try:
                    sock.sendmsg([answer], sender, 0, asker)  # type: ignore[arg-type]
                except OSError:
                    return  # nobody waits for it any more

            self.answer(question, reply)

    def answer(self, question: dns.Question, reply: Reply) -> None:
        """Calls `reply` with the answer, now or when the machine's resolver has spoken."""
        self._ledger.questions += 1
        name = normal(question.name)
        if not question.readable or not name or question.kind in (dns.PTR, dns.ANY):
            reply(dns.answer(question, dns.NO_SUCH_NAME))
            return
        if name == rules.LOCALHOST or name.endswith(".localhost"):
            own = _LOOPBACK.get(question.kind)
            reply(dns.answer(question, dns.OK, (own,) if own else ()))
            return
        if self._reach.mock and not self._from_search_list(name):
            reply(self._about(question, name, found=True))  # whatever it is, nobody is asked
            return
        granted = [] if self._reach.mock else rules.for_name(self._reach, name)
        if not granted:
            if self._from_search_list(name):
                self._ledger.refusals += 1
            else:
                self.refuse(name, NOT_GRANTED)
            reply(dns.answer(question, dns.NO_SUCH_NAME))
            return
        self.place(
            name, granted, lambda places: reply(self._about(question, name, found=bool(places)))
        )

    def place(
        self, name: str, granted: list[HostRule], then: Callable[[tuple[str, ...]], None]
    ) -> None:
        """Calls `then` with the addresses at which a granted name may be dialled."""
        pinned = tuple(rule.address for rule in granted if rule.address)
        if pinned:
            then(pinned[:1])
            return

        def told(addresses: tuple[str, ...]) -> None:
            fit = tuple(a for a in addresses if any(rules.may_be_at(r, a) for r in granted))
            if not fit:
                where = addresses[0] if addresses else ""
                self.refuse(name, NOT_PUBLIC if addresses else NOT_FOUND, where)
            then(fit)

        self._resolver.ask(name, told)

    def refuse(self, name: str, why: str, address: str = "") -> None:
        """Notes a name that was not given."""
        self._ledger.refuse(
            Connection(allowed=False, kind="dns", name=name, why=why, address=address)
        )

    def _about(self, question: dns.Question, name: str, *, found: bool) -> bytes:
        if not found:
            return dns.answer(question, dns.NO_SUCH_NAME)
        addresses = self._directory.addresses(name)
        if addresses is None:
            self.refuse(name, TOO_MANY_NAMES)
            return dns.answer(question, dns.NO_SUCH_NAME)
        given = {dns.A: addresses[:1], dns.AAAA: addresses[1:]}
        # Any other kind has no answer: no hint at QUIC, no key to encrypt a name with.
        return dns.answer(question, dns.OK, given.get(question.kind, ()))

    def _from_search_list(self, name: str) -> bool:
        """Whether a C library only tries another name with an ending of the machine's own."""
        return any(name.endswith(f".{ending}") for ending in self._endings)


class Conversation:
    """Questions that come over a connection, each after its length."""

    def __init__(self, answers: Answers, sock: socket, over: Callable[[], None]) -> None:
        self._answers = answers
        self._sock = sock
        self._over = over
        self._heard = b""
        self._taken = 0

    def ready(self) -> None:
        """Answers what has come."""
        try:
            while data := self._sock.recv(_LARGEST):
                self._heard += data
                self._taken += len(data)
                if self._taken > _MOST_BY_TCP:
                    break
                self._answer()
            self._over()
        except BlockingIOError:
            return
        except OSError:
            self._over()

    def _answer(self) -> None:
        while len(self._heard) >= 2:
            size = int.from_bytes(self._heard[:2], "big")
            if len(self._heard) < 2 + size:
                return
            question = dns.read(self._heard[2 : 2 + size])
            self._heard = self._heard[2 + size :]
            if question is not None:
                self._answers.answer(question, self._reply)

    def _reply(self, answer: bytes) -> None:
        try:
            self._sock.send(pack("!H", len(answer)) + answer)
        except OSError:
            self._over()


def _search_list() -> tuple[str, ...]:
    """The endings that a C library tries on a name by itself."""
    try:
        with open("/etc/resolv.conf", encoding="utf-8", errors="replace") as file:
            lines = [line.split() for line in file.read(1 << 16).splitlines()]
    except OSError:
        return ()
    found = [words[1:] for words in lines if words[:1] in (["search"], ["domain"])]
    return tuple(ending for each in found[-1:] for word in each if (ending := normal(word)))


def _sender(extra: list[tuple[int, int, bytes]]) -> list[tuple[int, int, bytes]]:
    for level, kind, data in extra:
        if (level, kind) == (_IPPROTO_IP, _IP_PKTINFO):
            return [(level, kind, pack("I", 0) + data[8:12] + b"\0" * 4)]
        if (level, kind) == (_IPPROTO_IPV6, _IPV6_PKTINFO):
            return [(level, kind, data[:16] + b"\0" * 4)]
    return []
