"""A decision as a person reads it: level, decision, and each reason under its part."""

from __future__ import annotations

import os

from redoma.cli.display import harmless
from redoma.cli.excerpt import INDENT, Note, excerpt, wrap
from redoma.i18n import phrased
from redoma.model.decision import Verdict
from redoma.model.risk import Risk
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

    from redoma.model.decision import Decision
    from redoma.model.risk import Finding

WIDTH = 100  # where there is no terminal to ask
MOST_NOTES = 20

SAID = {
    Verdict.ALLOW: "allowed",
    Verdict.LOG: "allowed, and logged",
    Verdict.CONFIRM: "needs confirmation",
    Verdict.DENY: "denied",
}
PAINT = {
    Risk.SAFE: "\x1b[32m",
    Risk.MODERATE: "\x1b[36m",
    Risk.ELEVATED: "\x1b[33m",
    Risk.DANGEROUS: "\x1b[31m",
    Risk.FORBIDDEN: "\x1b[1;31m",
}


class Screen(Value):
    """What the reader's screen can do."""

    width: int = WIDTH
    colour: bool = False


def screen(stream: TextIO) -> Screen:
    """The screen behind a stream; colour only on a terminal whose user has not said NO_COLOR."""
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        return Screen()
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Screen(width=max(40, min(columns or WIDTH, 160)), colour=wanted)


def report(decision: Decision, on: Screen) -> str:
    """The whole answer, ending in a newline."""
    found = decision.assessment
    head = f"{phrased(decision.level or found.risk.label)}: {phrased(SAID[decision.verdict])}"
    if on.colour:
        head = f"{PAINT[found.risk]}{head}\x1b[0m"
    by = phrased("(policy {0}, pack {1})", harmless(decision.policy), harmless(found.pack))
    lines = [f"{head}  {by}"]
    shown = found.findings[:MOST_NOTES]
    if shown:
        said: set[str] = set()
        notes = [_note(finding, on, said) for finding in shown]
        lines += ["", *excerpt(found.text, notes, on.width)]
    if len(found.findings) > len(shown):
        more = len(found.findings) - len(shown)
        lines.append(INDENT + phrased("and {0} more (--json shows all)", more))
    lines += _other_reasons(decision, on)
    return "\n".join(lines) + "\n"


def _note(finding: Finding, on: Screen, said: set[str]) -> Note:
    """A finding's note; a safer way that was `said` already is not said again."""
    instead = "" if finding.alternative in said else harmless(phrased(finding.alternative))
    said.add(finding.alternative)
    return Note(
        finding.span,
        f"{phrased(finding.risk.label)}: {harmless(phrased(finding.reason))} [{finding.rule}]",
        below=(phrased("instead: {0}", instead),) if instead else (),
        paint=PAINT[finding.risk] if on.colour else "",
    )


def _other_reasons(decision: Decision, on: Screen) -> list[str]:
    """What the policy says beyond the findings, where it says anything."""
    told = {finding.reason for finding in decision.assessment.findings}
    own = [harmless(phrased(reason)) for reason in decision.because if reason not in told]
    lines = [part for reason in own for part in wrap(f"{INDENT}{reason}", on.width)]
    return ["", *lines] if lines else []
