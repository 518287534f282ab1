"""Whom a sandbox trusts: everyone that the caller's own programs trust, and one of ours.

Programs look for certificates in many places: the system's bundle, a variable, a line in their own
settings. What any of them names outside is in one file inside, which is laid over the usual
bundles, where it replaces nothing outside, and named by the variables that programs read. Of those
files only certificates are taken: a private key that lies beside one stays outside.
"""

from __future__ import annotations

import os
import re

from redoma.base.paths import is_below
from redoma.egress import client_settings
from redoma.model.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterable, Iterator

    from redoma.egress.certificates import Authority

# Always there inside, to be laid over; what the variables name.
OWN = "/etc/redoma/certificates.pem"
BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/tls/cert.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
VARIABLES = (
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "PIP_CERT",
    "GIT_SSL_CAINFO",
    "CARGO_HTTP_CAINFO",
    "AWS_CA_BUNDLE",
    "DENO_CERT",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
)
# Read and never set inside: whoever reads these reads one of those above as well.
_ALSO_READ = ("NPM_CONFIG_CAFILE", "npm_config_cafile", "YARN_HTTPS_CA_FILE_PATH")
_DIRECTORY = "SSL_CERT_DIR"
_LARGEST = 8 << 20
_MOST_FILES = 1000
_CERTIFICATE = re.compile(
    rb"-----BEGIN (?:X509 )?CERTIFICATE-----\s([A-Za-z0-9+/=\s]+)"
    rb"-----END (?:X509 )?CERTIFICATE-----"
)


def authority() -> Authority:
    """A new authority; an error with what to type where its library is not there."""
    try:
        import h11  # noqa: F401

        from redoma.egress.certificates import Authority
    except ImportError as error:
        raise UsageError(
            f"requests cannot be read here: {error.name} is not installed",
            hint="pip install 'redoma[inspect]'",
        ) from error
    return Authority()


def bundle(own: Authority | None) -> bytes:
    """Everyone who is trusted outside, and the authority behind them."""
    return b"".join((*_all(), *([own.certificate] if own is not None else ())))


def names_own() -> bool:
    """Whether the caller's programs trust somebody whom the system's bundle does not have."""
    named = list(_named())
    return bool(named) and not set(named) <= set(_system())


def trust() -> ssl.SSLContext:
    """What the gate trusts when it reaches a host itself: the same as programs outside."""
    import ssl

    context = ssl.create_default_context()
    known = _all()
    try:
        context.load_verify_locations(cadata=b"".join(known).decode("ascii"))
    except ssl.SSLError:
        for each in known:  # one that cannot be read takes nobody else's place
            try:
                context.load_verify_locations(cadata=each.decode("ascii"))
            except ssl.SSLError:
                continue
    return context


def certificates_in(data: bytes) -> Iterator[bytes]:
    """Each certificate of a file, and nothing else that stands in it."""
    for found in _CERTIFICATE.finditer(data):
        body = b"".join(found[1].split())
        lines = [body[at : at + 64] for at in range(0, len(body), 64)]
        yield b"\n".join(
            (b"-----BEGIN CERTIFICATE-----", *lines, b"-----END CERTIFICATE-----", b"")
        )


def _all() -> list[bytes]:
    return list(dict.fromkeys((*_system(), *_named())))


def _system() -> list[bytes]:
    """The first of the system's bundles; its directory where there is no bundle."""
    for path in BUNDLES:
        found = list(certificates_in(_content(path)))
        if found:
            return found
    return list(_of_files(_in_directory("/etc/ssl/certs")))


def _named() -> Iterator[bytes]:
    """Certificates that a variable of the caller's or the settings of a program name."""
    environ = os.environ
    files = [environ[name] for name in (*VARIABLES, *_ALSO_READ) if environ.get(name)]
    files += client_settings.certificate_files()
    for directory in filter(None, environ.get(_DIRECTORY, "").split(":")):
        files += _in_directory(directory)
    yield from _of_files(files)
    for text in client_settings.certificate_texts():
        yield from certificates_in(text.encode("utf-8", "replace"))


def _of_files(files: Iterable[str]) -> Iterator[bytes]:
    for path in dict.fromkeys(files):
        yield from certificates_in(_content(os.path.expanduser(path)))


def _in_directory(path: str) -> list[str]:
    try:
        return [f"{path}/{name}" for name in sorted(os.listdir(path))[:_MOST_FILES]]
    except OSError:
        return []


def _content(path: str) -> bytes:
    """What stands in a file; nothing where it is no file, cannot be read or is too large."""
    try:
        # Attack: a variable that names a pipe or a device would be waited for.
        if not os.path.isfile(path):
            return b""
        with open(path, "rb") as file:
            found = file.read(_LARGEST + 1)
    except OSError:
        return b""
    return found if len(found) <= _LARGEST else b""


def places(etc: str) -> tuple[str, ...]:
    """Where the bundle goes in a sandbox whose /etc is a copy at `etc`."""
    found = [OWN]
    for path in BUNDLES:
        real = os.path.realpath(etc + path.removeprefix("/etc"))
        # A link leads on to where the copy is laid over as well.
        if is_below(real, etc) and os.path.isfile(real):
            found.append("/etc" + real.removeprefix(etc))
    return tuple(dict.fromkeys(found))
