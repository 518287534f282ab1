"""The environment of a command: what programs need, and no secret of the caller."""

from __future__ import annotations

import os

from redoma.base.paths import is_within
from redoma.model.access import Variables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# Passed on from the caller, since they say how to show things and never hold a secret.
_PASSED = frozenset(
    """
    COLORTERM COLUMNS FORCE_COLOR LANG LANGUAGE LC_ADDRESS LC_ALL LC_COLLATE LC_CTYPE
    LC_IDENTIFICATION LC_MEASUREMENT LC_MESSAGES LC_MONETARY LC_NAME LC_NUMERIC LC_PAPER
    LC_TELEPHONE LC_TIME LINES NO_COLOR TERM TZ
    """.split()
)
# Toolchains say with these where they stand; only a path that is seen inside passes.
_PLACES = (
    "CARGO_HOME",
    "CONDA_PREFIX",
    "GOROOT",
    "JAVA_HOME",
    "NVM_DIR",
    "PYENV_ROOT",
    "RUSTUP_HOME",
    "VIRTUAL_ENV",
    "VOLTA_HOME",
)


def passing(variables: Variables) -> Mapping[str, str]:
    """The caller's variables, of which the harmless ones pass; or none of them."""
    return os.environ if variables is Variables.FEW else {}


def clean(
    caller: Mapping[str, str],
    *,
    home: str,
    path: str,
    user: str,
    given: tuple[tuple[str, str], ...],
    visible: tuple[str, ...],
) -> dict[str, str]:
    """What the command gets: a few of the caller's, ours, and what was given by name."""
    made = {name: value for name, value in caller.items() if name in _PASSED and len(value) < 64}
    for name in _PLACES:
        value = caller.get(name, "")
        if value and any(is_within(value, v) for v in visible):
            made[name] = value
    made.setdefault("LANG", "C.UTF-8")
    made |= {
        "HOME": home,
        "LOGNAME": user,
        "PATH": path,
        "SHELL": "/bin/sh",
        "TMPDIR": "/tmp",
        "USER": user,
        # Bytecode and caches of people's own toolchains are read-only inside.
        "PYTHONDONTWRITEBYTECODE": "1",
        "REDOMA": "1",
    }
    made.update(given)
    return made


def user_name(uid: int) -> str:
    """The name of a user, or its number where there is none."""
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def home_directory() -> str:
    """The caller's home: the environment's word if it is a directory, else the user database's."""
    home = os.environ.get("HOME", "")
    if home.startswith("/") and os.path.isdir(home):
        return os.path.realpath(home)
    import pwd

    try:
        return os.path.realpath(pwd.getpwuid(os.geteuid()).pw_dir)
    except KeyError:
        return "/nonexistent"
