"""Components in scopes of a real systemd; `test_in_systemd` starts one and runs this file in it."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from redoma.dialects.components import AutopoieticSandbox
from redoma.jail.engines.registry import Engines
from tests.unit.dialects.components.carried import ADDER, component, tried

ROOT = Path(__file__).resolve().parents[4]
pytestmark = pytest.mark.requirement("C5")


def scoped(**limits: int) -> AutopoieticSandbox:
    """One that runs in a scope, or not at all."""
    made = AutopoieticSandbox(**limits)
    made.use_namespaces = made.use_direct = False
    return made


def test_execute_with_systemd_run(caplog: pytest.LogCaptureFixture) -> None:
    with AutopoieticSandbox() as made, caplog.at_level(logging.INFO):
        result = made.execute_component(ADDER, "adder")
    took = result.pop("execution_time")
    assert result == {
        "success": True,
        "output": '{"sum": 6}\n',
        "error": "",
        "security_validated": True,
        "isolation": "systemd_run",
    }
    assert isinstance(took, float)
    assert tried(caplog.records) == ["systemd_run"]


def test_a_components_own_failure_in_a_scope_is_its_result(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with AutopoieticSandbox() as made, caplog.at_level(logging.INFO):
        result = made.execute_component(component("raise SystemExit(1)"), "failing")
    assert (result["success"], result["isolation"]) == (False, "systemd_run")
    assert tried(caplog.records) == ["systemd_run"]


def test_the_scope_has_the_documented_limits_and_is_in_a_slice() -> None:
    asked = "Slice MemoryMax MemorySwapMax CPUQuotaPerSecUSec TasksMax OOMPolicy".split()
    results: list[dict[str, object]] = []
    body = component("import time\ntime.sleep(120)")
    with scoped(max_cpu_time_seconds=120) as made:
        run = threading.Thread(target=lambda: results.append(made.execute_component(body, "long")))
        run.start()
        try:
            scope = wait_for_a_scope()
            said = systemctl("show", scope, *(f"--property={name}" for name in asked))
        finally:
            systemctl("stop", "redoma.slice")
            run.join(60)
    assert dict(line.split("=", 1) for line in said.splitlines()) == {
        "Slice": "redoma.slice",
        "MemoryMax": str(1 << 30),
        "MemorySwapMax": str(7 << 30),
        "CPUQuotaPerSecUSec": "500ms",
        "TasksMax": "67",  # 64, and those of the sandbox
        "OOMPolicy": "continue",
    }
    assert [(each["success"], each["isolation"]) for each in results] == [(False, "systemd_run")]


def test_a_component_that_takes_too_much_memory_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A policy's smaller limit holds in the scope, and there is less memory to fill.
    (tmp_path / "redoma").mkdir()
    policy = 'version: "1.0"\nresources: {max_memory_mb: 128}\n'
    (tmp_path / "redoma" / "sandbox.yaml").write_text(policy)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    body = component("""
        parts = []
        for i in range(400):
            parts.append(bytearray(1 << 20))
        print("had it")
        """)
    with scoped(max_memory_mb=2000) as made:
        result = made.execute_component(body, "large")
    if float(Path("/proc/meminfo").read_text().split("SwapTotal:")[1].split()[0]) == 0:
        assert (result["success"], result["output"]) == (False, "")
        assert result["error"] == "The component was ended: out of memory"
    assert result["isolation"] == "systemd_run"


def test_a_component_has_half_a_processor() -> None:
    body = component("""
        import time
        began, used = time.perf_counter(), time.process_time()
        while time.perf_counter() - began < 2:
            pass
        print((time.process_time() - used) / (time.perf_counter() - began))
        """)
    with scoped() as made:
        result = made.execute_component(body, "busy")
    assert 0 < float(str(result["output"])) < 0.7


def test_the_namespaces_in_a_scope_are_the_components_own() -> None:
    kinds = ("pid", "ipc", "uts", "net")
    body = f"import os\nfor k in {kinds}: print(os.readlink('/proc/self/ns/' + k))"
    with scoped() as made:
        made.allowed_modules = ("os",)
        result = made.execute_component(component(body), "spaces")
    seen = str(result["output"]).split()
    assert len(seen) == len(kinds), result
    assert not set(seen) & {os.readlink(f"/proc/self/ns/{kind}") for kind in kinds}


def test_what_was_found_here_is_not_believed_where_there_is_no_systemd() -> None:
    # Attack: a container has the boot and maybe the home of its host, and so what is remembered.
    here = Engines().engine("systemd").probe_identity()
    apart = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs tmpfs /run && exec "$@"', "sh"]
    elsewhere = subprocess.run(
        [*apart, sys.executable, "-c", IDENTITY, str(ROOT / "src")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert here.split()[:-1] == elsewhere.stdout.split()[:-2]
    assert (here.split()[-1][:8], elsewhere.stdout.split()[-2:]) == ("systemd:", ["no", "systemd"])


IDENTITY = """
import sys
sys.path[:0] = sys.argv[1:]
from redoma.jail.engines.registry import Engines
print(Engines().engine("systemd").probe_identity())
"""
CASCADE = """
import logging, sys
logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(levelname)s %(message)s")
from redoma.dialects.components import AutopoieticSandbox
with AutopoieticSandbox() as made:
    print(made.execute_component(sys.argv[1], "adder")["isolation"])
"""


@pytest.fixture
def readable_by_all() -> Iterator[Path]:
    """A directory with the library; pytest's own is for its user alone, and so may the checkout."""
    base = Path(tempfile.mkdtemp(prefix="rdm-", dir="/var/tmp"))
    base.chmod(0o755)
    unneeded = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src", base / "src", ignore=unneeded)
    shutil.copytree(Path(yaml.__file__).parent, base / "src" / "yaml", ignore=unneeded)
    yield base
    shutil.rmtree(base, ignore_errors=True)


@pytest.mark.requirement("C6")
def test_a_user_without_a_manager_is_told_what_to_do(readable_by_all: Path) -> None:
    home = readable_by_all / "home"
    home.mkdir()
    shutil.chown(home, 65534, 65534)
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
    python = Path(sys.executable).resolve()
    if not all(place.stat().st_mode & 0o001 for place in (python, *python.parents)):
        python = Path("/usr/bin/python3")
    env = {"HOME": str(home), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        [*nobody, str(python), "-c", CASCADE, ADDER],
        env={**env, "PYTHONPATH": str(readable_by_all / "src")},
        cwd=home,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "unshare\n"), done.stderr
    # Nor has this user a bubblewrap: the forkserver makes the namespaces without any program.
    warning, other = [line for line in done.stderr.splitlines() if line.startswith("WARNING")]
    assert "bubblewrap is not installed" in other
    assert warning.startswith("WARNING systemd_run cannot be set up here with systemd: systemd-run")
    assert "To have it: sudo loginctl enable-linger" in warning


def systemctl(*words: str) -> str:
    done = subprocess.run(
        ["systemctl", *words], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout


def wait_for_a_scope() -> str:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        listed = systemctl(
            "list-units", "--type=scope", "--state=running", "--plain", "--no-legend"
        )
        for line in listed.splitlines():
            if "a command of redoma" in line:
                return line.split()[0]
        time.sleep(0.05)
    raise AssertionError("no scope was made")
