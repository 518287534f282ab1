"""Conditions: what they mean, what they can ask, and how they say where they are wrong."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redoma.judge.policy.conditions import DEEPEST, NAMES, PHRASES, ConditionError, clause, parse
from tests.unit.judge.policy.asked import PROJECT, decided


def blocked(command: str, condition: str, **known: object) -> bool:
    """Whether a rule that blocks by this condition stops the command."""
    text = (
        f"environment: staging\nrules:\n- name: no\n  condition: {condition!r}\n  action: block\n"
    )
    return decided(command, text, **known).rule == "no"


def allowed(command: str, condition: str) -> bool:
    """Whether a policy that allows by this condition alone lets the command pass."""
    rule = f"[{{name: yes, condition: {condition!r}, action: allow}}]"
    return decided(command, f"policy: {{name: mine, rules: {rule}}}\n").rule == "yes"


@pytest.mark.requirement("K10")
@pytest.mark.parametrize(
    ("condition", "command", "holds"),
    [
        ("safety_level == safe", "ls", True),
        ("safety_level == safe", "mkdir x", False),
        ("safety_level != safe", "mkdir x", True),
        ("safety_level in [safe, moderate]", "mkdir x", True),
        ("safety_level not in [safe, moderate]", "mkdir x", False),
        ("safety_level >= elevated", "git push", True),
        ("safety_level > elevated", "git push", False),
        ("safety_level <= moderate", "git push", False),
        ("safety_level < elevated", "ls", True),
        ("effects == publishes", "git push", True),
        ("effects == schema_change", "psql -c 'create table t (a int)'", True),
        ("effects in [deletes, kills]", "ls", False),
        ("program == git", "cd x && git status", True),
        ("program == git", "sudo -u me git status", True),
        ("program == git", "bash -c 'git status'", True),
        ("program == git", "echo git", False),
        ("program in [make, ninja]", "ls; ninja", True),
        ("path == src", "cat src/deep/a.py", True),
        ("path == 'src/*.py'", "cat src/a.py", True),
        ("path == 'src/*.py'", "cat src/deep/a.py", False),
        ("path in ['src/**']", "rm src/deep/a.py", True),
        ("path in [~/.ssh]", "cd ~/.ssh && cat config", True),
        ("path in [/etc]", "cd / && cat etc/hosts", True),
        ("path in ['${PROJECT_ROOT}/docs']", "touch docs/a", True),
        ("path in ['${PROJECT_ROOT}/docs']", "touch docs-other/a", False),
        ("path in [secret.txt]", "cat *", True),
        ("path in [~/.ssh]", "cat ~/$x", True),
        ("host == github.com", "curl https://github.com/a", True),
        ("host == '*.github.com'", "curl https://api.github.com", True),
        ("host == '*.github.com'", "curl https://evilgithub.com", False),
        ("host != github.com", "curl https://github.com/a", False),
        ("host != github.com", "curl https://github.com https://other.example", True),
        ("host == github.com", "curl $url", True),
        ("environment == staging", "ls", True),
        ("environment >= production", "ls", False),
        ("workspace == ~/project", "ls", True),
        ("workspace == ~/other", "ls", False),
        ("multiple_files", "rm a b", True),
        ("multiple_files", "rm a", False),
        ("not multiple_files", "rm a", True),
        ("files_affected > 2", "rm a b c", True),
        ("files_affected > 3", "rm a b c", False),
        ("files_affected > 1000", "rm -r a", True),
        ("external_network", "curl https://a.example", True),
        ("external_network", "curl http://localhost:8000", False),
        ("program == ls and safety_level == safe", "ls", True),
        ("program == cp or program == ls", "ls", True),
        ("not (program == cp or program == ls)", "ls", False),
        ("program == ls and not program == ls or safety_level == safe", "ls", True),
    ],
)
def test_a_condition_means_what_it_says(condition: str, command: str, holds: bool) -> None:
    assert blocked(command, condition) is holds


@pytest.mark.requirement("K13")
@pytest.mark.parametrize(
    ("condition", "known", "holds"),
    [
        ("phase == deploy", {"phase": "deploy"}, True),
        ("phase == deploy", {"phase": "build"}, False),
        ("profile in [strict, maximum]", {"profile": "strict"}, True),
        ("first_execution", {"first_execution": True}, True),
        ("first_execution", {"first_execution": None}, False),
        ("files_affected >= 11", {"files_affected": 11}, True),
        ("files_affected >= 11", {"files_affected": 10}, False),
    ],
)
def test_circumstances_can_be_asked_for(
    condition: str, known: dict[str, object], holds: bool
) -> None:
    assert blocked("ls", condition, **known) is holds


@pytest.mark.parametrize(
    ("condition", "command", "passes"),
    [
        ("program in [ls, cat]", "ls; cat a", True),
        ("program in [ls, cat]", "ls; rm a", False),
        ("program in [ls, cat]", "$tool a", False),
        ("path in ['src/**']", "touch src/a src/b", True),
        ("path in ['src/**']", "touch src/a other", False),
        ("path in ['src/**']", "touch src/$name", False),
        ("path in ['src/**']", "touch src/../other", False),
        ("host == github.com", "curl https://github.com", True),
        ("host == github.com", "curl https://github.com https://evil.example", False),
        ("host == github.com", "curl $url", False),
        ("host == github.com", "curl https://github.com@evil.example", False),
        ("not path in [/etc]", "touch a", True),
        ("not path in [/etc]", "cat $file", False),
        ("effects in [reads, network]", "rm a", False),
    ],
)
def test_what_allows_has_to_hold_for_everything_in_the_line(
    condition: str, command: str, passes: bool
) -> None:
    assert allowed(command, condition) is passes


def test_a_dry_run_lets_nothing_else_of_the_line_pass() -> None:
    rule = "{name: look, condition: program == cp, action: dry_run}"
    own = f"policy: {{name: mine, rules: [{rule}]}}\n"
    both = decided("cp a b; rm c", own)
    assert (both.verdict.label, both.rule, both.preview) == ("deny", "no_rule", "rule look")
    alone = decided("cp a b", own)
    assert (alone.verdict.label, alone.rule, alone.preview) == ("allow", "look", "rule look")
    added = decided("cp a b; rm c", f"rules: [{rule}]\n")
    assert (added.verdict.label, added.preview) == ("allow", "rule look")


@pytest.mark.requirement("K3")
@pytest.mark.parametrize(
    ("phrase", "command"),
    [
        ("dangerous", "rm -rf ~/x"),
        ("elevated", "git push"),
        ("elevated (if multiple files)", "rm -r build"),
        ("multiple files", "rm a b"),
        ("external network", "curl https://a.example"),
        ("schema changes", "psql -c 'create table t (a int)'"),
        ("publishing", "git push"),
        ("deployment", "kubectl apply -f a.yaml"),
        ("program == terraform", "terraform plan"),
    ],
)
def test_what_is_required_is_asked_for(phrase: str, command: str) -> None:
    decision = decided(
        command, f"policy: isolation-only\nconfirmation:\n  required_for: [{phrase!r}]\n"
    )
    assert (decision.verdict.label, decision.rule) == ("confirm", "confirmation.required_for")
    quiet = decided("ls", f"policy: isolation-only\nconfirmation:\n  required_for: [{phrase!r}]\n")
    assert quiet.verdict.label == "log"


@pytest.mark.requirement("K3")
@pytest.mark.parametrize(
    "command",
    [
        *("rm a b", "curl https://a.example", "psql -c 'create table t (a int)'", "git push"),
        "kubectl apply -f a.yaml",
    ],
)
def test_the_skill_pack_starts_from_its_documents_confirmations(command: str) -> None:
    assert decided(command, "pack: skill\n").verdict.label in ("confirm", "deny")
    assert decided("ls", "pack: skill\n").verdict.label == "allow"


@pytest.mark.parametrize(
    ("text", "at", "says", "hint"),
    [
        ("safty_level == safe", 0, "unknown name 'safty_level'", "did you mean safety_level?"),
        ("safety_level == sfe", 16, "safety_level is never 'sfe'", "did you mean safe?"),
        ("program = git", 8, "'=' has no meaning in a condition", ""),
        ("program <= git", 8, "program has no order", "program == … or program in [ … ]"),
        ("program == git nad path == a", 15, "'nad' is not expected here", "and, or"),
        ("(program == git", 15, "a ) is missing", ""),
        ("program in git", 11, "a list in [ ] is expected", "program in [one, other]"),
        ("program in [git", 15, "a ] is missing", ""),
        ("program not git", 12, "`not` in a comparison is followed by `in`", ""),
        ("multiple_files == yes", 15, "multiple_files stands alone: `multiple_files` or `not multiple_files`", ""),
        ("files_affected > many", 17, "files_affected is a number, not 'many'", ""),
        ("__import__('os')", 0, "unknown name '__import__'", "one of: " + ", ".join(NAMES)),
        ("", 0, "the condition ends too early", "names: " + ", ".join(NAMES)),
        ("program ==", 10, "a value is expected", ""),
        ("'git' == program", 0, "\"'git'\" is no name", "names: " + ", ".join(NAMES)),
    ],
)  # fmt: skip
def test_a_wrong_condition_says_where_and_what_would_be_right(
    text: str, at: int, says: str, hint: str
) -> None:
    with pytest.raises(ConditionError) as raised:
        parse(text)
    assert (raised.value.at, str(raised.value), raised.value.hint) == (at, says, hint)


@pytest.mark.parametrize("text", ["(" * 4000, "not " * (DEEPEST + 2) + "multiple_files"])
def test_a_condition_nested_too_deeply_is_refused(text: str) -> None:
    with pytest.raises(ConditionError, match="nested too deeply"):
        parse(text)


@settings(deadline=None)
@given(st.text(alphabet="()[],=!<>'\" \n" + "abinotrd_" + "programhost", max_size=40))
def test_any_text_is_a_condition_or_a_condition_error(text: str) -> None:
    try:
        tree = parse(text)
    except ConditionError as error:
        assert 0 <= error.at <= len(text)
    else:
        assert isinstance(tree, tuple)


def test_every_phrase_is_a_condition() -> None:
    for phrase, meaning in PHRASES.items():
        assert clause(phrase.upper()) == parse(meaning)
    assert clause("commands affecting more than 3 files") == parse("files_affected > 3")
    with pytest.raises(ConditionError) as raised:
        clause("publising")
    assert raised.value.hint == "did you mean 'publishing'?"


def test_the_workspace_of_the_tests_is_the_one_that_is_asked_for() -> None:
    assert blocked("ls", f"workspace == {PROJECT}")
