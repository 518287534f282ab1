"""The user's own vault: where it lies, who knows its passphrase, and memory that nobody reads."""

from __future__ import annotations

import os
from contextlib import contextmanager

from redoma.model.errors import StateUnavailable, VaultError
from redoma.model.grant import Secret
from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from redoma.base.private_file import KeyPlace
    from redoma.vault.secret_store import SecretStore

KEY_VARIABLE = "REDOMA_VAULT_KEY"
PASSPHRASE_FILE = "REDOMA_VAULT_PASSPHRASE_FILE"
_SHORTEST, _LONGEST = 8, 1024
_open_vaults: dict[tuple[str, KeyPlace | None], SecretStore] = {}


def vault() -> SecretStore:
    """The vault of this user; one for each process, so that a passphrase is asked for once."""
    from redoma.base import own_directories
    from redoma.base.private_file import KeyPlace, place_said
    from redoma.vault.secret_store import SecretStore

    place = place_said(KEY_VARIABLE, tuple(KeyPlace))
    try:
        directory = f"{own_directories.state()}/vault"
    except StateUnavailable as error:
        raise VaultError(str(error), hint=error.hint) from error
    key = (directory, place)
    if key not in _open_vaults:
        _open_vaults[key] = SecretStore(directory, keyed_by=place, passphrases=UserPassphrases())
    return _open_vaults[key]


class UserPassphrases:
    """The user's passphrase, from a file that they name or from their terminal."""

    def known(self, directory: str) -> Secret:
        """The passphrase that the vault of a directory has."""
        return _in_file() or _typed(
            Message("passphrase of the vault in {directory}: ", directory=directory)
        )

    def chosen(self, directory: str) -> Secret:
        """The one that it is to have from now on; a person types it twice."""
        made = _in_file()
        if made is None:
            made = _typed(
                Message("new passphrase of the vault in {directory}: ", directory=directory)
            )
            if made.reveal() != _typed("the same again: ").reveal():
                raise VaultError("this is not the same passphrase twice; nothing was changed")
        if len(made.reveal()) < _SHORTEST:
            raise VaultError(
                "a passphrase has {shortest} characters or more",
                shortest=_SHORTEST,
                hint="five words are a good one",
            )
        return made


def _in_file() -> Secret | None:
    """The passphrase in the file that the user names; None where they name none."""
    from redoma.base.private_file import read_private

    path = os.environ.get(PASSPHRASE_FILE)
    if not path:
        return None
    data = read_private(os.path.abspath(path), VaultError, most=_LONGEST)
    if data is None:
        raise VaultError(
            "{passphrase_file} names {path}, which is not there",
            passphrase_file=PASSPHRASE_FILE,
            path=path,
        )
    try:
        return Secret(data.decode().removesuffix("\n"))
    except UnicodeDecodeError:
        raise VaultError("{path} is no passphrase: it is not text in UTF-8", path=path) from None


def _typed(prompt: str) -> Secret:
    """What a person types unseen at their terminal, whatever is piped in."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        raise VaultError(
            "the vault asks for its passphrase, and there is no terminal to ask at",
            hint=Message(
                "{passphrase_file}=FILE, a file that only you can read",
                passphrase_file=PASSPHRASE_FILE,
            ),
        ) from None
    from getpass import getpass

    try:
        return Secret(getpass(prompt))
    except EOFError:
        raise VaultError("no passphrase was given") from None


@contextmanager
def hidden_memory() -> Iterator[None]:
    """While it lasts no core dump has our memory, and no program of the same user reads it.

    For commands that start no sandbox: an ordinary user's /proc/self belongs to root meanwhile,
    and with that nobody sets up namespaces.
    """
    from redoma.base import core_dumps
    from redoma.jail.kernel.privileges import keep_out_others, let_in_others, lets_in_others

    core_dumps.none_from_now_on()
    open_before = lets_in_others()
    keep_out_others()
    try:
        yield
    finally:
        if open_before:
            let_in_others()
