"""Covers the sockets and named pipes of other programs where a command could reach them.

A read-only mount stops nobody from connecting to a socket in it or from writing into a named pipe.
Seen through an overlay both lead nowhere; where a directory is shown as it is, each is covered.
"""

from __future__ import annotations

import os
import stat

from redoma.jail.kernel.process import is_machines_root
from redoma.model.access import Writes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.jail.engines.frame import Frame
    from redoma.jail.protect.survey import Survey
    from redoma.model.access import Grant


def covers(paths: list[str]) -> list[str]:
    """The mounts that put nothing where each of these is."""
    made: list[str] = []
    for path in paths:
        if os.path.isdir(path):
            made += ["--perms", "0555", "--tmpfs", path, "--remount-ro", path]
        else:
            made += ["--ro-bind", "/dev/null", path]
    return made


def pipes_below(root: str) -> list[str]:
    """Named pipes below a directory, and directories that may have some: names cannot be listed."""
    from redoma.jail.protect.survey import Survey

    survey = Survey(root)
    survey.look()
    return [path for path in survey.endpoints() if not stat.S_ISSOCK(os.lstat(path).st_mode)]


def covers_where_read(frame: Frame, grant: Grant, surveys: dict[str, Survey]) -> list[str]:
    """The mounts that cover what listens in directories that are only read, and as they are.

    `surveys` remembers them from run to run.
    """
    found: dict[str, None] = {}
    for root in frame.as_they_are:
        found.update(dict.fromkeys(_below(root, surveys)))
    # What is mounted over these has covers, or an overlay, of its own.
    over = [*dict(frame.writable), *frame.forgotten]
    if grant.writes is not Writes.NONE:
        over.append(grant.workspace)
    within = tuple(f"{path}/" for path in over)
    return covers([path for path in found if not path.startswith(within)])


def _below(root: str, surveys: dict[str, Survey]) -> list[str]:
    if not os.path.isdir(root):
        return []
    from redoma.jail.engines.closed import Closed
    from redoma.jail.protect.survey import Survey

    survey = surveys.setdefault(root, Survey(root))
    survey.look()
    paths = list(survey.endpoints())
    if not paths or not is_machines_root():
        return paths
    closed = Closed(root)
    return [path for path in paths if not closed.holds(path)]
