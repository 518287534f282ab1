"""Puts layers together: the user's own file decides freely, a project's file may only tighten."""

from __future__ import annotations

from redoma.base.levels import LEVELS
from redoma.judge.policy.patterns import covers_request, expanded, host_fits, request_of, within
from redoma.judge.policy.schema import KEYS
from redoma.judge.policy.secret_names import fits
from redoma.judge.policy.shipped import POLICIES, rules, start
from redoma.model.decision import Verdict
from redoma.model.errors import PolicySyntax
from redoma.model.policy import (
    ISOLATION_ONLY,
    Action,
    Clause,
    ConfirmPlans,
    Environment,
    Example,
    KeptGrants,
    LogLevel,
    RequestedGrants,
    Rule,
)
from redoma.model.request import Choice
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from redoma.judge.policy.sandbox_yaml import PolicyLayer
    from redoma.model.policy import Policy

# Where nothing is said: the level of a run, and what a command may write.
USUAL_LEVEL = "standard"
_WRITABLE = ("${PROJECT_ROOT}", "/tmp", "/var/tmp")
# What an allow list of a project would work against.
_AGAINST_ALLOW = ("policy", "rules", "environment", "confirmation.required_for")
_FIELDS = {"allowlist_extensions": "allow", "blocklist_extensions": "block"}


class Loosens(PolicySyntax):
    """A project's file asks for more than the layers below it allow."""

    code = "policy-loosens"


def merge(layers: list[PolicyLayer], *, digest: str) -> Policy:
    """The policy of all layers, the outermost first."""
    packs = [x.values["pack"] for x in layers if "pack" in x.values and x.origin != "project"]
    policy = start(packs[0] if packs else "default")
    below: list[PolicyLayer] = []
    for layer in layers:
        if layer.origin == "project":
            _refuse_loosening(policy, layer, below)
            policy = _tightened(policy, layer)
        else:
            policy = _built(policy, layer)
        below.append(layer)
    return replace(policy, digest=digest)


def _tightened(policy: Policy, layer: PolicyLayer) -> Policy:
    """A project's layer over the policy below it, which keeps counting."""
    values = layer.values
    made = _built(policy, layer)
    below = policy
    if "allowlist_extensions" in values:
        made = replace(made, allow=(*policy.allow, *made.allow))
        if "allowlist_extensions" in policy.projects_may:
            below = _with_allowed(policy, made.allow)
    added = {
        "block": (*policy.block, *values.get("blocklist_extensions", ())),
        "tests": (*policy.tests, *(t for t in made.tests if t not in policy.tests)),
    }
    made = replace(made, **{name: tuple(dict.fromkeys(all_)) for name, all_ in added.items()})
    for section, field in (
        ("isolation", "strict_for"),
        ("confirmation", "required_for"),
        ("dry_run", "auto_enable_for"),
        ("filesystem", "blocked_paths"),
        ("filesystem", "protected_names"),
        ("network", "blocked_ports"),
    ):
        lower, upper = getattr(policy, section), getattr(made, section)
        both = (*getattr(lower, field), *getattr(upper, field))
        new = replace(upper, **{field: tuple(dict.fromkeys(both))})
        made = replace(made, **{section: new})
    if made.pack != policy.pack:
        asked = (*made.confirmation.required_for, *start(made.pack).confirmation.required_for)
        made = replace(made, confirmation=replace(made.confirmation, required_for=asked))
    phases = {**dict(policy.isolation.phases), **dict(made.isolation.phases)}
    isolation = replace(made.isolation, phases=tuple(phases.items()))
    return replace(made, isolation=isolation, floor=below)


def _with_allowed(policy: Policy, allow: tuple[tuple[str, ...], ...]) -> Policy:
    floor = _with_allowed(policy.floor, allow) if policy.floor is not None else None
    return replace(policy, allow=allow, floor=floor)


def _refuse_loosening(policy: Policy, layer: PolicyLayer, below: list[PolicyLayer]) -> None:
    for name, value in layer.values.items():
        problem = _loosens(policy, name, value)
        if problem:
            raise _error(layer, name, problem, *_set_by(name, below))
    if "allowlist_extensions" in layer.values and (
        "allowlist_extensions" not in policy.projects_may
    ):
        for other in below:
            against = next((key for key in _AGAINST_ALLOW if key in other.values), "")
            if other.origin != "project" and against:
                problem = "would set aside what the user's own policy says"
                raise _error(layer, "allowlist_extensions", problem, against, other.place(against))


def _set_by(name: str, below: list[PolicyLayer]) -> tuple[str, str]:
    """The key that forbids a loosening, and where it is set."""
    for other in reversed(below):
        if name in other.values:
            return name, other.place(name)
    return name, "built in"


def _error(layer: PolicyLayer, name: str, problem: str, key: str, place: str) -> Loosens:
    hint = f"a project may only tighten: remove it, or change {key} in your own sandbox.yaml"
    if name in KEYS["projects_may"].choices:
        hint = f"your own sandbox.yaml may permit it: projects_may: [{name}]"
    return Loosens(
        f"{name} {problem}; {key} is set at {place}", location=layer.place(name), hint=hint
    )


