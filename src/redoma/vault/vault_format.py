"""The vault's form: what is sealed, together with what, and under which version.

Each secret is sealed by AES-256-GCM together with the version, the vault and its name. A header
says the version, which key seals, where that key is kept, and how it is made from a passphrase; a
proof under the key seals the header. Attack: rows that are exchanged, a header whose number or
whose work factor is set back, rows of another vault: none of them opens.
"""

from __future__ import annotations

import json
import os

from redoma.base.private_file import LENGTH, KeyPlace
from redoma.model.errors import SecretChanged, VaultDowngraded, VaultError, WrongPassphrase
from redoma.model.grant import Secret
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

VERSION = 2
NONCE = 12
_SALT = 16
_ID = 8


class KeyDerivation(Value):
    """How a key is made from a passphrase: Argon2id, as RFC 9106 advises where memory is scarce."""

    salt: str
    memory_kib: int = 64 << 10
    passes: int = 3
    lanes: int = 4


# What a header may say. Attack: one pass over little memory, or more memory than there is.
_ALLOWED = {"memory_kib": (19 << 10, 4 << 20), "passes": (2, 64), "lanes": (1, 64)}


class VaultHeader(Value):
    """What a vault says of itself."""

    vault: str
    key: str
    place: KeyPlace
    derivation: KeyDerivation | None = None
    version: int = VERSION

    @classmethod
    def new(cls, place: KeyPlace, vault: str = "") -> VaultHeader:
        """The header for a new key, of a new vault where none is named."""
        derivation = None
        if place is KeyPlace.PASSPHRASE:
            derivation = KeyDerivation(salt=os.urandom(_SALT).hex())
        made = vault or os.urandom(_ID).hex()
        return cls(vault=made, key=os.urandom(_ID).hex(), place=place, derivation=derivation)

    @property
    def text(self) -> str:
        """The header as it is kept and sealed, the same for the same header."""
        said: dict[str, object] = {
            "version": self.version,
            "vault": self.vault,
            "key": self.key,
            "place": self.place.value,
        }
        if self.derivation is not None:
            names = ("salt", *_ALLOWED)
            said["argon2id"] = {name: getattr(self.derivation, name) for name in names}
        return json.dumps(said, sort_keys=True)


def read_header(text: str) -> VaultHeader:
    """The header of a vault that we can open; VaultDowngraded where it is older or weaker."""
    try:
        said = json.loads(text)
        version = int(said["version"])
        place = KeyPlace(said["place"])
        ids = bytes.fromhex(said["vault"]).hex(), bytes.fromhex(said["key"]).hex()
        given = said.get("argon2id")
        derivation = None
        if given is not None:
            numbers = {name: int(given[name]) for name in _ALLOWED}
            derivation = KeyDerivation(salt=bytes.fromhex(given["salt"]).hex(), **numbers)
    except (ValueError, TypeError, KeyError, AttributeError):
        raise VaultError("what the vault says of itself cannot be read") from None
    refuse_other_versions(version)
    if (place is KeyPlace.PASSPHRASE) != (derivation is not None):
        raise VaultError("what the vault says of itself cannot be read")
    for name, (least, most) in _ALLOWED.items() if derivation is not None else ():
        value = getattr(derivation, name)
        if value < least:
            raise VaultDowngraded(
                f"the vault asks for a weaker key than ours: {name} {value}, not {least} or more"
            )
        if value > most:
            raise VaultError(f"the vault asks for more work than is done here: {name} {value}")
    return VaultHeader(
        vault=ids[0], key=ids[1], place=place, derivation=derivation, version=version
    )


def refuse_other_versions(version: int) -> None:
    """An error for a vault of another version than ours."""
    if version > VERSION:
        raise VaultError(
            f"the vault is of version {version}, and this program knows {VERSION}",
            hint="use the newer program that wrote it",
        )
    if version < VERSION:
        raise VaultDowngraded(
            f"the vault says that it is of version {version}, and has been of {VERSION}",
            hint="put a copy of it back, or begin anew: redoma vault reset",
        )


