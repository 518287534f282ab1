"""What the documents show is what happens: examples run, links lead somewhere.

`REDOMA_REWRITE_EXAMPLES=1 bin/test tests/house/test_documents.py` writes what is printed today into
the documents, for a person to read in the diff.
"""

from __future__ import annotations

import doctest
import os
import subprocess
import sys
from pathlib import Path

import pytest

from redoma.cli import COMMANDS
from tests.house import reference
from tests.house.checkouts import script
from tests.house.examples import Fence, broken_links, fences, matches, rewrite, steps
from tests.house.tree import PACKAGE

CONSOLE = fences("console")
PYTHON = [fence for fence in fences("python", "pycon") if ">>>" in fence.body]
MAY_RUN = {"redoma", "bin/redoma", "echo", "printf", "cat", "mkdir", "cd"}
END_OF_STEP = "\x01end of step\x01"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An empty project whose PATH and bin/ have redoma, as a reader's would."""
    own = f"exec '{sys.executable}' -I -S -X utf8 '{PACKAGE / '__main__.py'}' \"$@\""
    script(tmp_path / "path/redoma", own)
    script(tmp_path / "project/bin/redoma", own)
    return tmp_path / "project"


@pytest.mark.parametrize("fence", CONSOLE, ids=str)
def test_a_console_example_prints_what_it_says(fence: Fence, project: Path) -> None:
    told = steps(fence.body)
    assert told, f"{fence}: a console example has a line that starts with `$ `"
    strange = [step.command for step in told if step.command.split()[0] not in MAY_RUN]
    assert strange == [], f"{fence}: only Redoma is run here; show other commands in a `sh` fence"
    inside = "".join(
        f"{step.command}\nstatus=$?; printf '%s\\n' '{END_OF_STEP}'; (exit $status)\n"
        for step in told
    )
    # Nobody's home is changed by an example: what writes there gets one of its own.
    writes = any(" install " in f"{step.command} " for step in told)
    home = str(project.parent / "home") if writes else "/home/ana"
    done = subprocess.run(
        ["bash", "-c", inside],
        cwd=project,
        env={
            "PATH": f"{project.parent / 'path'}:/usr/bin:/bin",
            "HOME": home,
            "XDG_STATE_HOME": str(project.parent / "state"),
            "XDG_CACHE_HOME": str(project.parent / "cache"),
            "LC_ALL": "C.UTF-8",
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )
    printed = done.stdout.split(f"{END_OF_STEP}\n")
    if os.environ.get("REDOMA_REWRITE_EXAMPLES"):
        rewrite(fence, printed)
        return
    for step, output in zip(told, printed, strict=False):
        if not matches(step.output, output):
            pytest.fail(
                f"{fence}\n$ {step.command}\n--- the document says\n{step.output}\n"
                f"--- it prints\n{output}",
                pytrace=False,
            )


@pytest.mark.parametrize("fence", PYTHON, ids=str)
def test_a_python_example_does_what_it_says(fence: Fence) -> None:
    test = doctest.DocTestParser().get_doctest(
        fence.body, {}, str(fence), str(fence.document), fence.line
    )
    report: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=report.append)
    assert report == []


def test_there_are_examples_to_run() -> None:
    assert len(CONSOLE) >= 5
    assert len(PYTHON) >= 1


def test_the_reference_page_says_what_the_tables_of_options_say() -> None:
    page = reference.PAGE.read_text(encoding="utf-8")
    assert sorted(reference.commands_with_a_block(page)) == sorted(COMMANDS)
    assert page == reference.rewritten(page), "python -m tests.house.reference writes it anew"


def test_every_link_between_documents_leads_somewhere() -> None:
    assert broken_links() == []


def test_the_comparison_itself_can_fail() -> None:
    assert matches("level …\nreason", "level safe\nreason\n")
    assert matches("a\n…\nz", "a\nb\nc\nz\n")
    assert not matches("level safe", "level forbidden\n")
    assert not matches("", "something\n")
