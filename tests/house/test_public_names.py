"""What the package offers is what it says it offers, and all of it is documented."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest

import redoma
from redoma import testing
from redoma.cli import COMMANDS
from tests.house.tree import PACKAGE, ROOT

PYTHON_PAGE = (ROOT / "docs/reference/python.md").read_text(encoding="utf-8")
PAGES = [
    ROOT / "README.md",
    *sorted(
        page
        for part in ("tutorials", "guides", "reference", "concepts")
        for page in (ROOT / "docs" / part).glob("*.md")
    ),
]
CLI_PAGE = (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", redoma.__all__)
def test_a_public_name_exists_and_is_documented(name: str) -> None:
    assert getattr(redoma, name) is not None
    assert f"`{name}" in PYTHON_PAGE or f"`redoma.{name}" in PYTHON_PAGE


@pytest.mark.parametrize("name", redoma.__all__)
def test_a_public_name_says_redoma_in_tracebacks_and_documents(name: str) -> None:
    assert getattr(getattr(redoma, name), "__module__", "redoma") == "redoma"


EXAMPLES = [
    each
    for name in (*redoma.__all__, *testing.__all__)
    if not name.startswith("_")
    for found in (getattr(redoma, name, None) or getattr(testing, name),)
    for each in doctest.DocTestFinder(recurse=False).find(found, name, module=False)
    if each.examples
]


@pytest.mark.parametrize("example", EXAMPLES, ids=[each.name for each in EXAMPLES])
def test_the_example_of_a_public_name_is_true(
    example: doctest.DocTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "state").mkdir(mode=0o700)
    said: list[str] = []
    doctest.DocTestRunner().run(example, out=said.append)
    assert "".join(said) == ""


INSIDE = re.compile(r"redoma\.(pipeline|jail|judge|ask|audit|vault|egress|base|model)\.\w+")


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_no_document_sends_a_user_into_an_internal_module(page: Path) -> None:
    assert sorted({found.group() for found in INSIDE.finditer(page.read_text("utf-8"))}) == []


def test_dir_lists_the_public_names_and_nothing_else() -> None:
    assert dir(redoma) == sorted(redoma.__all__)


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'redoma' has no attribute 'Manager'"):
        _ = redoma.Manager  # type: ignore[attr-defined]


def test_importing_the_package_loads_none_of_its_rooms() -> None:
    code = "import sys, redoma; print(sorted(m for m in sys.modules if m.startswith('redoma')))"
    done = subprocess.run(
        [
            sys.executable,
            "-I",
            "-S",
            "-c",
            f"import sys; sys.path[:0] = [{str(PACKAGE.parent)!r}]; {code}",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "['redoma']\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_documented(command: str) -> None:
    assert f"## `redoma {command}" in CLI_PAGE


def test_the_version_is_the_same_everywhere() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert project["version"] == redoma.__version__
    assert f"## [{redoma.__version__}]" in changes or "## [Unreleased]" in changes
