"""What a sandbox trusts whose TLS is opened: this machine's certificates, and one of ours.

Programs look for certificates in many places. The file is laid over the usual bundles, where it
replaces nothing outside, and named by the variables that programs read.
"""

from __future__ import annotations

import os

from redoma.base.paths import is_below
from redoma.model.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
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
_LARGEST = 8 << 20


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


def bundle(own: Authority) -> bytes:
    """This machine's certificates, and the authority's behind them."""
    for path in BUNDLES:
        try:
            with open(path, "rb") as file:
                found = file.read(_LARGEST + 1)
        except OSError:
            continue
        if 0 < len(found) <= _LARGEST:
            return found.rstrip(b"\n") + b"\n" + own.certificate
    return own.certificate


def places(etc: str) -> tuple[str, ...]:
    """Where the bundle goes in a sandbox whose /etc is a copy at `etc`."""
    found = [OWN]
    for path in BUNDLES:
        real = os.path.realpath(etc + path.removeprefix("/etc"))
        # A link leads on to where the copy is laid over as well.
        if is_below(real, etc) and os.path.isfile(real):
            found.append("/etc" + real.removeprefix(etc))
    return tuple(dict.fromkeys(found))
