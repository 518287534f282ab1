"""What a call's process is told: where modules are, what to watch for, and the call itself."""

from __future__ import annotations

import json

from redoma.model.call import DEEPEST, LARGEST
from redoma.model.value import Value, fields_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Orders(Value):
    """Everything that descriptor 0 of a call's process holds."""

    payload: bytes
    path: tuple[str, ...] = ()
    # Roots: what can be seen at all, what can be written, and what is hidden below either.
    seen: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    network: bool = False
    subprocesses: bool = True
    collects: int = 0
    largest: int = LARGEST
    deepest: int = DEEPEST

    def written(self) -> bytes:
        """As bytes: a length, as much JSON, and the payload."""
        told = {name: value for name, value in fields_of(self).items() if name != "payload"}
        head = json.dumps(told).encode("ascii")
        return len(head).to_bytes(4, "little") + head + self.payload

    @classmethod
    def read(cls, data: bytes) -> Orders:
        """What `written` wrote."""
        end = 4 + int.from_bytes(data[:4], "little")
        told = json.loads(data[4:end])
        plain: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in told.items()}
        return cls(payload=data[end:], **plain)
