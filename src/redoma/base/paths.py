"""Paths as text: what lies below what, and where the XDG variables put a user's directories.

Nothing is looked up here but the environment: whoever asks about the file system resolves links
first. `base/own_directories.py` has the directories of Redoma itself.
"""

from __future__ import annotations

import os


def is_below(path: str, root: str) -> bool:
    """Whether a path lies inside a directory; the directory itself does not.

    >>> is_below("/work/a", "/work"), is_below("/work", "/work"), is_below("/workshop", "/work")
    (True, False, False)
    """
    return path.startswith(f"{root.rstrip('/')}/") and path != root


def is_within(path: str, root: str) -> bool:
    """Whether a path is a directory or lies inside it."""
    return path == root or path.startswith(f"{root.rstrip('/')}/")


def xdg_directory(variable: str, below_home: str) -> str:
    """What an XDG variable names, or its usual directory; nothing where neither is absolute."""
    given = os.environ.get(variable, "")
    if given.startswith("/"):
        return given.rstrip("/")
    home = os.path.expanduser("~")  # HOME, or what the system says of this user
    return f"{home.rstrip('/')}/{below_home}" if home.startswith("/") else ""


def cache_home() -> str:
    """The directory above our cache, or nothing where what lies there cannot be believed.

    Attack: `XDG_CACHE_HOME` is set to a directory of a project. A command that ran before that was
    free to write there; compiled modules and the name of a program to start would be its own.
    """
    place = xdg_directory("XDG_CACHE_HOME", ".cache")
    given = os.environ.get("XDG_CACHE_HOME", "").startswith("/")
    return "" if given and _in_a_project(place, os.path.expanduser("~")) else place


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
