"""Makes sockets inside a sandbox's network, from outside, and hands them out.

A process of our own steps into the network namespace for the moment that takes, and nothing of
ours is left there; only where ports are published it stays, to make a socket for each caller.
"""

from __future__ import annotations

import array
import fcntl
import os
import socket
import time
import warnings
from contextlib import suppress
from struct import pack, unpack_from

from redoma.jail.kernel import netns, syscalls
from redoma.jail.kernel.process import is_machines_root
from redoma.model.errors import EngineFailed
from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn, TypeAlias

    Made: TypeAlias = tuple[list[tuple[str, socket.socket]], str]

# A port that no command can bind itself, since it has no rights below 1024.
GATE_PORT = 1
DNS_PORT = 53
# The sandbox's own address, so that programs see a machine that has a network at all.
_OWN_V4 = socket.inet_pton(socket.AF_INET, "198.18.0.1")
_OWN_V6 = socket.inet_pton(socket.AF_INET6, "fd72:6564:6f6d:6100::1")
_GET_USER_NAMESPACE, _GET_OWNER = 0xB701, 0xB704
_GET_FLAGS, _UP = 0x8913, 0x1
_PATIENCE = 5.0
_BACKLOG = 1024
_IPV6_RECVPKTINFO, _IP_PKTINFO = 49, 8
_MOST_SOCKETS = 250
_UNUSED = array  # loaded now: as nobody nothing may be there to be imported from
REDIRECT, LISTEN = "redirect", "listen"


class NetnsSockets:
    """The sockets of one sandbox, each with what it is for."""

    def __init__(
        self,
        *,
        ports: tuple[int, ...],
        local: tuple[int, ...],
        stays: bool,
        redirects: bool = True,
    ) -> None:
        """Makes the process that will step into a network, while that is still being made.

        `ports` are listened on where connections cannot be redirected, or shall not be; `local`
        are ports of the sandbox's loopback that lead out.
        """
        self.sockets: list[tuple[str, socket.socket]] = []
        # Over which the kernel tells which socket inside is which.
        self.kernel: socket.socket | None = None
        self.mode = ""
        self.stays = stays
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._child = _fork(
                theirs, lambda: _set_up(ports, local, redirects=redirects), stays=stays
            )

    def enter(self, process: int) -> None:
        """Steps into the network of `process`, and has the sockets made there."""
        try:
            network = os.open(f"/proc/{process}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
            try:
                socket.send_fds(self._channel, [b"n"], [network])
            finally:
                os.close(network)
            self._receive()
        except BaseException:
            self.close()
            raise

    def _receive(self) -> None:
        self._channel.settimeout(_PATIENCE + 1)
        try:
            said, descriptors, _, _ = socket.recv_fds(self._channel, 1 << 14, _MOST_SOCKETS)
        except OSError as error:
            raise EngineFailed(
                "the egress gate could not be set up: {error}", error=error
            ) from error
        mode, *names = said.decode().split(" ")
        if mode not in (REDIRECT, LISTEN) or len(names) != len(descriptors):
            for fd in descriptors:
                os.close(fd)
            raise EngineFailed(
                "the egress gate could not be set up: {error}",
                error=said.decode() or Message("it ended"),
                hint="redoma doctor",
            )
        self.mode = mode
        for name, fd in zip(names, descriptors, strict=True):
            made = socket.socket(fileno=fd)
            os.set_inheritable(fd, False)  # noqa: FBT003
            made.setblocking(False)  # noqa: FBT003
            if name == "sockets":
                self.kernel = made
            else:
                self.sockets.append((name, made))

    def new_socket(self, family: int) -> socket.socket | None:
        """A fresh socket inside, for a connection to the sandbox's own loopback."""
        try:
            self._channel.send(b"6" if family == socket.AF_INET6 else b"4")
            _, descriptors, _, _ = socket.recv_fds(self._channel, 16, 1)
        except OSError:
            return None
        if not descriptors:
            return None
        os.set_inheritable(descriptors[0], False)  # noqa: FBT003
        made = socket.socket(fileno=descriptors[0])
        made.setblocking(False)  # noqa: FBT003
        return made

    def close(self) -> None:
        """Closes everything; a process that stayed ends when nobody speaks to it any more."""
        self._channel.close()
        for made in (*(each for _, each in self.sockets), self.kernel):
            if made is not None:
                made.close()
        self.sockets = []
        self.reap()

    def reap(self) -> None:
        """Waits for the process inside to end, as it does by itself unless it stays."""
        if self._child:
            with suppress(ChildProcessError):
                os.waitpid(self._child, 0)
            self._child = 0


def _fork(channel: socket.socket, set_up: Callable[[], Made], *, stays: bool) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # it makes system calls only
        child = os.fork()
    if child:
        return child
    _inside(channel, set_up, stays=stays)


def _inside(channel: socket.socket, set_up: Callable[[], Made], *, stays: bool) -> NoReturn:
    try:
        # Attack: whatever the caller has open would be open here as well, as long as this lives.
        os.closerange(3, channel.fileno())
        os.closerange(channel.fileno() + 1, max(1 << 16, os.sysconf("SC_OPEN_MAX")))
        _, networks, _, _ = socket.recv_fds(channel, 1, 1)
        if not networks:
            os._exit(0)  # the run ended before it had a network
        _enter(networks[0])
        _wait_for_loopback()
        made, mode = set_up()
        said = " ".join([mode, *(name for name, _ in made)]).encode()
        socket.send_fds(channel, [said], [each.fileno() for _, each in made])
        for _, each in made:
            each.close()
        while stays and (wanted := channel.recv(16)):
            family = socket.AF_INET6 if wanted == b"6" else socket.AF_INET
            fresh = socket.socket(family, socket.SOCK_STREAM)
            socket.send_fds(channel, [b"s"], [fresh.fileno()])
            fresh.close()
    except BaseException as error:  # nothing of ours goes on in this process
        with suppress(OSError):
            channel.send(f"{type(error).__name__}: {error}".encode()[:500])
        os._exit(1)
    os._exit(0)


def _enter(network: int) -> None:
    """Into the user namespace that the network belongs to, and then into the network.

    Not the namespace that a process of the sandbox is in now: bubblewrap moves it into another.
    """
    owner = fcntl.ioctl(network, _GET_USER_NAMESPACE)
    if os.path.samestat(os.fstat(owner), os.stat("/proc/self/ns/user")):
        # A container engine's that root runs: no user namespace lies between.
        syscalls.enter(network, syscalls.CLONE_NEWNET)
        return
    if is_machines_root():
        uid = unpack_from("I", fcntl.ioctl(owner, _GET_OWNER, pack("I", 0)))[0]
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)  # nothing is done in there as the machine's root
    syscalls.enter(owner, syscalls.CLONE_NEWUSER)
    syscalls.enter(network, syscalls.CLONE_NEWNET)


