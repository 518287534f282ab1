"""`redoma policy`: start a policy, check it, try it, and see what it says to a command."""

from __future__ import annotations

import os
import sys

from redoma.base.text import harmless
from redoma.cli.options import CommandTable, Heading, Option, Sample
from redoma.cli.prose import SAID
from redoma.i18n import phrased
from redoma.model.decision import Verdict
from redoma.model.errors import PolicyError, UsageError
from redoma.model.value import replace
from redoma.pipeline.decisions.check import refuse_broken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.cli.options import CommandLine
    from redoma.pipeline.decisions.policy_tools import Explanation, Setting, Tried
    from redoma.pipeline.policy_suggestions import Proposal

POLICY = CommandTable(
    "policy",
    "Starts a policy, checks it, tries it, and says what it says to a command.",
    options=(
        Heading("options"),
        Option("--json", "one JSON object instead of prose"),
        Option("--user", "init: your own policy, for every project"),
        Option("--apply", "suggest: writes the proposal; the old file is kept beside it as .old"),
        Option("--cwd DIR", "the directory whose policies apply (default: this one)"),
        Option(
            "--as WHOSE",
            "lint: whose file it is, user or project (default: a project's)",
            choices="user project",
        ),
        Option(
            "--pack PACK",
            "explain: the rule pack (default: the policy's own)",
            choices="default terminal skill",
        ),
        Option("--phase PHASE", "explain: the phase of the workflow"),
    ),
    status=(
        "0 good; 1 lint found an error or a test failed; explain: 0 allowed, 10 needs confirmation,"
        " 20 denied; 2 the command line cannot be understood; 125 a policy cannot be used."
    ),
    samples=(
        Sample("redoma policy explain 'git push'", "what is said to it, and by which rule"),
        Sample("redoma policy lint", "whether the policies that apply here are right"),
        Sample("redoma policy suggest", "what you approved again and again, as an allow list"),
    ),
)


def _where(given: CommandLine) -> tuple[str, str | None]:
    """The directory whose policies apply, and the caller's home."""
    return os.path.abspath(given.values.get("--cwd", ".")), os.environ.get("HOME")


def _json(content: object) -> None:
    import json

    sys.stdout.write(json.dumps(content) + "\n")


@POLICY.subcommand(
    "init", "[--user]", "writes a commented sandbox.yaml here (or your own); never over another"
)
def _init(given: CommandLine) -> int:
    from redoma.pipeline.decisions.policies import NAME, user_file
    from redoma.pipeline.decisions.policy_tools import write_new

    cwd, home = _where(given)
    own = "--user" in given.flags
    path = user_file(home) if own else os.path.join(cwd, NAME)
    write_new(path, user=own)
    if given.json:
        _json({"written": path})
    else:
        sys.stdout.write(f"{harmless(path)}\n")
    return 0


@POLICY.subcommand(
    "lint", "[--as user|project] [FILE]", "checks the policies that apply here, or one file", most=1
)
def _lint(given: CommandLine) -> int:
    from redoma.pipeline.decisions import policies
    from redoma.pipeline.decisions.policy_tools import lint

    cwd, home = _where(given)
    origin = given.values.get("--as", "project")
    if origin not in ("user", "project"):
        raise UsageError(f"--as is user or project, not {origin!r}", hint=POLICY.hint)
    errors: list[PolicyError] = []
    if given.words:
        paths = [given.words[0]]
        if not os.path.lexists(paths[0]):
            raise UsageError(f"there is no file {paths[0]}", hint="redoma policy init")
        own = os.path.realpath(policies.user_file(home)) == os.path.realpath(paths[0])
        errors = lint(paths[0], origin="user" if own else origin, home=home)
    else:
        paths = []
        try:
            paths = [row[0] for row in policies.found(cwd, home=home)]
            policies.load_policy(cwd, home=home)
        except PolicyError as error:
            errors = [error]
    if given.json:
        _json({"files": paths, "errors": [problem.as_dict() for problem in errors]})
        return 1 if errors else 0
    for problem in errors:
        from redoma.cli import complain

        complain(problem)
    if not errors:
        for path in paths:
            sys.stdout.write(phrased("{0}: good\n", harmless(path)))
        if not paths:
            sys.stdout.write(phrased("no policy file applies here: what is built in decides\n"))
    return 1 if errors else 0


@POLICY.subcommand(
    "test",
    "[FILE]",
    "runs the `tests:` of the policies that apply here, or of one file alone",
    most=1,
)
def _test(given: CommandLine) -> int:
    from redoma.pipeline.decisions.policies import load_policy
    from redoma.pipeline.decisions.policy_tools import policy_of_file, tried

    cwd, home = _where(given)
    policy = policy_of_file(given.words[0]) if given.words else load_policy(cwd, home=home)
    results = tried(policy, cwd=cwd, home=home)
    failed = [each for each in results if not each.holds]
    if given.json:
        _json(
            {
                "tests": len(results),
                "failed": [
                    {
                        "command": each.example.command,
                        "at": each.example.source,
                        "expected": each.example.expect.label,
                        "verdict": each.decision.verdict.label,
                        "isolation": each.decision.isolation,
                        "rule": each.decision.rule,
                    }
                    for each in failed
                ],
            }
        )
        return 1 if failed else 0
    for each in failed:
        sys.stdout.write(f"{_unexpected(each)}\n")
    sys.stdout.write(phrased("{0} of {1} hold\n", len(results) - len(failed), len(results)))
    return 1 if failed else 0


