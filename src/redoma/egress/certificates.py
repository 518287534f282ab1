"""Makes certificates for one run, so that its TLS can be opened, and no other's.

The key is made in memory for a single run, and is gone with it. It is never written anywhere, and
the sandbox gets the certificate only: nobody else trusts that.
"""

from __future__ import annotations

import os
import ssl
import time
from _thread import allocate_lock
from datetime import UTC

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

_DAY = 86400
_LEAF_DAYS, _OWN_DAYS = 1, 396
# Clocks inside and outside are the same; those of what checks a certificate may round.
_BEFORE = 3600
# Below a granted star there may be many; those in use are soon made again.
_MOST_NAMES = 256


class Authority:
    """Who signs the certificates of one run."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        # One for all names: what is told apart by names is told apart by certificates.
        self._leaf_key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name(
            [
                x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Redoma"),
                x509.NameAttribute(NameOID.COMMON_NAME, f"one run {os.urandom(6).hex()}"),
            ]
        )
        self._own = self._signed_by_itself()
        self._contexts: dict[tuple[str, bool], tuple[float, ssl.SSLContext]] = {}
        self._lock = allocate_lock()

    @property
    def certificate(self) -> bytes:
        """What a sandbox has to trust, as PEM."""
        return self._own.public_bytes(serialization.Encoding.PEM)

    def context(self, name: str, *, http_2: bool = False) -> ssl.SSLContext:
        """For a server that is `name`, to whoever trusts this authority."""
        key = (name, http_2)
        with self._lock:
            until, made = self._contexts.get(key, (0.0, None))
            if made is None or until < time.monotonic():
                if len(self._contexts) >= _MOST_NAMES:
                    self._contexts.clear()
                made = self._context(name)
                made.set_alpn_protocols(["h2", "http/1.1"] if http_2 else ["http/1.1"])
                self._contexts[key] = (time.monotonic() + _LEAF_DAYS * _DAY / 2, made)
            return made

    def _context(self, name: str) -> ssl.SSLContext:
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.minimum_version = ssl.TLSVersion.TLSv1_2
        made.num_tickets = 1  # one is as good as two, which each cost a tenth of a handshake
        chain = self._leaf(name).public_bytes(serialization.Encoding.PEM) + self.certificate
        key = self._leaf_key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        # The library reads keys from files only; this one is in memory, and has no name.
        file = os.memfd_create("redoma", os.MFD_CLOEXEC)
        try:
            os.write(file, key + chain)
            made.load_cert_chain(f"/proc/self/fd/{file}")
        finally:
            os.close(file)
        return made

    def _leaf(self, name: str) -> x509.Certificate:
        begins, ends = _days(_LEAF_DAYS)
        identifier = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        return (
            x509.CertificateBuilder()
            # A common name has 64 characters at most, and nobody reads it.
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])]))
            .issuer_name(self._name)
            .public_key(self._leaf_key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(begins)
            .not_valid_after(ends)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier),
                critical=False,
            )
            .sign(self._key, hashes.SHA256())
        )

    def _signed_by_itself(self) -> x509.Certificate:
        begins, ends = _days(_OWN_DAYS)
        public = self._key.public_key()
        return (
            x509.CertificateBuilder()
            .subject_name(self._name)
            .issuer_name(self._name)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(begins)
            .not_valid_after(ends)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(signs_certificates=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .sign(self._key, hashes.SHA256())
        )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _days(days: int) -> tuple[datetime, datetime]:
    from datetime import datetime

    now = time.time()
    begins = datetime.fromtimestamp(now - _BEFORE, UTC)
    return begins, datetime.fromtimestamp(now + days * _DAY, UTC)
