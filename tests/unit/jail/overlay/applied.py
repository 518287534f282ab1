"""Runs scripts with their writes held and remembered, and compares trees as a person would."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from redoma import Access
from redoma.jail.overlay.changes import read_changes
from redoma.jail.overlay.placement import COPY, OverlayPlace
from redoma.jail.overlay.store import make_overlay
from redoma.jail.overlay.transaction_store import store_changes
from redoma.jail.protect.untrusted_paths import remove_tree
from redoma.model.change import Changes
from redoma.pipeline.sandbox import Sandbox
from redoma.pipeline.stored_changes import store
from tests.unit.jail.overlay.held import run

SCRIPTS = [
    "echo more > new",
    "mkdir -p a/b/c; echo 1 > a/b/c/one; echo 2 > a/two",
    "echo more >> src/main.py",
    "sed -i s/hello/bye/ src/main.py",
    "rm src/main.py",
    "rm -r src",
    "rm -r src; echo now a file > src",
    "rm notes; mkdir notes; echo 1 > notes/one; mkdir notes/in",
    "mv notes elsewhere",
    "mv src lib",
    "mv src/deep deeper; echo 3 > src/three",
    "mkdir new; mv src/deep/one new/one; rm -r src",
    "rm -r src/deep; mkdir src/deep; echo other > src/deep/one",
    "chmod 600 src/main.py",
    "chmod 750 src; touch -d @1000 src/deep",
    "chmod 700 .",
    "touch -d @1234567 src/main.py",
    "ln -s ../notes src/link; ln -sfn src link",
    "rm link; echo a file > link",
    "ln src/main.py src/other",
    "echo 1 > x; ln x y; ln x src/z",
    "mkfifo pipe",
    "truncate -s 50M sparse; printf end >> sparse",
    "chmod u-w src; chmod u+w src; touch src/late; chmod 555 src",
    "mkdir -p shut/in; echo 1 > shut/in/x; chmod 000 shut/in; chmod 500 shut",
    "for i in $(seq 120); do echo $i > f$i; done",
    "export GIT_AUTHOR_DATE=@1000000000 GIT_COMMITTER_DATE=@1000000000; git init -q . && git config user.name a && git config user.email a@b && git add . && git commit -qm x",
    "printf 1 > $'odd\\nname'; printf 2 > $'\\xff\\xfe'; printf 3 > ' '",
    "mkdir d; cp -a src d/; rm -r src/deep; mv notes d/n",
]


def populate(place: Path) -> Path:
    """A small workspace with some of everything."""
    (place / "src/deep").mkdir(parents=True)
    (place / "src/main.py").write_text("print('hello')\n")
    (place / "src/deep/one").write_text("one, and long enough to be told apart\n")
    (place / "src/deep/two").write_text("two, and long enough to be told apart\n")
    (place / "notes").write_text("some notes\n")
    (place / "link").symlink_to("notes")
    for path in sorted(place.rglob("*"), reverse=True):
        os.utime(path, ns=(10**18, 10**18), follow_symlinks=False)
    os.utime(place, ns=(10**18, 10**18))
    return place


def hold(workspace: Path, script: str, **how: object) -> Changes:
    """What a script changed, held and remembered."""
    result = run(workspace, script, **how)
    assert result.changes is not None
    store(result.changes, script)
    return result.changes


@contextmanager
def another_file_system() -> Iterator[Path]:
    """A directory that is not on the disk that the workspaces of tests are on."""
    place = tempfile.mkdtemp(prefix="rdm-elsewhere-", dir="/dev/shm")
    try:
        yield Path(place)
    finally:
        remove_tree(place)


def hold_elsewhere(workspace: Path, script: str, place: Path) -> Changes:
    """The same, held as a copy in a place that may be on another file system."""
    base = OverlayPlace(directory=str(place), kind=COPY, renames=False)
    overlay = make_overlay(str(workspace), base)
    run_bare(Path(overlay.upper), script)
    found = read_changes(overlay)
    store_changes(overlay, found, command=script)
    return found


def run_bare(workspace: Path, script: str) -> None:
    """The same script with its writes let through at once."""
    result = Sandbox(str(workspace), access=Access(direct=True), policy="isolation-only").run(
        script
    )
    assert (result.exit_code, result.stderr) == (0, b"")


def tree(root: Path, *, numbers: bool = False, times: bool = True) -> dict[str, object]:
    """What a person can see of a tree; with the inodes' own numbers if asked."""
    found: dict[str, object] = {}
    names: dict[int, list[str]] = {}
    pending = [os.fsencode(root)]
    while pending:
        place = pending.pop()
        status = os.lstat(place)
        path = os.fsdecode(os.path.relpath(place, os.fsencode(root)))
        body: object = None
        closed = 0
        if stat.S_ISDIR(status.st_mode):
            if not os.access(place, os.R_OK | os.X_OK):
                closed = stat.S_IMODE(status.st_mode) or -1
                os.chmod(place, 0o700)
            pending += [place + b"/" + name for name in os.listdir(place)]
        elif stat.S_ISREG(status.st_mode):
            names.setdefault(status.st_ino, []).append(path)
            body = Path(os.fsdecode(place)).read_bytes()
            body = (len(body), hash(body)) if len(body) > 1000 else body
        elif stat.S_ISLNK(status.st_mode):
            body = os.readlink(place)
        attributes = sorted(
            (name, os.getxattr(place, name, follow_symlinks=False))
            for name in os.listxattr(place, follow_symlinks=False)
        )
        found[path] = (
            status.st_mode,
            status.st_uid,
            status.st_gid,
            status.st_nlink if not stat.S_ISDIR(status.st_mode) else 0,
            status.st_ino if numbers else 0,
            status.st_mtime_ns if times else 0,
            body,
            attributes,
        )
        if closed:
            _close(place, closed, root, pending)
    linked = sorted(sorted(group) for group in names.values() if len(group) > 1)
    while _to_close:
        place, mode = _to_close.pop()
        os.chmod(place, mode)
    return {**found, "names of one file": linked}


_to_close: list[tuple[bytes, int]] = []


def _close(place: bytes, mode: int, root: Path, pending: list[bytes]) -> None:
    del root, pending
    _to_close.append((place, max(mode, 0)))
