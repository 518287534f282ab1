"""The systemd engine under a systemd that is real."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract import real_systemd
from tests.contract.machine import REQUIRED

ROOT = Path(__file__).resolve().parents[2]
INSIDE = "REDOMA_TEST_INSIDE_SYSTEMD"


@pytest.mark.root
@pytest.mark.slow
@pytest.mark.skipif(INSIDE in os.environ, reason="this is the run inside")
def test_the_whole_contract_holds_in_scopes_of_a_real_systemd() -> None:
    why = real_systemd.why_not()
    if why and "systemd" in REQUIRED:
        pytest.fail(f"required: systemd cannot be started here: {why}", pytrace=False)
    if why:
        pytest.skip(f"SKIPPED: systemd cannot be started here: {why}")
    env = {**os.environ, INSIDE: "yes", "REDOMA_CONTRACT_ENGINES": "systemd"}
    env |= {"REDOMA_REQUIRE": "systemd", "PYTHONDONTWRITEBYTECODE": "1"}
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/contract"]
    argv.append(
        "--ignore=tests/contract/test_forkserver.py"
    )  # of another engine, which is not chosen there
    with real_systemd.started() as systemd:
        ended = systemd.run(argv, env=env, cwd=ROOT)
    assert ended.returncode == 0, ended.stdout[-4000:] + ended.stderr[-1000:]


_AS_USER = """
import os, sys, redoma
sys.path.append(sys.argv[1])
limits = redoma.Limits(memory=64 << 20, processes=20, cpu_percent=50)
box = redoma.Sandbox(os.getcwd(), engine="systemd", limits=limits)
ended = box.run("id -u; grep NoNewPrivs /proc/self/status")
print(ended.stdout.decode().split(), *ended.notes, sep="|")
print(*box.run(["/usr/bin/python3", "-c", "bytearray(200 << 20)"]).exit.limits_reached)
"""
# In the mount namespace of that systemd alone: nothing of the machine's own is changed.
_WITH_SUDO = """
set -e
mount -t tmpfs -o mode=755 tmpfs /etc/sudoers.d
[ -z "$RIGHT" ] || { echo "$RIGHT" > /etc/sudoers.d/test; chmod 440 /etc/sudoers.d/test; }
mount -t tmpfs -o mode=1777 tmpfs /tmp
install -d -m 700 -o "$WHO" /tmp/home /tmp/home/work
cd /tmp/home/work
exec setpriv --reuid "$WHO" --regid "$WHO" --init-groups "$@"
"""


@pytest.mark.root
@pytest.mark.slow
@pytest.mark.requirement("C5")
@pytest.mark.skipif(INSIDE in os.environ, reason="this is the run inside")
@pytest.mark.parametrize("asked", ["yes", "", "not allowed"])
def test_sudo_is_asked_without_a_password_only_where_the_user_wants_it_and_said(
    asked: str,
) -> None:
    python, who = "/usr/bin/python3", "redoma-test"
    missing = [p for p in (python, "/usr/bin/sudo") if not os.access(p, os.X_OK)]
    missing += (
        [who] if subprocess.run(["id", who], capture_output=True, check=False).returncode else []
    )
    why = real_systemd.why_not() or (f"{missing[0]} is missing" if missing else "")
    if why:
        pytest.skip(f"SKIPPED: sudo cannot be tried in a systemd here: {why}")
    packages = str(Path(pytest.__file__).resolve().parents[1])
    env = {
        "PATH": "/usr/bin:/bin:/usr/sbin:/sbin",
        "HOME": "/tmp/home",
        "WHO": who,
        "RIGHT": "" if asked == "not allowed" else f"{who} ALL=(root) NOPASSWD: ALL",
        "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), packages)),
        "REDOMA_SUDO": "yes" if asked else "",
    }
    with real_systemd.started() as systemd:
        argv = ["sh", "-c", _WITH_SUDO, "sh", python, "-c", _AS_USER, packages]
        ended = systemd.run(argv, env=env, cwd=Path("/"), timeout=120)
    if asked != "yes":
        assert "NoEngine" in ended.stderr, ended.stdout + ended.stderr
        assert ended.stdout == ""
        return
    first, second = ended.stdout.splitlines() or ["", ended.stderr]
    uid = subprocess.run(["id", "-u", who], capture_output=True, text=True, check=True).stdout
    assert first.startswith(
        f"['{uid.strip()}', 'NoNewPrivs:', '1']|sudo -n asked the machine's systemd"
    ), ended
    assert second == "memory"
