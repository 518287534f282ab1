"""Having a privilege, or getting one: as root, by set-id programs, by file capabilities."""

from __future__ import annotations

import os
import shutil
import stat
import struct
import threading
from pathlib import Path

from tests.escape.attack import Unsupported, attack
from tests.escape.inside import Box
from tests.escape.payload import NotRun
from tests.escape.prelude import text_of
from tests.escape.promises import P
from tests.escape.world import World

KERNEL_ROOT = "run as the host's root (as root)"
CAPABILITIES = "keep or get capabilities"
SETUID = "set-id programs"


def _wait(workspace):
    import time

    for _ in range(75):
        if os.path.exists(f"{workspace}/seen"):
            return
        time.sleep(0.02)


def _status_seen_outside(world: World, box: Box) -> dict[str, str]:
    """What the host's kernel says about the payload's process while it runs."""
    seen: dict[str, str] = {}
    over = threading.Event()

    def look() -> None:
        while not seen and not over.wait(0.02):
            for pid in world.alive():
                # The payload itself, and not what supervises it: that has another command line.
                if text_of(f"/proc/{pid}/cmdline").startswith("python3\0-I\0-S\0"):
                    lines = text_of(f"/proc/{pid}/status").splitlines()
                    seen.update(line.split(":\t", 1) for line in lines if ":\t" in line)
        (world.workspace / "seen").touch()

    thread = threading.Thread(target=look)
    thread.start()
    try:
        box.call(_wait, world.workspace)
    finally:
        over.set()
        thread.join()
    if not seen:
        raise NotRun("the payload was never seen from outside")
    return seen


@attack(P.PRIVILEGES, KERNEL_ROOT, works_for="root")
def run_with_the_kernels_uid_zero(world: World, box: Box) -> str:
    """To the kernel outside, uid 0 is root, whatever a namespace calls it."""
    seen = _status_seen_outside(world, box)
    owners = set(seen["Uid"].split())
    return f"the kernel sees uid {seen['Uid']}" if "0" in owners else ""


@attack(P.PRIVILEGES, KERNEL_ROOT, works_for="root")
def run_with_root_as_a_group(world: World, box: Box) -> str:
    seen = _status_seen_outside(world, box)
    groups = set(seen["Gid"].split()) | set(seen["Groups"].split())
    return f"the kernel sees groups {' '.join(sorted(groups))}" if "0" in groups else ""


@attack(P.PRIVILEGES, CAPABILITIES, works_for="root")
def keep_capabilities(world: World, box: Box) -> str:
    seen = _status_seen_outside(world, box)
    kept = [n for n in ("CapInh", "CapPrm", "CapEff", "CapAmb") if int(seen[n], 16)]
    return f"kept {', '.join(f'{n} {seen[n]}' for n in kept)}" if kept else ""


@attack(P.PRIVILEGES, CAPABILITIES)
def be_able_to_gain_privileges(world: World, box: Box) -> str:
    """Without the flag, any set-id program that is found raises privilege."""
    seen = _status_seen_outside(world, box)
    return "" if seen["NoNewPrivs"] == "1" else "no_new_privs is not set"


def _status_of(program):
    import subprocess

    done = subprocess.run(
        [program, "/proc/self/status"], capture_output=True, text=True, check=False
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith(("Uid", "CapEff"))]
    return lines or [done.stderr]


@attack(P.PRIVILEGES, SETUID, works_for="root")
def run_a_set_user_id_program(world: World, box: Box) -> str:
    """A program of root's with the set-user-id bit, among the programs that are shown."""
    if os.geteuid() != 0:
        raise Unsupported("only root can make a program of root's")
    copy = world.place("/opt") / "cat"
    shutil.copy("/bin/cat", copy)
    copy.chmod(0o4755)
    told = box.call(_status_of, copy)
    uids = [line for line in told.value or [] if line.startswith("Uid")]
    return f"ran as {uids[0]}" if uids and "\t0" in uids[0] else ""


@attack(P.PRIVILEGES, CAPABILITIES, works_for="root")
def run_a_program_with_file_capabilities(world: World, box: Box) -> str:
    """A program that brings capabilities with it, among the programs that are shown."""
    if os.geteuid() != 0:
        raise Unsupported("only root can give a program capabilities")
    copy = world.place("/opt") / "cat"
    shutil.copy("/bin/cat", copy)
    # Revision 2 with the effective bit: CAP_DAC_OVERRIDE, CAP_NET_RAW.
    os.setxattr(copy, "security.capability", struct.pack("<5I", 0x02000001, 0x2002, 0, 0, 0))
    told = box.call(_status_of, copy)
    kept = [line for line in told.value or [] if line.startswith("CapEff")]
    return f"ran with {kept[0]}" if kept and int(kept[0].split()[1], 16) else ""


