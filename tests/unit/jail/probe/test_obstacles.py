"""What stands in the way of a sandbox is said in one sentence, with something to type."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from redoma.jail.probe.obstacles import obstacle

EVERYONE = "0 0 4294967295"
MOUNTED = "21 20 0:19 / / rw,relatime - ext4 /dev/vda rw"


def machine(
    place: Path, *, uid_map: str = EVERYONE, seccomp: int = 0, mounted: str = MOUNTED
) -> str:
    """A machine as far as anyone looks."""
    own = place / "proc/self"
    own.mkdir(parents=True)
    (own / "uid_map").write_text(f"{uid_map}\n" if uid_map else "")
    (own / "status").write_text(f"Name:\tx\nCapEff:\t000001ffffffffff\nSeccomp:\t{seccomp}\n")
    (own / "mountinfo").write_text(f"{mounted}\n")
    return str(place)


def test_where_nothing_is_in_the_way_nothing_is_said(tmp_path: Path) -> None:
    assert obstacle("bwrap: something else", machine(tmp_path)) is None


def test_an_sandbox_of_our_own_is_known(tmp_path: Path) -> None:
    (tmp_path / "etc/redoma").mkdir(parents=True)
    (tmp_path / "etc/redoma/certificates.pem").touch()
    found = obstacle("", machine(tmp_path))
    assert found is not None
    assert "inside a sandbox of Redoma's already" in found.why


def test_a_user_without_a_number_is_known(tmp_path: Path) -> None:
    found = obstacle("", machine(tmp_path, uid_map=""))
    assert found is not None
    assert found.hint.startswith("unshare -Ur instead of unshare -U")


@pytest.mark.skipif(os.geteuid() != 0, reason="about root")
def test_root_that_knows_nobody_else_is_known(tmp_path: Path) -> None:
    found = obstacle("", machine(tmp_path, uid_map="0 0 1"))
    assert found is not None
    assert "knows nobody else" in found.why


def test_a_filter_that_lets_namespaces_through_is_not_in_the_way(tmp_path: Path) -> None:
    assert obstacle("", machine(tmp_path, seccomp=2)) is None


def test_a_hidden_part_of_proc_is_known_by_what_was_said(tmp_path: Path) -> None:
    said = "bwrap: Can't mount proc on /newroot/proc: Operation not permitted"
    found = obstacle(said, machine(tmp_path))
    assert found is not None
    assert "systempaths=unconfined" in found.hint
