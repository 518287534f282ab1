"""The directories in which Redoma keeps its cache, state and configuration; never in a sandbox.

Whoever asks for a place is told where it is, and nothing is made by that; `made_state` and
`made_cache` are for whoever is about to write.
"""

from __future__ import annotations

import errno
import os
import stat

from redoma.base.paths import cache_home, xdg_directory
from redoma.model.errors import StateUnavailable
from redoma.model.message import Message

_NAME = "redoma"
_OTHERS_WRITE = 0o022


def cache() -> str:
    """The directory for what can be found out again; another one where the usual one is no good."""
    for place in _caches():
        if _usable(place):
            return place
    raise OSError("there is no directory of our own to write to; set XDG_CACHE_HOME")


def made_cache() -> str:
    """The same, and it is there."""
    for place in _caches():
        if ours(place):
            return place
    raise OSError("there is no directory of our own to write to; set XDG_CACHE_HOME")


def state() -> str:
    """The directory for what must outlive a crash; an error where what is there is not ours alone.

    There is no second choice. Attack on our own honesty: with another mode, or on a disk that
    became read-only, everything would go on elsewhere, and an empty log would be called whole.
    """
    place = f"{_base('XDG_STATE_HOME', '.local/state')}/{_NAME}"
    try:
        status = os.lstat(place)
    except (FileNotFoundError, NotADirectoryError):
        return place  # whoever writes there says why it cannot be made
    except OSError as error:
        raise StateUnavailable(
            "{place}, where Redoma keeps its state, cannot be looked at: {why}",
            place=place,
            why=error.strerror,
            hint=Message(
                "make it yours: {command}; or set XDG_STATE_HOME to another directory",
                command=_repair(place),
            ),
        ) from error
    _refuse_others(place, status)
    return place


def made_state() -> str:
    """The same, and it is there and can be written."""
    place = state()
    try:
        os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
        try:
            os.mkdir(place, 0o700)
        except FileExistsError:
            if not os.access(place, os.W_OK | os.X_OK):
                # Attack: a mode that shuts its owner out; root is shut out by a file system alone.
                writes = os.stat(place).st_mode & stat.S_IWUSR
                number = errno.EROFS if writes else errno.EACCES
                raise OSError(number, os.strerror(number)) from None
    except OSError as error:
        raise StateUnavailable(
            "{place}, where Redoma keeps its state, cannot be written: {why}",
            place=place,
            why=error.strerror,
            hint=Message(
                "make it yours: {command}; or set XDG_STATE_HOME to another directory",
                command=_repair(place),
            ),
        ) from error
    return place


def config() -> str:
    """The directory of the user's own policy."""
    # A relative one is passed over by whoever reads it.
    base = xdg_directory("XDG_CONFIG_HOME", ".config")
    return f"{base}/{_NAME}" if base else os.path.expanduser(f"~/.config/{_NAME}")


def all_places() -> tuple[str, ...]:
    """Every directory of ours on this machine, whether it is there or not."""
    own = f"{_NAME}-{os.geteuid()}"
    given = os.environ.get("XDG_CACHE_HOME", "")
    believed = [f"{given.rstrip('/')}/{_NAME}"] if given.startswith("/") else []
    found = [*_caches(), *believed, config(), f"/tmp/{own}", f"/dev/shm/{own}"]
    try:  # noqa: SIM105 # `contextlib` would be loaded by every check
        found.append(f"{_base('XDG_STATE_HOME', '.local/state')}/{_NAME}")
    except StateUnavailable:
        pass  # who needs it is told
    return tuple(dict.fromkeys(found))


def bases() -> tuple[str, ...]:
    """The directories in which programs keep what is theirs, each in one of its own."""
    names = ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME")
    given = [os.environ.get(name, "") for name in names]
    home = os.path.expanduser("~")
    usual = (".config", ".cache", ".local", ".local/bin", ".local/share", ".local/state")
    return tuple(
        path.rstrip("/")
        for path in (*given, *(f"{home}/{name}" for name in usual))
        if path.startswith("/")
    )


