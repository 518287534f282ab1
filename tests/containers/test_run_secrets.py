"""A secret that `--engine container` gives a command is in nothing that an engine keeps."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.containers.real_engines import RealEngine
from tests.tidy import remove

pytestmark = [pytest.mark.both_users, pytest.mark.requirement("S10")]
ROOT = Path(__file__).resolve().parents[2]
VALUE = "tok-5f2c81d09b7e-kept"
FILE = "/run/secrets/api"
_RUN = f"""
import sys
from redoma import Access, Sandbox
from redoma.model.grant import Secret
from redoma.pipeline.user_vault import vault
vault().put("api", Secret(sys.stdin.read()))
box = Sandbox(sys.argv[1], engine="container", audit=sys.argv[2], ask=lambda _: True,
    access=Access(secrets=("api", "api={FILE}")))
result = box.run("printf '%s ' ${{#api}}; wc -c < {FILE}; stat -c %a {FILE}; echo $api; sleep 0.5")
print(result.outcome, result.stdout.decode())
"""


@pytest.fixture
def home() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="rdm-home-", dir="/var/tmp"))
    made.chmod(0o755)
    yield made
    remove(made)


def test_a_secret_reaches_the_command_and_no_file_of_the_engine(
    engine: RealEngine, home: Path
) -> None:
    (home / "work").mkdir()
    env = {**os.environ, "DOCKER_HOST": f"unix://{engine.socket}", "HOME": str(home)}
    env |= {"XDG_CONFIG_HOME": f"{home}/config", "XDG_STATE_HOME": f"{home}/state"}
    env |= {"XDG_CACHE_HOME": f"{home}/cache", "PYTHONPATH": str(ROOT / "src")}
    (home / "state").mkdir(mode=0o700)
    ran = subprocess.run(
        [sys.executable, "-c", _RUN, str(home / "work"), str(home / "audit")],
        input=VALUE,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    length = len(VALUE)
    assert ran.stdout.startswith(f"Outcome.EXITED {length} {length}\n400\n"), ran.stderr[-2000:]
    # Also what it prints itself has it no more.
    assert VALUE not in ran.stdout + ran.stderr
    found = [
        str(path)
        for place in (home, Path(engine.directory))
        for path in place.rglob("*")
        if path.is_file() and not path.is_symlink() and _has(path)
    ]
    assert found == []


def _has(path: Path) -> bool:
    try:
        return path.stat().st_size < 1 << 22 and VALUE.encode() in path.read_bytes()
    except OSError:
        return False  # the engine takes away what it made
