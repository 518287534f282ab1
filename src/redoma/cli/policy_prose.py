"""What a policy says, for people and for programs."""

from __future__ import annotations

from redoma.cli.display import harmless
from redoma.cli.prose import SAID
from redoma.i18n import phrased
from redoma.model.decision import Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.pipeline.policy_tools import Explanation, Setting


def as_text(found: Explanation) -> str:
    """The decision, each voice that led to it, and what would follow from it."""
    decision = found.decision
    policy = found.policy
    level = decision.level or decision.assessment.risk.label
    lines = [
        phrased(
            "{0}: {1}, by {2}",
            phrased(level),
            phrased(SAID[decision.verdict]),
            harmless(decision.rule),
        ),
        "",
        phrased(
            "policy     {0}, pack {1}", harmless(policy.name), harmless(decision.assessment.pack)
        ),
        phrased("layers     {0}", ", ".join(map(harmless, policy.sources))),
    ]
    label = phrased("said")
    for voice in sorted(found.voices, key=lambda each: -each.verdict):
        reason = f": {harmless(phrased(voice.reason))}" if voice.reason else ""
        lines.append(
            f"{label:<10} {voice.verdict.label:<7} {harmless(voice.rule)}{reason}"
            + (f" ({harmless(voice.source)})" if voice.source != "built-in" else "")
        )
        label = ""
    if decision.isolation:
        why = harmless(phrased(found.isolation_because))
        level = harmless(decision.isolation)
        lines.append(phrased("isolation  {0} at least ({1})", level, why))
    if decision.preview:
        lines.append(phrased("dry run    first: {0}", harmless(phrased(decision.preview))))
    if decision.verdict is Verdict.CONFIRM:
        asked = policy.confirmation
        lines.append(
            phrased(
                "asks       for {0} s; without an answer: {1}",
                f"{asked.timeout_seconds:g}",
                phrased(asked.default_action.value),
            )
        )
    return "\n".join(lines) + "\n"


def as_json(found: Explanation) -> dict[str, object]:
    """The same for programs."""
    decision = found.decision
    asked = found.policy.confirmation
    return {
        "cmd": decision.assessment.text,
        "risk": decision.assessment.risk.label,
        "level": decision.level,
        "verdict": decision.verdict.label,
        "rule": decision.rule,
        "because": list(decision.because),
        "policy": found.policy.name,
        "pack": decision.assessment.pack,
        "digest": found.policy.digest,
        "layers": list(found.policy.sources),
        "said": [
            {"verdict": v.verdict.label, "rule": v.rule, "reason": v.reason, "source": v.source}
            for v in found.voices
        ],
        "isolation": decision.isolation or None,
        "isolation_because": found.isolation_because or None,
        "dry_run": decision.preview or None,
        "multiple_files": decision.multiple_files,
        "confirmation": {
            "needed": decision.verdict is Verdict.CONFIRM,
            "timeout_seconds": asked.timeout_seconds,
            "default_action": asked.default_action.value,
        },
    }


def settings(found: list[Setting]) -> str:
    """Every key with its value and where it was set, one a line."""
    lines = []
    for each in found:
        lines.append(f"{each.key}: {_value(each.value)}".rstrip() + f"  # {harmless(each.source)}")
    return "\n".join(lines) + "\n"


def _value(value: object) -> str:
    import json

    return "unset" if value is None or value == "" else json.dumps(value)
