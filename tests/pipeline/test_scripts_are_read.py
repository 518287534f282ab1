"""What was written in one call and is run in the next is read, where the workspace can be."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from redoma.model.decision import Decision, Risk, Verdict
from redoma.pipeline.decisions.check import check
from redoma.pipeline.decisions.script_reader import LONGEST, ScriptReader

ROOT = Path(__file__).resolve().parents[2]
EVIL = "rm -rf ~"


@pytest.fixture
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("project")


def judged(project: Path, command: str) -> Decision:
    return check(command, cwd=str(project), home="/home/user")


def written(project: Path, name: str, text: str) -> None:
    path = project / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


PACKAGE = json.dumps({"scripts": {"pretest": EVIL, "test": "jest", "nuke": EVIL}}, indent=1)
MAKE = "D = ~\nall: test\n\techo hi\ntest:\n\techo test\nclean: wipe\nwipe:\n\t@rm -rf $(D)\n"
TOML = f'[tool.poe.tasks]\nwipe = "{EVIL}"\n'
RUN_BY_NAME = [
    ("build.sh", f"set -e\necho hi\n{EVIL}\n", "bash build.sh", "build.sh:3: "),
    ("build.sh", f"#!/bin/sh\n{EVIL}\n", "./build.sh", "build.sh:2: "),
    ("build.sh", EVIL, "sh ./build.sh", "build.sh:1: "),
    ("build.sh", EVIL, ". ./build.sh", "build.sh:1: "),
    ("build.sh", EVIL, "cd . && source build.sh", "build.sh:1: "),
    ("build.sh", 'rm -rf "$1"', "bash build.sh ~", "build.sh:1: "),
    ("build.sh", f"bash -c '{EVIL}'", "timeout 9 bash build.sh", "build.sh:1: "),
    ("s/a.sh", 'cd "$(dirname "$0")"\n. ./b.sh\n', "bash s/a.sh", ""),
    ("a.py", f"import os\n\nos.system('{EVIL}')\n", "python3 a.py", "a.py"),
    ("a.js", f"require('child_process').execSync('{EVIL}')\n", "node a.js", "a.js"),
    ("package.json", PACKAGE, "npm test", "package.json:3: "),
    ("package.json", PACKAGE, "npm run nuke", "package.json:5: "),
    ("package.json", PACKAGE, "pnpm nuke", "package.json:5: "),
    ("package.json", PACKAGE, "yarn nuke", "package.json:5: "),
    ("package.json", PACKAGE, "bun run nuke", "package.json:5: "),
    ("Makefile", MAKE, "make clean", "Makefile:8: "),
    ("Makefile", f"X := $(shell {EVIL})\nall:\n\techo\n", "make", "Makefile:1: "),
    ("Makefile", f"all: ; {EVIL}\n", "make -j4", "Makefile:1: "),
    ("justfile", f"test: wipe\n  pytest\nwipe:\n  @{EVIL}\n", "just test", "justfile:4: "),
    ("tox.ini", f"[testenv]\ncommands =\n  pytest\n  {EVIL}\n", "tox -e py", "tox.ini:4: "),
    ("noxfile.py", f"import os\nos.system('{EVIL}')\n", "nox", "noxfile.py"),
    ("conftest.py", f"import os\nos.system('{EVIL}')\n", "pytest -q", "conftest.py"),
    ("pyproject.toml", TOML, "poe wipe", "pyproject.toml:2: "),
    (
        "composer.json",
        json.dumps({"scripts": {"x": [EVIL]}}),
        "composer run x",
        "composer.json:1: ",
    ),
    ("deno.json", json.dumps({"tasks": {"x": EVIL}}), "deno task x", "deno.json:1: "),
]


@pytest.mark.parametrize(("name", "text", "command", "place"), RUN_BY_NAME)
def test_what_a_command_runs_by_name_is_read_and_the_reason_names_file_and_line(
    project: Path, name: str, text: str, command: str, place: str
) -> None:
    written(project, "s/b.sh", EVIL)
    written(project, name, text)
    found = judged(project, command)
    assert found.verdict is Verdict.DENY
    assert any(reason.startswith(place) for reason in found.because), found.because


def test_without_the_file_the_same_commands_are_as_they_were(project: Path) -> None:
    for _, _, command, _ in RUN_BY_NAME:
        assert judged(project, command).assessment.risk < Risk.DANGEROUS, command


QUIET = [
    ("test.sh", 'set -euo pipefail\ncd "$(dirname "$0")"\nexport PATH=$PWD/bin:$PATH\npytest -q "$@"\n'),
    ("test.sh", 'tmp=$(mktemp -d)\ntrap \'rm -rf "$tmp"\' EXIT\ncp -r src "$tmp"\nmake -C "$tmp" test\n'),
    ("test.sh", 'for f in tests/*.sh; do\n  bash "$f" || exit 1\ndone\nrm -rf build dist\n'),
    ("test.sh", 'if [ -z "${DIR:-}" ]; then DIR=$(git rev-parse --show-toplevel); fi\nrm -rf "$DIR"/out/*\n'),
    ("test.sh", 'echo "$CODE" | sh\n'),
    ("test.sh", 'case "$1" in\n a) eval "$2" ;;\n *) "$@" ;;\nesac\n'),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text"), QUIET)
def test_an_ordinary_script_of_a_project_disturbs_nobody(
    project: Path, name: str, text: str
) -> None:
    written(project, name, text)
    found = judged(project, f"bash {name}")
    assert found.assessment.risk < Risk.DANGEROUS, found.because


def test_an_ordinary_makefile_and_package_disturb_nobody(project: Path) -> None:
    written(project, "Makefile", "CC ?= gcc\nOUT = build\nall: $(OUT)/a\nclean:\n\trm -rf $(OUT)\n")
    scripts = {"build": "tsc -p .", "clean": "rm -rf dist", "test": "jest --coverage"}
    written(project, "package.json", json.dumps({"scripts": scripts}))
    for command in ("make", "make clean", "npm test", "npm run build", "npm run clean"):
        found = judged(project, command)
        assert found.assessment.risk < Risk.DANGEROUS, found.because


def test_a_long_script_is_left_where_it_asks_for_too_much(project: Path) -> None:
    written(project, "long.sh", "echo a; x=1; y=$x\n" * 3000)
    found = judged(project, "bash long.sh")
    assert found.assessment.risk is Risk.MODERATE
    assert "script-unread" in {each.rule for each in found.assessment.findings}


def test_a_script_that_runs_itself_ends(project: Path) -> None:
    written(project, "a.sh", "bash b.sh\n")
    written(project, "b.sh", "bash a.sh; ./a.sh\n")
    assert judged(project, "bash a.sh").assessment.risk < Risk.DANGEROUS


def test_only_ordinary_files_of_the_workspace_are_read(project: Path, tmp_path: Path) -> None:
    home = Path("/var/lib") / f"redoma-test-{os.getpid()}"
    home.mkdir()
    try:
        (home / "key").write_text("secret words", encoding="utf-8")
        (project / "link.sh").symlink_to(home / "key")
        (project / "dir.sh").symlink_to("/dev/zero")
        os.mkfifo(project / "pipe.sh")
        written(project, "large.sh", "#" * (LONGEST + 1))
        (project / "binary").write_bytes(b"\x7fELF\0\0")
        written(project, "own.sh", "echo own")
        (project / "near.sh").symlink_to("own.sh")
        reader = ScriptReader(str(project))
        for name in ("link.sh", "dir.sh", "pipe.sh", "large.sh", "binary", "none.sh", "."):
            assert reader.read(str(project / name)) is None, name
        assert reader.read(str(project / "own.sh")) == "echo own"
        assert reader.read(str(project / "near.sh")) == "echo own"
        assert ScriptReader("/").read(str(home / "key")) is None
    finally:
        (home / "key").unlink()
        home.rmdir()


def test_a_file_of_secrets_is_never_quoted(project: Path) -> None:
    written(project, ".env", "TOKEN=hunter2\nhunter2-program\n")
    assert "hunter2" not in repr(judged(project, "source .env"))


def test_a_pipe_that_nobody_writes_to_does_not_hold_the_judge(project: Path) -> None:
    os.mkfifo(project / "x.sh")
    thread = threading.Thread(target=judged, args=(project, "bash x.sh"), daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()


def test_the_hook_sees_over_two_calls_what_is_written_and_then_run(project: Path) -> None:
    def asked(tool: str, **given: str) -> str:
        call = {
            "hook_event_name": "PreToolUse",
            "tool_name": tool,
            "cwd": str(project),
            "tool_input": given,
        }
        argv = [sys.executable, "-I", "-S", str(ROOT / "src/redoma/__main__.py")]
        done = subprocess.run(
            [*argv, "hook", "claude-code"],
            input=json.dumps(call).encode(),
            capture_output=True,
            check=True,
            env={**os.environ, "HOME": str(project / "home")},
        )
        if not done.stdout.strip():
            return "allow"
        return str(json.loads(done.stdout)["hookSpecificOutput"])

    (project / "home").mkdir()
    assert "deny" not in asked("Write", file_path=str(project / "b.sh"), content=EVIL)
    written(project, "b.sh", f"echo build\n{EVIL}\n")
    answer = asked("Bash", command="bash b.sh")
    assert "deny" in answer
    assert "b.sh:2" in answer
