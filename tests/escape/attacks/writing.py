"""Changing something outside the workspace: by path, by link, by handle, by attribute."""

from __future__ import annotations

import os
import shutil
import socket
import threading
from collections.abc import Callable

from tests.escape.attack import attack
from tests.escape.inside import Box
from tests.escape.prelude import call
from tests.escape.promises import P
from tests.escape.world import World

OUTSIDE = "write outside the workspace"
LINKS = "symlink out of the workspace"
ATTRIBUTES = "chmod outside"


def writes(row: str, works_for: str = "") -> Callable[[Callable[[str, str], object]], object]:
    """Makes an attack of a payload that gets the victim's path and the workspace's."""

    def made(payload: Callable[[str, str], object]) -> object:
        def attempt(world: World, box: Box) -> str:
            box.call(payload, world.victim, world.workspace)
            return world.changed_outside()

        attempt.__name__ = payload.__name__
        extra = {"works_for": works_for} if works_for else {}
        return attack(P.WRITES, row, **extra)(attempt)  # type: ignore[arg-type]

    return made


@writes(OUTSIDE)
def write_by_absolute_path(victim, workspace):
    with open(victim, "w") as file:
        file.write("owned")


@writes(OUTSIDE)
def write_by_relative_path(victim, workspace):
    os.chdir(workspace)
    with open(os.path.relpath(victim, workspace), "w") as file:
        file.write("owned")


@writes(OUTSIDE)
def create_beside_the_workspace(victim, workspace):
    with open(os.path.join(os.path.dirname(victim), "new"), "x") as file:
        file.write("owned")


@writes(OUTSIDE)
def make_a_directory_outside(victim, workspace):
    os.mkdir(victim + ".d")


@writes(OUTSIDE)
def remove_a_file_outside(victim, workspace):
    os.unlink(victim)


@writes(OUTSIDE)
def truncate_a_file_outside(victim, workspace):
    os.truncate(victim, 0)


@writes(OUTSIDE)
def rename_a_file_out(victim, workspace):
    with open(f"{workspace}/mine", "w") as file:
        file.write("owned")
    os.rename(f"{workspace}/mine", victim)


@writes(OUTSIDE)
def rename_a_file_in(victim, workspace):
    os.rename(victim, f"{workspace}/stolen")


@writes(OUTSIDE)
def link_a_nameless_file_out(victim, workspace):
    fd = os.open(workspace, os.O_TMPFILE | os.O_WRONLY, 0o644)
    os.write(fd, b"owned")
    # With a directory given, Python calls linkat, which follows /proc's link to the file itself.
    os.link(f"/proc/self/fd/{fd}", victim + ".linked", src_dir_fd=fd, follow_symlinks=True)


@writes(OUTSIDE)
def write_through_a_hard_link(victim, workspace):
    os.link(victim, f"{workspace}/hard")
    with open(f"{workspace}/hard", "w") as file:
        file.write("owned")


@writes(OUTSIDE)
def write_through_proc_self_root(victim, workspace):
    with open("/proc/self/root" + victim, "w") as file:
        file.write("owned")


@attack(P.WRITES, OUTSIDE)
def write_through_another_process_root(world: World, box: Box) -> str:
    """The root and the working directory of any process that is seen, its first one too."""
    decoy = world.decoy()
    pids = [] if box.enclosure.hides_processes else [str(decoy.pid)]
    box.call(_through_others, pids, world.victim)
    return world.changed_outside()


def _through_others(pids, victim):
    for name in pids or os.listdir("/proc"):
        if name.isdigit():
            for way in (f"root{victim}", f"cwd{victim}", "cwd/victim"):
                try:
                    with open(f"/proc/{name}/{way}", "w") as file:
                        file.write("owned")
                except OSError:
                    continue


@writes(OUTSIDE, works_for="root")
def write_by_file_handle(victim, workspace):
    import ctypes

    # A handle is a number; it can be guessed. Here it is given, and only the way in is tried.
    top = os.open(workspace, os.O_RDONLY)
    name = victim.encode()
    handle = ctypes.create_string_buffer(8 + 128)
    ctypes.memmove(handle, (128).to_bytes(4, "little"), 4)
    mount = ctypes.c_int()
    try:
        call("name_to_handle_at", -100, name, handle, ctypes.byref(mount), 0)
    except OSError:
        # ext4: inode and generation; the inode from what can still be seen of it.
        inode = os.stat(victim).st_ino
        data = (8).to_bytes(4, "little") + (1).to_bytes(4, "little") + inode.to_bytes(8, "little")
        ctypes.memmove(handle, data, len(data))
    fd = call("open_by_handle_at", top, handle, os.O_WRONLY)
    os.write(fd, b"owned")


@writes(OUTSIDE)
def write_where_everybody_may(victim, workspace):
    # The same victim by every name that a world-writable place may give it.
    for place in ("/var/tmp", "/tmp", "/dev/shm"):
        for found in (victim, victim.replace("/var/tmp", place)):
            try:
                with open(found, "a") as file:
                    file.write("owned")
            except OSError:
                continue


@writes(LINKS)
def write_through_a_link_made_inside(victim, workspace):
    os.symlink(victim, f"{workspace}/link")
    with open(f"{workspace}/link", "w") as file:
        file.write("owned")


@writes(LINKS)
def write_through_a_dangling_link(victim, workspace):
    os.symlink(victim + ".new", f"{workspace}/dangling")
    with open(f"{workspace}/dangling", "w") as file:
        file.write("owned")


