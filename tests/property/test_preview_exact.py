"""For any tree and any operations: what is told is what differs, no path more and no path less."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from redoma import Access
from redoma.jail.overlay.changes import read_changes
from redoma.jail.overlay.placement import COPY, OverlayPlace
from redoma.jail.overlay.store import make_overlay
from redoma.model.change import Changes, Did, FileKind
from redoma.pipeline.sandbox import Sandbox
from tests.property.test_apply_undo import (
    age,
    inside,
    make_twins,
    own_places,
    perform,
    scripts,
    without_links,
)
from tests.unit.jail.overlay.held import needs_python, sandbox, snapshot

pytestmark = [pytest.mark.both_users, pytest.mark.slow, needs_python]

Seen = dict[str, tuple[object, ...]]
FEW = settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


def seen(root: Path) -> Seen:
    """Each path as it can be told: times of directories follow from what is done in them."""
    found: Seen = {}
    for path, (numbers, times, body, attributes) in snapshot(root).items():
        assert isinstance(numbers, tuple)
        assert isinstance(times, tuple)
        moment = None if stat.S_ISDIR(numbers[0]) else times[1]
        found[os.path.relpath(path, root)] = (numbers[0], body, attributes, moment)
    return found


def differing(before: Seen, after: Seen) -> dict[str, str]:
    """What became of each path that is not as it was."""
    found = dict.fromkeys(after.keys() - before.keys(), "created")
    found.update(dict.fromkeys(before.keys() - after.keys(), "deleted"))
    both = before.keys() & after.keys()
    found.update({path: "differs" for path in both if before[path] != after[path]})
    return found


def told(changes: Changes, before: Seen) -> dict[str, str]:
    """The same as it was told: a rename is something gone and something new."""
    found: dict[str, str] = {}
    for item in changes.items:
        if item.did is Did.RENAMED:
            old = item.renamed_from
            below = [path[len(old) :] for path in before if path.startswith(old + "/")]
            assert len(below) == item.moved_along
            found.update({old + rest: "deleted" for rest in ("", *below)})
            found.update({item.path + rest: "created" for rest in ("", *below)})
        elif item.did in (Did.CREATED, Did.DELETED):
            found[item.path] = item.did.value
        elif not _only_its_time(item.before, item.after):
            found[item.path] = "differs"
    return found


def _only_its_time(before: object, after: object) -> bool:
    """Whether a directory differs only in when it was changed, or in being another one."""
    return (
        getattr(before, "kind", None) is FileKind.DIRECTORY is getattr(after, "kind", None)
        and getattr(before, "mode", None) == getattr(after, "mode", None)
        and getattr(before, "xattrs", None) == getattr(after, "xattrs", None)
    )


@FEW
@given(first=scripts, script=scripts)
def test_a_layer_tells_what_differs(
    first: list[tuple[object, ...]], script: list[tuple[object, ...]]
) -> None:
    with own_places() as base:
        make_twins(base, first)
        before, untouched = seen(base / "work"), snapshot(base / "work")
        inside(
            Sandbox(str(base / "bare"), access=Access(direct=True), policy="isolation-only"), script
        )
        result = inside(sandbox(base / "work"), script)
        assert result.changes is not None
        assert told(result.changes, before) == differing(before, seen(base / "bare"))
        assert snapshot(base / "work") == untouched


@FEW
@given(first=scripts, script=scripts)
def test_a_copy_tells_what_differs(
    first: list[tuple[object, ...]], script: list[tuple[object, ...]]
) -> None:
    with own_places() as base:
        (base / "work").mkdir()
        perform(base / "work", without_links(first))
        age(base / "work")
        before, untouched = seen(base / "work"), snapshot(base / "work")
        (base / "held").mkdir(mode=0o700)
        overlay = make_overlay(
            str(base / "work"), OverlayPlace(directory=str(base / "held"), kind=COPY)
        )
        perform(Path(overlay.upper), script)
        changes = read_changes(overlay)
        assert told(changes, before) == differing(before, seen(Path(overlay.upper)))
        assert snapshot(base / "work") == untouched
