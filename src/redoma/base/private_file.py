"""What is kept for its owner alone: files that nobody else can open, and a key among them.

Attack: somebody else owns the file, or a link leads it elsewhere, or the group may write it: then
what is written can be read, moved or replaced by another user. The directory is 0700 and ours, so
that nobody can exchange a file between this look and its use.

Writes a file whole or not at all: beside its place first, then renamed over it.
"""

from __future__ import annotations

import os
from _thread import get_native_id
from enum import Enum
from stat import S_IMODE, S_ISDIR, S_ISLNK, S_ISREG

from redoma.model.errors import RedomaError, UsageError
from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.base.keychain import Keychain

LENGTH = 32


def make_directory(directory: str, fails: type[RedomaError]) -> None:
    """The directory is there, and ours alone."""
    try:
        os.makedirs(os.path.dirname(directory), mode=0o700, exist_ok=True)
        os.mkdir(directory, 0o700)
    except FileExistsError:
        pass
    except OSError as error:
        raise fails(
            "the directory {directory} cannot be made: {why}",
            directory=directory,
            why=error.strerror,
            hint="set XDG_STATE_HOME to a directory that you can write",
        ) from error
    is_own_directory(directory, fails)


def is_own_directory(path: str, fails: type[RedomaError]) -> bool:
    """Whether there is such a directory; an error where it is not ours alone."""
    return _is_own(path, fails, directory=True)


def is_own_file(path: str, fails: type[RedomaError]) -> bool:
    """Whether there is such a file; an error where it is not ours alone.

    It is not opened: closing a second descriptor of a database lets go of the locks that this
    process holds on it.
    """
    return _is_own(path, fails, directory=False)


def _is_own(path: str, fails: type[RedomaError], *, directory: bool) -> bool:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise fails("{path} cannot be looked at: {why}", path=path, why=error.strerror) from error
    if S_ISLNK(status.st_mode):
        raise fails(
            "{path} is a symbolic link; nothing is kept in a place that a link names",
            path=path,
            hint=Message(
                "put a directory or file of your own there, or remove the link: {path}", path=path
            ),
        )
    if not (S_ISDIR(status.st_mode) if directory else S_ISREG(status.st_mode)):
        raise fails(
            Message(
                "{path} is not a directory" if directory else "{path} is not a plain file",
                path=path,
            )
        )
    if status.st_uid != os.geteuid():
        raise fails(
            "{path} belongs to uid {owner}, not to you (uid {uid})",
            path=path,
            owner=status.st_uid,
            uid=os.geteuid(),
            hint="run as its owner, or set XDG_STATE_HOME to a directory of your own",
        )
    if status.st_mode & 0o077:
        raise fails(
            "{path} is open to others (mode {mode})",
            path=path,
            mode=f"{S_IMODE(status.st_mode):o}",
            hint=f"chmod {'700' if directory else '600'} {path}",
        )
    if not directory and status.st_nlink != 1:
        raise fails("{path} has another name elsewhere (a hard link)", path=path)
    return True


class KeyPlace(Enum):
    """Where a key is kept."""

    FILE = "file"
    KEYCHAIN = "keychain"
    PASSPHRASE = "passphrase"


BY_ITSELF = (KeyPlace.FILE, KeyPlace.KEYCHAIN)
"""Where a key is found without a person."""


def key_place(variable: str) -> KeyPlace:
    """Where a key is, as a variable of the environment says: `file` or `keychain`."""
    return place_said(variable, BY_ITSELF) or KeyPlace.FILE


def place_said(variable: str, places: tuple[KeyPlace, ...]) -> KeyPlace | None:
    """The place that a variable of the environment names; None where it names none."""
    said = os.environ.get(variable)
    if not said:
        return None
    for place in places:
        if place.value == said:
            return place
    known = ", ".join(place.value for place in places)
    raise UsageError(
        "{variable} cannot be {said}",
        variable=variable,
        said=repr(said),
        hint=Message("one of: {known}", known=known),
    )