def _wait_for_loopback() -> None:
    """The launcher brings it up itself, and would fail where it is up already."""
    end = time.monotonic() + _PATIENCE
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asks:
        while time.monotonic() < end:
            answer = fcntl.ioctl(asks, _GET_FLAGS, pack("16sH22x", b"lo", 0))
            if unpack_from("16sH", answer)[1] & _UP:
                return
            time.sleep(0.0002)
    raise TimeoutError("the sandbox's loopback did not come up")


def _set_up(ports: tuple[int, ...], local: tuple[int, ...], *, redirects: bool) -> Made:
    families = [(netns.IPV4, _OWN_V4)]
    if socket.has_ipv6 and _has_ipv6():
        families.append((netns.IPV6, _OWN_V6))
    with _netlink(netns.ROUTE) as channel:
        for family, address in families:
            netns.own_address(channel, family, address)
            netns.every_address_is_here(channel, family)
    mode = LISTEN
    # Where the kernel has no packet rules for us, only granted ports are listened on.
    with suppress(OSError), _netlink(netns.PACKET_RULES) as channel:
        for family, _ in families if redirects else ():
            netns.redirect_connections(channel, family, GATE_PORT)
            mode = REDIRECT
    made: list[tuple[str, socket.socket]] = [("sockets", _netlink(netns.SOCKETS))]
    for family, _ in families:
        loopback = "127.0.0.1" if family == netns.IPV4 else "::1"
        made += [(f"local:{port}", _listener(family, loopback, port)) for port in local]
        if mode == REDIRECT:
            made.append(("gate", _listener(family, loopback, GATE_PORT)))
        else:
            made += [("any", _listener(family, "", p)) for p in ports if p not in local]
        made.append(("dns-tcp", _listener(family, "", DNS_PORT)))
        made.append(("dns", _questions(family)))
        with suppress(OSError):  # only the telling is lost without it
            made.append(("udp", netns.datagram_listener(family)))
    return made, mode


def _has_ipv6() -> bool:
    """Whether this network has it: a container engine switches it off where it gives no network."""
    try:
        with open("/proc/sys/net/ipv6/conf/lo/disable_ipv6") as file:
            return file.read().strip() == "0"
    except OSError:
        return os.path.exists("/proc/net/if_inet6")


def _netlink(protocol: int) -> socket.socket:
    made = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol)
    made.bind((0, 0))
    made.settimeout(_PATIENCE)
    return made


def _listener(family: int, address: str, port: int) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == netns.IPV6:
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    made.bind((address, port))
    made.listen(_BACKLOG)
    return made


def _questions(family: int) -> socket.socket:
    """Hears questions to any name server, and knows which one was asked."""
    made = socket.socket(family, socket.SOCK_DGRAM)
    if family == netns.IPV6:
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.setsockopt(socket.IPPROTO_IPV6, _IPV6_RECVPKTINFO, 1)
    else:
        made.setsockopt(socket.IPPROTO_IP, _IP_PKTINFO, 1)
    made.bind(("", DNS_PORT))
    return made
