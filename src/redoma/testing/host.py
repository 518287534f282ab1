"""Reports of a machine that is not there, so that planning can be tested without a kernel."""

from __future__ import annotations

from redoma.model.grant import EngineReport


class FakeHost:
    """A host whose engines report what a test wants them to.

    >>> from redoma.model.grant import EngineReport, Guarantee
    >>> from redoma.testing import FakeHost
    >>> host = FakeHost(EngineReport(name="strong", guarantees=frozenset(Guarantee)))
    >>> host.report("strong").usable
    True
    """

    __module__ = "redoma.testing"

    def __init__(self, *reports: EngineReport, controllers: frozenset[str] = frozenset()) -> None:
        """`controllers` are those of the control groups that this host would have."""
        self._reports = {report.name: report for report in reports}
        self._controllers = controllers

    def report(self, name: str) -> EngineReport:
        """What the engine says of itself; KeyError for one that is not there."""
        return self._reports[name]

    def controllers(self) -> frozenset[str]:
        """The controllers of this host's control groups."""
        return self._controllers
