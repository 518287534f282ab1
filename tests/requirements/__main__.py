"""`bin/test --requirements [--list] [-v] [ID…]`: runs the tests that name requirements.

`--list` only lists them. `-v` shows the names of tests. With ids only those are looked at.
Exit status 1 where a requirement that must be held has no test, or one that does not pass.
"""

from __future__ import annotations

import sys
from collections import defaultdict

import pytest

from tests.requirements.marked import marked, requirements
from tests.requirements.table import FAILED, PASSED, SKIPPED, rows, shown


class Outcomes:
    """What became of each test function, all of its cases together."""

    def __init__(self) -> None:
        self.seen: dict[str, set[str]] = defaultdict(set)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name = report.nodeid.partition("[")[0]
        if report.failed:
            self.seen[name].add(FAILED)
        elif report.skipped:
            self.seen[name].add(SKIPPED)
        elif report.when == "call":
            self.seen[name].add(PASSED)


def main(arguments: list[str]) -> int:
    """Runs or lists, prints the table, and says whether everything is held."""
    known = requirements()
    only = [each for each in arguments if not each.startswith("-")]
    strange = [each for each in only if each not in known]
    strange += [each for each in arguments if each[:1] == "-" and each not in ("--list", "-v")]
    if strange:
        print(f"requirements: {strange[0]} is not known; --list shows what is", file=sys.stderr)
        return 2
    wanted = only or list(known)
    tests = [test for test in marked() if not test.ids.isdisjoint(wanted)]
    outcomes = None
    if "--list" not in arguments:
        watching = Outcomes()
        names = [str(test) for test in tests]
        status = pytest.main(["-q", "--no-header", *names], plugins=[watching])
        outcomes = watching.seen
        if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            return int(status)
    made = rows(wanted, tests, outcomes)
    print(shown(made, known, names="-v" in arguments))
    return 0 if all(row.good for row in made) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
