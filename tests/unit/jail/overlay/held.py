"""Runs scripts whose writes are held in an overlay, and tells what they changed."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from redoma.jail.engines.choice import plan
from redoma.jail.profiles.profile import load
from redoma.model.change import Changes
from redoma.model.grant import Writes
from redoma.model.request import Mode
from redoma.model.result import Result
from redoma.model.value import replace
from redoma.pipeline.execute import execute
from redoma.pipeline.requests import request_for
from redoma.pipeline.this_host import this_host

PYTHON = "/usr/bin/python3"
needs_python = pytest.mark.skipif(not os.path.exists(PYTHON), reason=f"needs {PYTHON} inside")


class Box:
    """Runs commands under one grant, their writes in an overlay; nobody judges or applies them."""

    def __init__(
        self,
        workspace: Path,
        *,
        engine: str = "",
        limits: Mapping[str, int | None] | None = None,
        allow_write: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
    ) -> None:
        grant = load("standard").grant(str(workspace))
        self.grant = replace(
            grant,
            writes=Writes.LAYER,
            limits=replace(grant.limits, **(limits or {})),
            writable=tuple(allow_write),
            env=tuple((env or {}).items()),
            prefer=(engine,) if engine else grant.prefer,
        )

    def run(
        self,
        command: str | Sequence[str],
        *,
        stdin: bytes = b"",
        sink: Callable[[int, bytes], None] | None = None,
        mode: Mode = Mode.RUN,
    ) -> Result:
        """What came of one command; its overlay stays."""
        made = plan(request_for(command, mode=mode), self.grant, this_host())
        return execute(made, this_host(), stdin=stdin, sink=sink)


def sandbox(workspace: Path, **how: Any) -> Box:
    """What runs commands so that they write into an overlay."""
    return Box(workspace, **how)


def run(workspace: Path, script: str, **how: object) -> Result:
    """The result of a shell script that has to succeed."""
    result = sandbox(workspace, **how).run(script)
    assert (result.exit_code, result.stderr) == (0, b""), (result.outcome, result.stderr)
    return result


def changes(workspace: Path, script: str, **how: object) -> Changes:
    """What a shell script changed."""
    found = run(workspace, script, **how).changes
    assert found is not None
    return found


def python(code: str) -> str:
    """A command that runs Python code inside."""
    return f"{PYTHON} -I -S - <<'EOF'\n{code}\nEOF"


def told(found: Changes) -> dict[str, str]:
    """Changes in short: `renamed from x`, `created link of y`, `modified tree`."""
    short = {}
    for item in found.items:
        words = [item.did.value]
        if item.renamed_from:
            words.append(f"from {item.renamed_from}")
        if item.moved_along:
            words.append(f"with {item.moved_along}")
        if item.hard_link_of:
            words.append(f"link of {item.hard_link_of}")
        if item.replaces_tree:
            words.append("tree")
        short[item.path] = " ".join(words)
    return short


def snapshot(root: Path) -> dict[str, tuple[object, ...]]:
    """Everything that can be known of a tree, the access times included; reading leaves no mark."""
    found: dict[str, tuple[object, ...]] = {}
    pending = [os.fsencode(root)]
    while pending:
        place = pending.pop()
        if os.path.islink(place):
            os.readlink(place)  # sets its access time, once
        status = os.lstat(place)
        body: object = None
        if stat.S_ISREG(status.st_mode):
            fd = os.open(place, os.O_RDONLY | os.O_NOATIME)
            with open(fd, "rb") as file:
                body = file.read()
        elif stat.S_ISLNK(status.st_mode):
            body = os.readlink(place)
        elif stat.S_ISDIR(status.st_mode):
            fd = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOATIME)
            pending += [place + b"/" + os.fsencode(name) for name in os.listdir(fd)]
            os.close(fd)
        attributes = tuple(
            (name, os.getxattr(place, name, follow_symlinks=False))
            for name in os.listxattr(place, follow_symlinks=False)
        )
        numbers = (status.st_mode, status.st_uid, status.st_gid, status.st_nlink, status.st_ino)
        times = (status.st_atime_ns, status.st_mtime_ns, status.st_ctime_ns)
        found[os.fsdecode(place)] = (numbers, times, body, attributes)
    return found


def git(place: Path, *words: str) -> None:
    """Git, outside, as a person with a name."""
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words],
        cwd=place,
        check=True,
        capture_output=True,
    )


def mount(*words: str) -> None:
    """A mount in the machine's own view, for tests that run as root."""
    subprocess.run(["mount", *words], check=True, capture_output=True)
