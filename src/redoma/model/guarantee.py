"""What a sandbox promises, who gives it here, and what held in a run."""

from __future__ import annotations

from enum import Enum

from redoma.model.message import Message
from redoma.model.value import Value


class Guarantee(Enum):
    """One thing that a sandbox keeps a command from doing."""

    WRITES_CONFINED = "writes-confined"
    READS_CONFINED = "reads-confined"
    PROTECTED_PATHS = "protected-paths"
    NETWORK_CLOSED = "network-closed"
    NETWORK_ALLOW_LISTED = "network-allow-listed"
    PROCESSES_HIDDEN = "processes-hidden"
    NO_NEW_PRIVILEGES = "no-new-privileges"
    SYSCALLS_FILTERED = "syscalls-filtered"
    MEMORY_CAPPED = "memory-capped"  # the kernel holds the tree as a whole to it
    MEMORY_WATCHED = "memory-watched"  # we look at the tree, and end it when it is past it
    CPU_CAPPED = "cpu-capped"
    CPU_WATCHED = "cpu-watched"
    PROCESSES_CAPPED = "processes-capped"
    DISK_CAPPED = "disk-capped"
    DISK_WATCHED = "disk-watched"
    TREE_KILLED = "tree-killed"
    CHANGES_HELD = "changes-held"

    # Enum's own hash is a Python function; sets of guarantees are compared on every run.
    __hash__ = object.__hash__

    @property
    def words(self) -> str:
        """The guarantee as a reader says it: `writes confined`."""
        return self.value.replace("-", " ")


_WEAKER = {
    Guarantee.MEMORY_CAPPED: Guarantee.MEMORY_WATCHED,
    Guarantee.CPU_CAPPED: Guarantee.CPU_WATCHED,
    Guarantee.DISK_CAPPED: Guarantee.DISK_WATCHED,
}


def covered(held: frozenset[Guarantee]) -> frozenset[Guarantee]:
    """What is held, and what that is more than: whoever wants it watched has it capped."""
    return held.union(weaker for stronger, weaker in _WEAKER.items() if stronger in held)


class EngineReport(Value):
    """What one engine enforces on this machine, as found by trying it."""

    name: str
    version: str = ""
    # The program that was tried, where an engine starts one.
    program: str = ""
    # Whether what is only read was shown through overlays, where an engine shows it so.
    overlays: bool = True
    guarantees: frozenset[Guarantee] = frozenset()
    # What it cannot give here, each with the reason; and what a person would type to change that.
    missing: tuple[tuple[Guarantee, str], ...] = ()
    hints: tuple[str, ...] = ()
    # How each thing is held, for people: `memory-capped` -> `cgroup v1`.
    mechanisms: tuple[tuple[Guarantee, str], ...] = ()

    @property
    def usable(self) -> bool:
        """Whether it can run something at all, be it without any guarantee."""
        return bool(self.guarantees or self.version)

    def why_not(self, required: frozenset[Guarantee]) -> str:
        """Why this engine cannot give what is required, in one line."""
        reasons = dict(self.missing)
        lacking = sorted(required - covered(self.guarantees), key=lambda g: g.value)
        told = dict.fromkeys(
            reasons.get(g, Message("does not give {guarantee}", guarantee=Message(g.words)))
            for g in lacking
        )
        return Message.joined("; ", told)


class Enforcement(Value):
    """What was asked for and what held, with the mechanism that held it."""

    engine: str
    required: frozenset[Guarantee]
    held: frozenset[Guarantee]
    mechanisms: tuple[tuple[Guarantee, str], ...] = ()

    @property
    def shortfall(self) -> frozenset[Guarantee]:
        """Required but not held; never empty without the run having been refused."""
        return self.required - self.held

    def sentence(self) -> str:
        """One line for people: what held, and what did not."""
        said = self.held - {weaker for more, weaker in _WEAKER.items() if more in self.held}
        held = [g.words for g in Guarantee if g in said]
        what = Message.joined(", ", held) or Message("nothing enforced")
        text = Message("{engine}: {held}", engine=self.engine, held=what)
        lost = Message.joined(", ", [g.words for g in Guarantee if g in self.shortfall])
        return (
            Message.joined("; ", (text, Message("NOT held: {lost}", lost=lost))) if lost else text
        )
