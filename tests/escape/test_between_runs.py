"""What one run leaves behind, or its caller becomes, never makes the next run a weaker one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from redoma import Access, EngineFailed, Sandbox
from redoma.dialects.tools import SandboxConstraints, SandboxExecutor
from redoma.model.errors import UsageError
from tests.contract.machine import usable
from tests.tidy import remove

pytestmark = pytest.mark.both_users

SOURCE = Path(__file__).resolve().parents[2] / "src"
only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give up so much")


@pytest.fixture
def place() -> Iterator[Path]:
    # Not below /tmp, which is another one inside.
    base = Path(tempfile.mkdtemp(prefix="rdm-", dir="/var/tmp"))
    (base / "work").mkdir()
    yield base
    remove(base)


def said(program: list[str], text: str, place: Path, library: Path = SOURCE) -> list[str]:
    """What a program of a caller's own prints; it finds `place` in its first argument."""
    found = [path for path in sys.path if path.endswith("site-packages")]
    head = f"""
import os, sys
sys.path[:] = [{str(library)!r}, *(p for p in sys.path if p), *{found!r}]
from redoma import Access, Sandbox
place = sys.argv[1]
def ran(box, command):
    return box.run(command).exit.stdout.decode().strip()
"""
    line = [*program, "-c", head + textwrap.dedent(text), str(place)]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=100, cwd="/")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_an_interpreter_that_a_command_replaced_is_never_started(place: Path) -> None:
    environment = place / "work/.venv/bin"
    environment.mkdir(parents=True)
    (environment / "python").symlink_to(os.path.realpath(sys.executable))
    (place / "work/own").write_text(f"#!/bin/sh\necho outside > {place}/proof\nexit 1\n")
    place.chmod(0o777)
    text = """
        box = Sandbox(f"{place}/work", policy="isolation-only", access=Access(direct=True))
        ran(box, "rm .venv/bin/python && cp own .venv/bin/python && chmod 755 .venv/bin/python")
        print(ran(box, "echo one"), ran(box, "echo two"), box.call(len, "abc"))
    """
    prefix = {"PYTHONHOME": sys.base_prefix}
    program = ["env", *(f"{k}={v}" for k, v in prefix.items()), str(environment / "python")]
    assert said(program, text, place) == ["one two 3"]
    assert not (place / "proof").exists()
    # Hooks and people start it by that name.
    assert os.readlink(environment / "python") == os.path.realpath(sys.executable)


@pytest.mark.parametrize("engine", ["bubblewrap", "forkserver"])
def test_our_own_package_in_a_workspace_is_only_read(place: Path, engine: str) -> None:
    usable(engine)
    library = place / "work/.venv/lib"
    shutil.copytree(SOURCE / "redoma", library / "redoma")
    text = f"""
        box = Sandbox(f"{{place}}/work", policy="isolation-only", access=Access(direct=True), engine={engine!r})
        command = '''
            echo evil >> .venv/lib/redoma/__init__.py || echo kept
            rm -r .venv/lib/redoma/pipeline || echo kept
            mv .venv other || echo kept
            mv .venv/lib other || echo kept
            touch .venv/lib/beside && echo beside
        '''
        print(*ran(box, command).split())
        held = Sandbox(f"{{place}}/work", policy="isolation-only", engine={engine!r}, access=Access(apply="always"))
        ran(held, "echo evil >> .venv/lib/redoma/__init__.py; echo done > written")
        print(os.path.exists(f"{{place}}/work/written"))
    """
    before = (library / "redoma/__init__.py").read_bytes()
    assert said([sys.executable], text, place, library) == ["kept kept kept kept beside", "True"]
    assert (library / "redoma/__init__.py").read_bytes() == before
    assert (library / "redoma/pipeline/sandbox.py").exists()


def peeked(path: str) -> str:
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return "nothing"


def test_a_module_directory_that_became_a_link_shows_nothing(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "secret").mkdir()
    (place / "secret/key").write_text("mine")
    (place / "work/src").mkdir()
    monkeypatch.syspath_prepend(place / "work/src")
    box = Sandbox(str(place / "work"), access=Access(direct=True), policy="isolation-only")
    ended = box.run(f"rmdir src && ln -s {place}/secret src").exit
    assert ended is not None and ended.code == 0
    assert box.call(peeked, str(place / "secret/key")) == "nothing"


@pytest.mark.parametrize("option", ["read", "write"])
def test_what_is_given_in_a_workspace_is_not_what_a_link_there_leads_to(
    place: Path, option: str
) -> None:
    (place / "secret").mkdir()
    box = Sandbox(str(place / "work"), access=Access(direct=True), policy="isolation-only")
    box.run(f"ln -s {place}/secret build")
    given: dict[str, Any] = {option: [f"{place}/work/build"]}
    with pytest.raises(UsageError, match="led out of the workspace"):
        Sandbox(str(place / "work"), access=Access(**given))


