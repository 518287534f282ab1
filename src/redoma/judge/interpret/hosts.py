"""Which machine an address or a URL names, what its name gives away, what is asked of it."""

from __future__ import annotations

from redoma.judge.interpret.arg import SECRET, UNKNOWN
from redoma.model.decision import Effect, Place, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.arg import Arg
    from redoma.judge.interpret.invocation import Invocation

_LOOPBACK = (
    "localhost",
    "127.",
    "[::1]",
    "::1",
    "0.0.0.0",  # noqa: S104
    "host.docker.internal",
    "0:0:0:0:0:0:0:1",
)
_METADATA = frozenset(
    "169.254.169.254 metadata.google.internal metadata.goog metadata.azure.com "
    "100.100.100.200 fd00:ec2::254 169.254.170.2 169.254.170.23 metadata.tencentyun.com "
    "192.0.0.192 metadata.packet.net".split()
)
_SHORTENERS = frozenset(
    "bit.ly tinyurl.com is.gd v.gd t.co goo.gl ow.ly buff.ly rebrand.ly cutt.ly "
    "shorturl.at t.ly rb.gy tiny.cc bl.ink s.id lnkd.in adf.ly soo.gd clck.ru qr.ae "
    "git.io shorte.st bc.vc u.to x.co da.gd 0x0.st".split()
)
_YOUNG_ENDINGS = frozenset(
    "app dev run xyz top click gq ml cf tk zip mov foo cyou icu buzz rest monster".split()
)
_SCRIPTS = tuple(
    (
        ".sh .bash .zsh .py .pl .rb .php .ps1 .bat .cmd .exe .msi .run .bin .deb .rpm .apk "
        ".pkg .dmg .appimage .jar"
    ).split()
)
WELL_KNOWN = frozenset(
    "github.com gitlab.com bitbucket.org google.com googleapis.com microsoft.com "
    "apple.com amazon.com amazonaws.com paypal.com npmjs.com npmjs.org pypi.org "
    "pythonhosted.org python.org rubygems.org crates.io docker.com docker.io golang.org "
    "debian.org ubuntu.com redhat.com fedoraproject.org cloudflare.com "
    "githubusercontent.com huggingface.co openai.com anthropic.com facebook.com "
    "stripe.com slack.com atlassian.com stackoverflow.com mozilla.org kernel.org "
    "apache.org oracle.com nodejs.org yarnpkg.com jsdelivr.net unpkg.com maven.org "
    "gradle.org packagist.org nuget.org hashicorp.com terraform.io kubernetes.io "
    "heroku.com netlify.com vercel.com digitalocean.com sourceforge.net wikipedia.org "
    "dropbox.com linkedin.com twitter.com youtube.com netflix.com binance.com "
    "coinbase.com metamask.io deno.land".split()
)
_READING_METHODS = frozenset(
    ("GET", "HEAD", "OPTIONS", "TRACE", "PROPFIND", "REPORT", "SEARCH", "")
)
_WHOLE_COLLECTIONS = frozenset(("*", "_all", "%2a"))
_DELETING_WORDS = frozenset(
    "delete dodelete remove destroy purge drop wipe truncate erase flush flushall "
    "flushdb terminate reset deactivate revoke delete-batch deletebatch delete_by_query "
    "_delete_by_query bulk-delete bulk_delete _close shutdown reboot factory-reset "
    "clear-all safeexit exit quietdown deletebyquery".split()
)
_SETTINGS = frozenset(("_cluster/settings", "_snapshot", "_security", "_ilm", "admin/config"))


def host_of(text: str) -> str:
    """The host in a URL, `user@host:path`, `host:port` or plain name, in lower case."""
    rest = _authority(text).rpartition("@")[2]
    rest = rest.partition("]")[0] if rest.startswith("[") else rest.partition(":")[0]
    return rest.lower().strip("[]")


def _authority(text: str) -> str:
    rest = text.partition("://")[2] or text
    return rest.partition("/")[0].partition("?")[0].partition("#")[0]


def host_target(text: str) -> tuple[Target, tuple[str, ...]]:
    """The target that a text names, with marks such as `metadata` or `plain` (no encryption)."""
    host = host_of(text)
    marks: list[str] = []
    if UNKNOWN in host:
        marks.append("unknown-host")
    if host.startswith(_LOOPBACK) or (host == "" and not text):
        return Target(text=text, place=Place.LOOPBACK), tuple(marks)
    if host in _METADATA or host.rstrip(".") in _METADATA:
        marks.append("metadata")
    _mark_address(host, marks)
    _mark_name(host, marks)
    if "/" in text or "://" in text:
        _mark_url(text, host, marks)
    return Target(text=text, place=Place.HOST), tuple(marks)