def _unexpected(tried: Tried) -> str:
    """An example of a policy that does not hold, in a line."""
    expected, decision = tried.example, tried.decision
    got = phrased("{0} by {1}", decision.verdict.label, decision.rule)
    if decision.verdict is expected.expect:
        got = phrased("isolation of nobody")
        if decision.isolation:
            got = phrased("isolation {0}", decision.isolation)
    wanted = f"{expected.expect.label} {expected.isolation}".rstrip()
    source, command = harmless(expected.source), harmless(expected.command)
    return phrased("{0}: {1}: expected {2}, got {3}", source, command, wanted, got)


@POLICY.subcommand(
    "explain",
    "COMMAND",
    "what is said to a command, by which rule of which file, and why",
    most=None,
)
def _explain(given: CommandLine) -> int:
    from redoma.cli.check import STATUS
    from redoma.pipeline.decisions.policy_tools import explain
    from redoma.pipeline.enclosed_check import with_enclosed

    if not given.words or not " ".join(given.words).strip():
        raise UsageError("there is no command to explain", hint="redoma policy explain 'git push'")
    text = given.words[0]
    if len(given.words) > 1:
        import shlex

        text = shlex.join(given.words)
    cwd, home = _where(given)
    found = explain(
        text,
        pack=given.values.get("--pack", ""),
        cwd=cwd,
        home=home,
        phase=given.values.get("--phase", ""),
    )
    found = with_enclosed(found, pack=given.values.get("--pack", ""), cwd=cwd, home=home)
    found = replace(found, decision=refuse_broken(found.decision))
    if given.json:
        _json(explanation_json(found))
    else:
        sys.stdout.write(explanation_text(found))
    return STATUS[found.decision.verdict]


@POLICY.subcommand("show", "", "every key with its value in force and the file that set it")
def _show(given: CommandLine) -> int:
    from redoma.pipeline.decisions.policy_tools import shown

    settings = shown(*_where(given))
    if given.json:
        _json({each.key: {"value": each.value, "source": each.source} for each in settings})
    else:
        sys.stdout.write(settings_text(settings))
    return 0


@POLICY.subcommand(
    "suggest",
    "[--apply]",
    "proposes an allow list of what a person approved again and again, as a diff; never for what"
    " is dangerous or worse, never after one approval",
)
def _suggest(given: CommandLine) -> int:
    from redoma.pipeline.policy_suggestions import applied, suggested

    cwd, home = _where(given)
    proposal = suggested(cwd=cwd, home=home)
    writes = "--apply" in given.flags
    kept = applied(proposal, home=home) if writes else ""
    if given.json:
        _json(
            {
                "file": proposal.path,
                "suggestions": [
                    {"command": s.command, "approved": s.approved, "risk": s.risk.label}
                    for s in proposal.suggestions
                ],
                "diff": _diff(proposal),
                "written": writes and bool(proposal.suggestions),
                "old": kept or None,
            }
        )
        return 0
    for each in proposal.suggestions:
        sys.stdout.write(
            phrased(
                "# approved {0} times, {1}: {2}\n",
                each.approved,
                phrased(each.risk.label),
                harmless(each.command),
            )
        )
    sys.stdout.write(harmless_lines(_diff(proposal)))
    if not proposal.suggestions:
        sys.stdout.write(phrased("nothing was approved so often that a rule would help\n"))
    elif writes:
        sys.stderr.write(phrased("redoma: written: {0}\n", harmless(proposal.path)))
    else:
        sys.stderr.write(phrased("hint: redoma policy suggest --apply\n"))
    return 0


def _diff(proposal: Proposal) -> str:
    import difflib

    path = proposal.path
    before, after = proposal.before.splitlines(), proposal.after.splitlines()
    found = difflib.unified_diff(before, after, path, path, lineterm="")
    return "".join(f"{line}\n" for line in found)


def harmless_lines(text: str) -> str:
    """A text of several lines with nothing in it that acts on a terminal."""
    return "".join(f"{harmless(line)}\n" for line in text.splitlines())


@POLICY.subcommand("schema", "", "the JSON Schema of sandbox.yaml, for editors")
def _schema(given: CommandLine) -> int:
    import json

    from redoma.pipeline.decisions.policy_tools import json_schema

    indent = None if given.json else 2
    sys.stdout.write(json.dumps(json_schema(), indent=indent) + "\n")
    return 0


def explanation_text(found: Explanation) -> str:
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
        lines += _enclosed_lines(found)
    return "\n".join(lines) + "\n"


def _enclosed_lines(found: Explanation) -> list[str]:
    """What a run of it in a sandbox here would be asked, and what holds the rest."""
    if found.enclosed is None:
        why = harmless(found.not_enclosed)
        return [phrased("enclosed   nothing here could: {0}", why)] if why else []
    lines = [phrased("enclosed   {0}", phrased(SAID[found.enclosed.verdict]))]
    for each in found.enclosed.held:
        reason = harmless(phrased(each.finding.reason))
        lines.append(" " * 11 + phrased("held by {0}: {1}", phrased(each.by.words), reason))
    return lines


def explanation_json(found: Explanation) -> dict[str, object]:
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
        "enclosed": found.enclosed
        and {
            "verdict": found.enclosed.verdict.label,
            "held": [
                {"rule": each.finding.rule, "by": each.by.value} for each in found.enclosed.held
            ],
        },
        "confirmation": {
            "needed": decision.verdict is Verdict.CONFIRM,
            "timeout_seconds": asked.timeout_seconds,
            "default_action": asked.default_action.value,
        },
    }


def settings_text(found: list[Setting]) -> str:
    """Every key with its value and where it was set, one a line."""
    lines = []
    for each in found:
        lines.append(f"{each.key}: {_value(each.value)}".rstrip() + f"  # {harmless(each.source)}")
    return "\n".join(lines) + "\n"


def _value(value: object) -> str:
    import json

    return "unset" if value is None or value == "" else json.dumps(value)
