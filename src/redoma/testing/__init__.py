"""For tests of programs that use Redoma: a scripted person, a fake host, the engine contract.

Nothing here is loaded by Redoma itself.
"""

from __future__ import annotations

from redoma.testing.answerer import ScriptedAnswerer
from redoma.testing.contract import CONTRACT, check_engine
from redoma.testing.host import FakeHost

__all__ = ["CONTRACT", "FakeHost", "ScriptedAnswerer", "check_engine"]
