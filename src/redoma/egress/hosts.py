"""Host names and addresses as they are compared, and which addresses anybody may reach.

Attack: a granted name that suddenly resolves to 127.0.0.1, to a router, or to the address where a
cloud hands out credentials. Nothing of that kind is dialled unless it was granted as such.
"""

from __future__ import annotations

import re

from redoma.base.cores import AF_INET, AF_INET6, inet_ntop, inet_pton

_LONGEST = 253
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\Z")
# 127.1, 0x7f.1 and 2130706433 are addresses to a C library and names to nobody.
_LIKE_AN_ADDRESS = re.compile(r"(?:\d+|0x[0-9a-f]*)\Z")
_V4_BITS, _V6_BITS = 32, 128
_NOT_PUBLIC_V4 = """
    0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24
    192.0.2.0/24 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24
    198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 168.63.129.16/32
""".split()
# Where clouds hand out credentials, under whatever name: never reached unless granted as such.
_METADATA = """
    169.254.0.0/16 100.100.100.200/32 192.0.0.192/32 168.63.129.16/32 fe80::/10 fd00:ec2::/32
    fd20:ce::/32 fd00:42::42/128
""".split()
# Everything public is below 2000::/3; these parts of it lead elsewhere: Teredo and other tunnels,
# documentation, 6to4, which carries an IPv4 address that would not be looked at.
_PUBLIC_V6 = "2000::/3"
_NOT_PUBLIC_V6 = "2001::/23 2001:db8::/32 2002::/16 3fff::/20".split()
# IPv4 in other clothes: mapped, and translated by a network that speaks IPv6 only.
_CARRIES_V4 = ("::ffff:0:0/96", "64:ff9b::/96")


def normal(text: str) -> str:
    """The one spelling of a host name, or nothing where it is not a name."""
    name = text.strip().removesuffix(".").lower()
    if not name.isascii():
        try:
            name = name.encode("idna").decode("ascii").lower()
        except (UnicodeError, ValueError):
            return ""
    if not name or len(name) > _LONGEST:
        return ""
    labels = name.split(".")
    if not all(_LABEL.match(label) for label in labels) or _LIKE_AN_ADDRESS.match(labels[-1]):
        return ""
    return name


def number(text: str) -> tuple[int, int] | None:
    """(value, bits) of an address in its usual form, or None for anything else."""
    for family, bits in ((AF_INET, _V4_BITS), (AF_INET6, _V6_BITS)):
        try:
            return int.from_bytes(inet_pton(family, text), "big"), bits
        except (OSError, ValueError):
            continue
    return None


def canonical(text: str) -> str:
    """An address in the one form that is compared, or nothing: mapped IPv4 is IPv4."""
    found = number(text.removeprefix("[").removesuffix("]"))
    if found is None:
        return ""
    value, bits = found
    if bits == _V6_BITS and within(value, bits, _CARRIES_V4[0]):
        value, bits = value & 0xFFFFFFFF, _V4_BITS
    family = AF_INET if bits == _V4_BITS else AF_INET6
    return inet_ntop(family, value.to_bytes(bits // 8, "big"))


def network(text: str) -> str:
    """A network such as 10.0.0.0/8 as it is compared, or nothing."""
    base, slash, length = text.partition("/")
    found = number(base)
    if found is None or not slash or not length.isascii() or not length.isdigit():
        return ""
    return text if int(length) <= found[1] else ""


def within(value: int, bits: int, inside: str) -> bool:
    """Whether an address lies in a network of its own kind."""
    base, _, length = inside.partition("/")
    found = number(base)
    if found is None or found[1] != bits:
        return False
    shift = bits - int(length)
    return value >> shift == found[0] >> shift


def is_public(text: str) -> bool:
    """Whether an address is one that anybody may have meant by a name."""
    found = number(text)
    if found is None:
        return False
    value, bits = found
    if bits == _V4_BITS:
        return not any(within(value, bits, each) for each in _NOT_PUBLIC_V4)
    if carried(text) != text:
        return is_public(carried(text))
    if not within(value, bits, _PUBLIC_V6):
        return False
    return not any(within(value, bits, each) for each in _NOT_PUBLIC_V6)


def carried(text: str) -> str:
    """The IPv4 address that an address of IPv6 stands for, or the address itself."""
    found = number(text)
    if found is None or not any(within(*found, each) for each in _CARRIES_V4):
        return text
    return inet_ntop(AF_INET, (found[0] & 0xFFFFFFFF).to_bytes(4, "big"))


def is_metadata(text: str) -> bool:
    """Whether a cloud's machines find their credentials at an address."""
    return any(is_inside(carried(text), each) for each in _METADATA)


def is_inside(text: str, inside: str) -> bool:
    """Whether an address lies in a network that was granted by name."""
    found = number(text)
    return bool(inside) and found is not None and within(*found, inside)
