"""`redoma policy`: start a policy, check it, try it, and see what it says to a command."""

from __future__ import annotations

import os
import sys

from redoma.cli import options
from redoma.cli.prose import SAID
from redoma.i18n import phrased
from redoma.model.decision import Verdict
from redoma.model.display import harmless
from redoma.model.errors import PolicyError, UsageError
from redoma.model.value import replace
from redoma.pipeline.check import refuse_broken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.pipeline.policy_tools import Explanation, Setting, Tried

USAGE = "redoma policy init|lint|test|explain|show|schema"
HELP = f"""usage: {USAGE}

  init [--user]        writes a commented sandbox.yaml here (or your own); never over another
  lint [FILE]          checks the policies that apply here, or one file
  test [FILE]          runs the `tests:` of the policies that apply here, or of one file alone
  explain COMMAND      what is said to a command, by which rule of which file, and why
  show                 every key with its value in force and the file that set it
  schema               the JSON Schema of sandbox.yaml, for editors

  --json               one JSON object instead of prose
  --cwd DIR            the directory whose policies apply (default: this one)
  --as user|project    lint: whose file it is (default: a project's)
  --pack PACK          explain: the rule pack (default: the policy's own)
  --phase PHASE        explain: the phase of the workflow
  -h, --help           this text

exit status: 0 good; 1 lint found an error or a test failed; explain: 0 allowed, 10 needs
confirmation, 20 denied; 2 the command line cannot be understood; 125 a policy cannot be used.
"""
VALUES = ("--cwd", "--as", "--pack", "--phase")


def main(arguments: list[str]) -> int:
    """Does one of the things there are to do with a policy."""
    given = options.read(
        arguments,
        flags=("--json", "--user", "-h", "--help"),
        values=VALUES,
        usage=USAGE,
        words_hint="redoma policy --help",
    )
    if given.flags & {"-h", "--help"}:
        sys.stdout.write(phrased(HELP))
        return 0
    name = given.words[0] if given.words else ""
    command = COMMANDS.get(name)
    if command is None:
        meant = options.nearest(name, list(COMMANDS))
        hint = f"redoma policy {meant}" if meant else USAGE
        told = f"there is no redoma policy {name}" if name else "nothing to do"
        raise UsageError(told, hint=hint)
    given.words = given.words[1:]
    return command(given)


def _where(given: options.Options) -> tuple[str, str | None]:
    """The directory whose policies apply, and the caller's home."""
    return os.path.abspath(given.values.get("--cwd", ".")), os.environ.get("HOME")


def _at_most(given: options.Options, most: int) -> None:
    if len(given.words) > most:
        raise UsageError(f"{given.words[most]!r} is one word too many", hint=USAGE)


def _json(content: object) -> None:
    import json

    sys.stdout.write(json.dumps(content) + "\n")


def _init(given: options.Options) -> int:
    from redoma.pipeline.policies import NAME, user_file
    from redoma.pipeline.policy_tools import write_new

    _at_most(given, 0)
    cwd, home = _where(given)
    own = "--user" in given.flags
    path = user_file(home) if own else os.path.join(cwd, NAME)
    write_new(path, user=own)
    if "--json" in given.flags:
        _json({"written": path})
    else:
        sys.stdout.write(f"{harmless(path)}\n")
    return 0


def _lint(given: options.Options) -> int:
    from redoma.pipeline import policies
    from redoma.pipeline.policy_tools import lint

    _at_most(given, 1)
    cwd, home = _where(given)
    origin = given.values.get("--as", "project")
    if origin not in ("user", "project"):
        raise UsageError(f"--as is user or project, not {origin!r}", hint=USAGE)
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
    if "--json" in given.flags:
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


def _test(given: options.Options) -> int:
    from redoma.pipeline.policies import load_policy
    from redoma.pipeline.policy_tools import policy_of_file, tried

    _at_most(given, 1)
    cwd, home = _where(given)
    policy = policy_of_file(given.words[0]) if given.words else load_policy(cwd, home=home)
    results = tried(policy, cwd=cwd, home=home)
    failed = [each for each in results if not each.holds]
    if "--json" in given.flags:
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


def _explain(given: options.Options) -> int:
    from redoma.cli.check import STATUS
    from redoma.pipeline.policy_tools import explain

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
    found = replace(found, decision=refuse_broken(found.decision))
    if "--json" in given.flags:
        _json(explanation_json(found))
    else:
        sys.stdout.write(explanation_text(found))
    return STATUS[found.decision.verdict]


def _show(given: options.Options) -> int:
    from redoma.pipeline.policy_tools import shown

    _at_most(given, 0)
    settings = shown(*_where(given))
    if "--json" in given.flags:
        _json({each.key: {"value": each.value, "source": each.source} for each in settings})
    else:
        sys.stdout.write(settings_text(settings))
    return 0


def _schema(given: options.Options) -> int:
    import json

    from redoma.pipeline.policy_tools import json_schema

    _at_most(given, 0)
    indent = None if "--json" in given.flags else 2
    sys.stdout.write(json.dumps(json_schema(), indent=indent) + "\n")
    return 0


COMMANDS: dict[str, Callable[[options.Options], int]] = {
    "init": _init,
    "lint": _lint,
    "test": _test,
    "explain": _explain,
    "show": _show,
    "schema": _schema,
}


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
    return "\n".join(lines) + "\n"


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