def _effective_user(program):
    import subprocess
    import time

    # It waits for a password that never comes; meanwhile the kernel says as whom it runs.
    child = subprocess.Popen(
        [program, "root"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        for _ in range(20):
            time.sleep(0.02)
            for line in text_of(f"/proc/{child.pid}/status").splitlines():
                if line.startswith("Uid") and line.split()[2] == "0":
                    return "effective uid 0"
    finally:
        child.stdin.close()
        child.terminate()
        child.wait()
    return ""


@attack(P.PRIVILEGES, SETUID)
def become_root_by_su(world: World, box: Box) -> str:
    """The machine's own set-user-id programs; one is started, and given no password."""
    found = shutil.which("su", path="/usr/bin:/bin")
    if not found or not os.stat(found).st_mode & stat.S_ISUID:
        raise Unsupported("there is no set-user-id su here")
    told = box.call(_effective_user, found)
    return str(told.value or "")


def _leave_set_id(workspace):
    done = []

    def attempt(name, way):
        try:
            way(f"{workspace}/{name}")
        except OSError:
            return
        done.append(name)

    def made(path, mode=0o755):
        with open(path, "w") as file:
            file.write("#!/bin/sh\n")
        os.chmod(path, mode)
        return path

    import ctypes

    def by_descriptor(path):
        fd = os.open(made(path), os.O_RDONLY)
        os.fchmod(fd, 0o4755)

    def by_openat2(path):
        how = (ctypes.c_uint64 * 3)(os.O_CREAT | os.O_WRONLY, 0o4755, 0)
        call = LIBC.syscall(437, -100, path.encode(), how, 24)  # noqa: F821
        if call < 0:
            raise OSError(1, "openat2")

    def by_fchmodat2(path):
        if LIBC.syscall(452, -100, made(path).encode(), 0o4755, 0) < 0:  # noqa: F821
            raise OSError(1, "fchmodat2")

    def by_nameless(path):
        fd = os.open(workspace, os.O_TMPFILE | os.O_WRONLY, 0o4755)
        os.link(f"/proc/self/fd/{fd}", path, src_dir_fd=fd, follow_symlinks=True)

    def by_copy(path):
        import shutil

        shutil.copy2("/usr/bin/su", path)
        os.chmod(path, os.stat("/usr/bin/su").st_mode & 0o7777)

    os.umask(0)
    attempt("by-chmod", lambda path: os.chmod(made(path), 0o4755))
    attempt("by-group", lambda path: os.chmod(made(path), 0o2755))
    attempt("by-fchmod", by_descriptor)
    attempt(
        "by-fchmodat",
        lambda p: os.chmod(os.path.basename(made(p)), 0o4755, dir_fd=os.open(workspace, 0)),
    )
    attempt("by-open", lambda path: os.open(path, os.O_CREAT | os.O_WRONLY, 0o4755))
    attempt("by-mknod", lambda path: os.mknod(path, 0o104755))
    attempt("by-openat2", by_openat2)
    attempt("by-fchmodat2", by_fchmodat2)
    attempt("by-nameless", by_nameless)
    attempt("by-copy", by_copy)
    return done


@attack(P.OWNER, "leave a set-id program behind")
def leave_a_set_id_program(world: World, box: Box) -> str:
    """It would belong to the workspace's owner, and run with the owner's rights for anybody."""
    box.call(_leave_set_id, world.workspace)
    bits = stat.S_ISUID | stat.S_ISGID
    found = [p.name for p in Path(world.workspace).iterdir() if p.lstat().st_mode & bits]
    return f"set-id bit on {', '.join(sorted(found))}" if found else ""


def _make_files(workspace):
    os.mkdir(f"{workspace}/made")
    with open(f"{workspace}/made/file", "w") as file:
        file.write("x")
    os.symlink("file", f"{workspace}/made/link")
    os.mkfifo(f"{workspace}/made/pipe")
    return os.listdir(f"{workspace}/made")


def _strangers(world: World, owner: tuple[int, int]) -> str:
    strange = {
        name: trace.owner
        for name, trace in world.trace(world.workspace).items()
        if name.startswith("made") and trace.owner != owner
    }
    return f"owned by someone else: {strange}" if strange else ""


@attack(P.OWNER, "files of a strange owner", works_for="")
def leave_files_of_a_strange_owner(world: World, box: Box) -> str:
    """What root's command makes belongs to the workspace's owner, and can be removed by them."""
    status = os.stat(world.workspace)
    told = box.call(_make_files, world.workspace)
    if told.refused:
        return f"cannot work in the workspace at all: {told.refused}"
    return _strangers(world, (status.st_uid, status.st_gid))


@attack(P.OWNER, "files of a strange owner", works_for="root")
def leave_files_of_root_in_anothers_workspace(world: World, box: Box) -> str:
    """Root runs a command in a workspace that belongs to an ordinary user."""
    if os.geteuid() != 0:
        raise Unsupported("only root can work in someone else's workspace")
    for path in (world.workspace, *world.workspace.iterdir()):
        os.chown(path, 12345, 12345)
    told = box.call(_make_files, world.workspace)
    if told.refused:
        return f"cannot work in the workspace at all: {told.refused}"
    return _strangers(world, (12345, 12345))
