"""Every engine by name, made when it is first asked for."""

from __future__ import annotations

import os

from redoma.jail import own
from redoma.model.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.jail.engines.base import Engine

NAMES = ("warm", "bubblewrap", "systemd", "container", "unshare", "landlock", "direct")


class Catalog:
    """The engines of one process."""

    def __init__(self) -> None:
        self._made: dict[str, Engine] = {}

    def engine(self, name: str) -> Engine:
        """The engine with this name."""
        if name not in self._made:
            self._made[name] = _make(name, self)
        return self._made[name]

    @staticmethod
    def identity(name: str) -> str:
        """What an engine's probe depends on beside the machine: the files it starts."""
        if name in ("bubblewrap", "systemd"):
            from redoma.jail.engines.bwrap_binary import candidates

            found = " ".join(_file(path) for path in candidates())
            return f"{found} {_manager()}" if name == "systemd" else found
        if name == "unshare":
            return f"{_file('/usr/bin/unshare')} {_file(own.INTERPRETER)}"
        return _file(own.INTERPRETER) if name in ("warm", "landlock") else ""

    def close(self) -> None:
        # The last first: some stand on others.
        for engine in reversed(self._made.values()):
            close = getattr(engine, "close", None)
            if close is not None:
                close()
        self._made.clear()


def _manager() -> str:
    """Which systemd is the init here: a container shares the kernel's boot, and maybe the cache."""
    try:
        status = os.stat("/run/systemd/system")
    except OSError:
        return "no systemd"
    return f"systemd:{status.st_dev}:{status.st_ino}"


def _file(path: str) -> str:
    try:
        status = os.stat(path)
    except OSError:
        return f"{path}:gone"
    return f"{path}:{status.st_mtime_ns}:{status.st_size}"


def _make(name: str, catalog: Catalog) -> Engine:
    if name == "bubblewrap":
        from redoma.jail.engines.bubblewrap import Bubblewrap

        return Bubblewrap()
    if name == "warm":
        from redoma.jail.engines.bubblewrap import Bubblewrap
        from redoma.jail.engines.warm import Warm

        described = catalog.engine("bubblewrap")
        assert isinstance(described, Bubblewrap)
        return Warm(described)
    if name == "systemd":
        from redoma.jail.engines.bubblewrap import Bubblewrap
        from redoma.jail.engines.systemd import Systemd

        inner = catalog.engine("bubblewrap")
        assert isinstance(inner, Bubblewrap)
        return Systemd(inner)
    if name == "container":
        from redoma.jail.engines.container import Container

        return Container()
    if name == "unshare":
        from redoma.jail.engines.unshare import Unshare

        return Unshare()
    if name == "landlock":
        from redoma.jail.engines.landlock import Landlock

        return Landlock()
    if name == "direct":
        from redoma.jail.engines.direct import Direct

        return Direct()
    raise UsageError(f"there is no engine {name!r}", hint="engines: " + ", ".join(NAMES))