def ours(place: str) -> bool:
    """Whether a directory is ours alone to write, made if it is not there."""
    try:
        try:
            status = os.lstat(place)
        except FileNotFoundError:
            os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
            os.mkdir(place, 0o700)
            status = os.lstat(place)
    except OSError:
        return False
    # Attack: someone else made the directory first, in a place that everybody may write.
    return _is_ours(status) and os.access(place, os.W_OK)


def _usable(place: str) -> bool:
    """Whether a directory is ours alone, or could be made; nothing is made."""
    try:
        return _is_ours(os.lstat(place)) and os.access(place, os.W_OK)
    except FileNotFoundError:
        pass
    except OSError:
        return False
    above = os.path.dirname(place)
    while not os.path.lexists(above) and len(above) > 1:
        above = os.path.dirname(above)
    return os.path.isdir(above) and os.access(above, os.W_OK | os.X_OK)


def _is_ours(status: os.stat_result) -> bool:
    return (
        stat.S_ISDIR(status.st_mode)
        and status.st_uid == os.geteuid()
        and not status.st_mode & _OTHERS_WRITE
    )


def _refuse_others(place: str, status: os.stat_result) -> None:
    """An error where a directory is not ours alone to write."""
    if stat.S_ISLNK(status.st_mode):
        raise StateUnavailable(
            "{place}, where Redoma keeps its state, is a symbolic link",
            place=place,
            hint=Message(
                "set XDG_STATE_HOME to the directory above {real}", real=os.path.realpath(place)
            ),
        )
    if not stat.S_ISDIR(status.st_mode):
        raise StateUnavailable(
            "{place}, where Redoma keeps its state, is not a directory",
            place=place,
            hint=Message("move it away: {place}", place=place),
        )
    if status.st_uid != os.geteuid():
        raise StateUnavailable(
            "{path} belongs to uid {owner}, not to you (uid {uid})",
            path=place,
            owner=status.st_uid,
            uid=os.geteuid(),
            hint="run as its owner, or set XDG_STATE_HOME to a directory of your own",
        )
    if status.st_mode & _OTHERS_WRITE:
        mode = stat.S_IMODE(status.st_mode)
        raise StateUnavailable(
            "{place}, where Redoma keeps its state, can be written by others (mode {mode})",
            place=place,
            mode=f"{mode:o}",
            hint=Message("see that nobody else wrote there, then chmod 700 {place}", place=place),
        )


def _base(variable: str, below_home: str) -> str:
    given = os.environ.get(variable, "")
    if given and not given.startswith("/"):
        raise StateUnavailable(
            "{variable} is {given}, which is no absolute path",
            variable=variable,
            given=repr(given),
            hint=Message(
                'export {variable}="$HOME/{directory}", or unset {variable}',
                variable=variable,
                directory=below_home,
            ),
        )
    found = xdg_directory(variable, below_home)
    if not found:
        home = os.path.expanduser("~")
        raise StateUnavailable(
            Message(
                "HOME is {home}, which is no absolute path: there is nowhere to keep anything",
                home=repr(home),
            )
            if "HOME" in os.environ
            else "HOME is not set, and the system knows no home of yours",
            hint=Message("set HOME, or {variable} to a directory of your own", variable=variable),
        )
    return found


def _caches() -> list[str]:
    """The user's own, then one that is there on every machine."""
    base = cache_home()
    own = [f"{base}/{_NAME}"] if base else []
    return [*own, f"/var/tmp/{_NAME}-{os.geteuid()}"]


def _repair(place: str) -> str:
    """What gives a directory to its owner again, or the nearest one that is there."""
    there = place
    while not os.path.lexists(there) and len(there) > 1:
        there = os.path.dirname(there)
    return f"chmod u+rwx {there}"
