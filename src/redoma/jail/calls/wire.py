"""What goes over a call's two descriptors: its orders on the way in, its answer on the way out.

Orders are a length, as much JSON, and the pickled call. An answer is `MAGIC`, one byte that says
how the call ended, and one value; nothing follows it. Every value that can come back has one tag
here; lengths are four bytes, little end first.
"""

from __future__ import annotations

import json
import struct

from redoma.model.call import DEEPEST, LARGEST
from redoma.model.value import Value, fields_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAGIC = b"redoma-answer-1\n"
RETURNED, RAISED, REFUSED, UNFIT = b"R", b"E", b"V", b"N"
EACH = 64
"""Bytes of memory that a value takes at least, its place in a list included."""
ROOM = 4
"""How much more memory than bytes an answer may take."""
NONE, TRUE, FALSE = b"N", b"T", b"F"
INT, BIG_INT, FLOAT, COMPLEX = b"i", b"I", b"f", b"c"
STR, BYTES, BYTEARRAY = b"s", b"b", b"a"
LIST, TUPLE, SET, FROZENSET, DICT = b"l", b"t", b"S", b"Z", b"d"
# A list of nothing but integers of eight bytes, or of nothing but floats, in one piece.
INTS, FLOATS = b"q", b"g"
DATETIME, DATE, TIME, TIMEDELTA = b"D", b"e", b"h", b"y"
PATH, PURE_PATH, DECIMAL, UUID = b"p", b"P", b"m", b"u"
# One of the types that the caller declared, by its place in that list.
DATACLASS, ENUM = b"x", b"v"
LENGTH = struct.Struct("<I")
INT_8 = struct.Struct("<q")
FLOAT_8 = struct.Struct("<d")
FLOATS_2 = struct.Struct("<dd")
PLACE = struct.Struct("<H")
SPAN = struct.Struct("<iii")  # days, seconds, microseconds


class CallOrders(Value):
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
    def read(cls, data: bytes) -> CallOrders:
        """What `written` wrote."""
        end = 4 + int.from_bytes(data[:4], "little")
        told = json.loads(data[4:end])
        plain: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in told.items()}
        return cls(payload=data[end:], **plain)
