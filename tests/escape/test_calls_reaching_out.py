"""A hostile function reaches neither its caller nor the machine."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from redoma import Access, Sandbox
from tests.escape import called

pytestmark = [pytest.mark.both_users, pytest.mark.requirement("X4")]

SECRET = "-".join(("words", "of", "the", "caller"))
BACKWARDS = SECRET[::-1]


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    workspace = tmp_path / "work"
    workspace.mkdir()
    return Sandbox(str(workspace), audit=str(tmp_path / "record"))


def test_a_file_outside_is_not_there_without_python_either(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.write_text("mine")
    outside.chmod(0o666)
    assert sandbox.call(called.opens_without_python, str(outside)) == -1
    assert sandbox.call(called.opens_without_python, "/etc/shadow") == -1
    assert sandbox.call(called.creates_without_python, "/etc/made") == -1
    assert (outside.read_text(), os.path.exists("/etc/made")) == ("mine", False)


def test_no_descriptor_of_the_caller_is_there(sandbox: Sandbox, tmp_path: Path) -> None:
    kept = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(kept, True)
    try:
        found = sandbox.call(called.descriptors)
    finally:
        os.close(kept)
    assert found == ["0 /dev/null", "1 pipe", "2 pipe", "3 pipe"]


NO_RIGHTS = ["0" * 16, "0" * 16, "0" * 16, "1", "2"]


def rights_of_first_processes(found: dict[str, list[str]]) -> None:
    """What the first processes of calls that are looked at may do, as the machine sees them."""
    keys = ("CapPrm", "CapEff", "CapBnd", "NoNewPrivs", "Seccomp")
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            lines = Path(f"/proc/{name}/status").read_text().splitlines()
            fields = {
                key: value.strip() for key, _, value in (line.partition(":") for line in lines)
            }
            if fields["NSpid"].split()[1:] == ["1"]:
                namespace = str(os.stat(f"/proc/{name}/ns/pid").st_ino)
                found[namespace] = [fields[key] for key in keys]


def test_nobody_inside_has_a_right_nor_reaches_who_holds_them(sandbox: Sandbox) -> None:
    for _ in range(3):  # the first by bubblewrap, the others by what stays
        assert sandbox.call(called.rights_here)[1:] == NO_RIGHTS
        assert sandbox.call(called.looks_into_the_first_process) == []


@pytest.mark.root  # who else may not look at its namespaces
def test_the_first_process_of_a_call_has_no_right_either(sandbox: Sandbox) -> None:
    sandbox.call(called.rights_here)
    with ThreadPoolExecutor(1) as pool:
        called_now = pool.submit(sandbox.call, called.rights_here)
        found: dict[str, list[str]] = {}
        while not called_now.done():
            rights_of_first_processes(found)
        assert found[called_now.result()[0]] == NO_RIGHTS


def test_nothing_the_caller_knows_is_there(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_TOKEN", SECRET)
    monkeypatch.setattr(os, "a_secret_of_mine", SECRET, raising=False)
    assert sandbox.call(called.contains, BACKWARDS) is False
    # The look would find it if it were there.
    given = Sandbox(
        sandbox.workspace, audit=f"{sandbox.workspace}-2", access=Access(env={"MY_TOKEN": SECRET})
    )
    assert given.call(called.contains, BACKWARDS) is True


def test_the_memory_of_others_cannot_be_opened_and_its_own_is_its_own(sandbox: Sandbox) -> None:
    assert sandbox.call(called.others_memory) == []
    assert sandbox.call(called.own_memory) == 6


def test_its_parent_and_the_first_process_cannot_be_killed(sandbox: Sandbox) -> None:
    said = sandbox.call(called.kills_everyone)
    assert len(said) == 3  # it came back: nobody that it needs was killed
    assert sandbox.call(len, "x") == 1


def test_what_it_forked_ends_with_it(sandbox: Sandbox) -> None:
    later = f"{sandbox.workspace}/later"
    assert sandbox.call(called.forks_and_stays, later) > 0
    time.sleep(2.5)
    assert not os.path.exists(later)
