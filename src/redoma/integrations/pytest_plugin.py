"""A pytest plugin for people who test code that they do not trust.

The fixture `sandbox` is a `Sandbox` over the test's own temporary directory. A test that is marked
`@pytest.mark.enclosed` runs in a process of its own inside a sandbox: it reads the machine's
libraries and writes nowhere but there; what it raises fails the test as usual.
"""

from __future__ import annotations

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from redoma import Sandbox

MARK = "enclosed"


def pytest_configure(config: pytest.Config) -> None:
    """Makes the marker known."""
    config.addinivalue_line(
        "markers",
        "enclosed(**how): run this test inside a sandbox; `how` are arguments of redoma.Sandbox",
    )


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    """A sandbox over a temporary directory; nobody is asked, so what needs that is declined."""
    import redoma

    return redoma.Sandbox(str(tmp_path), policy="isolation-only")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs a marked test inside; everything else is pytest's own."""
    mark = pyfuncitem.get_closest_marker(MARK)
    if mark is None:
        return None
    import inspect

    import redoma

    if inspect.iscoroutinefunction(pyfuncitem.obj):
        raise pytest.UsageError(f"{pyfuncitem.nodeid}: an async test cannot be enclosed")
    names = pyfuncitem._fixtureinfo.argnames  # what the test itself asks for, and not its fixtures'
    given = {name: pyfuncitem.funcargs[name] for name in names}
    how = {"policy": "isolation-only", **mark.kwargs}
    workspace = how.pop("workspace", "") or str(_own_directory(pyfuncitem))
    result = redoma.Sandbox(workspace, **how).perform(redoma.Call(pyfuncitem.obj, (), given))
    for number, text in (("stdout", result.stdout), ("stderr", result.stderr)):
        if text:
            pyfuncitem.add_report_section(
                "call", f"enclosed {number}", text.decode(errors="replace")
            )
    result.raise_for_outcome()
    return True


def _own_directory(item: pytest.Function) -> Path:
    made: Path = item._request.getfixturevalue("tmp_path")
    return made
