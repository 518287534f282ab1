"""For any tree and any operations: a preview, applied, is the run itself; undone, it never was."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redoma.jail.protect.untrusted_paths import remove_tree
from redoma.model.grant import Writes
from redoma.model.result import Result
from redoma.model.value import replace
from redoma.pipeline import stored_changes
from redoma.pipeline.stored_changes import store
from tests.unit.jail.overlay.applied import tree
from tests.unit.jail.overlay.held import PYTHON, Box, needs_python, sandbox

pytestmark = [pytest.mark.both_users, pytest.mark.slow, needs_python]

INTERPRETER = Path(__file__).with_name("operations.py")
LONG_AGO = 10**18  # nanoseconds; what is set on purpose is older

names = st.sampled_from(["a", "b", "c", "é", "new\nline"])
paths = st.lists(names, min_size=1, max_size=3).map("/".join)
texts = st.sampled_from(["", "one\n", "two\n" * 50, "three\n" * 2000])
operations = st.one_of(
    st.tuples(st.just("write"), paths, texts),
    st.tuples(st.just("write"), paths, texts),
    st.tuples(st.just("append"), paths, texts),
    st.tuples(st.just("truncate"), paths, st.sampled_from([0, 3, 100_000])),
    st.tuples(st.just("remove"), paths),
    st.tuples(st.just("make"), paths),
    st.tuples(st.just("make"), paths),
    st.tuples(st.just("move"), paths, paths),
    st.tuples(st.just("move"), paths, paths),
    st.tuples(st.just("link"), paths, paths),
    st.tuples(st.just("symlink"), paths, paths),
    st.tuples(st.just("mode"), paths, st.sampled_from([0o600, 0o644, 0o755, 0o700, 0o500, 0o4755])),
    st.tuples(st.just("date"), paths, st.integers(1, 10**8)),
    st.tuples(st.just("mark"), paths, st.sampled_from(["", "value"])),
    st.tuples(st.just("unmark"), paths),
    st.tuples(st.just("pipe"), paths),
)
scripts = st.lists(operations, min_size=1, max_size=12)


def perform(workspace: Path, script: list[tuple[object, ...]]) -> None:
    """Operations outside, in a directory of this test's own."""
    subprocess.run(
        [sys.executable, str(INTERPRETER)],
        input=json.dumps(script).encode(),
        cwd=workspace,
        check=True,
    )


def inside(box: Box, script: list[tuple[object, ...]]) -> Result:
    """The same operations, in a sandbox."""
    code = INTERPRETER.read_text().rpartition("if __name__")[0]
    code += f"\nperform(json.loads({json.dumps(json.dumps(script))}))\n"
    result = box.run([PYTHON, "-I", "-S", "-"], stdin=code.encode())
    assert (result.exit_code, result.stderr) == (0, b"")
    return result


def age(workspace: Path) -> None:
    """Everything there is from long ago, so that what is new shows."""
    for place, directories, files in os.walk(workspace, topdown=False):
        for name in (*files, *directories):
            os.utime(f"{place}/{name}", ns=(LONG_AGO, LONG_AGO), follow_symlinks=False)
    os.utime(workspace, ns=(LONG_AGO, LONG_AGO))


def comparable(found: dict[str, object]) -> dict[str, object]:
    """A tree without the times that nobody chose: those of the run, and those of directories."""
    result: dict[str, object] = {}
    for path, value in found.items():
        if not isinstance(value, tuple):
            result[path] = value
            continue
        mode, *middle, moment, body, attributes = value
        chosen = moment < LONG_AGO or (moment == LONG_AGO and not stat.S_ISDIR(mode))
        result[path] = (mode, *middle, moment if chosen else "new", body, attributes)
    return result


@contextmanager
def own_places() -> Iterator[Path]:
    base = Path(tempfile.mkdtemp(prefix="rdm-apply-", dir="/var/tmp"))
    base.chmod(0o755)
    try:
        with pytest.MonkeyPatch.context() as patched:
            patched.setenv("XDG_STATE_HOME", str(base / "state"))
            yield base
    finally:
        remove_tree(str(base))


def without_links(script: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    """An overlay tells names of one file apart once one of them is written; it says so in a warning."""
    return [operation for operation in script if operation[0] != "link"]


def make_twins(base: Path, script: list[tuple[object, ...]]) -> None:
    """Two workspaces with the same in them, made some time ago."""
    for name in ("work", "bare"):
        (base / name).mkdir()
        perform(base / name, without_links(script))
        age(base / name)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
@given(first=scripts, script=scripts)
def test_applied_it_is_as_if_run_and_undone_as_if_never_run(
    first: list[tuple[object, ...]], script: list[tuple[object, ...]]
) -> None:
    with own_places() as base:
        make_twins(base, first)
        before = tree(base / "work", numbers=True)
        bare = sandbox(base / "bare")
        bare.grant = replace(bare.grant, writes=Writes.DIRECT)
        inside(bare, script)
        result = inside(sandbox(base / "work"), script)
        assert tree(base / "work", numbers=True) == before
        assert result.changes is not None
        if not result.changes.items:
            return
        store(result.changes, "operations")
        stored_changes.apply(result.changes.id)
        assert comparable(tree(base / "work")) == comparable(tree(base / "bare"))
        stored_changes.undo(result.changes.id)
        assert tree(base / "work", numbers=True) == before