def _mark_address(host: str, marks: list[str]) -> None:
    if not host or not (host[0].isdigit() or ":" in host):
        return
    parts = host.split(".")
    if all(part.isdigit() or part.startswith("0x") for part in parts) or ":" in host:
        marks.append("numeric")
        if len(parts) != 4 or (
            any(p.startswith("0") and len(p) > 1 for p in parts) and ":" not in host
        ):
            # Attack: 0x7f.1, 017700000001, 2130706433 are other ways to write 127.0.0.1.
            marks.append("disguised")
        if host.startswith(("10.", "192.168.", "169.254.")) or (
            parts[0] == "172"
            and len(parts) == 4
            and parts[1].isdigit()
            and 16 <= int(parts[1]) <= 31
        ):
            marks.append("private")


def _mark_name(host: str, marks: list[str]) -> None:
    if not host.isascii() or host.startswith("xn--") or ".xn--" in host:
        marks.append("lookalike")
        return
    labels = host.rstrip(".").split(".")
    domain = ".".join(labels[-2:])
    if domain in _SHORTENERS:
        marks.append("shortener")
    elif domain not in WELL_KNOWN and looks_like(domain):
        marks.append("typosquat")
    if len(labels) > 1 and labels[-1] in ("zip", "mov"):
        marks.append("trap-ending")
    elif len(labels) > 1 and labels[-1] in _YOUNG_ENDINGS:
        marks.append("young-ending")


def _mark_url(text: str, host: str, marks: list[str]) -> None:
    lowered = text.lower()
    scheme = lowered.partition("://")[0] if "://" in lowered else ""
    path = lowered.partition("://")[2] or lowered
    path = path.partition("/")[2].partition("?")[0].partition("#")[0]
    if scheme in ("http", "ftp", "ws", "tftp", ""):
        marks.append("plain")
    if path.endswith(_SCRIPTS):
        marks.append("script")
    if "%25" in path:
        marks.append("encoded")
    if any(not char.isascii() and not char.isalnum() for char in path):
        marks.append("odd")
    authority = _authority(text)
    user, at, _ = authority.rpartition("@")
    if at:
        name, colon, _ = user.partition(":")
        # Attack: https://github.com@evil.example/ goes to evil.example.
        marks.append("user-trap" if "." in name else ("user-secret" if colon else "user"))
    port = authority.rpartition("@")[2].rpartition("]")[2].partition(":")[2]
    domain = ".".join(host.split(".")[-2:])
    if port.isdigit() and port not in ("80", "443", "22") and domain in WELL_KNOWN:
        marks.append("odd-port")


def looks_like(domain: str) -> bool:
    """Whether a domain is one slip away from a well-known one, or drawn to look like it."""
    drawn = domain.replace("rn", "m").replace("vv", "w").replace("1", "l").replace("0", "o")
    if drawn != domain and drawn in WELL_KNOWN:
        return True
    if len(domain) < 7:
        return False
    return any(
        _one_slip(domain, known) for known in WELL_KNOWN if abs(len(known) - len(domain)) <= 1
    )


def _one_slip(one: str, other: str) -> bool:
    """One letter changed, added, dropped, or two neighbours swapped, before the last dot."""
    if one.rpartition(".")[2] != other.rpartition(".")[2]:
        return False
    start = 0
    while start < min(len(one), len(other)) and one[start] == other[start]:
        start += 1
    rest, known = one[start:], other[start:]
    if rest[1:] == known[1:] or rest == known[1:] or rest[1:] == known:
        return True
    return (
        len(rest) > 1 and rest[0] == known[1:2] and rest[1] == known[:1] and rest[2:] == known[2:]
    )


def web_request(
    call: Invocation,
    url: Arg,
    method: str,
    carried: int,
    tags: tuple[str, ...],
    *,
    known: bool = True,
) -> None:
    """One request of a web client: a read, an upload, a change or a deletion on the other side."""
    if method in _READING_METHODS:
        if carried & SECRET:
            call.sends(carried, url, *tags)
        else:
            call.host(url, *tags)
        return
    path = _path_of(url)
    steps = [step for step in path.lower().split("/") if step]
    if method == "DELETE":
        last = steps[-1] if steps else ""
        whole = bool(_WHOLE_COLLECTIONS & set(last.split(","))) or last.startswith(".*")
        worst = ("destroy", "wholesale") if whole else ("destroy",)
        target, _ = host_target(str(url))
        call.fact(Effect.REMOTE, target, tags=worst, at=url.span, detail=f"{method} {_shown(url)}")
    elif (
        steps
        and (_DELETING_WORDS & set(steps[-2:]) or steps[-1].startswith(("delete", "dodelete")))
    ) or (any(each in path.lower() for each in _SETTINGS) and method in ("PUT", "POST", "PATCH")):
        target, _ = host_target(str(url))
        told = f"{method} {_shown(url)}"
        call.fact(Effect.REMOTE, target, tags=("destroy",), at=url.span, detail=told)
    marks = tags if known else (*tags, "unknown-payload")
    call.sends(carried, url, *marks)


def _path_of(url: str) -> str:
    rest = url.partition("://")[2] or url
    return rest.partition("/")[2].partition("?")[0].partition("#")[0]


def _shown(url: str) -> str:
    return url.replace(UNKNOWN, "…")
