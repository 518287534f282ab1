"""Which file systems are mounted where, as this process sees them."""

from __future__ import annotations

import os

from redoma.model.value import Value

# Where the kernel takes no layer, or takes one and then fails in the middle of a run.
_NO_LAYERS = frozenset("overlay aufs nfs nfs4 cifs smb3 vfat exfat ntfs3 9p ecryptfs".split())
# Where one file has several spellings: the kernel covers none of these.
NO_COVER = frozenset("vfat msdos exfat ntfs ntfs3 hfs hfsplus".split())
_KERNELS_OWN = frozenset(
    "proc sysfs devtmpfs devpts cgroup cgroup2 debugfs tracefs securityfs configfs bpf mqueue"
    " pstore efivarfs hugetlbfs binfmt_misc fusectl autofs rpc_pipefs nsfs".split()
)


def takes_no_layers(kind: str) -> bool:
    """Whether a kind of file system takes no layers, and shows no owner as another."""
    return kind in _NO_LAYERS or kind.startswith("fuse")


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

    def points(self) -> set[str]:
        """Every place where something is mounted."""
        return {mount.point for mount in self._all}

    def below(self, path: str) -> list[str]:
        """Where something is mounted below a directory."""
        return sorted({m.point for m in self._all if m.point.startswith(path.rstrip("/") + "/")})

    def outermost(self, path: str) -> list[str]:
        """The same, without what is mounted in one of the others."""
        found: list[str] = []
        for point in self.below(path):
            if not found or not point.startswith(found[-1] + "/"):
                found.append(point)
        return found

    def can_be_shown(self, point: str) -> bool:
        """Whether what is mounted at a point may be seen by a command, and can be.

        Attack: the kernel's own file systems tell of every process of the machine.
        """
        kind = self.of(point).kind
        if kind in _KERNELS_OWN or kind in NO_COVER or self.below(point):
            return False
        return os.geteuid() != 0 or not takes_no_layers(kind)


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
