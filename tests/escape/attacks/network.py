"""Reaching the host, its services or anything beyond it, by network or by socket."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from tests.escape import listeners
from tests.escape.attack import Unsupported, attack
from tests.escape.inside import Box
from tests.escape.promises import P
from tests.escape.world import World

NETWORK = "host loopback, own address, abstract unix socket"
RAW = "raw, packet, netlink, vsock sockets"
BY_PATH = "unix socket by path"


def _send(family, kind, address):
    import socket

    if isinstance(address, list):
        address = tuple(address)
    with socket.socket(family, kind) as sending:
        sending.settimeout(3)
        sending.connect(address)
        sending.send(b"owned")


@attack(P.NETWORK, NETWORK)
def reach_the_loopback(world: World, box: Box) -> str:
    with listeners.internet("127.0.0.1") as listener:
        box.call(_send, socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", listener.port))
        return listener.evidence()


@attack(P.NETWORK, NETWORK)
def reach_the_loopback_by_datagram(world: World, box: Box) -> str:
    with listeners.internet("127.0.0.1", socket.SOCK_DGRAM) as listener:
        box.call(_send, socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", listener.port))
        listener._over.wait(0.1)
        return listener.evidence()


@attack(P.NETWORK, NETWORK)
def reach_the_loopback_of_version_six(world: World, box: Box) -> str:
    try:
        made = listeners.internet("::1")
    except OSError as error:
        raise Unsupported("no IPv6 here") from error
    with made as listener:
        box.call(_send, socket.AF_INET6, socket.SOCK_STREAM, ("::1", listener.port))
        return listener.evidence()


@attack(P.NETWORK, NETWORK)
def reach_the_machines_own_address(world: World, box: Box) -> str:
    address = listeners.own_address()
    if not address:
        raise Unsupported("this machine has no address but its loopback")
    with (
        listeners.internet(address) as stream,
        listeners.internet(address, socket.SOCK_DGRAM) as packets,
    ):
        box.call(_send, socket.AF_INET, socket.SOCK_STREAM, (address, stream.port))
        box.call(_send, socket.AF_INET, socket.SOCK_DGRAM, (address, packets.port))
        packets._over.wait(0.1)
        return stream.evidence() or packets.evidence()


@attack(P.NETWORK, NETWORK)
def reach_an_abstract_socket(world: World, box: Box) -> str:
    with listeners.by_path(f"\0{world.token}") as listener:
        box.call(_send, socket.AF_UNIX, socket.SOCK_STREAM, f"\0{world.token}")
        return listener.evidence()


def _interfaces():
    import socket

    return [name for _, name in socket.if_nameindex()]


@attack(P.NETWORK, NETWORK)
def have_an_interface_to_the_world(world: World, box: Box) -> str:
    """Without an interface nothing leaves: no name is resolved, no packet sent."""
    told = box.call(_interfaces)
    if set(_interfaces()) <= {"lo"}:
        raise Unsupported("this machine has no interface but its loopback")
    found = set(told.value or []) - {"lo"}
    return f"interfaces: {', '.join(sorted(found))}" if found else ""


def _open(family, kind, protocol):
    import socket

    socket.socket(family, kind, protocol).close()
    return "opened"


def _opens(box: Box, *kinds: tuple[str, int, int, int]) -> str:
    found = []
    for name, family, kind, protocol in kinds:
        if box.call(_open, family, kind, protocol).value:
            found.append(name)
    return f"opened {', '.join(found)}" if found else ""


@attack(P.NETWORK, RAW, works_for="root")
def open_raw_sockets(world: World, box: Box) -> str:
    """They are opened and closed; nothing is sent."""
    return _opens(
        box,
        ("raw", socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP),
        ("raw IPv6", socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6),
        ("packet", socket.AF_PACKET, socket.SOCK_RAW, 0x0300),
    )


@attack(P.NETWORK, RAW)
def open_sockets_to_the_hypervisor(world: World, box: Box) -> str:
    """A virtual machine's host is one call away; the socket is opened, and not connected."""
    try:
        socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).close()
    except OSError as error:
        raise Unsupported("no vsock here") from error
    return _opens(box, ("vsock", socket.AF_VSOCK, socket.SOCK_STREAM, 0))


