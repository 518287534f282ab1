"""Adds a grant to the user's own `sandbox.yaml`, with everything else in it as it was."""

from __future__ import annotations

import json
import os

from redoma.base import private_file
from redoma.model.errors import PolicyError, UsageError
from redoma.model.message import Message
from redoma.pipeline.decisions import policies
from redoma.pipeline.decisions.policy_tools import lint, policy_of_file


def add_grant(kind: str, value: str, *, home: str | None = None) -> str:
    """Writes the grant into the user's own file, and gives its path; an error changes nothing."""
    path = os.path.realpath(policies.user_file(home))
    before = _content(path)
    after = with_grant(before, kind, value)
    if after == before:
        return path
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    private_file.write(path, after)
    errors = lint(path, origin="user", home=home) or _missing(path, kind, value)
    if errors:
        # What cannot be used would stop everything: the old file comes back.
        if before:
            private_file.write(path, before)
        else:
            os.unlink(path)
        raise errors[0]
    return path


def _missing(path: str, kind: str, value: str) -> list[PolicyError]:
    """An error where the file is right, and does not grant it all the same."""
    if value in getattr(policy_of_file(path).grants, kind):
        return []
    told = Message("{kind}: {value} could not be added", kind=kind, value=value)
    return [PolicyError(told, hint=Message("add it by hand: {path}", path=path))]


def _content(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def with_grant(before: str, kind: str, value: str) -> str:
    """The text of a policy with one more grant; its comments and its order stay.

    PolicyError where the section is written on one line, which only a person takes apart.
    """
    row = json.dumps(value, ensure_ascii=False)
    lines = before.splitlines() or ['version: "1.0"']
    section = _key(lines, "grants:", 0, len(lines), "")
    if section is None:
        return "\n".join([*lines, "grants:", f"  {kind}:", f"    - {row}"]) + "\n"
    end = next(
        (i for i in range(section + 1, len(lines)) if lines[i][:1] not in ("", " ", "#")),
        len(lines),
    )
    inner = [line for line in lines[section + 1 : end] if line.strip() and line.strip()[0] != "#"]
    indent = " " * (len(inner[0]) - len(inner[0].lstrip())) if inner else "  "
    listed = _key(lines, f"{kind}:", section + 1, end, indent)
    if listed is None:
        new = [f"{indent}{kind}:", f"{indent}  - {row}"]
        return "\n".join([*lines[: section + 1], *new, *lines[section + 1 :]]) + "\n"
    last = listed
    while last + 1 < end and lines[last + 1].strip().startswith(("- ", "#")):
        last += 1
        entry = lines[last].strip().removeprefix("- ").strip()
        if entry in (row, value, f"'{value}'"):
            return before
    first = lines[listed + 1] if last > listed else f"{indent}  - "
    margin = " " * (len(first) - len(first.lstrip()))
    return "\n".join([*lines[: last + 1], f"{margin}- {row}", *lines[last + 1 :]]) + "\n"


def _key(lines: list[str], key: str, start: int, end: int, indent: str) -> int | None:
    for at in range(start, end):
        if lines[at].startswith(indent + key):
            if lines[at][len(indent + key) :].partition("#")[0].strip():
                raise PolicyError(
                    f"{key} is written on one line", hint="put each entry on a line of its own"
                )
            return at
    return None


def checked_grant(kind: str, value: str) -> str:
    """The value as it is kept; an error says what is wrong with it now, not at the next run."""
    if kind == "hosts":
        value = value.removeprefix("https://").removeprefix("http://").rstrip("/")
        from redoma.egress.host_rules import read_host

        if not value.startswith("tool:"):
            read_host(value)
    if kind in ("read", "write"):
        value = os.path.abspath(os.path.expanduser(value))
        if not os.path.exists(value):
            raise UsageError("there is no {path}", path=value)
    from redoma.judge.policy.sandbox_yaml import read

    read(f"grants:\n  {kind}:\n    - {json.dumps(value)}\n", path="")
    return value