@pytest.mark.parametrize("engine", ["bubblewrap", "forkserver"])
def test_a_workspace_that_became_a_link_is_refused(place: Path, engine: str) -> None:
    usable(engine)
    (place / "secret/in").mkdir(parents=True)
    (place / "secret/in/key").write_text("mine")
    (place / "work/a/in").mkdir(parents=True)
    above = Sandbox(str(place / "work"), access=Access(direct=True), policy="isolation-only")
    box = Sandbox(
        str(place / "work/a/in"), engine=engine, access=Access(direct=True), policy="isolation-only"
    )
    assert box.run("true").exit is not None
    above.run(f"mv a b && ln -s {place}/secret a")
    with pytest.raises(EngineFailed, match="through a link"):
        box.run("cat key; touch made")
    assert os.listdir(place / "secret/in") == ["key"]


@pytest.mark.parametrize("engine", ["bubblewrap", "forkserver"])
def test_what_is_hidden_keeps_its_name(place: Path, engine: str) -> None:
    usable(engine)
    given = place / "given"
    (given / "a/b/hidden").mkdir(parents=True)
    (given / "a/b/hidden/key").write_text("mine")
    box = Sandbox(
        str(place / "work"),
        engine=engine,
        access=Access(direct=True, write=[str(given)], hide=[str(given / "a/b/hidden")]),
        policy="isolation-only",
    )
    ended = box.run(f"cd {given}; mv a other; mv a/b other; touch a/b/made && echo made").exit
    assert ended is not None and ended.stdout == b"made\n"
    ended = box.run(f"find {given} -name key").exit
    assert ended is not None and ended.stdout == b""
    assert (given / "a/b/hidden/key").read_text() == "mine"


def test_a_protected_link_is_put_back_whatever_number_its_place_has(place: Path) -> None:
    link = place / "work/.mcp.json"
    link.symlink_to("mine.json")
    box = Sandbox(str(place / "work"), access=Access(direct=True), policy="isolation-only")
    for _ in range(3):
        box.run("rm .mcp.json; echo evil > .mcp.json")
        assert os.readlink(link) == "mine.json"


def becomes_a_link(path: str, target: str) -> None:
    os.rmdir(path)
    os.symlink(target, path)


def test_a_tool_gives_the_next_one_no_more_than_its_constraints_do(place: Path) -> None:
    (place / "given/in").mkdir(parents=True)
    (place / "secret").mkdir()
    (place / "secret/key").write_text("mine")
    executor = SandboxExecutor(
        SandboxConstraints(
            allowed_read_paths={f"{place}/given/in"}, allowed_write_paths={f"{place}/given"}
        ),
        record=f"{place}/record",
    )
    executor.execute(becomes_a_link, f"{place}/given/in", f"{place}/secret")
    assert executor.execute(peeked, f"{place}/secret/key") == "nothing"


@only_root
def test_what_a_caller_left_is_left_by_its_commands_too(place: Path) -> None:
    text = """
        import ctypes
        box = Sandbox(f"{place}/work", policy="isolation-only", level="minimal", access=Access(direct=True))
        command = "readlink /proc/self/ns/net"
        before = {ran(box, command) for _ in range(3)}
        assert before == {os.readlink("/proc/self/ns/net")}, before
        assert ctypes.CDLL(None).unshare(0x40000000) == 0
        after = {ran(box, command) for _ in range(3)}
        print(after == {os.readlink("/proc/self/ns/net")}, after & before)
    """
    assert said([sys.executable], text, place) == ["True set()"]


@only_root
def test_a_caller_that_is_root_no_more_runs_as_who_it_is(place: Path) -> None:
    (place / "roots").mkdir(mode=0o700)
    os.chown(place, 65534, 65534)
    os.chown(place / "work", 65534, 65534)
    text = """
        box = Sandbox(f"{place}/work", policy="isolation-only", access=Access(direct=True, read=[place]))
        [ran(box, "true") for _ in range(2)]
        os.environ["HOME"] = os.environ["XDG_STATE_HOME"] = place
        os.setgroups([]); os.setgid(65534); os.setuid(65534)
        print(*(ran(box, f"id -u; ls {place}/roots && echo seen").strip() for _ in range(2)))
    """
    shutil.copytree(SOURCE, place / "library")
    assert said(["/usr/bin/python3"], text, place, place / "library") == ["65534 65534"]


def test_a_child_forked_while_a_call_is_sent_can_call(place: Path) -> None:
    text = """
        import signal, threading, time
        sending = threading.Event()
        class Slow:
            def __reduce__(self):
                sending.set()
                time.sleep(2)
                return (str, ())
        box = Sandbox(f"{place}/work", policy="isolation-only")
        box.call(len, "")
        threading.Thread(target=lambda: box.call(repr, Slow())).start()
        sending.wait()
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            os._exit(box.call(len, "abc"))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    assert said([sys.executable], text, place) == ["3"]


def test_a_caller_who_waits_for_nobody_is_told_and_never_stuck(place: Path) -> None:
    text = """
        import signal
        from redoma import RedomaError
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        try:
            ran(Sandbox(f"{place}/work", policy="isolation-only"), "true")
        except RedomaError as error:
            print(error.code, "SIGCHLD" in str(error))
    """
    assert said([sys.executable], text, place) == ["usage True"]
