"""A small interpreter of the instructions that filters of system calls are made of."""

from __future__ import annotations

import struct

ALLOW, ERROR = 0x7FFF0000, 0x00050000
REPORT = 0x7FC00000


def answer(
    code: bytes, call: int, *arguments: int, arch: int, seen: list[int] | None = None
) -> int:
    """What the kernel would say to a call: a small interpreter of the instructions used."""
    values = [a & (2**64 - 1) for a in (*arguments, *[0] * (6 - len(arguments)))]
    data = struct.pack("<iIQ6Q", call if call < 2**31 else call - 2**32, arch, 0, *values)
    held = at = 0
    while True:
        operation, yes, no, value = struct.unpack_from("HBBI", code, at * 8)
        if seen is not None:
            seen.append(at)
        at += 1
        if operation == 0x20:
            (held,) = struct.unpack_from("<I", data, value)
        elif operation == 0x06:
            return value
        elif operation == 0x05:
            at += value
        else:
            test = {0x15: held == value, 0x25: held > value, 0x35: held >= value,
                    0x45: bool(held & value)}[operation]  # fmt: skip
            at += yes if test else no
