"""Proposes entries of an allow list for what a person approved again and again."""

from __future__ import annotations

import os

from redoma.ask.approvals import REMEMBERED
from redoma.base import private_file
from redoma.model.decision import Risk, Verdict
from redoma.model.errors import PolicyError
from redoma.model.event import Kind
from redoma.model.request import Choice
from redoma.model.value import Value
from redoma.pipeline.audit_reader import EntryFilter, entries
from redoma.pipeline.decisions import policies
from redoma.pipeline.decisions.check import check
from redoma.pipeline.decisions.policy_tools import lint
from redoma.pipeline.path import NOBODY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from redoma.pipeline.audit_reader import AuditEntry

LEAST = 3
"""How often a person has to have said yes; one yes is no habit."""
_KEY = "allowlist_extensions:"
_UNPLAIN = frozenset("$`<>|&;(){}*?[]~\\\"'\n#!=")
"""Characters by which a command is more than its words, or not what an entry can cover."""


class Suggestion(Value):
    """A command that a person approved so often, with the risk that it has today."""

    command: str
    approved: int
    risk: Risk


class Proposal(Value):
    """Entries for a policy file, and the file before and after them."""

    path: str
    before: str
    after: str
    suggestions: tuple[Suggestion, ...]


def suggested(*, cwd: str, home: str | None, least: int = LEAST) -> Proposal:
    """What the audit log proposes for the user's own policy; never anything above elevated."""
    policy = policies.load_policy(cwd, home=home)
    counted = _approved(entries(EntryFilter(kinds=(Kind.ASKED.value, Kind.ANSWERED.value))))
    found = []
    for command, times in sorted(counted.items()):
        if times < max(least, 2) or not _UNPLAIN.isdisjoint(command):
            continue
        decision = check(command, cwd=cwd, home=home, policy=policy)
        # Attack: approvals that somebody else gave, or a log that was written to, teach nothing
        # above what an allow list may set aside; and what is refused stays refused.
        if decision.verdict is Verdict.CONFIRM and decision.assessment.risk <= Risk.ELEVATED:
            risk = decision.assessment.risk
            found.append(Suggestion(command=command, approved=times, risk=risk))
    path = os.path.realpath(policies.user_file(home))
    before = _content(path)
    after = _with_entries(before, [each.command for each in found])
    return Proposal(path=path, before=before, after=after, suggestions=tuple(found))


def _approved(rows: Iterable[AuditEntry]) -> dict[str, int]:
    """How often a person approved each command; a single no outweighs every yes."""
    asked: dict[str, str] = {}
    counted: dict[str, int] = {}
    refused: set[str] = set()
    for row in rows:
        details = row.facts()
        question = str(details.get("question", ""))
        if row.kind == Kind.ASKED.value:
            asked[question] = row.command
            continue
        command = asked.pop(question, "")
        again = str(details.get("notes", "")).startswith(REMEMBERED)
        if not command or again or details.get("approved_by", NOBODY) == NOBODY:
            continue
        if details.get("choice") == Choice.APPROVE.value:
            counted[command] = counted.get(command, 0) + 1
        else:
            refused.add(command)
    return {command: times for command, times in counted.items() if command not in refused}


def _content(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def _with_entries(before: str, commands: list[str]) -> str:
    """The file with new entries below its allow list, which is added at the end where missing."""
    import json

    if not commands:
        return before
    lines = before.splitlines()
    rows = [f"  - {json.dumps(command)}" for command in commands]
    at = next((i for i, line in enumerate(lines) if line.startswith(_KEY)), None)
    if at is None:
        start = lines or ['version: "1.0"']
        return "\n".join([*start, _KEY, *rows]) + "\n"
    if lines[at].partition(":")[2].partition("#")[0].strip():
        raise PolicyError(
            f"{_KEY} is written on one line", hint="put each entry on a line of its own: - COMMAND"
        )
    indent = next((len(s) - len(s.lstrip()) for s in lines[at + 1 :] if s.lstrip()[:2] == "- "), 2)
    rows = [" " * indent + row.lstrip() for row in rows]
    return "\n".join([*lines[: at + 1], *rows, *lines[at + 1 :]]) + "\n"


def applied(proposal: Proposal, *, home: str | None) -> str:
    """Writes the proposal, with the old file kept beside it; gives the old one's path, or ""."""
    if proposal.after == proposal.before:
        return ""
    if _content(proposal.path) != proposal.before:
        raise PolicyError(f"{proposal.path} has changed meanwhile", hint="redoma policy suggest")
    kept = ""
    if proposal.before:
        kept = f"{proposal.path}.old"
        private_file.write(kept, proposal.before)
    os.makedirs(os.path.dirname(proposal.path), mode=0o700, exist_ok=True)
    private_file.write(proposal.path, proposal.after)
    errors = lint(proposal.path, origin="user", home=home)
    if errors:
        # What cannot be used would stop everything: the old file comes back.
        if proposal.before:
            private_file.write(proposal.path, proposal.before)
        else:
            os.unlink(proposal.path)
        raise errors[0]
    return kept