def read_private(path: str, fails: type[RedomaError], *, most: int) -> bytes | None:
    """The first bytes of a file that is ours alone; None where there is none."""
    if not is_own_file(path, fails):
        return None
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            return os.read(descriptor, most)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise fails("{path} cannot be read: {why}", path=path, why=error.strerror) from error


class Key:
    """32 random bytes in a 0600 file of a directory, or in the system's keychain.

    A file keeps them from other users and from what runs in a sandbox, but not from a program
    of the same user outside of one.
    """

    def __init__(
        self,
        *,
        file: str,
        service: str,
        fails: type[RedomaError],
        lost: type[RedomaError],
        hint: str,
    ) -> None:
        """`lost` with `hint` is said where there is no key; `fails` where one cannot be had."""
        self._file = file
        self._service = service
        self._fails = fails
        self._lost = lost
        self._hint = hint

    def existing(self, place: KeyPlace, directory: str) -> bytes:
        """The key; an error where it is gone, since a new one would hide that."""
        key = self._found(place, directory)
        if key is None:
            where = os.path.join(directory, self._file)
            raise self._lost(
                Message("the key {where} is gone", where=where)
                if place is KeyPlace.FILE
                else Message(
                    "the key for {directory} is gone from the keychain", directory=directory
                ),
                hint=Message(self._hint, directory=directory),
            )
        return key

    def existing_or_new(self, place: KeyPlace, directory: str) -> bytes:
        """The key for what is about to begin; called by one process at a time."""
        key = self._found(place, directory)
        if key is None:
            key = os.urandom(LENGTH)
            if place is KeyPlace.KEYCHAIN:
                self._keychain().put(directory, key.hex())
            else:
                self._write(os.path.join(directory, self._file), key)
        return key

    def _found(self, place: KeyPlace, directory: str) -> bytes | None:
        if place is KeyPlace.FILE:
            return self._read(os.path.join(directory, self._file))
        said = self._keychain().get(directory)
        if said is None:
            return None
        try:
            key = bytes.fromhex(said)
        except ValueError:
            key = b""
        if len(key) != LENGTH:
            raise self._lost(
                "what the keychain has for {directory} is not a key", directory=directory
            )
        return key

    def _read(self, path: str) -> bytes | None:
        key = read_private(path, self._fails, most=LENGTH + 1)
        if key is not None and len(key) != LENGTH:
            raise self._lost("{path} is not a key of {length} bytes", path=path, length=LENGTH)
        return key

    def _write(self, path: str, key: bytes) -> None:
        try:
            write(path, key, durable=True)
        except OSError as error:
            raise self._fails(
                "the key {path} cannot be written: {why}", path=path, why=error.strerror
            ) from error

    def _keychain(self) -> Keychain:
        from redoma.base.keychain import Keychain

        return Keychain(self._service, self._fails)


def write(path: str, content: str | bytes, *, mode: int = 0o600, durable: bool = False) -> None:
    """Puts `content` at `path`: whoever looks finds the whole of it, or what was there before.

    With `durable` it is on disk, and so is its name, before this returns. Raises OSError, and
    leaves nothing beside the path then.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    temporary = f"{path}.{os.getpid()}-{get_native_id()}.new"
    try:
        _write(temporary, data, mode, durable=durable)
        os.replace(temporary, path)
    except BaseException:
        _remove(temporary)
        raise
    if durable:
        _sync_directory(os.path.dirname(path) or ".")


def _write(temporary: str, data: bytes, mode: int, *, durable: bool) -> None:
    # Attack: a link under the name that is to be expected, in a directory that others write.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        fd = os.open(temporary, flags, mode)
    except FileExistsError:  # a process with our pid died while it wrote
        os.unlink(temporary)
        fd = os.open(temporary, flags, mode)
    with open(fd, "wb") as file:
        if mode & 0o077:
            os.fchmod(fd, mode)  # others are to read it, whatever our umask is
        file.write(data)
        if durable:
            file.flush()
            os.fsync(fd)


def _remove(path: str) -> None:
    # The import cache loads us before it can load anything faster: so no `contextlib`.
    try:  # noqa: SIM105
        os.unlink(path)
    except OSError:
        pass


def _sync_directory(directory: str) -> None:
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
