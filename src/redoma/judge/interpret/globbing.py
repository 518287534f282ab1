"""Whether a pattern such as `~/.ss?/id*` was made to reach a secret without naming it."""

from __future__ import annotations

from redoma.judge.text.glob import glob, has_glob

_WELL_KNOWN = (
    ".env",
    ".netrc",
    ".pgpass",
    ".npmrc",
    ".git-credentials",
    ".bash_history",
    ".ssh/id_rsa",
    ".ssh/id_ed25519",
    ".ssh/id_ecdsa",
    ".aws/credentials",
    ".kube/config",
    ".docker/config.json",
    ".config/gcloud/credentials.db",
    ".gnupg/secring.gpg",
    "etc/shadow",
    "etc/gshadow",
    "etc/sudoers",
)
ACCOUNT_FILES = ("/etc/passwd", "/etc/group")
_FEWEST_LETTERS = 2


def may_reach_secret(path: str) -> bool:
    """A pattern that spells part of a well-known secret's name; `*` alone spells nothing."""
    if not has_glob(path):
        return False
    steps = path.strip("/").split("/")
    return any(_fits(known.split("/"), steps) for known in _WELL_KNOWN)


def reaches_accounts(path: str) -> bool:
    """Whether a path is, or a pattern was made to be, one of the files with everyone's accounts."""
    if not has_glob(path):
        return path in ACCOUNT_FILES
    steps = path.strip("/").split("/")
    return any(_fits(known.strip("/").split("/"), steps) for known in ACCOUNT_FILES)


def _fits(known: list[str], steps: list[str]) -> bool:
    if len(steps) < len(known):
        return False
    spelled = 0
    for name, step in zip(known, steps[-len(known) :], strict=True):
        if name == step:
            continue
        letters = sum(c.isalnum() for c in step)
        # A leading dot must be spelled: no shell completes `*` to a hidden name.
        if not has_glob(step) or letters < _FEWEST_LETTERS or (name[0] == "." and step[0] != "."):
            return False
        pattern = glob(step)
        if pattern is None or not (pattern.fits(name) or step.rstrip("*?") == name):
            return False
        spelled += 1
    return spelled > 0
