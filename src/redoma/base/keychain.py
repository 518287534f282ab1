"""The system's keychain, through `keyring`: only backends that are known to encrypt what they keep.

Attack: `keyring` takes whatever backend is installed. `keyrings.alt` brings some that write plain
text, and nobody is told. So the backend's class decides, from a list of those that are known; of a
chain of backends only such members are spoken to, and never the chain itself, which would go on to
the next where one fails.
"""

from __future__ import annotations

from redoma.model.errors import NoKeychain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from redoma.model.errors import RedomaError

TRUSTED = frozenset(
    (
        "keyring.backends.SecretService.Keyring",
        "keyring.backends.libsecret.Keyring",
        "keyring.backends.kwallet.DBusKeyring",
        "keyring.backends.macOS.Keyring",
        "keyring.backends.Windows.WinVaultKeyring",
    )
)
_CHAIN = "keyring.backends.chainer.ChainerBackend"
_NONE = ("keyring.backends.fail.Keyring", "keyring.backends.null.Keyring")
_ELSEWHERE = "unlock it, or keep the key in a file or under a passphrase"


class Keychain:
    """What is kept for one service, each under a name."""

    def __init__(self, service: str, fails: type[RedomaError] = NoKeychain) -> None:
        """`fails` is said where there is no keychain to be trusted."""
        self._service = service
        self._fails = fails

    def get(self, name: str) -> str | None:
        """What is kept under a name; None where nothing is."""
        said = self._ask("get_password", name)
        return None if said is None else str(said)

    def put(self, name: str, value: str) -> None:
        """Keeps a value, in the place of one that was there."""
        self._ask("set_password", name, value)

    def remove(self, name: str) -> None:
        """Forgets a value, where there is one."""
        if self.get(name) is not None:
            self._ask("delete_password", name)

    def _ask(self, call: str, *given: str) -> object:
        backend = _backend(self._fails)
        try:
            return getattr(backend, call)(self._service, *given)
        except Exception as error:  # each backend has errors of its own
            raise self._fails(
                "the keychain does not answer: {kind}: {error}",
                kind=type(error).__name__,
                error=error,
                hint=_ELSEWHERE,
            ) from None  # its frames have what was to be kept


def _backend(fails: type[RedomaError]) -> Any:
    try:
        keyring = __import__("keyring")
    except ImportError:
        raise fails(
            "the keychain is to be used, and `keyring` is not installed",
            hint="pip install keyring, or keep the key in a file or under a passphrase",
        ) from None
    try:
        chosen = keyring.get_keyring()
        found = list(chosen.backends) if _class_of(chosen) == _CHAIN else [chosen]
    except Exception as error:
        raise fails(
            "the keychain does not answer: {kind}: {error}",
            kind=type(error).__name__,
            error=error,
            hint=_ELSEWHERE,
        ) from None
    for backend in found:
        if _class_of(backend) in TRUSTED:
            return backend
    names = [name for name in map(_class_of, found) if name not in _NONE]
    if not names:
        raise fails("there is no keychain here", hint=_ELSEWHERE)
    raise fails(
        "{names} is not known to encrypt what it keeps, so nothing is given to it",
        names=", ".join(names),
        hint="install one that does (GNOME Keyring, KWallet), or keep the key in a file or under a"
        " passphrase",
    )


def _class_of(backend: object) -> str:
    return f"{type(backend).__module__}.{type(backend).__qualname__}"
