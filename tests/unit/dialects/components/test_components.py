"""Components as programs know them: limits, results, the cascade, and what passes to them."""

from __future__ import annotations

import inspect
import json
import logging
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from redoma import RedomaError
from redoma.dialects.components import (
    AutopoieticSandbox,
    ComponentRefused,
    ComponentSyntaxError,
    SandboxError,
    create_secure_sandbox,
)
from redoma.pipeline.this_host import this_host
from tests.unit.dialects.components.carried import ADDER, KEYS, component, tried

ROOT = Path(__file__).resolve().parents[4]
pytestmark = pytest.mark.both_users


@pytest.fixture
def sandbox() -> AutopoieticSandbox:
    """One that goes straight to namespaces."""
    made = AutopoieticSandbox()
    made.use_systemd_run = False
    return made


def switched(isolation: str, **limits: int) -> AutopoieticSandbox:
    made = AutopoieticSandbox(**limits)
    made.use_systemd_run = False
    made.use_namespaces = isolation == "unshare"
    return made


@pytest.mark.requirement("C1")
def test_the_sandbox_is_made_as_it_always_was() -> None:
    parameters = inspect.signature(AutopoieticSandbox).parameters
    assert {name: parameter.default for name, parameter in parameters.items()} == {
        "max_memory_mb": 100,
        "max_cpu_time_seconds": 30,
        "max_file_size_kb": 1024,
        "temp_dir": None,
    }


@pytest.mark.requirement("C1")
@pytest.mark.parametrize("isolation", ["unshare", "none"])
def test_address_space_processor_time_and_file_size_are_limited_in_every_step(
    isolation: str,
) -> None:
    with switched(isolation, max_memory_mb=90, max_cpu_time_seconds=7, max_file_size_kb=3) as made:
        made.allowed_modules = ("resource",)
        result = made.execute_component(
            component("""
            import resource
            for name in ("RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_FSIZE"):
                print(name, resource.getrlimit({"RLIMIT_AS": resource.RLIMIT_AS,
                    "RLIMIT_CPU": resource.RLIMIT_CPU, "RLIMIT_FSIZE": resource.RLIMIT_FSIZE}[name]))
            """),
            "limited",
        )
    assert result["output"] == (
        f"RLIMIT_AS ({90 << 20}, {90 << 20})\nRLIMIT_CPU (7, 8)\nRLIMIT_FSIZE (3072, 3072)\n"
    ), result
    assert result["isolation"] == isolation


@pytest.mark.requirement("C1")
@pytest.mark.parametrize("isolation", ["unshare", "none"])
def test_more_memory_than_allowed_is_the_components_own_failure(isolation: str) -> None:
    with switched(isolation) as made:
        result = made.execute_component(component("x = bytearray(200 << 20)"), "large")
    assert (result["success"], result["isolation"]) == (False, isolation)
    assert "MemoryError" in str(result["error"])


@pytest.mark.requirement("C1")
@pytest.mark.parametrize("bad", [0, -1, 1.5, "100", None, True])
def test_a_limit_that_is_none_is_refused(bad: object) -> None:
    for name in ("max_memory_mb", "max_cpu_time_seconds", "max_file_size_kb"):
        with pytest.raises(SandboxError, match=name):
            AutopoieticSandbox(**{name: bad})  # type: ignore[arg-type]


@pytest.mark.requirement("C2")
def test_a_refused_component_says_why_and_never_runs(
    sandbox: AutopoieticSandbox, caplog: pytest.LogCaptureFixture
) -> None:
    code = component("import os\nprint('ran')")
    with sandbox, caplog.at_level(logging.INFO):
        assert sandbox.validate_component(ADDER)
        assert not sandbox.validate_component(code)
        with pytest.raises(ComponentRefused) as refused:
            sandbox.execute_component(code, "bad")
    assert [str(problem) for problem in refused.value.problems] == [
        "3:1: the module os reaches files, processes and the environment"
    ]
    assert "bad:3:1: the module os reaches" in str(refused.value)
    assert tried(caplog.records) == []
    assert isinstance(refused.value, SandboxError | RedomaError)


