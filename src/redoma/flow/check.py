"""Judges without running: what a command or a file write would mean, and what policy says of it."""

from __future__ import annotations

import os

from redoma.flow.knowledge import knowledge
from redoma.flow.knowledge import pack as pack_named
from redoma.judge.assess import assess, assess_write
from redoma.judge.decide import decide
from redoma.judge.interpret.state import Ground

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.decision import Decision


def check(
    text: str, *, pack: str = "default", cwd: str | None = None, home: str | None = None
) -> Decision:
    """The decision for a shell command, taken to run in `cwd`."""
    rules = pack_named(pack)
    return decide(assess(text, rules, knowledge(), ground(cwd, home)), rules)


def check_write(
    path: str, *, pack: str = "default", cwd: str | None = None, home: str | None = None
) -> Decision:
    """The decision for a tool that writes the file at `path`, seen from `cwd`."""
    rules = pack_named(pack)
    where = ground(cwd, home)
    if path.startswith("~/"):
        path = where.home + path[1:]
    return decide(assess_write(path, rules, knowledge(), where), rules)


def ground(cwd: str | None = None, home: str | None = None) -> Ground:
    """Where a command is taken to run; the caller's own directory and home by default."""
    workspace = os.path.normpath(cwd) if cwd else _here()
    own = home or os.environ.get("HOME") or "/root"
    return Ground(workspace, os.path.normpath(own))


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:
        return "/nonexistent"
