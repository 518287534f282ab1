"""The list of what tools obey is data that can be read, and is found however it is spelled."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from redoma.jail.protect import survey
from tests.house.tree import PACKAGE

LIST = PACKAGE / "jail/protect/obeyed.yaml"


def test_our_own_reader_reads_what_yaml_reads() -> None:
    text = LIST.read_text(encoding="utf-8")
    read = [
        {**each, "names": tuple(each["names"].split()), "treat": survey.Treat(each["treat"])}
        for each in yaml.safe_load(text)
    ]
    assert [survey.ObeyedRow(**each) for each in read] == survey.read(text)


def test_every_row_has_a_reason_and_a_source_and_no_name_twice() -> None:
    rows = survey.obeyed().rows
    assert [row.tool for row in rows if not (row.why and row.source and row.names)] == []
    every = [name for row in rows for name in row.names]
    assert sorted(every) == sorted(set(every))
    for row in rows:
        if not row.source.startswith("https://"):
            assert Path(PACKAGE.parents[1] / row.source).exists()


@pytest.mark.parametrize(
    ("path", "tool"),
    [
        (".bashrc", "bash and POSIX shells"),
        ("a/b/.BASHRC", "bash and POSIX shells"),
        (".bashrc.", "bash and POSIX shells"),
        (".ba\u200cshrc", "bash and POSIX shells"),
        (".ｂashrc", "bash and POSIX shells"),
        ("x/.vscode/tasks.json", "Visual Studio Code"),
        (".VsCode/deep/er", "Visual Studio Code"),
        (".vscode", "Visual Studio Code"),
        ("all.code-workspace", "Visual Studio Code"),
        (".cargo/config.toml", "Cargo"),
        ("x/.cargo/config", "Cargo"),
        (".jj/repo/config.toml", "Jujutsu"),
        (".venv/bin/anything", "shells and editors"),
        ("lib/site-packages/evil.pth", "Python"),
        (".devcontainer.json", "development containers"),
    ],
)
def test_a_name_is_found_however_it_is_spelled(path: str, tool: str) -> None:
    row = survey.obeyed().of_path(path, directory=False)
    assert row is not None and row.tool == tool


@pytest.mark.parametrize(
    "path",
    [
        *("a.py", "src/bin/tool", "config.toml", "repo/config.toml", "vscode/tasks.json", "pth"),
        *(".vscode-test/x", "cargo/config.toml", "profile", ".gitignore", ".env", "AGENTS.md"),
        *("bin/python", ".venv/lib/python3/site-packages/yaml/__init__.py", "Makefile", ".pth"),
    ],
)
def test_ordinary_names_are_nobodys(path: str) -> None:
    assert survey.obeyed().of_path(path, directory=False) is None


@pytest.mark.parametrize("name", [".git", ".GIT", "git~1", ".g\u200cit", ".git.", ".git "])
def test_gits_own_directory_is_known_by_its_name(name: str) -> None:
    assert survey.is_git(name)


def test_a_policy_adds_names_and_takes_none_away() -> None:
    more = survey.obeyed().with_more(("*.tf", "deploy/", "ci/run.sh"))
    found = [more.of_path(p, directory=False) for p in ("a/b.tf", "deploy/x", "ci/run.sh")]
    assert [row.why for row in found if row] == ["your policy protects it"] * 3
    assert more.of_path(".bashrc", directory=False) is not None


def test_a_list_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(ValueError, match="no row"):
        survey.read("tool: x\n")