@pytest.mark.requirement("C2")
def test_a_syntax_error_is_an_error_of_its_own_with_its_line(sandbox: AutopoieticSandbox) -> None:
    with sandbox, pytest.raises(ComponentSyntaxError) as wrong:
        sandbox.execute_component(component("def f(:\n    pass"), "broken")
    assert (wrong.value.problems[0].line, wrong.value.code) == (3, "component-syntax")


@pytest.mark.requirement("C3")
def test_a_result_has_exactly_the_documented_keys(sandbox: AutopoieticSandbox) -> None:
    with sandbox:
        result = sandbox.execute_component(ADDER, "adder")
    took = result.pop("execution_time")
    assert result == {
        "success": True,
        "output": '{"sum": 6}\n',
        "error": "",
        "security_validated": True,
        "isolation": "unshare",
    }
    assert isinstance(took, float) and took > 0


@pytest.mark.requirement("C3")
def test_what_a_component_prints_and_how_it_fails_is_told(sandbox: AutopoieticSandbox) -> None:
    with sandbox:
        result = sandbox.execute_component(
            component("print('before', '\u00e9')\nraise ValueError('its own')"), "failing"
        )
    assert list(result) == KEYS
    assert (result["success"], result["output"]) == (False, "before \u00e9\n")
    assert "ValueError: its own" in str(result["error"])
    assert str(result["error"]).endswith("The component ended with status 1")


@pytest.mark.requirement("C3")
def test_output_that_is_too_much_is_never_cut_without_a_word(
    sandbox: AutopoieticSandbox, caplog: pytest.LogCaptureFixture
) -> None:
    code = component("""
        for _ in range(3000):
            print("x" * 1023)
    """)
    result = sandbox.execute_component(code, "talks")
    assert result["success"] is True
    assert len(str(result["output"])) == 2 << 20
    said = f"The output was cut: {2 << 20} of {3000 << 10} bytes are kept"
    assert (result["error"], said in caplog.text) == (said, True)


@pytest.mark.requirement("C3")
@pytest.mark.requirement("C5")
@pytest.mark.parametrize("body", ["raise SystemExit(3)", "while True: pass"])
def test_a_component_that_fails_or_takes_too_long_is_not_run_again_with_less(
    body: str, caplog: pytest.LogCaptureFixture
) -> None:
    with switched("unshare", max_cpu_time_seconds=1) as made, caplog.at_level(logging.INFO):
        result = made.execute_component(component(f"print('ran')\n{body}"), "failing")
    assert (result["success"], result["isolation"]) == (False, "unshare")
    assert tried(caplog.records) == ["unshare"]


@pytest.mark.requirement("C3")
def test_the_timeout_ends_a_component_that_only_waits() -> None:
    with switched("unshare", max_cpu_time_seconds=4) as made:
        result = made.execute_component(
            component("import time\nprint('early', flush=True)\ntime.sleep(60)"), "waiting"
        )
    assert (result["success"], result["output"]) == (False, "early\n")
    assert str(result["error"]).splitlines()[-1] == "Execution timeout after 4s"


@pytest.mark.requirement("C3")
@pytest.mark.parametrize("name", ["", "../x", "a/b", "a b", "-c", "x" * 200, "a\n"])
def test_a_name_that_could_be_a_path_is_refused(sandbox: AutopoieticSandbox, name: str) -> None:
    with sandbox, pytest.raises(SandboxError, match="no name for a component"):
        sandbox.execute_component(ADDER, name)


@pytest.mark.requirement("C4")
def test_a_sandbox_leaves_nothing_behind(tmp_path: Path) -> None:
    with create_secure_sandbox() as made:
        kept = made.temp_dir
        made.use_systemd_run = False
        made.execute_component(ADDER, "adder")
        assert list(kept.iterdir()) == []
    assert not kept.exists()
    with AutopoieticSandbox(temp_dir=tmp_path / "new") as made:
        assert made.temp_dir.is_dir()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.requirement("C4")