def _loosens(policy: Policy, name: str, value: Any) -> str:
    """Why a value of a project would loosen, or nothing."""
    order = KEYS[name].order
    if order in ("add", "own", "ask"):
        return ""
    if order == "user":
        return "belongs into the user's own file only"
    if name == "policy":
        return _looser_policy(policy, value)
    if name == "isolation.phases":
        return _looser_phases(policy, value)
    section, _, field = name.rpartition(".")
    now = getattr(getattr(policy, section) if section else policy, field or name)
    if order == "same":
        permitted = value == now or name in policy.projects_may
        return "" if permitted else f"{value!r} is another than {now!r}"
    if order == "subset":
        return _outside(field, value, now)
    if order in ("smaller", "larger"):
        looser = now is not None and (value > now if order == "smaller" else value < now)
    elif KEYS[name].kind == "flag":
        looser = now and not value
    else:
        choices = KEYS[name].choices
        looser = choices.index(value) < choices.index(_key_word(now) or USUAL_LEVEL)
    return f"{_said(value)} would loosen {_said(_key_word(now))}" if looser else ""


def _key_word(now: Any) -> Any:
    """A value of a policy in the words of its key."""
    return getattr(now, "label", getattr(now, "value", now))


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value or USUAL_LEVEL)


def _looser_policy(policy: Policy, value: tuple[Any, ...]) -> str:
    if len(value) > 1:
        return ""  # rules of its own stand beside those below, and the strictest counts
    name = value[0]
    now = policy.name
    if name == ISOLATION_ONLY and now != ISOLATION_ONLY:
        return f"{ISOLATION_ONLY} would loosen {now}"
    if now in POLICIES and POLICIES.index(name) < POLICIES.index(now):
        return f"{name} would loosen {now}"
    return ""


def _looser_phases(policy: Policy, phases: tuple[tuple[str, str], ...]) -> str:
    for phase, level in phases:
        now = policy.isolation.of_phase(phase) or USUAL_LEVEL
        if level not in LEVELS:
            return f"({phase}) names a profile, and only the user's own file may"
        if now in LEVELS and LEVELS.index(level) < LEVELS.index(now):
            return f"({phase}) {level} would loosen {now}"
    return ""


def _outside(field: str, value: tuple[str, ...], now: tuple[str, ...] | None) -> str:
    for each in value:
        if field == "allowed_hosts":
            host = request_of(each)[1]
            if now is not None and not any(
                host_fits(host, other) and covers_request(other, each) for other in now
            ):
                return f"{each} is not among the hosts allowed"
            continue
        if field == "allowed":
            if now is not None and not any(fits(each, other) for other in now):
                return f"{each} is not among the secrets allowed"
            continue
        there = [_symbolic(other) for other in (_WRITABLE if now is None else now)]
        if not any(within(_symbolic(each), other) for other in there):
            return f"{each} is not among the paths that may be written"
    return ""


def _symbolic(path: str) -> str:
    """A path with names in the place of the workspace and of home, which are not known here."""
    return expanded(path, "/${PROJECT_ROOT}", "/~")


def _built(policy: Policy, layer: PolicyLayer) -> Policy:
    """The policy with every value of the layer in its place, and nothing else changed."""
    whole: dict[str, Any] = {"sources": (*policy.sources, layer.path)}
    if layer.origin == "project":
        whole["root"] = layer.path.rpartition("/")[0].removesuffix("/.redoma")
        whole["requests"] = (*policy.requests, *_requested(layer))
    sections: dict[str, dict[str, Any]] = {}
    for name, value in layer.values.items():
        made = _MADE[name](value) if name in _MADE else value
        section, _, field = name.rpartition(".")
        if section == "grants" and layer.origin == "project":
            continue  # asked for, and nothing more: see `_requested`
        if section:
            sections.setdefault(section, {})[field] = made
        elif name == "policy":
            whole["name"], own = _policy(value, layer)
            whole["rules"] = (*own, *policy.added_rules)
        elif name == "tests":
            whole["tests"] = (*policy.tests, *map(_example, value))
        elif name not in ("version", "rules"):
            whole[_FIELDS.get(name, name)] = made
    added = _rules(layer.values.get("rules", ()), layer, of="")
    whole["rules"] = (*whole.get("rules", policy.rules), *added)
    for section, fields in sections.items():
        whole[section] = replace(getattr(policy, section), **fields)
    return replace(policy, **whole)


def _requested(layer: PolicyLayer) -> tuple[RequestedGrants, ...]:
    """What a project's layer asks for: a project never grants itself anything."""
    start = "grants."
    asked = {
        name.removeprefix(start): value
        for name, value in layer.values.items()
        if name.startswith(start)
    }
    if not any(asked.values()):
        return ()
    return (RequestedGrants(path=layer.path, digest=layer.digest, grants=KeptGrants(**asked)),)


def _policy(value: tuple[Any, ...], layer: PolicyLayer) -> tuple[str, tuple[Rule, ...]]:
    name = value[0]
    if len(value) == 1 and name in POLICIES:
        return name, rules(name)
    return name, _rules(value[1], layer, of=name)


def _rules(listed: tuple[Any, ...], layer: PolicyLayer, *, of: str) -> tuple[Rule, ...]:
    return tuple(
        Rule(
            name=name,
            when=Clause(text=text, tree=tree),
            action=Action(action),
            of=of,
            source=layer.path,
        )
        for name, text, tree, action in listed
    )


def _clauses(listed: tuple[Any, ...]) -> tuple[Clause, ...]:
    return tuple(Clause(text=text, tree=tree) for text, tree in listed)


def _example(listed: tuple[str, ...]) -> Example:
    command, expect, phase, isolation, source = listed
    return Example(
        command=command,
        expect=Verdict[expect.upper()],
        phase=phase,
        isolation=isolation,
        source=source,
    )


_MADE: dict[str, Callable[[Any], Any]] = {
    "environment": lambda value: Environment[value.upper()],
    "logging.level": lambda value: LogLevel[value.upper()],
    "confirmation.default_action": Choice,
    "plans.confirm": ConfirmPlans,
    "confirmation.required_for": _clauses,
    "dry_run.auto_enable_for": _clauses,
}
