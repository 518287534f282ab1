"""What people do with policies: check a file, try it, see what it says to a command and why."""

from __future__ import annotations

import os

from redoma.judge.judgement import decide
from redoma.judge.policy import evaluation as weigh
from redoma.judge.policy.layers import merge
from redoma.judge.policy.sandbox_yaml import PolicyLayer, read
from redoma.judge.policy.schema import KEYS, json_schema, template
from redoma.judge.policy.shipped import start
from redoma.model.errors import PolicyError, UsageError
from redoma.model.message import Message
from redoma.model.policy import BUILT_IN, BUILT_IN_SOURCE, Circumstances
from redoma.model.value import Value
from redoma.pipeline.decisions import policies
from redoma.pipeline.decisions.check import check, examined, ground
from redoma.pipeline.decisions.knowledge import knowledge
from redoma.pipeline.decisions.knowledge import pack as pack_named
from redoma.pipeline.decisions.own_rules import linted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.decision import Decision
    from redoma.model.policy import Example, Policy, Voice

__all__ = ["explain", "json_schema", "layers", "lint", "shown", "tried", "write_new"]


class Explanation(Value):
    """A decision with everything that was said before it was taken."""

    decision: Decision
    voices: tuple[Voice, ...]
    policy: Policy
    isolation_because: str
    # The decision on a run of it here, where that is another one; or why nothing here could run it.
    enclosed: Decision | None = None
    not_enclosed: str = ""


class Tried(Value):
    """An example of a policy, and what the policy says today."""

    example: Example
    decision: Decision

    @property
    def holds(self) -> bool:
        wanted = self.example.isolation
        return self.decision.verdict is self.example.expect and (
            not wanted or self.decision.isolation == wanted
        )


class Setting(Value):
    """One key of a merged policy, its value as plain data, and where it was set."""

    key: str
    value: object
    source: str


def explain(
    text: str, *, pack: str = "", cwd: str, home: str | None, phase: str = ""
) -> Explanation:
    """What the policy of a directory says to a command, voice by voice."""
    policy = policies.load_policy(cwd, home=home)
    asked = start(policy.pack) if policy is BUILT_IN else policy
    rules = pack_named(pack or policy.pack)
    known = Circumstances(phase=phase)
    where = ground(cwd, home)
    assessment, around = examined(text, rules, where, known, knowledge(policy.cards))
    decision = decide(assessment, rules, policy, around)
    judged = check(text, pack=pack, cwd=cwd, home=home, policy=policy, circumstances=known)
    if (judged.verdict, judged.assessment.risk) > (decision.verdict, decision.assessment.risk):
        decision = judged  # a project's cards are stricter
    return Explanation(
        decision=decision,
        voices=tuple(weigh.voices(assessment, rules, asked, around)),
        policy=policy,
        isolation_because=weigh.isolation(asked, around)[1],
    )


def layers(cwd: str, home: str | None) -> list[PolicyLayer]:
    """The files that apply to a directory, read anew."""
    rows = policies.found(cwd, home=home)
    return [_layer(row[0], row[1]) for row in rows if not policies.is_card_file(row[0])]


def lint(path: str, *, origin: str, home: str | None) -> list[PolicyError]:
    """What is wrong with one file; the user's own stands below a project's."""
    try:
        if policies.is_card_file(path):
            cwd = os.path.dirname(os.path.abspath(path))
            return [*linted(path, _content(path), cwd=cwd, home=home)]
        below = []
        users = policies.user_file(home)
        if origin == "project" and os.path.lexists(users) and not os.path.samefile(users, path):
            below.append(_layer(users, "user"))
        merge([*below, _layer(path, origin)], digest="")
    except PolicyError as error:
        return [error]
    return []


def _layer(path: str, origin: str) -> PolicyLayer:
    return read(_content(path), path=path, origin=origin)


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(1 << 20)
    except OSError as error:
        raise policies.unusable(
            path, Message("cannot be read: {why}", why=error.strerror)
        ) from None


def tried(policy: Policy, *, cwd: str, home: str | None) -> list[Tried]:
    """Every example of a policy with what the policy says to it."""
    return [
        Tried(
            example=example,
            decision=check(
                example.command,
                cwd=cwd,
                home=home,
                policy=policy,
                circumstances=Circumstances(phase=example.phase),
            ),
        )
        for example in policy.tests
    ]


def policy_of_file(path: str) -> Policy:
    """The policy of one file alone, as if it were the user's own."""
    return merge([_layer(path, "user")], digest="")


def shown(cwd: str, home: str | None) -> list[Setting]:
    """Every key with its value in force, and the file that set it."""
    policy = policies.load_policy(cwd, home=home)
    whole = start(policy.pack) if policy is BUILT_IN else policy
    read_now = layers(cwd, home)
    found = []
    for key in KEYS:
        if key in ("version", "tests"):
            continue
        sets = [layer for layer in read_now if key in layer.values]
        # A project's file only asks for grants; `redoma trust` shows what.
        asks = KEYS[key].order == "ask"
        setters = [layer.path for layer in sets if not asks or layer.origin != "project"]
        source = ", ".join(setters) or BUILT_IN_SOURCE
        found.append(Setting(key=key, value=_plain(key, whole), source=source))
    return found


def _plain(key: str, policy: Policy) -> object:
    special: dict[str, object] = {
        "policy": policy.name,
        "rules": [
            {"name": r.name, "condition": r.when.text, "action": r.action.value}
            for r in policy.rules
        ],
        "allowlist_extensions": [" ".join(words) for words in policy.allow],
        "blocklist_extensions": list(policy.block),
        "isolation.strict_for": [" ".join(words) for words in policy.isolation.strict_for],
        "isolation.phases": dict(policy.isolation.phases),
    }
    if key in special:
        return special[key]
    section, _, field = key.rpartition(".")
    value = getattr(getattr(policy, section) if section else policy, field)
    if isinstance(value, tuple):
        return [getattr(each, "text", each) for each in value]
    return getattr(value, "label", getattr(value, "value", value))


def write_new(path: str, *, user: bool) -> None:
    """Writes a commented policy where there is none."""
    if user:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    try:
        # Attack: a link in its place would have us write wherever it leads.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        fd = os.open(path, flags, 0o644)
    except FileNotFoundError:
        raise UsageError("there is no directory for {path}", path=path) from None
    except FileExistsError:
        raise UsageError(
            "{path} is there already", path=path, hint=f"redoma policy lint {path}"
        ) from None
    with open(fd, "w", encoding="utf-8") as file:
        file.write(template(user=user))
