"""A layer: the place where what one run writes is held, and the record by which it is found."""

from __future__ import annotations

import json
import os

from redoma.model.value import Value, fields_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VERSION = 1
OVERLAY = "overlay"  # only what changed lies in the layer
COPY = "copy"  # the whole workspace was copied: an overlay could not be had
_LARGEST_RECORD = 1 << 20


class Layer(Value):
    """One run's held writes; `upper` has each changed path as the command left it."""

    id: str
    workspace: str
    # Ours alone: `upper` and, for an overlay, the kernel's own `work`.
    directory: str
    kind: str = OVERLAY
    # Whether what lies here can be renamed into the workspace; else applying copies.
    renames: bool = True
    # Whether what lies here is memory: no process is told to have written it.
    in_memory: bool = False
    # When the run could begin: the time of the record, which is written no more after that.
    began_ns: int = 0
    # The process that made it, as `PID-START`.
    maker: str = ""
    # Paths below the workspace where something else is mounted: read-only inside, in no layer.
    mounts: tuple[str, ...] = ()
    # What a person should know of this layer.
    notes: tuple[str, ...] = ()

    @property
    def upper(self) -> str:
        """Where the changed paths lie."""
        return f"{self.directory}/upper"

    @property
    def work(self) -> str:
        """The kernel's own directory beside it."""
        return f"{self.directory}/work"


def to_text(layer: Layer) -> str:
    """A layer's record; names that are no UTF-8 come back as they were."""
    return json.dumps({"version": VERSION, **fields_of(layer)})


def from_file(path: str) -> Layer | None:
    """The layer of a record, or None where it is none that this version reads."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(fd, encoding="utf-8") as file:
            found: Any = json.loads(file.read(_LARGEST_RECORD))
            written = os.fstat(fd).st_mtime_ns
        if not isinstance(found, dict) or found.pop("version", None) != VERSION:
            return None
        if not _sound(found):
            return None
        lists = {name: tuple(found.get(name, ())) for name in ("notes", "mounts")}
        layer = Layer(**{**found, **lists, "began_ns": written})
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return layer


def _sound(found: dict[str, Any]) -> bool:
    texts = [found[name] for name in ("id", "workspace", "directory", "kind", "maker")]
    return (
        all(isinstance(text, str) for text in (*texts, *found["notes"]))
        and found["kind"] in (OVERLAY, COPY)
        and found["workspace"].startswith("/")
        and found["directory"].startswith("/")
        and os.path.basename(found["directory"]) == found["id"]
    )