def test_a_directory_that_was_there_before_stays_with_what_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("kept")
    made = AutopoieticSandbox(temp_dir=tmp_path)
    context = made.execution_context()
    directory = context.__enter__()
    (directory / "made").write_text("x")
    made.cleanup()
    assert [each.name for each in tmp_path.iterdir()] == ["mine"]


@pytest.mark.requirement("C4")
def test_an_execution_has_a_private_directory_and_changes_nothing_of_this_process() -> None:
    before = (os.getcwd(), os.umask(0o022))
    os.umask(before[1])
    with AutopoieticSandbox() as made:
        with made.execution_context() as directory:
            assert directory.parent == made.temp_dir
            assert directory.stat().st_mode & 0o777 == 0o700
            now = os.umask(0o022)
            os.umask(now)
            assert (os.getcwd(), now) == before
        assert not directory.exists()


@pytest.mark.requirement("C5")
def test_execute_with_unshare_fallback(caplog: pytest.LogCaptureFixture) -> None:
    usable = this_host().report("systemd").usable
    with create_secure_sandbox() as made, caplog.at_level(logging.INFO):
        result = made.execute_component(ADDER, "adder")
    expected = ["systemd_run"] if usable else ["systemd_run", "unshare"]
    assert (result["success"], tried(caplog.records)) == (True, expected)
    assert result["isolation"] == expected[-1]
    warnings = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert all("cannot be set up here" in w and "To have it: " in w for w in warnings)
    assert len(warnings) == len(expected) - 1


@pytest.mark.requirement("C5")
def test_the_namespaces_of_a_component_are_its_own() -> None:
    kinds = ("pid", "ipc", "uts", "net")
    with switched("unshare") as made:
        made.allowed_modules = ("os",)
        body = f"import os\nfor k in {kinds}: print(os.readlink('/proc/self/ns/' + k))"
        result = made.execute_component(component(body), "spaces")
    inside = str(result["output"]).split()
    assert len(inside) == len(kinds), result
    assert not set(inside) & {os.readlink(f"/proc/self/ns/{kind}") for kind in kinds}


@pytest.mark.requirement("C5")
def test_execute_direct_fallback(caplog: pytest.LogCaptureFixture) -> None:
    with switched("none") as made, caplog.at_level(logging.INFO):
        result = made.execute_component(ADDER, "adder")
    assert (result["success"], result["isolation"]) == (True, "none")
    assert tried(caplog.records) == ["none"]
    (risk,) = [r for r in caplog.records if r.levelno == logging.ERROR]
    assert risk.getMessage().startswith("RISK: the component adder runs without isolation")


@pytest.mark.requirement("C5")
def test_without_the_last_step_no_isolation_is_an_error() -> None:
    with switched("none") as made:
        made.use_direct = False
        with pytest.raises(SandboxError, match="no isolation can be set up here"):
            made.execute_component(ADDER, "adder")


@pytest.mark.requirement("C3")
def test_isolation_field() -> None:
    with create_secure_sandbox() as made:
        for body in ("x = 1", "raise ValueError('x')"):
            result = made.execute_component(component(body), "any")
            assert result["isolation"] in ("systemd_run", "unshare")


class AsWritten(AutopoieticSandbox):
    """The document's own `execute_component`, over the steps as they are."""

    def execute_component(self, component_code: str, component_name: str) -> dict[str, object]:
        if not self.validate_component(component_code):
            raise SandboxError("...")

        # Strategy 1: Systemd-run + unshare
        try:
            result = self._try_execute_with_systemd_run(component_code, component_name)
            if result.get("isolation") != "failed":
                return result
        except Exception as e:
            self._logger.warning(f"systemd-run failed: {e}")

        # Strategy 2: Unshare
        try:
            result = self._try_execute_with_unshare(component_code, component_name)
            if result.get("isolation") != "failed":
                return result
        except Exception as e:
            self._logger.warning(f"unshare failed: {e}")

        # Strategy 3: Direct (existing)
        self._logger.error("Isolation failed 2x, executing directly (RISK)")
        return self._execute_direct_unsafe(component_code, component_name)