@attack(P.NETWORK, RAW)
def open_rare_kinds_of_sockets(world: World, box: Box) -> str:
    """Kernel crypto, audit, device events, packet filters: code that ordinary programs never reach."""
    return _opens(
        box,
        ("kernel crypto", socket.AF_ALG, socket.SOCK_SEQPACKET, 0),
        ("netlink audit", socket.AF_NETLINK, socket.SOCK_RAW, 9),
        ("netlink netfilter", socket.AF_NETLINK, socket.SOCK_RAW, 12),
        ("netlink devices", socket.AF_NETLINK, socket.SOCK_RAW, 15),
        ("netlink diagnosis", socket.AF_NETLINK, socket.SOCK_RAW, 4),
        ("netlink crypto", socket.AF_NETLINK, socket.SOCK_RAW, 21),
        ("Bluetooth", 31, socket.SOCK_RAW, 1),
        ("CAN", 29, socket.SOCK_RAW, 1),
        ("TIPC", 30, socket.SOCK_STREAM, 0),
        ("XDP", 44, socket.SOCK_RAW, 0),
    )


def _reach_by_path(world: World, box: Box, path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    with listeners.by_path(str(path)) as stream:
        box.call(_send, socket.AF_UNIX, socket.SOCK_STREAM, str(path))
        found = stream.evidence()
    path.unlink()
    with listeners.by_path(str(path), socket.SOCK_DGRAM) as packets:
        box.call(_send, socket.AF_UNIX, socket.SOCK_DGRAM, str(path))
        packets._over.wait(0.1)
        return found or packets.evidence()


@attack(P.SOCKETS, BY_PATH)
def reach_a_socket_in_the_home(world: World, box: Box) -> str:
    """The agents of ssh and gpg, password managers, editors."""
    return _reach_by_path(world, box, world.home / ".ssh/agent.sock")


@attack(P.SOCKETS, BY_PATH)
def reach_a_socket_in_tmp(world: World, box: Box) -> str:
    """X11, tmux, ssh-agent and many servers listen there."""
    return _reach_by_path(world, box, world.place("/tmp") / "s")


@attack(P.SOCKETS, BY_PATH)
def reach_a_socket_in_var_tmp(world: World, box: Box) -> str:
    return _reach_by_path(world, box, world.place("/var/tmp") / "s")


@attack(P.SOCKETS, BY_PATH, works_for="root")
def reach_a_socket_in_run(world: World, box: Box) -> str:
    """Docker, D-Bus, Wayland and systemd listen there."""
    if not os.access("/run", os.W_OK):
        raise Unsupported("only root can listen in /run")
    return _reach_by_path(world, box, world.place("/run") / "s")


@attack(P.SOCKETS, BY_PATH, works_for="root")
def reach_a_socket_among_programs(world: World, box: Box) -> str:
    """Some services keep their socket beside their programs, where everything is shown."""
    if os.geteuid() != 0:
        raise Unsupported("only root can listen below /opt and /usr")
    found = ""
    for parent in ("/opt", "/usr/local/share"):
        found = found or _reach_by_path(world, box, world.place(parent) / "s")
    return found


@attack(P.SOCKETS, BY_PATH)
def reach_a_socket_among_toolchains(world: World, box: Box) -> str:
    """Build daemons listen inside the directory of their toolchain, which is shown."""
    found = ""
    for name in (".local/bin", ".cargo/bin", ".nvm", ".pyenv"):
        found = found or _reach_by_path(world, box, world.home / name / "s")
    return found


@attack(P.SOCKETS, BY_PATH)
def reach_a_socket_in_the_workspace(world: World, box: Box) -> str:
    """A database or an editor may listen in the project itself."""
    return _reach_by_path(world, box, world.workspace / "run/s")


@attack(P.SOCKETS, BY_PATH)
def reach_a_renamed_socket_in_the_workspace(world: World, box: Box) -> str:
    """The same socket, moved to another name first, or its directory moved."""
    path = world.workspace / "run/deep/s"
    path.parent.mkdir(parents=True)
    with listeners.by_path(str(path)) as listener:
        box.call(_move_and_send, world.workspace)
        return listener.evidence()


def _move_and_send(workspace):
    import socket

    steps = [(os.link, "run/deep/s", "linked"), (os.rename, "run/deep/s", "other")]
    steps += [(os.rename, "run/deep", "moved"), (os.rename, "run", "away")]
    for step, before, after in steps:
        try:
            step(f"{workspace}/{before}", f"{workspace}/{after}")
        except OSError:
            continue
    for place, _, names in os.walk(workspace):
        for name in names:
            try:
                with socket.socket(socket.AF_UNIX) as sending:
                    sending.connect(f"{place}/{name}")
                    sending.send(b"owned")
            except OSError:
                continue


@attack(P.SOCKETS, "named pipe of the host", works_for="root")
def write_into_a_pipe_of_the_host(world: World, box: Box) -> str:
    """A read-only mount does not stop a write into a named pipe, since it is no file."""
    parents = ["/opt", "/usr/local/share"] if os.geteuid() == 0 else []
    places = [world.place(parent) / "pipe" for parent in parents]
    places.append(world.home / ".local/bin/pipe")
    places[-1].parent.mkdir(parents=True)
    found = []
    for place in places:
        os.mkfifo(place)
        place.chmod(0o666)
        reading = os.open(place, os.O_RDONLY | os.O_NONBLOCK)
        try:
            box.call(_write_pipe, place)
            if os.read(reading, 16):
                found.append(str(place))
        except BlockingIOError:
            pass
        finally:
            os.close(reading)
    return f"wrote into {', '.join(found)}" if found else ""


def _write_pipe(place):
    fd = os.open(place, os.O_WRONLY | os.O_NONBLOCK)
    os.write(fd, b"owned")


@attack(P.SOCKETS, "named pipe of the host")
def read_from_a_pipe_of_the_host(world: World, box: Box) -> str:
    """What one program sends to another through a pipe that everybody may read."""
    parents = ["/opt", "/usr/local/share"] if os.geteuid() == 0 else []
    places = [world.place(parent) for parent in parents]
    places.append(world.home / ".local/bin")
    places[-1].mkdir(parents=True)
    found = []
    for place in places:
        os.mkfifo(place / "pipe")
        (place / "pipe").chmod(0o644)
        both = os.open(place / "pipe", os.O_RDWR | os.O_NONBLOCK)
        try:
            os.write(both, world.secret.encode())
            told = box.call(_read_all_pipes, place)
            found += [str(place)] if told.value else []
        finally:
            os.close(both)
    return f"read from pipes in {', '.join(found)}" if found else ""


def _names_of_pipes(world: World) -> list[Path]:
    """One at the top, one deep, one named as something protected, one where git keeps its own,
    and one with two names."""
    names = ["pipe", "deep/er/pipe", ".mcp.json", ".git/objects/pipe", "odd\nname", "one"]
    for name in ("objects", "refs"):
        (world.workspace / ".git" / name).mkdir(parents=True)
    (world.workspace / ".git/HEAD").write_text("ref: refs/heads/main\n")
    places = [world.workspace / name for name in names]
    for place in places:
        place.parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(place)
    os.link(places[-1], world.workspace / "other")
    return [*places, world.workspace / "other"]


def _write_all_pipes(workspace):
    steps = [(os.link, "pipe", "linked"), (os.rename, "pipe", "renamed")]
    steps += [(os.rename, "deep/er", "moved"), (os.rename, "deep", "away")]
    for step, before, after in steps:
        try:
            step(f"{workspace}/{before}", f"{workspace}/{after}")
        except OSError:
            continue
    for place, _, names in os.walk(workspace):
        for name in names:
            try:
                fd = os.open(f"{place}/{name}", os.O_WRONLY | os.O_NONBLOCK)
                os.write(fd, b"owned")
                os.close(fd)
            except OSError:
                continue


@attack(P.SOCKETS, "named pipe in the workspace")
def write_into_pipes_in_the_workspace(world: World, box: Box) -> str:
    """A program of the host may read a pipe in the project itself: a build, an editor, a log."""
    places = _names_of_pipes(world)
    reading = [os.open(place, os.O_RDONLY | os.O_NONBLOCK) for place in places]
    try:
        box.call(_write_all_pipes, world.workspace)
        found = [str(p) for p, fd in zip(places, reading, strict=True) if _heard(fd)]
    finally:
        for fd in reading:
            os.close(fd)
    return f"wrote into {', '.join(found)}" if found else ""


def _read_all_pipes(workspace):
    found = []
    for place, _, names in os.walk(workspace):
        for name in names:
            try:
                fd = os.open(f"{place}/{name}", os.O_RDONLY | os.O_NONBLOCK)
                found += [name] if b"secret" in os.read(fd, 64) else []
                os.close(fd)
            except OSError:
                continue
    return found


@attack(P.SOCKETS, "named pipe in the workspace")
def read_from_pipes_in_the_workspace(world: World, box: Box) -> str:
    """What a program of the host sends to another one through a pipe in the project."""
    places = _names_of_pipes(world)
    both = [os.open(place, os.O_RDWR | os.O_NONBLOCK) for place in places]
    try:
        for fd in both:
            os.write(fd, world.secret.encode())
        told = box.call(_read_all_pipes, world.workspace)
    finally:
        for fd in both:
            os.close(fd)
    return f"read from {', '.join(told.value)}" if told.value else ""


def _heard(fd: int) -> bytes:
    try:
        return os.read(fd, 16)
    except BlockingIOError:
        return b""
