"""Which failures of a whole run are tried once more."""

from __future__ import annotations

import pytest

from tests.again import may_be_tried_again

ORDINARY = "tests/pipeline/test_path.py::test_a"


@pytest.mark.parametrize(
    ("failed", "again"),
    [
        ([ORDINARY], True),
        ([f"{ORDINARY}[{number}]" for number in range(5)], True),
        ([f"{ORDINARY}[{number}]" for number in range(6)], False),
        ([ORDINARY, "tests/escape/test_promises.py::test_b"], False),
        (["tests/house/test_whole_run.py::test_c"], False),
        (["tests/pipeline/test_path.py"], False),
        ([], False),
    ],
)
def test_only_a_few_that_are_no_attacks_are_tried_again(failed: list[str], again: bool) -> None:
    assert may_be_tried_again(failed) is again
