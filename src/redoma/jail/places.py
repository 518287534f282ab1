"""Where Redoma keeps what it found out and what it took away; never inside an enclosure."""

from __future__ import annotations

import os
import stat


def cache() -> str:
    """A directory for what can be found out again."""
    return _own("XDG_CACHE_HOME", ".cache")


def state() -> str:
    """A directory for what must outlive a crash."""
    return _own("XDG_STATE_HOME", ".local/state")


def _own(variable: str, below_home: str) -> str:
    base = os.environ.get(variable, "")
    if not base.startswith("/"):
        home = os.path.expanduser("~")
        base = f"{home}/{below_home}" if home.startswith("/") else ""
    for place in (f"{base}/redoma" if base else "", f"/var/tmp/redoma-{os.geteuid()}"):
        if place and ours(place):
            return place
    raise OSError("there is no directory of our own to write to; set XDG_CACHE_HOME")


def ours(place: str) -> bool:
    """Whether a directory is ours alone to write, made if it is not there."""
    try:
        try:
            status = os.lstat(place)
        except FileNotFoundError:
            os.makedirs(place, mode=0o700, exist_ok=True)
            status = os.lstat(place)
    except OSError:
        return False
    # Attack: someone else made the directory first, in a place that everybody may write.
    return (
        stat.S_ISDIR(status.st_mode)
        and status.st_uid == os.geteuid()
        and not status.st_mode & 0o022
        and os.access(place, os.W_OK)
    )
