"""`redoma check --explain`: the facts, what found each of them and what graded it."""

from __future__ import annotations

from redoma.base.text import harmless
from redoma.i18n import phrased

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from redoma.pipeline.decisions.explanations import ExplainedFact

_LONGEST = 60


def facts_text(text: str, found: Sequence[ExplainedFact]) -> str:
    """A block for each fact: what happens to what, the part, the card or handler, the rule."""
    lines = ["", phrased("facts")]
    for each in found:
        fact = each.fact
        what = " ".join([fact.effect.value, *(_shown(t.text) for t in fact.targets)])
        marks = ", ".join(sorted(fact.tags))
        lines.append(f"  {what}" + (f" ({harmless(marks)})" if marks else ""))
        part = _shown(text[fact.span[0] : fact.span[1]])
        lines.append(phrased("    in     {0}", part))
        lines.append(phrased("    card   {0}", each.card or _without_card(fact.program)))
        if each.handler:
            lines.append(phrased("    code   {0}", each.handler))
        if each.finding is None:
            lines.append(phrased("    rule   none: nothing is said to it"))
        else:
            level = phrased(each.finding.risk.label)
            lines.append(phrased("    rule   {0}: {1} ({2})", each.finding.rule, level, each.rule))
    if not found:
        lines.append(phrased("  none"))
    return "\n".join(lines) + "\n"


def _without_card(program: str) -> str:
    if not program:
        return phrased("none: the shell itself")
    return phrased("none: {0} is not known, or a part of the shell", harmless(program))


def _shown(text: str) -> str:
    short = text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
    return harmless(short.replace("\0", "…").replace("\n", " "))


def facts_json(text: str, found: Sequence[ExplainedFact]) -> list[dict[str, object]]:
    """The same for programs."""
    return [
        {
            "effect": each.fact.effect.value,
            "program": each.fact.program or None,
            "targets": [
                {"text": t.text.replace("\0", "…"), "place": t.place.value}
                for t in each.fact.targets
            ],
            "tags": sorted(each.fact.tags),
            "detail": each.fact.detail.replace("\0", "…") or None,
            "span": list(each.fact.span),
            "part": text[each.fact.span[0] : each.fact.span[1]],
            "card": each.card or None,
            "handler": each.handler or None,
            "rule": each.finding.rule if each.finding is not None else None,
            "risk": each.finding.risk.label if each.finding is not None else None,
            "at": each.rule or None,
        }
        for each in found
    ]