@writes(LINKS)
def write_through_a_linked_parent(victim, workspace):
    os.symlink(os.path.dirname(victim), f"{workspace}/parent")
    with open(f"{workspace}/parent/new", "w") as file:
        file.write("owned")


@attack(P.WRITES, LINKS)
def write_through_a_planted_link(world: World, box: Box) -> str:
    """The repository came with links that lead out of it."""
    (world.workspace / "file").symlink_to(world.victim)
    (world.workspace / "directory").symlink_to(world.outside)
    (world.workspace / "chain").symlink_to("directory")
    box.call(_write_to_each, [f"{world.workspace}/{n}" for n in ("file", "directory/a", "chain/b")])
    return world.changed_outside()


def _write_to_each(paths):
    for path in paths:
        try:
            with open(path, "w") as file:
                file.write("owned")
        except OSError:
            continue


@attack(P.WRITES, LINKS)
def write_by_a_swapped_parent(world: World, box: Box) -> str:
    """A directory of the workspace becomes a link out of it between two steps of the path."""
    (world.workspace / "d").mkdir()
    box.call(_swap_and_write, world.outside, world.workspace)
    return world.changed_outside()


def _swap_and_write(outside, workspace):
    import threading
    import time

    until = time.monotonic() + 0.5

    def swap():
        while time.monotonic() < until:
            try:
                os.rename(f"{workspace}/d", f"{workspace}/e")
                os.symlink(outside, f"{workspace}/d")
                os.unlink(f"{workspace}/d")
                os.rename(f"{workspace}/e", f"{workspace}/d")
            except OSError:
                continue

    other = threading.Thread(target=swap)
    try:
        other.start()
    except RuntimeError:  # no second thread: no race
        return
    while time.monotonic() < until:
        try:
            with open(f"{workspace}/d/raced", "w") as file:
                file.write("owned")
        except OSError:
            continue
    other.join()


@writes(ATTRIBUTES)
def change_the_mode_of_a_file_outside(victim, workspace):
    os.chmod(victim, 0o777)


@writes(ATTRIBUTES)
def change_the_mode_by_descriptor(victim, workspace):
    fd = os.open(victim, os.O_RDONLY)
    os.fchmod(fd, 0o777)


@writes(ATTRIBUTES)
def change_the_mode_through_a_link(victim, workspace):
    os.symlink(victim, f"{workspace}/link")
    os.chmod(f"{workspace}/link", 0o777)


@writes(ATTRIBUTES, works_for="root")
def change_the_owner_of_a_file_outside(victim, workspace):
    os.chown(victim, 12345, 12345)


@writes(ATTRIBUTES)
def change_the_times_of_a_file_outside(victim, workspace):
    os.utime(victim, (1, 1))


@writes(ATTRIBUTES)
def set_an_attribute_of_a_file_outside(victim, workspace):
    os.setxattr(victim, "user.owned", b"1")


@attack(P.WRITES, OUTSIDE, works_for="root")
def create_in_a_system_directory(world: World, box: Box) -> str:
    """A program of the system would find it: on the search path, in its configuration."""
    names = [f"{p}/{world.token}" for p in ("/usr/bin", "/usr/local/bin", "/etc", "/opt", "/var")]
    box.call(_write_to_each, names)
    found = [name for name in names if os.path.lexists(name)]
    for name in found:
        os.unlink(name)
    return f"created {', '.join(found)}" if found else ""


@attack(P.WRITES, OUTSIDE)
def write_into_the_home_directory(world: World, box: Box) -> str:
    """Start files and toolchains of the caller, and what Redoma itself keeps."""
    for name in (".local/bin", ".cargo/bin", ".pyenv/shims", ".nvm"):
        (world.home / name).mkdir(parents=True)
        (world.home / name / "tool").write_text("a tool")
    before = _home(world)
    names = """
        .bashrc .profile .config/autostart/x.desktop .local/bin/tool .local/bin/git .cargo/bin/tool
        .pyenv/shims/tool .nvm/tool .ssh/authorized_keys .gitconfig .local/state/redoma/state
        .cache/redoma/state .config/redoma/state
    """
    box.call(_write_to_each, [f"{world.home}/{name}" for name in names.split()])
    changed = sorted(n for n, _ in set(_home(world)) ^ set(before))
    return f"changed in the home directory: {', '.join(changed)}" if changed else ""


def _home(world: World) -> list[tuple[str, object]]:
    traces = world.trace(world.home)
    return [(n, t) for n, t in traces.items() if not n.startswith("project") and n != "."]


@attack(P.WRITES, "unix socket by path")
def have_a_host_service_write(world: World, box: Box) -> str:
    """A service of the host, reached by a path, writes on the command's behalf."""
    place = str(world.home / "service.sock")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(place)
    listener.listen()
    listener.settimeout(20)
    os.chmod(place, 0o777)

    def serve() -> None:
        try:
            peer, _ = listener.accept()
        except OSError:
            return
        with peer:
            shutil.copy(world.victim, world.outside / "by-service")

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        box.call(_knock, place)
    finally:
        with socket.socket(socket.AF_UNIX) as own:  # lets the service end
            before = world.changed_outside()
            own.connect(place)
        thread.join()
        listener.close()
    return before


def _knock(place):
    import socket

    with socket.socket(socket.AF_UNIX) as knocking:
        knocking.connect(place)
        knocking.recv(1)