class VaultKey:
    """The key of a vault, ready to seal and to open; it shows itself to nobody."""

    __slots__ = ("_cipher", "header")

    def __init__(self, header: VaultHeader, key: Secret) -> None:
        self.header = header
        self._cipher = _cipher(key)

    def proof(self) -> bytes:
        """What shows that this key goes with this header."""
        return _sealed(self._cipher, b"", self.header.text.encode())

    def fits(self, proof: bytes) -> bool:
        """Whether a proof is of this key and this header."""
        return _opened(self._cipher, proof, self.header.text.encode()) == b""

    def seal(self, name: str, secret: Secret) -> bytes:
        """A secret sealed together with its name."""
        return _sealed(self._cipher, secret.reveal().encode(), self._bound(name))

    def open(self, name: str, sealed: bytes) -> Secret:
        """The secret of a name; SecretChanged where it is another's, or was changed."""
        opened = _opened(self._cipher, sealed, self._bound(name))
        if opened is None:
            raise SecretChanged(
                f"the secret {name!r} was changed, or is another's",
                hint=f"redoma vault set {name}",
            )
        return Secret(opened.decode())

    def _bound(self, name: str) -> bytes:
        return b"redoma vault %d " % VERSION + f"{self.header.vault} {name}".encode()


def first_version(name: str, key: Secret, sealed: bytes) -> Secret | None:
    """A secret of a vault of the first version, which had no header; None where it is not."""
    opened = _opened(_cipher(key), sealed, b"redoma vault 1 " + name.encode())
    return None if opened is None else Secret(opened.decode())


def new_key() -> Secret:
    """A key, in hexadecimal: a traceback shows none of it."""
    return Secret(os.urandom(LENGTH).hex())


def wrapped(header: VaultHeader, key: Secret, passphrase: Secret) -> bytes:
    """A key sealed under a passphrase, together with its header."""
    return _sealed(_derived(header, passphrase), key.reveal().encode(), header.text.encode())


def unwrapped(header: VaultHeader, sealed: bytes, passphrase: Secret) -> Secret:
    """The key that a passphrase opens."""
    key = _opened(_derived(header, passphrase), sealed, header.text.encode())
    if key is None:
        raise WrongPassphrase(
            "the passphrase does not open the vault",
            hint="try again; where it is forgotten: redoma vault reset",
        )
    return Secret(key.decode())


def _derived(header: VaultHeader, passphrase: Secret) -> AESGCM:
    derivation = header.derivation
    assert derivation is not None
    _cipher(new_key())  # says what to install where nothing is
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

    try:
        made = Argon2id(
            salt=bytes.fromhex(derivation.salt),
            length=LENGTH,
            iterations=derivation.passes,
            lanes=derivation.lanes,
            memory_cost=derivation.memory_kib,
        )
        return _cipher(Secret(made.derive(passphrase.reveal().encode()).hex()))
    except UnsupportedAlgorithm:
        raise VaultError(
            "this installation of `cryptography` has no Argon2id",
            hint="pip install -U cryptography, or keep the key in a file or keychain",
        ) from None
    except (MemoryError, ValueError) as error:
        raise VaultError(f"no key can be made from a passphrase here: {error}") from None


def _sealed(cipher: AESGCM, data: bytes, bound: bytes) -> bytes:
    nonce = os.urandom(NONCE)
    return nonce + cipher.encrypt(nonce, data, bound)


def _opened(cipher: AESGCM, sealed: bytes, bound: bytes) -> bytes | None:
    from cryptography.exceptions import InvalidTag

    try:
        return cipher.decrypt(sealed[:NONCE], sealed[NONCE:], bound)
    except (InvalidTag, ValueError):
        return None


def _cipher(key: Secret) -> AESGCM:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError:
        raise VaultError(
            "the vault needs `cryptography`, which is not installed",
            hint="pip install 'redoma[inspect]'",
        ) from None
    return AESGCM(bytes.fromhex(key.reveal()))
