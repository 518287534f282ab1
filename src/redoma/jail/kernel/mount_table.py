"""What is mounted, as the kernel lists it."""

from __future__ import annotations


def places() -> list[str]:
    """Where something is mounted; spaces, line ends and backslashes as the kernel writes them."""
    with open("/proc/thread-self/mountinfo", errors="surrogateescape") as file:
        return [line.split(" ", 5)[4] for line in file]


def has_mounts(path: str, mounted: list[str] | None = None) -> bool:
    """Whether something is mounted below a directory; `mounted` is what was looked up before."""
    below = path.rstrip("/") + "/"
    for sign in "\\ \t\n":
        below = below.replace(sign, f"\\{ord(sign):03o}")
    return any(place.startswith(below) for place in (places() if mounted is None else mounted))
