"""Sizes, times and counts as people write them, and an error that names what cannot be meant."""

from __future__ import annotations

from redoma.model.arguments import WrongValue, number, whole
from redoma.model.errors import UsageError

_UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_TIMES = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "ms": 0.001}

SIZES = frozenset(
    "memory swap address_space file_size total_written keep_free temporary output"
    " output_total".split()
)
COUNTS = frozenset("processes open_files cpu_percent cpu_seconds changes depth".split())
TIMES = frozenset({"wall_seconds"})

MACHINE = "machine"
OF_MACHINE = frozenset({"memory", "temporary", "processes"})

_SMALLEST = {"memory": 1 << 20, "address_space": 16 << 20, "open_files": 8, "temporary": 4096}
_LARGEST = 1 << 50


def read_limit(name: str, text: str) -> int | float | None:
    """The value of the limit `name`; `none` is no limit, `machine` a share of what is here."""
    if text.strip().lower() in ("none", "unlimited"):
        return None
    if text.strip() == MACHINE:
        if name not in OF_MACHINE:
            hint = f"{MACHINE} is a value of: {', '.join(sorted(OF_MACHINE))}"
            raise UsageError(f"{name}: no value of the machine is known", hint=hint)
        from redoma.jail.machine_limits import of_machine

        return of_machine(name)
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


def checked_limit(name: str, given: object) -> int | float | None:
    """The limit `name` as a program gives it: a number in its unit, or None for no limit."""
    if name not in SIZES | COUNTS | TIMES:
        known = ", ".join(sorted(SIZES | COUNTS | TIMES))
        raise WrongValue(f"limits: there is no limit {name!r}", hint=f"limits: {known}")
    if given is None:
        return None
    label = f"limits[{name!r}]"
    if name in TIMES:
        return number(label, given)
    return whole(label, given, least=_SMALLEST.get(name, 1), most=_LARGEST)


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
