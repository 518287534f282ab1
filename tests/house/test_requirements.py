"""Every requirement that must be held is named by a test, and the table of them tells the truth."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.house.tree import ROOT
from tests.requirements.marked import Marked, marked, requirements
from tests.requirements.table import FAILED, PASSED, SKIPPED, Row, rows, shown

NAMED = frozenset().union(*(test.ids for test in marked()))


def test_every_requirement_that_must_be_held_is_named_by_a_test() -> None:
    without = {row.id for row in rows(requirements(), marked(), None) if not row.good}
    assert without == set()


def test_a_test_names_only_requirements_that_there_are() -> None:
    assert NAMED - set(requirements()) == set()


def test_marks_are_found_on_functions_classes_and_files(tmp_path: Path) -> None:
    place = tmp_path / "tests"
    place.mkdir()
    (place / "test_a.py").write_text(
        "import pytest\n"
        'pytestmark = [pytest.mark.requirement("T1")]\n'
        '@pytest.mark.requirement("T2", "T3")\n'
        "class TestIt:\n"
        '    @pytest.mark.requirement("T4")\n'
        "    async def test_one(self): ...\n"
        "def test_two(): ...\n"
        "def helper(): ...\n"
    )
    (place / "test_b.py").write_text("def test_none(): ...\n")
    assert marked(place) == [
        Marked("tests/test_a.py", "TestIt::test_one", frozenset({"T1", "T2", "T3", "T4"})),
        Marked("tests/test_a.py", "test_two", frozenset({"T1"})),
    ]


def test_the_table_says_what_became_of_the_tests() -> None:
    tests = [Marked("a.py", f"test_{n}", frozenset({n})) for n in ("T1", "T2", "T3", "T4", "S1")]
    became = {
        "a.py::test_T1": {PASSED, SKIPPED},
        "a.py::test_T2": {PASSED, FAILED},
        "a.py::test_T3": {SKIPPED},
    }
    made = rows(
        ["T1", "T2", "T3", "T4", "T5", "S1", "S2"], tests, became | {"a.py::test_S1": {PASSED}}
    )
    assert made == [
        Row("T1", ("a.py::test_T1",), "pass", True),
        Row("T2", ("a.py::test_T2",), "FAIL", False),
        Row("T3", ("a.py::test_T3",), "skipped", False),
        Row("T4", ("a.py::test_T4",), "FAIL", False),
        Row("T5", (), "no test", False),
        Row("S1", ("a.py::test_S1",), "pass", True),
        Row("S2", (), "later", True),
    ]
    sentences = dict.fromkeys(("T1", "T2", "T3", "T4", "T5", "S1", "S2"), "it does")
    assert shown(made, sentences, names=True).splitlines()[1:4] == [
        "T1       1  pass     it does",
        "            a.py::test_T1",
        "T2       1  FAIL     it does",
    ]
    assert shown(made, sentences, names=False).endswith("not held: T2, T3, T4, T5")


def test_an_id_that_is_not_known_is_said() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.requirements", "--list", "Q7"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "Q7" in done.stderr
