"""Sizes, times and counts as people write them, and an error that names what cannot be meant."""

from __future__ import annotations

from redoma.model.errors import UsageError

_UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_TIMES = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "ms": 0.001}

SIZES = frozenset(
    "memory swap address_space file_size total_written temporary output output_total".split()
)
COUNTS = frozenset({"processes", "open_files", "cpu_percent", "cpu_seconds"})
TIMES = frozenset({"wall_seconds"})

_SMALLEST = {"memory": 1 << 20, "address_space": 16 << 20, "open_files": 8, "temporary": 4096}
_LARGEST = 1 << 50


def read_limit(name: str, text: str) -> int | float | None:
    """The value of the limit `name`; `none` is no limit."""
    if text.strip().lower() in ("none", "unlimited"):
        return None
    if name in SIZES:
        value: float = _number(name, text, _UNITS, "a size such as 512M or 2G")
    elif name in TIMES:
        value = _number(name, text, _TIMES, "a time such as 30, 90s or 5m")
    else:
        value = _number(name, text.removesuffix("%"), {"": 1}, "a whole number")
        if value != int(value):
            raise UsageError(f"{name}: {text!r} is not a whole number")
    if value <= 0 or value > _LARGEST:
        raise UsageError(f"{name}: {text!r} is no sensible limit", hint="a number above zero")
    if value < _SMALLEST.get(name, 0):
        raise UsageError(f"{name}: {text!r} is too little to run anything")
    return value if name in TIMES else int(value)


def _number(name: str, text: str, units: dict[str, float] | dict[str, int], wanted: str) -> float:
    stripped = text.strip().lower()
    digits = stripped.rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = stripped[len(digits) :].removesuffix("ib" if units is _UNITS else "")
    if units is _UNITS and len(unit) == 2:
        unit = unit.removesuffix("b")
    plain = digits.strip().replace(".", "", 1)
    if unit not in units or not plain.isascii() or not plain.isdigit():
        raise UsageError(f"{name}: {text!r} is not {wanted}")
    return float(digits) * units[unit]
