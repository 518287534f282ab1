"""Where the state lies is never a second choice, and whoever only looks leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.tree import PACKAGE

pytestmark = pytest.mark.both_users

READS = (
    ["history", "--all"],
    ["audit", "verify"],
    ["audit", "list"],
    ["audit", "stats"],
    ["pending"],
    ["gc", "--dry-run"],
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home/work").mkdir(parents=True)
    return tmp_path / "home"


def redoma(home: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("XDG_")}
    return subprocess.run(
        [sys.executable, "-I", "-S", "-X", "utf8", str(PACKAGE / "__main__.py"), *words],
        cwd=home / "work",
        env={k: v for k, v in {**kept, "HOME": str(home), **more}.items() if v != "unset"},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
        check=False,
    )


def elsewhere() -> set[str]:
    place = Path(f"/var/tmp/redoma-{os.geteuid()}")
    return {str(path) for path in place.glob("*")} - {f"{place}/layers"}


@pytest.mark.parametrize("words", READS, ids=" ".join)
def test_whoever_only_looks_makes_nothing(home: Path, words: list[str]) -> None:
    before = elsewhere()
    redoma(home, *words)
    assert not (home / ".local").exists()
    assert elsewhere() == before


def test_an_examination_of_the_machine_makes_no_state(home: Path) -> None:
    assert redoma(home, "doctor").returncode == 0
    assert not (home / ".local").exists()


@pytest.mark.parametrize("words", [*READS, ["run", "true"], ["undo"]], ids=" ".join)
def test_a_state_that_others_can_write_is_an_error_with_its_fix(
    home: Path, words: list[str]
) -> None:
    assert redoma(home, "run", "echo x > a").returncode == 0
    state = home / ".local/state/redoma"
    state.chmod(0o777)
    before = elsewhere()
    done = redoma(home, *words)
    assert done.returncode == 125, done.stderr
    assert f"{state}" in done.stderr and f"chmod 700 {state}" in done.stderr
    assert elsewhere() == before
    state.chmod(0o700)
    assert redoma(home, "audit", "verify").returncode == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="no mode shuts root out")
def test_a_state_that_cannot_be_written_is_said_before_anything_runs(home: Path) -> None:
    assert redoma(home, "run", "echo x > a").returncode == 0
    state = home / ".local/state/redoma"
    state.chmod(0o500)
    done = redoma(home, "run", "echo y > b")
    state.chmod(0o700)
    assert (done.returncode, (home / "work/b").exists()) == (125, False)
    assert f"{state}" in done.stderr and f"chmod u+rwx {state}" in done.stderr
    (home / ".local/state/redoma").rename(home / "moved")
    (home / ".local/state").chmod(0o500)
    done = redoma(home, "run", "echo y > b")
    (home / ".local/state").chmod(0o700)
    assert (done.returncode, (home / "work/b").exists()) == (125, False)
    assert f"{home}/.local/state" in done.stderr


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"XDG_STATE_HOME": "state"}, "XDG_STATE_HOME"),
        ({"HOME": "home"}, "HOME"),
        ({"XDG_STATE_HOME": "/proc/nowhere"}, "/proc/nowhere"),
    ],
)
def test_a_place_that_cannot_be_is_named(home: Path, given: dict[str, str], named: str) -> None:
    before = elsewhere()
    done = redoma(home, "run", "echo y > b", **given)
    assert (done.returncode in (2, 125), (home / "work/b").exists()) == (True, False)
    assert named in done.stderr and "hint:" in done.stderr and "Traceback" not in done.stderr
    assert elsewhere() == before
    assert not (home / "work/state").exists()


def test_a_link_in_the_place_of_the_state_is_refused(home: Path) -> None:
    (home / "other").mkdir()
    (home / ".local/state").mkdir(parents=True)
    (home / ".local/state/redoma").symlink_to(home / "other")
    done = redoma(home, "run", "true")
    assert done.returncode == 125 and "symbolic link" in done.stderr


def test_another_place_that_was_chosen_is_used(home: Path, tmp_path: Path) -> None:
    chosen = tmp_path / "chosen"
    assert redoma(home, "run", "echo x > a", XDG_STATE_HOME=str(chosen)).returncode == 0
    assert not (home / ".local").exists()
    done = redoma(home, "audit", "verify", XDG_STATE_HOME=str(chosen))
    assert (done.returncode, done.stdout.startswith("as it was written")) == (0, True)
    assert (chosen / "redoma").stat().st_mode & 0o077 == 0
