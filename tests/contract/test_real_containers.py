"""The container engine on engines that are real, as an ordinary user and as root."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.containers import real_engines
from tests.contract.machine import REQUIRED
from tests.tidy import remove

ROOT = Path(__file__).resolve().parents[2]
INSIDE = "REDOMA_TEST_IN_CONTAINERS"
USER = "redoma-test"
# What one run in a container shows of the contract; `--full` runs all of it.
SAMPLE = (
    "test_calls.py",
    "test_exit.py",
    "test_transactions.py",
    "test_what_is_held.py",
)
ROOTS_SAMPLE = ("test_what_is_held.py",)
# Of another engine, or a comparison of two builders of one root mount by mount.
NOT_HERE = ("test_forkserver.py", "test_root.py", "test_real_systemd.py", "test_real_containers.py")
_WHOLE = ["tests/contract", *(f"--ignore=tests/contract/{name}" for name in NOT_HERE)]


@pytest.mark.slow
@pytest.mark.both_users
@pytest.mark.skipif(INSIDE in os.environ, reason="this is the run inside")
@pytest.mark.parametrize("kind", real_engines.KINDS)
def test_the_contract_holds_in_containers(kind: str) -> None:
    _contract(kind, [f"tests/contract/{name}" for name in SAMPLE])


@pytest.mark.slow
@pytest.mark.skipif(INSIDE in os.environ, reason="this is the run inside")
@pytest.mark.skipif(os.geteuid() != 0, reason="root's containers are root's")
@pytest.mark.parametrize("kind", real_engines.KINDS)
def test_the_contract_holds_in_roots_containers(kind: str) -> None:
    _contract(kind, [f"tests/contract/{name}" for name in ROOTS_SAMPLE], lent=False)


@pytest.mark.full
@pytest.mark.skipif(INSIDE in os.environ, reason="this is the run inside")
@pytest.mark.skipif(os.geteuid() != 0, reason="root's containers are root's")
@pytest.mark.parametrize("kind", real_engines.KINDS)
def test_the_whole_contract_holds_in_roots_containers(kind: str) -> None:
    _contract(kind, _WHOLE, lent=False)


@pytest.mark.full
@pytest.mark.both_users
@pytest.mark.skipif(INSIDE in os.environ, reason="this is the run inside")
@pytest.mark.parametrize("kind", real_engines.KINDS)
def test_the_whole_contract_holds_in_containers(kind: str) -> None:
    _contract(kind, _WHOLE)


def _contract(kind: str, what: list[str], *, lent: bool = True) -> None:
    """Root lends its engine to an ordinary user, or uses it itself."""
    am_root = os.geteuid() == 0 and lent
    why = real_engines.why_not(kind)
    if kind == "podman" and am_root:
        pytest.skip("Podman is each user's own: it is tried by an ordinary user, and by root")
    if kind == "docker" and am_root and not why:
        why = _no_user()
    if why and kind in REQUIRED and (os.geteuid() == 0 or kind == "podman"):
        pytest.fail(f"required: {kind} cannot be tried here: {why}", pytrace=False)
    if why:
        pytest.skip(f"SKIPPED: {kind} cannot be tried here: {why}")
    home = tempfile.mkdtemp(prefix="rdm-home-", dir="/var/tmp")
    env = {**os.environ, INSIDE: "yes", "REDOMA_CONTRACT_ENGINES": "container", "HOME": home}
    env |= {"REDOMA_REQUIRE": "container", "PYTHONDONTWRITEBYTECODE": "1"}
    env |= {"XDG_CACHE_HOME": f"{home}/.cache", "XDG_STATE_HOME": f"{home}/.state"}
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *what]
    checkout = ROOT
    try:
        with real_engines.started(kind) as engine:
            env["DOCKER_HOST"] = f"unix://{engine.socket}"
            if am_root:
                checkout = Path(home) / "checkout"
                _lend(home, engine.directory, engine.socket)
                env["PYTHONPATH"] = next(p for p in sys.path if p.endswith("site-packages"))
                as_user = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--init-groups"]
                argv = [*as_user, _python(), *argv[1:]]
            ended = subprocess.run(
                argv,
                env=env,
                cwd=checkout,
                timeout=900,
                capture_output=True,
                text=True,
                check=False,
            )
    finally:
        remove(home)
    assert ended.returncode == 0, ended.stdout[-4000:] + ended.stderr[-1000:]


def _no_user() -> str:
    """Why the contract cannot be tried by an ordinary user from here, or nothing."""
    known = subprocess.run(["id", USER], capture_output=True, check=False).returncode == 0
    if not known:
        return f"there is no user {USER}: bin/test makes it"
    return "" if _python() else "no interpreter of this version that everybody may start"


def _python() -> str:
    """An interpreter of this version that an ordinary user may start."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for path in (f"/usr/bin/{version}", f"/usr/local/bin/{version}"):
        if os.path.exists(path):
            return path
    return ""


def _lend(home: str, directory: str, socket: str) -> None:
    """A copy of the checkout that is the user's own, and the right to use the engine."""
    os.chmod(directory, 0o755)
    os.chmod(socket, 0o666)
    for name in ("src", "tests", "pyproject.toml", "bin", "docs"):
        source, target = ROOT / name, Path(home) / "checkout" / name
        if source.is_dir():
            shutil.copytree(source, target, symlinks=True)
        else:
            shutil.copy(source, target)
    subprocess.run(["chown", "-R", f"{USER}:", home], check=True)
