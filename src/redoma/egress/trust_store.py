"""Whom a sandbox trusts: everyone that the caller's own programs trust, and one of ours.

Programs look for certificates in many places: the system's bundle, a variable, a line in their own
settings. What any of them names outside is in one file inside, which is laid over the usual
bundles, where it replaces nothing outside, and named by the variables that programs read. Of those
files only certificates are taken: a private key that lies beside one stays outside.
"""

from __future__ import annotations

import os
import re
import time

from redoma.base import cache, own_directories
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
_SYSTEM_DIRECTORY = "/etc/ssl/certs"
_FORM = 1  # of what is kept
_SETTLED = 2_000_000_000
_LARGEST = 8 << 20
_MOST_FILES = 1000
_CERTIFICATE = re.compile(
    rb"-----BEGIN (?:X509 )?CERTIFICATE-----\s([A-Za-z0-9+/=\s]+)"
    rb"-----END (?:X509 )?CERTIFICATE-----"
)

# What was found last, under its stamp.
_last: dict[object, tuple[bytes, bool]] = {}


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
    return _trusted()[0] + (own.certificate if own is not None else b"")


def names_own() -> bool:
    """Whether the caller's programs trust somebody whom the system's bundle does not have."""
    return _trusted()[1]


def trust() -> ssl.SSLContext:
    """What the gate trusts when it reaches a host itself: the same as programs outside."""
    import ssl

    context = ssl.create_default_context()
    known = _trusted()[0]
    try:
        context.load_verify_locations(cadata=known.decode("ascii"))
    except ssl.SSLError:
        for each in certificates_in(known):  # one that cannot be read takes nobody else's place
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


def _trusted() -> tuple[bytes, bool]:
    """Every certificate that is trusted outside, and whether some are not in the system's bundle.

    It is kept under the identity of every file that it was read from: there may be hundreds. Of
    settings only the certificates are in the stamp, so that no key is kept that lies beside one.
    """
    settings, texts = client_settings.certificates()
    named_files = dict.fromkeys((*settings, *_named_files()))
    files = tuple(os.path.expanduser(path) for path in named_files)
    written = tuple(pem for text in texts for pem in certificates_in(text.encode()))
    bundles = [path for path in BUNDLES if os.path.isfile(path)]
    identities = tuple(map(_identity, bundles or _in_directory(_SYSTEM_DIRECTORY)))
    stamp = (_FORM, identities, tuple(map(_identity, files)), written)
    if stamp in _last:
        return _last[stamp]
    try:
        place = f"{own_directories.cache()}/trusted"
    except OSError:  # everything is read each time where nothing of ours can be kept
        place = ""
    found: tuple[bytes, bool] | None = cache.read(place, stamp)
    if found is None:
        system, named = list(_system()), dict.fromkeys((*_of_files(files), *written))
        found = (b"".join(dict.fromkeys((*system, *named))), not named.keys() <= set(system))
        # Attack: a file that changes twice within a tick of the clock looks as it did before.
        newest = max((times[-1] for part in stamp[1:3] for _, times in part), default=0)
        if newest > time.time_ns() - _SETTLED or (bundles and not system):
            return found
        if place:
            cache.keep(place, stamp, found)
    _last.clear()
    _last[stamp] = found
    return found


def _identity(path: str) -> tuple[str, tuple[int, ...]]:
    """What is another as soon as a file is, or somebody has written to it."""
    try:
        status = os.stat(path)
    except OSError:
        return path, (0,)
    changed = status.st_mtime_ns, status.st_ctime_ns
    return path, (status.st_dev, status.st_ino, status.st_size, *changed)


def _system() -> Iterator[bytes]:
    """The first of the system's bundles; its directory where there is no bundle."""
    for path in BUNDLES:
        found = list(certificates_in(_content(path)))
        if found:
            return iter(found)
    return _of_files(_in_directory(_SYSTEM_DIRECTORY))


def _named_files() -> Iterator[str]:
    """Files that a variable of the caller's names."""
    environ = os.environ
    yield from (environ[name] for name in (*VARIABLES, *_ALSO_READ) if environ.get(name))
    for directory in filter(None, environ.get(_DIRECTORY, "").split(":")):
        yield from _in_directory(directory)


def _of_files(files: Iterable[str]) -> Iterator[bytes]:
    for path in files:
        yield from certificates_in(_content(path))


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
