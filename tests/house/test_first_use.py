"""`bin/redoma` sets itself up once, whole or not at all, and says what it lacks."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from redoma import __version__
from tests.house.checkouts import clone_to, python_without, run, script

pytestmark = pytest.mark.both_users
VERSION_LINE = f"redoma {__version__}\n"


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout, in a path with a space, that was used once."""
    checkout = clone_to(tmp_path_factory.mktemp("used") / "glass dome")
    first = run(checkout / "bin/redoma", "--version", home=checkout.parent / "home")
    assert (first.returncode, first.stdout) == (0, VERSION_LINE), first.stderr
    assert "first use: making a virtual environment" in first.stderr
    assert first.stderr.endswith("redoma: ready\n")
    return checkout


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def answered_quietly(done: subprocess.CompletedProcess[str]) -> bool:
    assert (done.returncode, done.stdout, done.stderr) == (0, VERSION_LINE, "")
    return True


def test_the_second_use_is_silent_and_leaves_no_litter(used: Path, home: Path) -> None:
    before = sorted(p.name for p in used.iterdir())
    assert answered_quietly(run(used / "bin/redoma", "--version", home=home))
    assert sorted(p.name for p in used.iterdir()) == before
    assert before == [".venv", "bin", "pyproject.toml", "requirements", "src"]


