"""Which program a name means where the script itself changed that: hashes, links, planted files."""

from __future__ import annotations

from redoma.judge.interpret.places import normal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.arg import Arg
    from redoma.judge.interpret.invocation import Invocation

MOST_FOLDERS = 16


def meant(call: Invocation) -> Arg | None:
    """Another program that runs in the place of the one that is named."""
    if "/" not in call.word:
        hashed = call.state.hashed.get(str(call.word))
        return hashed if hashed is not None and "/" in hashed else None
    if not call.state.links:
        return None
    # Attack: `ln -s /bin/rm x; ./x -rf ~`: a link does what it leads to.
    leads = call.path(call.word)
    return call.word.like(leads) if leads != normal(call.word, call.state.cwd) else None


def planted(call: Invocation) -> Arg | None:
    """A file that this script wrote where PATH finds it before the usual program."""
    if "/" in call.word:
        return None
    searched = call.environment.get("PATH") or call.state.variables.get("PATH")
    for folder in (searched or "").split(":")[:MOST_FOLDERS]:
        path = normal(f"{folder or '.'}/{call.word}", call.state.cwd)
        if path in call.walker.files.by_path:
            return call.word.like(path)
    return None