@pytest.mark.requirement("C5")
def test_the_cascade_as_the_document_writes_it_works_over_the_steps() -> None:
    with AsWritten() as made:
        result = made.execute_component(ADDER, "adder")
        failed = made.execute_component(component("raise ValueError('x')"), "failing")
        with pytest.raises(SandboxError):
            made.execute_component("import os", "bad")
    assert (result["success"], failed["success"]) == (True, False)
    assert result["isolation"] == failed["isolation"] != "none"


CASCADE = """
import json, logging, sys
logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(levelname)s %(message)s")
from redoma.dialects.components import create_secure_sandbox
with create_secure_sandbox() as made:
    print(json.dumps(made.execute_component(sys.argv[1], "adder")))
"""


@pytest.mark.requirement("C5")
@pytest.mark.requirement("C6")
def test_cascade_on_failure(tmp_path: Path) -> None:
    # A user namespace in which nobody may make another: neither unshare nor bubblewrap can.
    script = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
    argv = ["unshare", "--user", "--map-root-user", "sh", "-c", script, "sh"]
    env = {**os.environ, "PYTHONPATH": f"{ROOT}/src", "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run(
        [*argv, sys.executable, "-c", CASCADE, ADDER],
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["success"], result["isolation"]) == (True, "none")
    steps = [
        line.split(" ")[0:2] for line in done.stderr.splitlines() if "cannot be set up" in line
    ]
    assert steps == [["WARNING", "systemd_run"], ["WARNING", "unshare"], ["WARNING", "unshare"]]
    assert all("To have it: " in line for line in done.stderr.splitlines() if "set up" in line)
    assert "ERROR RISK: the component adder runs without isolation" in done.stderr


@pytest.mark.requirement("C7")
@pytest.mark.parametrize("isolation", ["unshare", "none"])
def test_nothing_passes_but_pythonpath_and_variables_for_numbers(
    isolation: str, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    library = tmp_path_factory.mktemp("library")
    library.chmod(0o755)
    (library / "shipped_beside.py").write_text("WORD = 'found'\n")
    home = os.path.expanduser("~")
    for name in filter(re.compile("CUDA|OMP|MKL|OPENBLAS|NUMEXPR|.*TORCH").match, list(os.environ)):
        monkeypatch.delenv(name)  # what this machine sets for its own numbers
    monkeypatch.setenv("PYTHONPATH", f"{library}:/:{home}:{library}/not-there")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("CUDA_API_TOKEN", "secret")
    for name in ("API_KEY", "LANG", "TERM", "TZ", "LC_ALL", "OMPX", "MY_CUDA_X", "COLUMNS"):
        monkeypatch.setenv(name, "of-the-caller")
    with switched(isolation) as made:
        made.allowed_modules = ("os", "shipped_beside")
        result = made.execute_component(
            component("""
            import json, os, shipped_beside
            print(json.dumps([shipped_beside.WORD, dict(os.environ)]))
            """),
            "looking",
        )
    assert result["success"], result
    word, seen = json.loads(str(result["output"]))
    ours = {"HOME", "LOGNAME", "PATH", "SHELL", "TMPDIR", "USER", "LANG", "REDOMA", "PWD"}
    ours |= {"PYTHONDONTWRITEBYTECODE", "LC_CTYPE"}
    given = {name: value for name, value in seen.items() if name not in ours}
    assert (word, given) == (
        "found",
        {"PYTHONPATH": str(library), "CUDA_VISIBLE_DEVICES": "0", "OMP_NUM_THREADS": "1"},
    )
    assert "of-the-caller" not in seen.values()


@pytest.mark.requirement("C3")
def test_what_the_policy_refuses_does_not_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "redoma").mkdir()
    rule = "rules: [{name: not_today, condition: program == python, action: block}]"
    (tmp_path / "redoma" / "sandbox.yaml").write_text(f'version: "1.0"\n{rule}\n')
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    refused = pytest.raises(SandboxError, match="policy does not let the component adder run")
    with switched("unshare") as made, caplog.at_level(logging.INFO), refused:
        made.execute_component(ADDER, "adder")
    assert tried(caplog.records) == ["unshare"]