def test_it_works_from_any_directory_by_any_name(used: Path, home: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(used / "bin/redoma")
    (tmp_path / "chain").symlink_to("link")
    (tmp_path / "linked-bin").symlink_to(used / "bin")
    (tmp_path / "linked-tree").symlink_to(used)
    for name in ("link", "chain", "linked-bin/redoma", "linked-tree/bin/redoma"):
        assert answered_quietly(run(tmp_path / name, "--version", home=home)), name
    for directory, name in (
        (used, "bin/redoma"),
        (used / "bin", "./redoma"),
        (used, "./bin/redoma"),
    ):
        assert answered_quietly(run(name, "--version", home=home, cwd=directory)), name
    assert answered_quietly(run("sh", "redoma", "--version", home=home, cwd=used / "bin"))


def test_an_interrupted_first_use_is_made_anew(used: Path, home: Path) -> None:
    (used / ".venv/.redoma-lock").write_text("unfinished\n")
    again = run(used / "bin/redoma", "--version", home=home)
    assert (again.returncode, again.stdout) == (0, VERSION_LINE)
    assert "first use: making" in again.stderr
    assert answered_quietly(run(used / "bin/redoma", "--version", home=home))


def test_two_first_uses_at_once_make_one_environment(home: Path, tmp_path: Path) -> None:
    checkout = clone_to(tmp_path / "checkout")
    home.mkdir()
    started = [
        subprocess.Popen(
            [checkout / "bin/redoma", "--version"],
            env={"PATH": os.environ["PATH"], "HOME": str(home), **_pip_settings()},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    ended = [(p.communicate(timeout=300), p.returncode) for p in started]
    assert [(out, status) for (out, _), status in ended] == [(VERSION_LINE, 0)] * 2
    assert sorted("making a virtual environment" in err for (_, err), _ in ended) == [False, True]


def test_a_virtual_environment_of_someone_else_is_left_alone(home: Path, tmp_path: Path) -> None:
    checkout = clone_to(tmp_path / "checkout")
    (checkout / ".venv").mkdir()
    (checkout / ".venv/precious").write_text("mine")
    done = run(checkout / "bin/redoma", "--version", home=home)
    assert (done.returncode, done.stdout) == (0, VERSION_LINE)
    assert [p.name for p in (checkout / ".venv").iterdir()] == ["precious"]
    assert (home / f".cache/redoma/checkouts{checkout.resolve()}/.venv/bin/python").exists()

    named = run(checkout / "bin/redoma", home=home, REDOMA_VENV=str(checkout / ".venv"))
    assert named.returncode == 125
    assert "was not made by Redoma: it is left alone" in named.stderr


@pytest.mark.not_root
def test_a_checkout_that_cannot_be_written_to_is_used_from_the_cache(
    home: Path, tmp_path: Path
) -> None:
    checkout = clone_to(tmp_path / "checkout")
    subprocess.run(["chmod", "-R", "a-w", checkout], check=True)
    try:
        done = run(checkout / "bin/redoma", "--version", home=home)
        assert (done.returncode, done.stdout) == (0, VERSION_LINE), done.stderr
        assert answered_quietly(run(checkout / "bin/redoma", "--version", home=home))
        kept = list((home / ".cache/redoma/compiled").rglob("redoma/__init__.*.pyc"))
        assert len(kept) == 1, "compiled sources are not kept, so every start compiles them"
    finally:
        subprocess.run(["chmod", "-R", "u+w", checkout], check=True)


POORER_MACHINES = {
    "no venv module": (
        "sys.modules['ensurepip'] = None",
        "hint: sudo apt-get install python3.11-venv",
    ),
    "old Python": (
        "sys.version_info = (3, 9, 2)",
        "hint: sudo apt-get install python3 python3-venv",
    ),
    "another Python": (
        "sys.implementation.name = 'pypy'",
        "hint: sudo apt-get install python3 python3-venv",
    ),
}


@pytest.mark.parametrize("machine", POORER_MACHINES)
def test_what_is_missing_is_named_with_the_command_that_installs_it(
    machine: str, home: Path, tmp_path: Path
) -> None:
    statement, hint = POORER_MACHINES[machine]
    python = python_without(tmp_path / "poor/python3.11", statement)
    checkout = clone_to(tmp_path / "checkout")
    done = run(checkout / "bin/redoma", "check", "ls", home=home, REDOMA_PYTHON=str(python))
    assert (done.returncode, done.stdout) == (125, "")
    assert hint in done.stderr
    assert not (checkout / ".venv").exists()


def test_a_machine_without_python_is_told_what_to_install(home: Path, tmp_path: Path) -> None:
    checkout = clone_to(tmp_path / "checkout")
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("sh", "dirname", "mkdir", "flock", "ls", "readlink"):
        found = subprocess.run(["which", tool], capture_output=True, text=True, check=True)
        (tools / tool).symlink_to(found.stdout.strip())
    done = run(checkout / "bin/redoma", "check", "ls", home=home, PATH=str(tools))
    assert (done.returncode, done.stdout) == (125, "")
    assert "no Python 3.11 or newer found" in done.stderr


def test_a_hook_that_cannot_be_set_up_stops_the_agent(home: Path, tmp_path: Path) -> None:
    checkout = clone_to(tmp_path / "checkout")
    old = python_without(tmp_path / "python3.9", "sys.version_info = (3, 9, 2)")
    done = run(checkout / "bin/redoma", "hook", "claude-code", home=home, REDOMA_PYTHON=str(old))
    assert (done.returncode, done.stdout) == (2, "")


def test_packages_that_differ_from_their_hashes_are_never_installed(
    home: Path, tmp_path: Path
) -> None:
    checkout = clone_to(tmp_path / "checkout")
    lock = checkout / "requirements/run.lock"
    lock.write_text("# forged\nsqlglot==30.30.0 \\\n    --hash=sha256:" + "0" * 64 + "\n")
    done = run(checkout / "bin/redoma", "check", "ls", home=home)
    assert (done.returncode, done.stdout) == (125, "")
    assert "THESE PACKAGES DO NOT MATCH THE HASHES" in done.stderr
    assert "the packages could not be installed" in done.stderr
    refused_again = run(checkout / "bin/redoma", "check", "ls", home=home)
    assert refused_again.returncode == 125


def test_python_behind_a_shim_is_called_by_its_own_path(home: Path, tmp_path: Path) -> None:
    import sys

    checkout = clone_to(tmp_path / "checkout")
    shim = script(tmp_path / "shims/python3", f"exec '{sys.executable}' \"$@\"")
    path = f"{shim.parent}:{os.environ['PATH']}"
    done = run(checkout / "bin/redoma", "--version", home=home, PATH=path)
    assert (done.returncode, done.stdout) == (0, VERSION_LINE), done.stderr
    interpreter = (checkout / ".venv/bin/python").resolve()
    assert interpreter == Path(sys.executable).resolve()


def _pip_settings() -> dict[str, str]:
    """How this machine reaches packages: not part of what is tested."""
    passed = ("PIP_", "HTTP_", "HTTPS_", "http_", "https_", "NO_PROXY", "no_proxy", "SSL_")
    return {name: value for name, value in os.environ.items() if name.startswith(passed)}


def test_what_needs_many_packages_has_an_environment_of_its_own(tmp_path: Path, home: Path) -> None:
    checkout = clone_to(tmp_path / "checkout")
    made = run(checkout / "bin/redoma", "mcp", "install", "cursor", "--json", home=home)
    assert made.returncode == 0, made.stderr
    assert (checkout / ".venv-mcp/bin/python").exists()
    assert not (checkout / ".venv").exists()
