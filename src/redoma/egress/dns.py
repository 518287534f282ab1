"""The name server of one sandbox: answers questions for names that were granted, and no other.

Each name gets an address that stands for it inside. A command never learns where a host really is,
so whom a connection is for is never in doubt, and no address that it knows from elsewhere leads
anywhere. A question that cannot be read has no answer; nothing here raises on what a command sends.
"""

from __future__ import annotations

import time
from _thread import start_new_thread
from socket import AF_INET, AF_INET6, SOCK_STREAM, getaddrinfo, inet_ntop, inet_pton
from struct import pack, unpack_from

from redoma.base.cores import SimpleQueue
from redoma.egress import destinations, host_rules
from redoma.egress.hosts import normal
from redoma.model.network import NOT_FOUND, NOT_GRANTED, TOO_MANY_NAMES, Connection
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from socket import socket
    from typing import Any, TypeAlias

    from redoma.egress.ledger import Ledger
    from redoma.model.network import HostRule, Reach

    Reply: TypeAlias = Callable[[bytes], None]
    Then: TypeAlias = Callable[[tuple[str, ...]], None]

A, PTR, AAAA, ANY = 1, 12, 28, 255
_INTERNET = 1
_HEAD = 12
_LONGEST_NAME = 255
_LONGEST_LABEL = 63
_MOST_LABELS = 32
_OPT = 41
# A program asks again after so many seconds, and by then a name may have moved.
SECONDS = 30
OK, FORMAT_ERROR, SERVER_FAILED, NO_SUCH_NAME, NOT_DONE, REFUSED = 0, 1, 2, 3, 4, 5
# 198.18.0.0/15 is set aside for tests of devices; the other is a private prefix that says whose.
_V4 = int.from_bytes(inet_pton(AF_INET, "198.18.0.0"), "big")
_V6 = int.from_bytes(inet_pton(AF_INET6, "fd72:6564:6f6d:6100::"), "big")
_FIRST = 16
MOST_NAMES = 4096
_IPPROTO_IP, _IPPROTO_IPV6, _IP_PKTINFO, _IPV6_PKTINFO = 0, 41, 8, 50
_AT_ONCE = 64
_LARGEST = 4096
_MOST_BY_TCP = 1 << 16
_LOOPBACK = (inet_pton(AF_INET, "127.0.0.1"), inet_pton(AF_INET6, "::1"))
MOST_RESOLVED = 1000
_MOST_THREADS = 4
_MOST_WAITING = 512
_KEPT, _KEPT_ABSENCE = 60.0, 5.0


class DnsQuestion(Value):
    """One question, and what is needed to answer it."""

    identity: int
    name: str
    kind: int
    # The question as it was sent, to be sent back.
    asked: bytes
    # Whether recursion was wished, and whether the asker takes extensions.
    recursive: bool = True
    extended: bool = False
    readable: bool = True


def read(data: bytes) -> DnsQuestion | None:
    """The question in a message; None for what is not worth an answer."""
    if len(data) < _HEAD or len(data) > 4096:
        return None
    identity, flags, questions, answers, _, more = unpack_from("!HHHHHH", data)
    if flags & 0x8000 or answers:
        return None  # an answer, which nobody asked for
    broken = DnsQuestion(
        identity=identity,
        name="",
        kind=0,
        asked=b"",
        recursive=bool(flags & 0x0100),
        readable=False,
    )
    if flags & 0x7800 or questions != 1:
        return broken
    labels: list[bytes] = []
    at = _HEAD
    while at < len(data) and data[at]:
        size = data[at]
        # A pointer has no place in a question: it would only lead around.
        if size > _LONGEST_LABEL or len(labels) >= _MOST_LABELS or at - _HEAD > _LONGEST_NAME:
            return broken
        labels.append(data[at + 1 : at + 1 + size])
        at += 1 + size
    if at + 5 > len(data) or at - _HEAD + 1 > _LONGEST_NAME:
        return broken
    kind, family = unpack_from("!HH", data, at + 1)
    if family != _INTERNET:
        return broken
    return DnsQuestion(
        identity=identity,
        name=b".".join(labels).decode("latin-1"),
        kind=kind,
        asked=data[_HEAD : at + 5],
        recursive=bool(flags & 0x0100),
        extended=more > 0 and _extension(data, at + 5),
    )


def _extension(data: bytes, at: int) -> bool:
    return data[at : at + 3] == b"\0" + pack("!H", _OPT)


def answer(question: DnsQuestion, code: int, addresses: tuple[bytes, ...] = ()) -> bytes:
    """The answer to a question: a code, and those addresses that are of the kind asked for.

    Any other kind has no answer: no hint at QUIC, no key to encrypt a name with.
    """
    if not question.readable:
        code, addresses = FORMAT_ERROR, ()
    flags = 0x8080 | code | (0x0100 if question.recursive else 0)
    given = [(A if len(each) == 4 else AAAA, each) for each in addresses]
    given = [each for each in given if question.kind in (each[0], ANY)]
    records = b"".join(
        pack("!HHHIH", 0xC000 | _HEAD, kind, _INTERNET, SECONDS, len(each)) + each
        for kind, each in given
    )
    # Who takes extensions is told that we do, and nothing more.
    extra = pack("!BHHIH", 0, _OPT, 1232, 0, 0) if question.extended else b""
    head = pack(
        "!HHHHHH",
        question.identity,
        flags,
        1 if question.asked else 0,
        len(given),
        0,
        1 if extra else 0,
    )
    return head + question.asked + records + extra


