"""Which file systems are mounted where, as this process sees them."""

from __future__ import annotations

from redoma.model.value import Value


class Mount(Value):
    """One mount: its number, where it is, and what kind of file system."""

    id: int
    point: str
    kind: str


class Mounts:
    """The table of mounts, as it stands now."""

    def __init__(self) -> None:
        with open("/proc/self/mountinfo", errors="surrogateescape") as file:
            text = file.read()
        known = _read.get(text)
        if known is None:
            known = [_mount(line) for line in text.split("\n") if line], {}
            _read.clear()
            _read[text] = known
        self.text = text
        self._all, self._found = known

    def of(self, path: str) -> Mount:
        """The mount on which a real path lies: of those on the way, the last and deepest."""
        known = self._found.get(path)
        if known is not None:
            return known
        found = self._all[0]
        depth = -1
        for mount in self._all:
            point = mount.point.rstrip("/")
            if len(point) >= depth and (path == point or path.startswith(point + "/")):
                found, depth = mount, len(point)
        self._found[path] = found
        return found

    def below(self, path: str) -> list[str]:
        """Where something is mounted below a directory."""
        return sorted({m.point for m in self._all if m.point.startswith(path.rstrip("/") + "/")})


# The table that was read last, and what was looked up in it: it seldom changes.
_read: dict[str, tuple[list[Mount], dict[str, Mount]]] = {}


def _mount(line: str) -> Mount:
    fields, _, rest = line.partition(" - ")
    parts = fields.split(" ")
    return Mount(id=int(parts[0]), point=_plain(parts[4]), kind=rest.split(" ", 1)[0])


def _plain(point: str) -> str:
    if "\\" not in point:
        return point
    import re

    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), point)
