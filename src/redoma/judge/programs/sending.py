"""What web clients share: files that are sent, headers that log in."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.arg import Arg, Stream
    from redoma.judge.interpret.call import Call

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
