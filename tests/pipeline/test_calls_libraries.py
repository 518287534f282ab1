"""What a library written in C may not open is a violation as well, though it names no path."""

from __future__ import annotations

import os
import pwd
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from redoma import CallFailed, RedomaError, Sandbox, SandboxViolation
from redoma.dialects.tools import SandboxConstraints, SandboxExecutor
from tests.pipeline.place import Place
from tests.tidy import remove


def sqlite_reads(path: str) -> object:
    return sqlite3.connect(path).execute("select 1 from sqlite_master").fetchall()


def sqlite_reads_by_address(path: str) -> object:
    return sqlite3.connect(f"file:{path}?mode=ro", uri=True).execute("select 1").fetchall()


def sqlite_attaches(path: str) -> object:
    return sqlite3.connect(":memory:").execute("attach database ? as other", (path,)).fetchall()


def trusts(path: str) -> None:
    import ssl

    ssl.create_default_context().load_verify_locations(path)


def trusts_from_the_start(path: str) -> None:
    import ssl

    ssl.create_default_context(cafile=path)


def shows_its_key(path: str) -> None:
    import ssl

    ssl.create_default_context().load_cert_chain(path)


def remembers(path: str) -> None:
    import readline

    readline.read_history_file(path)


def loads(path: str) -> None:
    import ctypes

    ctypes.CDLL(path)


READS = [
    *(sqlite_reads, sqlite_reads_by_address, sqlite_attaches, trusts, trusts_from_the_start),
    *(shows_its_key, remembers, loads),
]


def sqlite_writes(path: str) -> None:
    with sqlite3.connect(path) as database:
        database.execute("create table t (a)")


def keeps(path: str) -> None:
    import readline

    readline.add_history("x")
    readline.write_history_file(path)


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    """A directory of the user's own that no call is given, and that is not temporary."""
    own = pwd.getpwuid(os.geteuid()).pw_dir
    made = Path(tempfile.mkdtemp(prefix="rdm-", dir=own)).resolve()
    with sqlite3.connect(made / "file") as database:
        database.execute("create table t (a)")
    yield made
    remove(made)


@pytest.mark.requirement("X4")
@pytest.mark.both_users
@pytest.mark.parametrize("way", READS, ids=lambda each: each.__name__)
def test_a_library_that_may_not_read_is_a_violation_that_names_the_path(
    way: Callable[[str], object], place: Place, elsewhere: Path
) -> None:
    sandbox = place.sandbox()
    beside = place.workspace.parent / "beside"  # below /var/tmp, of which a call has its own
    beside.write_bytes((elsewhere / "file").read_bytes())
    makes = way in (sqlite_reads, sqlite_attaches)  # a new one, in memory, where it is not there
    for path in (elsewhere / "file", *([] if makes else [beside])):
        with pytest.raises(SandboxViolation) as raised:
            sandbox.call(way, str(path))
        assert (raised.value.kind, raised.value.path) == ("read", str(path))


@pytest.mark.requirement("X4")
@pytest.mark.parametrize("way", [sqlite_writes, keeps], ids=lambda each: each.__name__)
def test_a_library_that_may_not_write_is_a_violation_that_names_the_path(
    way: Callable[[str], object], place: Place
) -> None:
    with pytest.raises(SandboxViolation) as raised:
        place.sandbox().call(way, "/usr/new")
    assert (raised.value.kind, raised.value.path) == ("write", "/usr/new")


@pytest.mark.requirement("X4")
@pytest.mark.parametrize("way", READS, ids=lambda each: each.__name__)
def test_a_tool_gets_the_constraint_through_any_library(
    way: Callable[[str], object], place: Place, elsewhere: Path
) -> None:
    forbidden = SandboxConstraints(forbidden_paths={str(elsewhere)}, allow_subprocess=True)
    run = SandboxExecutor(forbidden, record=str(place.record))
    with pytest.raises(SandboxViolation) as raised:
        run.execute(way, str(elsewhere / "file"))
    assert (raised.value.constraint, raised.value.path) == (
        "forbidden_paths",
        str(elsewhere / "file"),
    )


def bad_number(path: str) -> int:
    return int(path)


def own_complaint(path: str) -> None:
    raise RuntimeError(f"no such setting: {path}")


def no_table(path: str) -> object:
    with suppress(sqlite3.OperationalError):
        sqlite3.connect(path)
    return sqlite3.connect(":memory:").execute("select * from nothing")


@pytest.mark.parametrize(
    ("way", "kind"),
    [(bad_number, ValueError), (own_complaint, RuntimeError), (no_table, CallFailed)],
    ids=["ValueError", "RuntimeError", "sqlite3"],
)
def test_an_error_that_only_mentions_a_path_stays_what_it_is(
    way: Callable[[str], object], kind: type[Exception], place: Place, elsewhere: Path
) -> None:
    with pytest.raises(kind):
        place.sandbox().call(way, str(elsewhere / "file"))


def test_what_is_simply_not_there_is_no_violation(place: Place) -> None:
    sandbox: Sandbox = place.sandbox()
    for way in (trusts, remembers):
        with pytest.raises(FileNotFoundError):
            sandbox.call(way, str(place.workspace / "nothing"))
    assert sandbox.call(sqlite_reads, str(place.workspace / "made")) == []


@dataclass
class Point:
    x: int = 1


def makes_a_point() -> Point:
    return Point()


def counts() -> Iterator[int]:
    yield 1


@pytest.mark.requirement("X9")
def test_hints_of_tools_are_in_the_words_of_constraints(place: Place, elsewhere: Path) -> None:
    def hint(
        constraints: SandboxConstraints, function: Callable[..., object], *args: object
    ) -> str:
        with pytest.raises(RedomaError) as raised:
            SandboxExecutor(constraints, record=str(place.record)).execute(function, *args)
        return raised.value.hint

    little = SandboxConstraints(allowed_read_paths=set())
    write = "allowed_write_paths={…} gives a path to be written"
    assert hint(little, os.mkdir, str(elsewhere / "new")) == write
    assert hint(little, trusts, str(elsewhere / "file")).startswith("allowed_read_paths={…}")
    quick = SandboxConstraints(max_execution_time=0.5)
    assert hint(quick, time.sleep, 30) == "max_execution_time=SECONDS"
    assert hint(SandboxConstraints(), makes_a_point).startswith("return what it holds")
    assert hint(SandboxConstraints(), counts) == "return list(…) of it"
    with pytest.raises(RedomaError) as raised:
        place.sandbox().call(os.mkdir, str(elsewhere / "new"))
    assert raised.value.hint == "allow_write=[…] gives a path to be written"
