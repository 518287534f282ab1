"""What is given of /etc is there, although the sandbox has a copy of its own with few entries."""

from __future__ import annotations

import os

import pytest

from redoma import Access, Sandbox
from redoma.jail.engines.view import ETC
from redoma.model.policy import BUILT_IN
from tests.escape.gated import workspace


@pytest.mark.both_users
@pytest.mark.parametrize("engine", ["bubblewrap", "forkserver"])
def test_a_directory_and_a_file_of_etc_that_the_copy_lacks_are_there_when_given(
    engine: str,
) -> None:
    entries = [e for e in os.scandir("/etc") if e.name not in ETC and not e.is_symlink()]
    readable = [e for e in entries if os.access(e.path, os.R_OK) and e.stat().st_mode & 0o004]
    directory = next(e.path for e in readable if e.is_dir() and os.listdir(e.path))
    file = next(e.path for e in readable if e.is_file() and e.stat().st_size)
    assert {directory, "/etc/apt"} & {each.path for each in entries}
    with workspace() as place:
        access = Access(read=[directory, file])
        sandbox = Sandbox(str(place), engine=engine, access=access, policy=BUILT_IN)
        result = sandbox.run(["/bin/sh", "-c", f"ls {directory} && test -s {file} && echo both"])
    assert (result.stderr, result.stdout.splitlines()[-1:]) == (b"", [b"both"])
