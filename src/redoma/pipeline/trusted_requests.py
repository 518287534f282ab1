"""What a person said yes to: a project's requests, and grants for one project or one run.

A yes is bound to the file's real path and to the digest of the very bytes that were shown, and it
lies in our own state, which no sandbox shows. Attack: a command changes the project's file, so that
the next run is given more than was agreed to: another content is another digest, and it has no yes.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager

from redoma.ask import own_files
from redoma.base import own_directories
from redoma.model.errors import AskUnavailable, StateUnavailable
from redoma.model.policy import KeptGrants

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from redoma.model.policy import RequestedGrants

    Kept = dict[str, dict[str, Any]]

KINDS = ("hosts", "read", "write", "env", "credentials")
ONCE_SECONDS = 3600
"""How long a grant for one run waits for it."""
_MOST = 1000


class TrustedRequests:
    """The yeses of one person, in a file of their own."""

    def __init__(self, directory: str = "") -> None:
        self._directory = directory or f"{own_directories.state()}/trust"
        self._file = f"{self._directory}/trusted.json"

    def is_trusted(self, request: RequestedGrants) -> bool:
        """Whether exactly this content of this file has a yes."""
        return self._read()["files"].get(_named(request.path)) == request.digest

    def trust(self, requests: Iterable[RequestedGrants]) -> None:
        """Remembers a yes to what was shown."""
        with self._changed() as content:
            for each in requests:
                content["files"][_named(each.path)] = each.digest
            while len(content["files"]) > _MOST:
                del content["files"][next(iter(content["files"]))]

    def forget(self, paths: Iterable[str]) -> int:
        """Takes yeses back, and tells how many there were."""
        with self._changed() as content:
            known = [content["files"].pop(_named(path), None) for path in paths]
        return sum(each is not None for each in known)

    def allow(self, project: str, kind: str, value: str, *, once: bool) -> None:
        """Grants something to the runs of a project, or to the next one."""
        with self._changed() as content:
            of = content["once" if once else "projects"].setdefault(os.path.realpath(project), {})
            if once:
                of["until"] = [str(int(time.time()) + ONCE_SECONDS)]
            of[kind] = list(dict.fromkeys((*of.get(kind, ()), value)))

    def allowed(self, project: str) -> KeptGrants:
        """What is granted to the runs of a project, and to its next one."""
        content, place = self._read(), os.path.realpath(project)
        found = _grants(content["projects"].get(place, {}))
        once = content["once"].get(place, {})
        return found.beside(_grants(once)) if _still(once) else found

    def disallow(self, project: str) -> bool:
        """Takes back what was granted to a project; False where nothing was."""
        with self._changed() as content:
            place = os.path.realpath(project)
            found = [content[part].pop(place, None) for part in ("projects", "once")]
        return any(found)

    def spent(self, project: str) -> None:
        """The run that a grant for one run was for has begun."""
        place = os.path.realpath(project)
        if place in self._read()["once"]:
            with self._changed() as content:
                content["once"].pop(place, None)

    def _read(self) -> Kept:
        found = own_files.read(self._file) or {}
        made: Kept = {}
        for part in ("files", "projects", "once"):
            kept = found.get(part)
            made[part] = kept if isinstance(kept, dict) else {}
        return made

    @contextmanager
    def _changed(self) -> Iterator[Kept]:
        own_directories.made_state()
        own_files.own_directory(self._directory)
        with own_files.locked(f"{self._directory}/lock"):
            content = self._read()
            yield content
            own_files.replace(self._file, dict(content))


def _named(path: str) -> str:
    """One file by its real path: a link to it is no other file, and a file put there is."""
    return os.path.realpath(path)


def _grants(kept: dict[str, Any]) -> KeptGrants:
    lists: dict[str, Any] = {kind: kept.get(kind, ()) for kind in KINDS}
    found: dict[str, Any] = {
        kind: tuple(str(each) for each in listed)
        for kind, listed in lists.items()
        if isinstance(listed, list | tuple)
    }
    return KeptGrants(**found)


def _still(once: dict[str, Any]) -> bool:
    until = once.get("until")
    last = until[0] if isinstance(until, list) and until else "0"
    return bool(once) and str(last).isdigit() and time.time() < int(str(last))


def quietly(directory: str = "") -> TrustedRequests | None:
    """The same for whoever can do without: None where there is no place for it."""
    try:
        return TrustedRequests(directory)
    except (StateUnavailable, AskUnavailable):
        return None
