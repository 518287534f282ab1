"""The commands of every day work in `standard` without an option, or say that they need the network."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.both_users

ROOT = Path(__file__).parents[2]
# A build backend of the package's own: nothing has to be fetched to build it.
BACKEND = """
import zipfile


def build_wheel(directory, settings=None, metadata=None):
    name = "everyday-0.1-py3-none-any.whl"
    about = "Metadata-Version: 2.1\\nName: everyday\\nVersion: 0.1\\n"
    kind = "Wheel-Version: 1.0\\nGenerator: own\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"
    with zipfile.ZipFile(f"{directory}/{name}", "w") as wheel:
        wheel.writestr("everyday.py", "answer = 42\\n")
        wheel.writestr("everyday-0.1.dist-info/METADATA", about)
        wheel.writestr("everyday-0.1.dist-info/WHEEL", kind)
        wheel.writestr("everyday-0.1.dist-info/RECORD", "")
    return name
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    place.mkdir()
    return place


def run(project: Path, command: str) -> subprocess.CompletedProcess[str]:
    """`redoma run COMMAND` as a person types it in a project."""
    here = os.path.dirname(sys.executable)  # as after `. .venv/bin/activate`
    own = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    # Other tests give this process a home that is none; toolchains are found below the real one.
    env = {**own, "PYTHONPATH": str(ROOT / "src"), "HOME": pwd.getpwuid(os.geteuid()).pw_dir}
    env["PATH"] = f"{here}:{env['PATH']}"
    return subprocess.run(
        [sys.executable, "-m", "redoma", "run", command],
        cwd=project,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def needs(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"SKIPPED (no {program} here)")


@pytest.fixture(scope="module")
def with_environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a virtual environment of its own; it takes seconds to make one."""
    place = tmp_path_factory.mktemp("python") / "project"
    place.mkdir()
    subprocess.run([sys.executable, "-m", "venv", ".venv"], cwd=place, check=True)
    return place


def test_pytest_runs(project: Path) -> None:
    (project / "test_it.py").write_text("def test_it(tmp_path):\n    assert tmp_path.is_dir()\n")
    ended = run(project, "pytest -q")
    assert (ended.returncode, "1 passed" in ended.stdout) == (0, True), ended


def test_git_commits(project: Path) -> None:
    needs("git")
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    for key, value in (("user.name", "A"), ("user.email", "a@b.example")):
        subprocess.run(["git", "config", key, value], cwd=project, check=True)
    (project / "a").write_text("a")
    ended = run(project, "git add a && git commit -qm first && git log --format=%an:%s")
    assert (ended.returncode, ended.stdout) == (0, "A:first\n"), ended
    left = subprocess.run(
        ["git", "status", "--porcelain"], cwd=project, check=True, capture_output=True
    )
    assert left.stdout == b""


def test_make_builds(project: Path) -> None:
    needs("make")
    (project / "Makefile").write_text("out: in\n\tcp in out\n")
    (project / "in").write_text("made")
    ended = run(project, "make -j2")
    assert (ended.returncode, (project / "out").read_text()) == (0, "made"), ended


def test_npm_runs_a_build(project: Path) -> None:
    needs("npm")
    (project / "package.json").write_text('{"name": "e", "scripts": {"build": "node build.js"}}')
    (project / "build.js").write_text('require("fs").writeFileSync("out.js", "built")')
    ended = run(project, "npm run build")
    assert (ended.returncode, (project / "out.js").read_text()) == (0, "built"), ended


def test_cargo_builds(project: Path) -> None:
    needs("cargo")
    (project / "Cargo.toml").write_text('[package]\nname = "e"\nversion = "0.1.0"\n')
    (project / "src").mkdir()
    (project / "src/main.rs").write_text('fn main() { println!("built") }')
    ended = run(project, "cargo build -q && target/debug/e")
    assert (ended.returncode, ended.stdout) == (0, "built\n"), ended


def test_pip_installs_a_package_that_needs_nothing_else(with_environment: Path) -> None:
    project = with_environment
    package = project / "pkg"
    package.mkdir()
    (package / "backend.py").write_text(BACKEND)
    (package / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        '[project]\nname = "everyday"\nversion = "0.1"\n'
    )
    ended = run(project, ". .venv/bin/activate && pip install -q ./pkg")
    assert ended.returncode == 0, ended
    ended = run(project, ".venv/bin/python -c 'import everyday; print(everyday.answer)'")
    assert (ended.returncode, ended.stdout) == (0, "42\n"), ended


def test_pip_that_has_to_fetch_says_that_the_network_is_closed(with_environment: Path) -> None:
    project = with_environment
    package = project / "fetching"
    package.mkdir()
    (package / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["setuptools>=61"]\nbuild-backend = "setuptools.build_meta"\n'
        '[project]\nname = "everyday"\nversion = "0.1"\n'
    )
    ended = run(project, "PIP_RETRIES=0 .venv/bin/pip install ./fetching")
    hint = ended.stderr.splitlines()[-1]
    assert (ended.returncode, hint) == (
        1,
        "hint: the network is closed here; --allow-host HOST opens it to one host",
    ), ended
