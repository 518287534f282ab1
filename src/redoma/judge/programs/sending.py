"""What web clients share: requests by their method, files that are sent, headers that log in."""

from __future__ import annotations

from redoma.judge.interpret.arg import SECRET, UNKNOWN, Arg, Stream
from redoma.model.risk import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.call import Call

READING = frozenset(("GET", "HEAD", "OPTIONS", "TRACE", "PROPFIND", "REPORT", "SEARCH", ""))
_WHOLE = frozenset(("*", "_all", "%2a"))
_DELETING_WORDS = frozenset(
    "delete dodelete remove destroy purge drop wipe truncate erase flush flushall "
    "flushdb terminate reset deactivate revoke delete-batch deletebatch delete_by_query "
    "_delete_by_query bulk-delete bulk_delete _close shutdown reboot factory-reset "
    "clear-all safeexit exit quietdown deletebyquery".split()
)
_SETTINGS = frozenset(("_cluster/settings", "_snapshot", "_security", "_ilm", "admin/config"))
_LOGIN_HEADERS = (
    "authorization",
    "private-token",
    "x-api-key",
    "api-key",
    "apikey",
    "cookie",
    "proxy-authorization",
)
_LOGIN_ENDS = ("-token", "-key", "-auth", "-secret", "_token", "_key", "token", "-session")


def requests(
    call: Call, url: Arg, method: str, carried: int, tags: tuple[str, ...], *, known: bool = True
) -> None:
    """One request of a web client: a read, an upload, a change or a deletion on the other side."""
    if method in READING:
        if carried & SECRET:
            call.sends(carried, url, *tags)
        else:
            call.host(url, *tags)
        return
    path = _path(url)
    steps = [step for step in path.lower().split("/") if step]
    if method == "DELETE":
        whole = not steps or bool(_WHOLE & set(steps[-1].split(","))) or steps[-1].startswith(".*")
        worst = ("destroy", "wholesale") if whole and steps else ("destroy",)
        call.fact(Effect.REMOTE, tags=worst, at=url.span, detail=f"{method} {_shown(url)}")
    elif (
        steps
        and (_DELETING_WORDS & set(steps[-2:]) or steps[-1].startswith(("delete", "dodelete")))
    ) or (any(each in path.lower() for each in _SETTINGS) and method in ("PUT", "POST", "PATCH")):
        call.fact(Effect.REMOTE, tags=("destroy",), at=url.span, detail=f"{method} {_shown(url)}")
    marks = tags if known else (*tags, "unknown-payload")
    call.sends(carried, url, *marks)


def _path(url: str) -> str:
    rest = url.partition("://")[2] or url
    return rest.partition("/")[2].partition("?")[0].partition("#")[0]


def _shown(url: str) -> str:
    return url.replace(UNKNOWN, "…")


def file_of(call: Call, word: Arg) -> Stream:
    """The content of a file that a request carries; `-` is what flows in."""
    call.walker.step()
    if word in ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"):
        return call.stdin
    return call.reads(word)


def is_login_header(header: str) -> bool:
    """Whether a header's purpose is to say who asks, so that a secret in it is expected."""
    name = header.partition(":")[0].strip().lower()
    return name in _LOGIN_HEADERS or name.endswith(_LOGIN_ENDS)
