"""Reads policy files once, and keeps what was read for the processes that come after."""

from __future__ import annotations

import marshal
import os
import sys
import time
from binascii import crc32

from redoma.flow.policies import unusable
from redoma.judge.policy.merge import merge
from redoma.judge.policy.read import LARGEST, Layer, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from redoma.flow.policies import Stamp
    from redoma.model.policy import Policy

FORMAT = 1
# A file changed so lately could change again without its times telling.
_SETTLED_NS = 100_000_000


def compiled(stamp: Stamp) -> tuple[Policy, bool]:
    """The policy of these files, and whether it may be held for as long as they stay the same."""
    head = (FORMAT, sys.version_info[:2], stamp)
    settled = time.time_ns() - max(max(row[4], row[5]) for row in stamp) > _SETTLED_NS
    place = _place(stamp)
    kept = _kept(place) if settled else None
    if kept is not None and kept[0] == head:
        layers = [
            Layer(path=path, origin=origin, values=values, at=at)
            for path, origin, values, at in kept[2]
        ]
        return merge(layers, digest=kept[1]), True
    digest, layers = _read(stamp)
    policy = merge(layers, digest=digest)  # what cannot be merged is not kept
    if settled:
        plain = [(layer.path, layer.origin, layer.values, layer.at) for layer in layers]
        _keep(place, marshal.dumps((head, digest, plain)))
    return policy, settled


def _read(stamp: Stamp) -> tuple[str, list[Layer]]:
    from hashlib import sha256

    whole = sha256()
    layers = []
    for path, origin, *identity in stamp:
        content = _content(path, identity)
        whole.update(f"{origin}\0{path}\0{len(content)}\0".encode(errors="surrogateescape"))
        whole.update(content)
        layers.append(read(content, path=path, origin=origin))
    return whole.hexdigest(), layers


def _content(path: str, identity: list[int]) -> bytes:
    """The bytes of the very file that was looked at.

    Attack: the file is exchanged between the look and the reading, or while it is read.
    """
    try:
        with open(path, "rb") as file:
            before = _identity(file.fileno())
            content = file.read(LARGEST + 1)
            after = _identity(file.fileno())
    except OSError as error:
        raise unusable(path, f"cannot be read: {error.strerror}") from None
    if not before == after == identity:
        raise unusable(path, "changed while it was read", "try again")
    return content


def _identity(fd: int) -> list[int]:
    s = os.fstat(fd)
    return [s.st_dev, s.st_ino, s.st_mtime_ns, s.st_ctime_ns, s.st_size, s.st_mode, s.st_uid]


def _place(stamp: Stamp) -> str:
    """Where it is kept; nowhere for someone whose home directory does not exist."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if not os.path.isdir(os.path.dirname(base)):
        return ""
    names = "\0".join(row[0] for row in stamp).encode(errors="surrogateescape")
    return os.path.join(base, "redoma", "policies", f"{crc32(names):08x}.compiled")


def _kept(path: str) -> Any:
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            # Attack: in a shared directory another user could leave what we would believe.
            if status.st_uid != os.geteuid() or status.st_mode & 0o022:
                return None
            kept = marshal.loads(file.read())  # noqa: S302
    except (OSError, ValueError, EOFError, TypeError):
        return None
    return kept if isinstance(kept, tuple) and len(kept) == 3 else None


def _keep(path: str, content: bytes) -> None:
    """Best effort: a place that cannot be written only costs time at the next start."""
    if not path:
        return
    temporary = f"{path}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(fd, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except OSError:
        return
