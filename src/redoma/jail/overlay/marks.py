"""The attributes by which the kernel marks what lies in a layer, told apart from a command's own.

Layers are mounted in a user namespace, so the marks are ordinary attributes. Attack: a command sets
such an attribute itself, to have a directory read as replaced or a file as deleted. The kernel
stores what a command calls `user.overlay.x` as `user.overlay.overlay.x`; only the rest are marks.
"""

from __future__ import annotations

import os

from redoma.model.blocks import suppress

_PREFIX = "user.overlay."
_ESCAPED = "user.overlay.overlay."
OPAQUE = "user.overlay.opaque"
# Labels that the machine gives, not a command; they follow from where a file lies.
_LABELS = frozenset({"security.selinux", "security.ima", "security.evm", "security.SMACK64"})


def is_mark(name: str) -> bool:
    """Whether an attribute is the kernel's own mark on something in a layer."""
    return name.startswith(_PREFIX) and not name.startswith(_ESCAPED)


def own_attributes(place: str, *, in_overlay: bool) -> tuple[tuple[str, bytes], ...]:
    """The attributes of a file as its owner sees them: no marks, no labels."""
    try:
        names = os.listxattr(place, follow_symlinks=False)
    except OSError:
        return ()
    if not names:
        return ()
    found = []
    for name in sorted(names):
        if name in _LABELS or (in_overlay and is_mark(name)):
            continue
        with suppress(OSError):
            value = os.getxattr(place, name, follow_symlinks=False)
            found.append((_seen_inside(name) if in_overlay else name, value))
    return tuple(found)


def is_opaque(place: str) -> bool:
    """Whether a directory in a layer hides everything that lies below it."""
    try:
        return os.getxattr(place, OPAQUE, follow_symlinks=False) == b"y"
    except OSError:
        return False


def strip_marks(place: str | int) -> None:
    """Makes something that leaves a layer what it is outside: no marks, its own names back.

    `place` is a path whose last part is not followed, or a descriptor.
    """
    follow = isinstance(place, int)
    for name in os.listxattr(place, follow_symlinks=follow):
        if is_mark(name):
            os.removexattr(place, name, follow_symlinks=follow)
        elif name.startswith(_ESCAPED):
            value = os.getxattr(place, name, follow_symlinks=follow)
            os.setxattr(place, _seen_inside(name), value, follow_symlinks=follow)
            os.removexattr(place, name, follow_symlinks=follow)


def _seen_inside(name: str) -> str:
    return _PREFIX + name.removeprefix(_ESCAPED) if name.startswith(_ESCAPED) else name
