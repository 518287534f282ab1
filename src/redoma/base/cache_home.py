"""Where this user's caches lie, unless a command could have put something there before us."""

from __future__ import annotations

import os


def cache_home() -> str:
    """The directory above our cache, or nothing where what lies there cannot be believed.

    Attack: `XDG_CACHE_HOME` is set to a directory of a project. A command that ran before that was
    free to write there; compiled modules and the name of a program to start would be its own.
    """
    home = os.path.expanduser("~")
    given = os.environ.get("XDG_CACHE_HOME", "")
    if given.startswith("/"):
        place = given.rstrip("/")
        return "" if _in_a_project(place, home) else place
    return f"{home}/.cache" if home.startswith("/") else ""


def _in_a_project(place: str, home: str) -> bool:
    """Whether a directory lies in a repository, or below the directory that we are started in."""
    try:
        here = os.getcwd()
    except OSError:
        here = ""
    above = place
    while len(above) > 1 and above != home:
        if above == here or os.path.lexists(f"{above}/.git"):
            return True
        above = os.path.dirname(above)
    return False
