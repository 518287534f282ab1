"""TLS for addresses that others reach: a certificate of the person's own, or one made here."""

from __future__ import annotations

import datetime
import hashlib
import ipaddress
import os
import ssl

from redoma.base import own_directories, private_file
from redoma.model.errors import UsageError
from redoma.model.value import Value

_DAYS = 365
_HOUR = datetime.timedelta(hours=1)


class ServerCertificate(Value):
    """A certificate and its key, in files; `fingerprint` is SHA-256 of the certificate."""

    certificate: str
    key: str
    fingerprint: str

    def pem(self) -> str:
        with open(self.certificate, encoding="ascii") as file:
            return file.read()


def given(certificate: str, key: str) -> ServerCertificate:
    """The person's own."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
        return ServerCertificate(
            certificate=certificate, key=key, fingerprint=_fingerprint(certificate)
        )
    except (OSError, ValueError) as error:
        raise UsageError(
            "{path} cannot be used as a certificate: {why}", path=certificate, why=str(error)
        ) from error


def own(names: tuple[str, ...]) -> ServerCertificate:
    """One for these names and addresses, signed by itself, made anew for each start.

    Whoever connects compares its fingerprint, which the host is shown.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "redoma")])
    now = datetime.datetime.now(datetime.UTC)
    others = [_general_name(name) for name in dict.fromkeys((*names, "localhost", "127.0.0.1"))]
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _HOUR)
        .not_valid_after(now + datetime.timedelta(days=_DAYS))
        .add_extension(x509.SubjectAlternativeName(others), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    place = os.path.join(own_directories.made_state(), "serve")
    os.makedirs(place, mode=0o700, exist_ok=True)
    paths = [os.path.join(place, f"{os.getpid()}.{kind}") for kind in ("crt", "key")]
    private_file.write(paths[0], made.public_bytes(serialization.Encoding.PEM))
    private_file.write(
        paths[1],
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    )
    return ServerCertificate(certificate=paths[0], key=paths[1], fingerprint=_fingerprint(paths[0]))


def _general_name(name: str):  # type: ignore[no-untyped-def]
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _fingerprint(path: str) -> str:
    with open(path, encoding="ascii") as file:
        text = file.read()
    end = "-----END CERTIFICATE-----"
    first = text[text.index("-----BEGIN CERTIFICATE-----") : text.index(end) + len(end)]
    digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(first + "\n")).hexdigest().upper()
    return ":".join(digest[at : at + 2] for at in range(0, len(digest), 2))
