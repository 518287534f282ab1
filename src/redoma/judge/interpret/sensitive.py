"""Which names hold secrets, run by themselves later, or rule the guard: questions about a path."""

from __future__ import annotations

from redoma.judge.interpret import known_places as known


def is_secret(path: str) -> bool:
    """Whether reading it would show keys, tokens, passwords or histories."""
    lowered = path.lower()
    name = lowered.rstrip("/").rpartition("/")[2]
    if name.endswith(known.SHOWN_ENDS) or lowered.endswith(known.PUBLIC_IN_SSH):
        return False
    if name in known.SECRET_NAMES or name.endswith(known.SECRET_ENDS):
        return True
    if name.startswith(known.SECRET_STARTS):
        return True
    if lowered.startswith("/proc/") and name in ("environ", "mem", "maps", "auxv"):
        return True
    if lowered.startswith(known.SECRET_SYSTEM):
        return True
    around = f"/{lowered}/"
    return any(tree in around for tree in known.SECRET_TREES)


def is_startup(path: str) -> bool:
    """Whether what is written there runs later by itself, or decides who may come in."""
    lowered = path.lower()
    if lowered.rstrip("/").rpartition("/")[2] in known.STARTUP_NAMES:
        return True
    if lowered.startswith(known.STARTUP_SYSTEM):
        return True
    around = f"/{lowered}/"
    return any(tree in around for tree in known.STARTUP_TREES)


def is_vital(path: str) -> bool:
    """Whether the machine neither starts nor lets anyone in without it."""
    return path in known.VITAL_FILES or path.startswith(known.VITAL_TREES)


def is_guard(path: str) -> bool:
    """Whether it holds the settings of a guard or of an agent."""
    around = f"/{path.lower()}/"
    return any(tree in around for tree in known.GUARD_TREES) or around.endswith("/.claude/")


def is_credential(path: str) -> bool:
    """Whether its very name says that it opens something, wherever it lies."""
    return path.rstrip("/").rpartition("/")[2].lower() in known.CREDENTIALS


def keeps_secrets(path: str) -> bool:
    """Whether a directory is where keys are kept, so that what is packed from it carries them."""
    lowered = path.lower().rstrip("/*")
    if lowered.endswith(known.SHOWN_ENDS):
        return False
    folders = known.KEY_FOLDERS
    return lowered.endswith(folders) or any(f"{each}/" in lowered for each in folders)


def is_identity(path: str) -> bool:
    """Whether a file tells who or where this machine is."""
    return path in known.IDENTITY_FILES


def is_secret_variable(name: str) -> bool:
    """Whether a variable's name says that it holds a token, key or password."""
    upper = name.upper()
    if upper in known.SECRET_VARIABLES or not known.SECRET_WORDS.isdisjoint(upper.split("_")):
        return True
    return any(each in upper for each in known.SECRET_KEYS)
