"""A workspace on its way to the nodes: one tar file, named by its content, unpacked once per node.

The driver reads it in pieces, so that neither its memory nor a small object store has to hold all
of it. A node keeps it under its digest; what runs there has a copy-on-write layer of its own over
it, and nothing is ever written into the copy itself.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import stat
import tarfile
import tempfile
import time
from contextlib import suppress

from redoma.base.private_file import make_directory
from redoma.model.errors import RedomaError, StateUnavailable, UsageError
from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

PIECE = 4 << 20
EMPTY = "empty"
_READY, _LOCK, _TREE = "ready", "lock", "tree"
_SENT = (stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK)
_UNUSED = 7 * 24 * 3600.0


class ShipmentBroken(RedomaError):
    """A workspace did not arrive as it was sent."""

    code = "shipment-broken"


class Shipment:
    """A workspace as one file that can be read in pieces; as a context manager, gone afterwards."""

    def __init__(self, workspace: str) -> None:
        """`workspace` is a directory, or a tar file of one."""
        self._own = ""
        self.skipped: tuple[str, ...] = ()
        if os.path.isdir(workspace):
            self._own = self._packed(os.path.realpath(workspace))
        elif not (os.path.isfile(workspace) and tarfile.is_tarfile(workspace)):
            raise UsageError(
                "the workspace {path} is neither a directory nor a tar file", path=workspace
            )
        self.path = self._own or workspace
        with open(self.path, "rb") as file:
            self.digest = hashlib.file_digest(file, "sha256").hexdigest()

    def _packed(self, root: str) -> str:
        handle, path = tempfile.mkstemp(prefix="redoma-ship-", dir="/var/tmp")
        skipped: list[str] = []
        with os.fdopen(handle, "wb") as file, tarfile.open(fileobj=file, mode="w") as tar:
            for found in _tree(root):
                header = tar.gettarinfo(found, arcname=os.path.relpath(found, root))
                if stat.S_IFMT(os.lstat(found).st_mode) not in _SENT:
                    skipped.append(os.path.relpath(found, root))
                    continue
                header = tar.gettarinfo(found, arcname=os.path.relpath(found, root))
                if header.islnk():  # a second name of a file is sent as another file
                    header.type, header.size = tarfile.REGTYPE, os.stat(found).st_size
                header.uid = header.gid = 0
                header.uname = header.gname = ""
                if header.isreg():
                    with open(found, "rb") as source:
                        tar.addfile(header, source)
                else:
                    tar.addfile(header)
        self.skipped = tuple(skipped)
        return path

    def pieces(self) -> Iterator[bytes]:
        """The file, piece by piece."""
        with open(self.path, "rb") as file:
            while piece := file.read(PIECE):
                yield piece

    def close(self) -> None:
        """Removes the file where it is ours."""
        if self._own:
            with suppress(FileNotFoundError):
                os.unlink(self._own)
            self._own = ""


def _tree(root: str) -> Iterator[str]:
    for directory, below, files in os.walk(root):
        below.sort()
        for name in sorted([*below, *files]):
            yield f"{directory}/{name}"


def stores() -> str:
    """Where this node keeps workspaces: ours alone, and on a disk that takes layers."""
    place = f"/var/tmp/redoma-fleet-{os.geteuid()}"
    make_directory(place, StateUnavailable)
    return place


class Arrival:
    """A workspace that arrives at a node; whoever comes second waits, and finds it there."""

    def __init__(self, digest: str) -> None:
        if not (digest.isalnum() and digest.isascii()):
            raise UsageError("a workspace is named by a digest")
        self.digest = digest
        self._place = f"{stores()}/{digest}"
        make_directory(self._place, StateUnavailable)
        self._lock = os.open(f"{self._place}/{_LOCK}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self._file = None if self.ready else open(f"{self._place}/part", "wb")  # noqa: SIM115

    @property
    def ready(self) -> bool:
        """Whether the whole workspace is here."""
        return os.path.exists(f"{self._place}/{_READY}")

    def add(self, piece: bytes) -> None:
        """The next piece."""
        assert self._file is not None
        self._file.write(piece)

    def finish(self) -> None:
        """Checks and unpacks it; ShipmentBroken where it is not what its name says."""
        if self._file is None:
            return
        self._file.close()
        part, tree = f"{self._place}/part", f"{self._place}/{_TREE}"
        if self.digest != EMPTY:
            with open(part, "rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
            if found != self.digest:
                raise ShipmentBroken("a workspace arrived damaged", hint="run it again")
        shutil.rmtree(tree, ignore_errors=True)
        os.mkdir(tree, 0o755)
        if self.digest != EMPTY:
            unpack(part, tree)
        os.unlink(part)
        with open(f"{self._place}/{_READY}", "wb"):
            pass

    def close(self) -> None:
        """Lets go of the place, ready or not."""
        if self._file is not None:
            self._file.close()
            self._file = None
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def unpack(path: str, tree: str) -> None:
    """Unpacks a tar file; its links come last, so that nothing is written through one."""
    links = []
    try:
        with tarfile.open(path) as tar:
            for member in tar:
                if member.issym():
                    links.append(member)
                elif member.isreg() or member.isdir() or member.islnk():
                    tar.extract(member, tree, filter="data")
            for member in links:
                name = os.path.normpath(member.name)
                if name.startswith(("/", "../")) or name in (".", ".."):
                    raise UsageError("{path} leads out of the workspace", path=member.name)
                place = f"{tree}/{name}"
                # Attack: a link below a link that was just made.
                if os.path.realpath(os.path.dirname(place)) != os.path.dirname(place):
                    raise UsageError("{path} lies behind a link", path=member.name)
                os.makedirs(os.path.dirname(place), exist_ok=True)
                with suppress(FileNotFoundError):
                    os.unlink(place)
                os.symlink(member.linkname, place)
    except (tarfile.TarError, OSError, EOFError) as error:
        raise ShipmentBroken(
            "a workspace cannot be unpacked: {why}", why=Message(str(error))
        ) from error


def held_workspace(digest: str) -> tuple[str, int]:
    """The directory of a workspace that is here, and a lock that keeps it here while it is open."""
    place = f"{stores()}/{digest}"
    lock = os.open(f"{place}/{_LOCK}", os.O_RDWR | os.O_CLOEXEC)
    fcntl.flock(lock, fcntl.LOCK_SH)
    os.utime(f"{place}/{_READY}")
    return f"{place}/{_TREE}", lock


def remove_unused() -> None:
    """Lets go of workspaces that nobody used for a week."""
    with suppress(FileNotFoundError):
        for entry in os.scandir(stores()):
            ready = f"{entry.path}/{_READY}"
            with suppress(OSError):
                if os.stat(ready).st_mtime > time.time() - _UNUSED:
                    continue
                lock = os.open(f"{entry.path}/{_LOCK}", os.O_RDWR | os.O_CLOEXEC)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    os.unlink(ready)
                    if stat.S_ISDIR(os.lstat(entry.path).st_mode):
                        shutil.rmtree(entry.path, ignore_errors=True)
                finally:
                    os.close(lock)
