"""`redoma doctor`: what this machine can enforce, what is missing, and what would fix it."""

from __future__ import annotations

import sys

from redoma.cli.options import CommandTable, Heading, Option, Sample
from redoma.cli.run_options import LIMITS
from redoma.cli.table import columns_of, filled, row
from redoma.i18n import phrased
from redoma.model.errors import UsageError
from redoma.pipeline.doctor import Diagnosis, examine, known_guarantees
from redoma.pipeline.this_host import SIZES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.cli.options import CommandLine

DOCTOR = CommandTable(
    "doctor",
    "Tries every engine on this machine and says what each can enforce.",
    usage=("[--json]",),
    options=(Heading("options"), Option("--json", "one JSON object")),
    status="0 if the default level can be enforced, 1 if not",
    samples=(Sample("redoma doctor", "what can be enforced here, and what would help"),),
)


@DOCTOR.main
def main(options: CommandLine) -> int:
    """Examines the machine; 1 where the default level cannot be enforced."""
    if options.words:
        raise UsageError(f"nothing is known of {options.words[0]!r} here", hint="redoma doctor")
    found = examine()
    if options.json:
        import json

        sys.stdout.write(json.dumps(as_json(found)) + "\n")
    else:
        sys.stdout.write(fitted(as_text(found), columns_of(sys.stdout)))
    return 0 if found.healthy else 1


def fitted(text: str, width: int | None) -> str:
    """The lines no wider than the screen: what a row says goes on under where it began."""
    if width is None:
        return text
    made = []
    for line in text.splitlines():
        if len(line) <= width:
            made.append(line)
            continue
        # Labels end where two blanks stand; without a label the text begins after its indent.
        indent = len(line) - len(line.lstrip(" "))
        label, gap, rest = line[indent:].partition("  ")
        if gap and rest.strip():
            pad = len(rest) - len(rest.lstrip(" "))
            made += row(line[:indent] + label + " " * pad, rest.strip(), width)
        else:
            parts = filled(line.strip(), width - indent - 2)
            made += [f"{'':<{indent + 2 * (at > 0)}}{part}" for at, part in enumerate(parts)]
    return "\n".join(made) + "\n"


def as_text(found: Diagnosis) -> str:
    """The diagnosis for people."""
    lines = [phrased("levels")]
    for level, engine in found.levels:
        held = phrased("by {0}", engine) if engine else phrased("CANNOT be enforced here")
        lines.append(f"  {level:<10} {held}")
    lines += ["", phrased("guarantees")]
    width = max(18, *(len(phrased(each.words)) for each in known_guarantees()))
    for guarantee in known_guarantees():
        givers = ", ".join(found.givers(guarantee))
        givers = givers or phrased("NOBODY gives this here")
        lines.append(f"  {phrased(guarantee.words):<{width}} {givers}")
    lines += ["", phrased("engines")]
    for report in found.engines:
        missing: dict[str, list[str]] = {}
        for guarantee, why in report.missing:
            missing.setdefault(why, []).append(phrased(guarantee.words))
        state = phrased(report.version or ("works" if report.usable else "not usable"))
        lines.append(f"  {report.name:<11} {state}")
        for why, names in missing.items():
            which = phrased("everything") if not report.usable else ", ".join(names)
            lines.append(phrased("    without {0}: {1}", which, phrased(why)))
        if not report.usable:
            needs = dict(found.needs).get(report.name, "")
            lines.append(phrased("    needs {0}", phrased(needs)))
    lines += ["", phrased("control groups"), f"  {phrased(found.groups)}"]
    lines += ["", phrased("limits of a run in standard, and what raises or lowers each")]
    flags = {limit: flag for flag, limit in LIMITS.items()}
    for name, value, by in found.limits:
        label = phrased(name.replace("_", " "))
        held = f"  {phrased(by)}" if by else ""
        lines.append(f"  {label:<{width}} {_amount(name, value):>9}  {flags[name]}{held}")
    if found.hints:
        lines += ["", phrased("to get more")]
        lines += [f"  {phrased(hint)}" for hint in found.hints]
    return "\n".join(lines) + "\n"


def _amount(name: str, value: float | None) -> str:
    if value is None:
        return phrased("none")
    if name in SIZES:
        return f"{value / (1 << 30):.1f} GiB"
    return str(value)


def as_json(found: Diagnosis) -> dict[str, object]:
    """The diagnosis for programs."""
    return {
        "healthy": found.healthy,
        "levels": dict(found.levels),
        "why_not": dict(found.why_not),
        "guarantees": {g.value: list(found.givers(g)) for g in known_guarantees()},
        "engines": {
            report.name: {
                "version": report.version,
                "usable": report.usable,
                "guarantees": [g.value for g in known_guarantees() if g in report.guarantees],
                "missing": {g.value: why for g, why in report.missing},
                "mechanisms": {g.value: how for g, how in report.mechanisms},
                "hints": list(report.hints),
            }
            for report in found.engines
        },
        "control_groups": found.groups,
        "limits": {name: value for name, value, _ in found.limits},
        "limited_by": {name: by for name, _, by in found.limits if by},
        "hints": list(found.hints),
    }
