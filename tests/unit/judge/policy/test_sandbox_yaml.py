"""A policy that is wrong is an error that names its line, its column and what would be right."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from redoma.judge.policy.sandbox_yaml import read
from redoma.judge.policy.schema import KEYS, json_schema, template
from redoma.judge.policy.tree import LARGEST
from redoma.model.errors import PolicyError, PolicySyntax, UnknownKey
from tests.unit.judge.policy.asked import DOCUMENT, ENVIRONMENT


def error(text: str | bytes) -> PolicySyntax:
    with pytest.raises(PolicySyntax) as raised:
        read(text, path="sandbox.yaml")
    return raised.value


@pytest.mark.requirement("K12")
@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("polcy: strict\n", "1:1: unknown key polcy", "did you mean policy?"),
        ("isolation:\n  defaultlevel: strict\n", "2:3: unknown key isolation.defaultlevel", "did you mean isolation.default_level?"),
        ("timeout_seconds: 5\n", "1:1: unknown key timeout_seconds", "did you mean confirmation.timeout_seconds?"),
        ("policy: stict\n", "1:9: there is no policy 'stict'", "did you mean strict?; or write your own"),
        ("environment: prod\n", "1:14: environment cannot be 'prod'", "did you mean production?"),
        ("policy: strict\npolicy: default\n", "2:1: the key policy is given twice, also at sandbox.yaml:1:1", ""),
        ("isolation: {default_level: strict}\nsandbox: {default_level: minimal}\n", "2:11: isolation.default_level is given twice, also at sandbox.yaml:1:13", ""),
        ("isolation: strict\n", "1:12: isolation is made of keys with values", ""),
        ("logging:\n  redact_secrets: maybe\n", "2:19: logging.redact_secrets is true or false, not 'maybe'", ""),
        ("resources:\n  max_memory_mb: lots\n", "2:18: resources.max_memory_mb is a whole number, not 'lots'", ""),
        ("resources:\n  max_memory_mb: 0\n", "2:18: resources.max_memory_mb lies between 1 and 1099511627776", ""),
        ("resources:\n  max_memory_mb: -1\n", "2:18: resources.max_memory_mb is a whole number, not '-1'", ""),
        ("resources:\n  max_memory_mb:\n", "2:17: resources.max_memory_mb has no value", ""),
        ("confirmation:\n  timeout_seconds: .inf\n", "2:20: confirmation.timeout_seconds is a number of seconds, not '.inf'", ""),
        ("confirmation:\n  default_action: approve\n", "2:19: silence is never a yes", "default_action: deny"),
        ("confirmation:\n  required_for: dangerous\n", "2:17: confirmation.required_for is a list", "required_for:\n  - …"),
        ("confirmation:\n  required_for: [dangrous]\n", "2:18: 'dangrous' is neither a condition nor known", "did you mean 'dangerous'?"),
        ("network:\n  allowed_hosts: ['*']\n", "2:19: network.allowed_hosts: '*' would allow every host", "github.com, *.example.org"),
        ("network:\n  allowed_hosts: ['*.com']\n", "2:19: network.allowed_hosts: '*.com' is too broad: it would allow every host below one ending", "github.com, *.example.org"),
        ("network:\n  allowed_hosts: ['https://a.example']\n", "2:19: network.allowed_hosts: 'https://a.example' is not a host name: no scheme or port", "github.com, *.example.org"),
        ("network:\n  blocked_ports: [70000]\n", "2:19: network.blocked_ports lies between 1 and 65535", ""),
        ("filesystem:\n  allowed_paths: [/]\n", "2:19: filesystem.allowed_paths: '/' would allow everything", ""),
        ("filesystem:\n  blocked_paths: ['${HOME}/x']\n", "2:19: filesystem.blocked_paths: only ${PROJECT_ROOT} and ~ are replaced", "${PROJECT_ROOT}"),
        ("filesystem:\n  blocked_paths: [../x]\n", "2:19: filesystem.blocked_paths: '../x' is no plain path", ""),
        ("allowlist_extensions: ['npm run lint; ls']\n", "1:24: allowlist_extensions: 'npm run lint; ls' is not the plain words of one command", "npm run lint"),
        ("allowlist_extensions: ['']\n", "1:24: allowlist_extensions: '' is not the plain words of one command", "npm run lint"),
        ("blocklist_extensions: ['(a']\n", "1:24: blocklist_extensions: '(a' is no regular expression: missing ), unterminated subpattern at position 0", ""),
        ("blocklist_extensions: ['(a{99}){99}']\n", "1:24: blocklist_extensions: '(a{99}){99}' repeats too much", ""),
        ("rules:\n- name: a\n  condition: program == a\n", "2:3: a rule has a action", ""),
        ("rules:\n- name: a\n  condition: progam == a\n  action: block\n", "3:14: unknown name 'progam'", "did you mean program?"),
        ("rules:\n- name: a\n  condition: 'program == a and pth == b'\n  action: block\n", "3:32: unknown name 'pth'", "did you mean path?"),
        ("rules:\n- name: a\n  condition: program == a\n  action: blok\n", "4:11: there is no action 'blok'", "did you mean block?"),
        ("rules:\n- name: a\n  when: x\n", "3:3: unknown key when in a rule", "one of: name, condition, action"),
        ("policy: {name: mine}\n", "1:9: a policy of your own has a name and at least one rule", ""),
        ("isolation:\n  phases: {build: hard}\n", "2:19: isolation.phases.build cannot be 'hard'", "one of: minimal, standard, strict, maximum, or the file of a profile"),
        ("tests: [{command: ls}]\n", "1:9: a test has a command and what to expect", ""),
        ("tests: [{command: ls, expect: alow}]\n", "1:31: expect cannot be 'alow'", "did you mean allow?"),
        ("- policy\n", "1:1: a policy is made of keys with values", ""),
        ("policy: [strict\n", "2:1: this is not YAML: expected ',' or ']', but got '<stream end>'", ""),
        ("isolation:\n\tdefault_level: strict\n", "2:1: this is not YAML: found character '\\t' that cannot start any token", "indent with spaces"),
        ("a: &x 1\n", "1:4: anchors and aliases are not used in a policy", ""),
        ("policy: !!python/object:os.system x\n", "1:9: tags are not used in a policy", ""),
        ("policy: strict\n---\npolicy: default\n", "2:1: one file holds one policy", ""),
        ("<<: {policy: strict}\n", "1:1: unknown key <<", None),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_place(text: str, message: str, hint: str | None) -> None:
    found = error(text)
    assert str(found) == f"sandbox.yaml:{message}"
    assert hint is None or found.hint == hint
    assert found.location == "sandbox.yaml:" + ":".join(message.split(":")[:2])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "sandbox.yaml: the file is empty, as if half written"),
        (b"\n  \n", "sandbox.yaml: the file is empty, as if half written"),
        (b"policy: strict\n# \xff\n", "sandbox.yaml:2:3: this is not UTF-8"),
        ("policy: strict\n".encode("utf-16"), "sandbox.yaml:1:1: this is not UTF-8"),
        (b"policy: strict\n\0\n", "sandbox.yaml:2:1: a NUL byte has no place here"),
        (b"#" * (LARGEST + 1), f"sandbox.yaml: a policy has at most {LARGEST} bytes"),
    ],
)
def test_what_is_no_text_of_a_policy_is_refused(content: bytes, message: str) -> None:
    assert str(error(content)) == message


def test_a_bomb_of_aliases_is_refused_before_it_unfolds() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert "anchors and aliases" in str(error("\n".join(lines)))


@pytest.mark.parametrize("text", ["[" * 5000, "a: " + "{b: " * 3000, "- " * 4000 + "x"])
def test_deep_nesting_is_refused(text: str) -> None:
    assert "nested too deeply" in str(error(text)) or "not YAML" in str(error(text))


def test_a_byte_order_mark_is_no_part_of_the_policy() -> None:
    with_mark = read(b"\xef\xbb\xbfpolicy: strict\n", path="sandbox.yaml")
    without = read("policy: strict\n", path="sandbox.yaml")
    assert (with_mark.values, with_mark.at) == (without.values, without.at)


@settings(deadline=None)
@given(st.text(max_size=60) | st.binary(max_size=60))
def test_any_content_is_a_policy_or_a_policy_error(content: str | bytes) -> None:
    try:
        read(content, path="sandbox.yaml")
    except PolicyError as found:
        assert str(found).startswith("sandbox.yaml")


@settings(deadline=None)
@given(st.data())
def test_a_file_cut_off_anywhere_is_a_prefix_or_an_error(data: st.DataObject) -> None:
    end = data.draw(st.integers(0, len(DOCUMENT)))
    try:
        layer = read(DOCUMENT[:end], path="sandbox.yaml")
    except PolicyError:
        return
    whole = read(DOCUMENT, path="sandbox.yaml")
    assert set(layer.values) <= set(whole.values)


def test_an_unknown_key_is_its_own_kind_of_error() -> None:
    assert isinstance(error("nonsense: 1\n"), UnknownKey)
    assert error("nonsense: 1\n").hint.startswith("keys here: version, environment, policy")


# The schema for editors --------------------------------------------------------------------------


def in_schema(schema: Any, value: Any) -> bool:
    """Whether a value is what a schema of ours describes, by the few words that it uses."""
    if "oneOf" in schema:
        return sum(in_schema(each, value) for each in schema["oneOf"]) == 1
    if "enum" in schema:
        return str(value) in schema["enum"]
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int}
    kind = schema["type"]
    if kind == "number":
        return isinstance(value, int | float) and 0 < value <= schema["maximum"]
    if not isinstance(value, kinds[kind]):
        return False
    if kind == "integer":
        return bool(schema["minimum"] <= value <= schema["maximum"])
    if kind == "array":
        return all(in_schema(schema["items"], each) for each in value)
    if kind == "object":
        known = schema.get("properties", {})
        more = schema["additionalProperties"]
        return set(schema.get("required", ())) <= set(value) and all(
            in_schema(known[name], each) if name in known else bool(more) and in_schema(more, each)
            for name, each in value.items()
        )
    return True


@pytest.mark.parametrize("text", [DOCUMENT, ENVIRONMENT], ids=["document", "environment"])
def test_the_schema_describes_the_documents_files(text: str) -> None:
    schema = json_schema()
    assert json.loads(json.dumps(schema)) == schema
    assert in_schema(schema, yaml.safe_load(text))
    assert not in_schema(schema, {**yaml.safe_load(text), "nonsense": 1})


def test_the_schema_has_every_key_that_is_read() -> None:
    described = set()

    def walk(schema: Any, above: str) -> None:
        for name, inner in schema.get("properties", {}).items():
            described.add(f"{above}{name}")
            walk(inner, f"{above}{name}.")

    walk(json_schema(), "")
    assert set(KEYS) <= described


# The file to start from --------------------------------------------------------------------------


def used(text: str) -> str:
    """The template with every example in use."""
    start = text.index("policy: default\n") + len("policy: default\n")
    rest = text[start:].splitlines()
    return text[:start] + "\n".join(line.removeprefix("# ") for line in rest) + "\n"


@pytest.mark.parametrize("user", [True, False])
def test_a_new_file_says_all_there_is_and_changes_nothing(user: bool) -> None:
    layer = read(template(user=user), path="sandbox.yaml")
    assert layer.values == {"version": "1.0", "policy": ("default",)}
    everything = read(used(template(user=user)), path="sandbox.yaml")
    users_own = {name for name, key in KEYS.items() if key.order == "user"}
    assert set(everything.values) == set(KEYS) - (set() if user else users_own)
