"""The state of reading one piece of Python code."""

from __future__ import annotations

from redoma.judge.interpret.arg import UNKNOWN, Arg

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.call import Call
    from redoma.judge.languages.python.constants import Constants
    from redoma.judge.languages.python.names import Names


class Reading:
    """What all parts of the reading share: the call, the code, and what was seen so far."""

    def __init__(self, call: Call, text: Arg, names: Names, constants: Constants) -> None:
        self.call = call
        self.text = text
        self.names = names
        self.constants = constants
        self.taint = 0
        self.hosts: list[Arg] = []
        self.sends = False
        self.connects = False
        self.listens = False
        self.spawns = False
        self.evaluates = False
        self.walked: list[str] = []
        """Directories whose names the code goes through."""
        self.handles: dict[str, str] = {}
        """Names that stand for an opened file, and its path."""

    def word(self, text: str | None) -> Arg:
        return self.text.like(UNKNOWN if text is None else text)