class NameDirectory:
    """Names, and the addresses that stand for them."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._names: dict[str, str] = {}

    def addresses(self, name: str) -> tuple[bytes, bytes] | None:
        """The two addresses of a name; None where too many names have been asked for."""
        number = self._numbers.get(name)
        if number is None:
            if len(self._numbers) >= MOST_NAMES:
                return None
            number = self._numbers[name] = _FIRST + len(self._numbers)
            self._names[inet_ntop(AF_INET, (_V4 + number).to_bytes(4, "big"))] = name
            self._names[inet_ntop(AF_INET6, (_V6 + number).to_bytes(16, "big"))] = name
        return (_V4 + number).to_bytes(4, "big"), (_V6 + number).to_bytes(16, "big")

    def name(self, address: str) -> str:
        """Whom an address stands for, or nothing."""
        return self._names.get(address, "")


class NameServer:
    """A name server for one sandbox."""

    def __init__(
        self, reach: Reach, directory: NameDirectory, resolver: Resolver, ledger: Ledger
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
            question = read(data)
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

    def answer(self, question: DnsQuestion, reply: Reply) -> None:
        """Calls `reply` with the answer, now or when the machine's resolver has spoken."""
        self._ledger.questions += 1
        name = normal(question.name)
        if not question.readable or not name or question.kind == PTR:
            reply(answer(question, NO_SUCH_NAME))
            return
        if name == host_rules.LOCALHOST or name.endswith(".localhost"):
            reply(answer(question, OK, _LOOPBACK))
            return
        if self._reach.mock and not self._from_search_list(name):
            reply(self._about(question, name, found=True))  # whatever it is, nobody is asked
            return
        granted = [] if self._reach.mock else host_rules.for_name(self._reach, name)
        if not granted:
            if self._from_search_list(name):
                self._ledger.refusals += 1
            else:
                self.refuse(name, NOT_GRANTED)
            reply(answer(question, NO_SUCH_NAME))
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
            refusals = {each: destinations.why_not(granted, each) for each in addresses}
            fit = tuple(each for each, why in refusals.items() if not why)
            if not fit:
                where = addresses[0] if addresses else ""
                self.refuse(name, refusals.get(where, NOT_FOUND), where)
            then(fit)

        self._resolver.ask(name, told)

    def refuse(self, name: str, why: str, address: str = "") -> None:
        """Notes a name that was not given."""
        self._ledger.refuse(
            Connection(allowed=False, kind="dns", name=name, why=why, address=address)
        )

    def _about(self, question: DnsQuestion, name: str, *, found: bool) -> bytes:
        if not found:
            return answer(question, NO_SUCH_NAME)
        addresses = self._directory.addresses(name)
        if addresses is None:
            self.refuse(name, TOO_MANY_NAMES)
            return answer(question, NO_SUCH_NAME)
        return answer(question, OK, addresses)

    def _from_search_list(self, name: str) -> bool:
        """Whether a C library only tries another name with an ending of the machine's own."""
        return any(name.endswith(f".{ending}") for ending in self._endings)


class DnsConnection:
    """Questions that come over a connection, each after its length."""

    def __init__(self, answers: NameServer, sock: socket, over: Callable[[], None]) -> None:
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
            question = read(self._heard[2 : 2 + size])
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


class Resolver:
    """Where names are. Everything but the asking itself happens in the caller's own thread."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._questions: SimpleQueue[Any] = SimpleQueue()
        self._answers: SimpleQueue[Any] = SimpleQueue()
        self._known: dict[str, tuple[float, tuple[str, ...]]] = {}
        self._waiting: dict[str, list[Then]] = {}
        self._threads = 0

    def ask(self, name: str, then: Then) -> None:
        """Calls `then` with the addresses of a name, at once where they are known."""
        known = self._known.get(name)
        if known is not None and known[0] > time.monotonic():
            then(known[1])
            return
        waiting = self._waiting.get(name)
        if waiting is not None:
            waiting.append(then)
        elif len(self._waiting) >= _MOST_WAITING or (
            known is None and len(self._known) + len(self._waiting) >= MOST_RESOLVED
        ):
            # Attack: below a granted star every name is a message to whoever owns the domain.
            then(())
        else:
            self._waiting[name] = [then]
            if self._threads < min(_MOST_THREADS, len(self._waiting)):
                self._threads += 1
                start_new_thread(self._work, ())
            self._questions.put(name)

    def deliver(self) -> None:
        """Hands out the answers that have come."""
        while not self._answers.empty():
            name, addresses = self._answers.get()
            kept = _KEPT if addresses else _KEPT_ABSENCE
            self._known[name] = (time.monotonic() + kept, addresses)
            for then in self._waiting.pop(name, ()):
                then(addresses)

    def close(self) -> None:
        """Ends the threads, each when its question is answered."""
        self._wake = lambda: None
        for _ in range(self._threads):
            self._questions.put(None)

    def _work(self) -> None:
        while (name := self._questions.get()) is not None:
            try:
                found = getaddrinfo(name, None, type=SOCK_STREAM)
                addresses = tuple(dict.fromkeys(str(each[4][0]) for each in found))
            except (OSError, UnicodeError, ValueError):
                addresses = ()
            self._answers.put((name, addresses))
            self._wake()
