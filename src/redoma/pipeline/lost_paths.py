"""What a command wrote that does not last, and what it missed because it is hidden from it.

By its text and by what it said: what a program does besides is not known here, so this says less
than there may be, and never what is not so.
"""

from __future__ import annotations

import os
import re

from redoma.base.paths import is_within
from redoma.model.decision import Effect
from redoma.model.grant import Guarantee

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from redoma.model.grant import Grant
    from redoma.model.result import Result

_MOST = 5
_WHOLE = "*?[$`"
# Nobody expects of these that they last.
_PASSING = ("/dev", "/proc", "/tmp", "/run")
# A line in which a program says that it found nothing where something is.
_MISSED = re.compile(
    rb"(no such file or directory|enoent|permission denied|does not exist|not found|cannot open)",
    re.IGNORECASE,
)
_PATH = re.compile(r"(?<![\w.~/-])(?:~|/)[^\s'\"`:;,()<>|]+")
_SHOWN = 65536


def vanishing(result: Result) -> list[tuple[str, str]]:
    """Each path that was written where nothing lasts, with what would keep it, if anything."""
    found, grant = result.decision, result.grant
    if found is None or grant is None:
        return []
    made: dict[str, str] = {}
    kept = (grant.workspace, *grant.writable)
    home = os.path.realpath(os.path.expanduser("~"))
    for each in found.assessment.findings:
        for target in each.targets if each.effect is Effect.WRITES else ():
            if not target.startswith("/") or any(sign in target for sign in _WHOLE):
                continue
            real = os.path.realpath(target)
            passing = not is_within(real, home) and any(is_within(real, p) for p in _PASSING)
            if passing or any(is_within(real, place) for place in kept):
                continue
            made[target] = _grant_for(real, home)
    return list(made.items())[:_MOST]


def _grant_for(path: str, home: str) -> str:
    """What would have to be given so that a path can be written; nothing where that is too much."""
    from redoma.model.errors import UsageError
    from redoma.pipeline.this_host import WRITTEN, granted_path

    while not os.path.lexists(path) and len(path) > 1:
        path = os.path.dirname(path)
    if is_within(home, path):
        return ""
    try:
        return granted_path(path, WRITTEN)
    except UsageError:
        return ""


def hidden_paths(result: Result) -> Iterator[tuple[str, bool]]:
    """Paths that a failed command missed and that are there, each with whether it holds secrets."""
    grant, enforced = result.grant, result.enforcement
    if grant is None or enforced is None or Guarantee.READS_CONFINED not in enforced.held:
        return
    told: set[str] = set()
    said = result.stderr[-_SHOWN:] + b"\n" + result.stdout[-_SHOWN:]
    for line in said.splitlines():
        if not _MISSED.search(line):
            continue
        for named in _PATH.findall(line.decode("utf-8", "replace")):
            path = os.path.expanduser(named.rstrip(".!?"))
            if path in told or len(told) >= _MOST or not os.path.lexists(path):
                continue
            if _is_shown(os.path.realpath(path), grant):
                continue
            told.add(path)
            yield path, _is_secret(os.path.realpath(path))


def _is_shown(path: str, grant: Grant) -> bool:
    """Whether a command under this grant has a path of the machine before it."""
    if any(is_within(path, place) for place in grant.hidden):
        return False
    roots = (grant.workspace, *grant.writable, *grant.readable)
    if any(is_within(path, place) for place in (*roots, "/proc", "/dev", "/sys")):
        return True
    from redoma.jail.engines import view

    home = view.home_directory()
    seen = view.build(grant.home, home=home, path=os.environ.get("PATH", ""), keep=roots)
    for source, target in seen.binds:
        if is_within(path, target):
            return os.path.lexists(source + path[len(target) :])
    return False


def _is_secret(path: str) -> bool:
    """Whether showing a path would show what no command should see."""
    from redoma.jail.engines.view import NEVER

    home = os.path.realpath(os.path.expanduser("~"))
    if any(is_within(path, f"{home}/{name}") for name in NEVER):
        return True
    return path.startswith(("/etc/shadow", "/etc/gshadow", "/etc/ssh", "/etc/sudoers"))
