"""Starts a program that goes on by itself: a service that ends when nobody has asked for a time."""

from __future__ import annotations

import os

from redoma.model.errors import EngineFailed

# The shell ends at once, so that the program is nobody's child who would have to wait for it.
_APART = 'exec 3>&- ; "$@" </dev/null >/dev/null 2>&1 &'


def start_apart(argv: tuple[str, ...], env: dict[str, str]) -> None:
    """Starts a program in a session of its own; whether it works is seen by what it offers."""
    words = ("/bin/sh", "-c", _APART, "redoma", *argv)
    try:
        pid = os.posix_spawn(words[0], words, env, setsid=True, setsigmask=())
    except OSError as error:
        raise EngineFailed(f"cannot start {argv[0]}: {error.strerror}") from error
    os.waitpid(pid, 0)
