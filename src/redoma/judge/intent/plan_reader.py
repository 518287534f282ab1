"""Reads the text of a plan into an `Intent`: every field checked, every error with its place."""

from __future__ import annotations

import json
import re
from hashlib import sha256

from redoma.base.paths import is_within
from redoma.judge.intent.json_text import JsonText, escaped
from redoma.judge.intent.json_text import read as read_json
from redoma.judge.intent.plan_schema import (
    ARGUMENTS,
    CONSTRAINTS,
    ID,
    LONGEST_NAME,
    MOST_STEPS,
    PLAN,
    STEP,
    TARGET,
    VERSION,
    Field,
)
from redoma.judge.text.spelling import did_you_mean, nearest
from redoma.model.intent import Intent, Operation, PlanCycle, PlanSyntax, Step, StepConstraints
from redoma.model.message import Message
from redoma.model.value import fields_of, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from redoma.model.intent import Step

_SHAPES = {
    **dict.fromkeys(("id", "name", "text", "content", "path", "target", "operation"), str),
    **dict.fromkeys(("ids", "paths", "words", "list", "steps"), list),
    **dict.fromkeys(("object", "constraints"), dict),
    "flag": bool,
}
_NAMES = {str: "a text", list: "a list", dict: "an object", bool: "true or false"}


def read(data: str | bytes, *, name: str = "plan") -> Intent:
    """The plan in a text, its steps in the order in which they will be done."""
    text = read_json(data, name)
    return _PlanReader(text).plan()


class _PlanReader:
    """The checks of one text."""

    def __init__(self, text: JsonText) -> None:
        self._text = text

    def plan(self) -> Intent:
        whole = self._object(self._text.value, "", PLAN, "a plan")
        around = self._constraints(whole.get("constraints", {}), "/constraints")
        if len(whole["steps"]) > MOST_STEPS:
            raise self._wrong(Message("a plan has at most {most} steps", most=MOST_STEPS), "/steps")
        if not whole["steps"]:
            raise self._wrong("a plan has at least one step", "/steps")
        steps = [
            self._step(entry, f"/steps/{place}", around)
            for place, entry in enumerate(whole["steps"])
        ]
        self._distinct(steps)
        return Intent(
            name=whole["name"],
            steps=ordered(steps, self._text.location),
            digest=sha256(_canonical(self._text.value)).hexdigest(),
            metadata=whole.get("metadata", {}),
        )

    def _step(self, entry: Any, pointer: str, around: StepConstraints) -> Step:
        if not isinstance(entry, dict):
            raise self._wrong("a step is an object", pointer)
        named = entry.get("operation")
        if named is None:
            raise self._wrong("a step has an operation", pointer, _operations())
        known = {operation.value: operation for operation in Operation}
        if not isinstance(named, str) or named not in known:
            hint = did_you_mean(nearest(str(named), known), _operations())
            raise self._wrong(
                Message("there is no operation {named}", named=repr(named)),
                f"{pointer}/operation",
                hint,
            )
        operation = known[named]
        arguments = ARGUMENTS[operation]
        found = self._object(
            entry, pointer, {**STEP, **arguments}, Message("a step {named}", named=named)
        )
        own = self._constraints(found.get("constraints", {}), f"{pointer}/constraints")
        return Step(
            id=found["id"],
            operation=operation,
            arguments={name: found[name] for name in arguments if name in found},
            needs=tuple(dict.fromkeys(found.get("needs", ()))),
            constraints=_both(around, own),
            metadata=found.get("metadata", {}),
        )

    def _distinct(self, steps: list[Step]) -> None:
        seen: dict[str, int] = {}
        for place, step in enumerate(steps):
            if step.id in seen:
                first = self._text.location(f"/steps/{seen[step.id]}/id")
                raise self._wrong(
                    Message(
                        "the step {step} is there already, at {first}", step=step.id, first=first
                    ),
                    f"/steps/{place}/id",
                )
            seen[step.id] = place
        for place, step in enumerate(steps):
            for number, need in enumerate(step.needs):
                if need not in seen:
                    raise self._wrong(
                        Message("there is no step {need}", need=need),
                        f"/steps/{place}/needs/{number}",
                        did_you_mean(nearest(need, seen)),
                    )

    def _constraints(self, entry: Any, pointer: str) -> StepConstraints:
        found = self._object(entry, pointer, CONSTRAINTS, "constraints")
        lists: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in found.items()
        }
        return StepConstraints(**lists)

    def _object(
        self, entry: Any, pointer: str, fields: Mapping[str, Field], what: str
    ) -> dict[str, Any]:
        if not isinstance(entry, dict):
            raise self._wrong(Message("{what} is an object", what=Message(what)), pointer)
        for name in entry:
            if name not in fields:
                hint = did_you_mean(nearest(name, fields), "fields: " + ", ".join(fields))
                raise self._wrong(
                    Message("{what} has no {name}", what=Message(what), name=repr(name)),
                    f"{pointer}/{escaped(name)}",
                    hint,
                )
        for name, field in fields.items():
            if field.required and name not in entry:
                raise self._wrong(
                    Message("{what} needs {name}", what=Message(what), name=repr(name)),
                    pointer,
                    "redoma plan schema",
                )
        for name, value in entry.items():
            self._field(name, value, fields[name], f"{pointer}/{name}")
        return entry

    def _field(self, name: str, value: Any, field: Field, pointer: str) -> None:
        shape = _SHAPES.get(field.kind)
        if shape is not None and type(value) is not shape:
            raise self._wrong(f"{name} is {_NAMES[shape]}", pointer)
        if field.kind in ("integer", "seconds"):
            self._number(name, value, field, pointer)
        elif field.kind == "version" and (type(value) is not int or value != VERSION):
            raise self._wrong(f"this reads version {VERSION}", pointer)
        elif field.kind in ("ids", "paths", "words"):
            self._texts(name, value, field, pointer)
        elif shape is str:
            self._string(name, value, field, pointer)

    def _number(self, name: str, value: Any, field: Field, pointer: str) -> None:
        whole = field.kind == "integer"
        if type(value) is not int and (whole or type(value) is not float):
            raise self._wrong(f"{name} is a {'whole ' if whole else ''}number", pointer)
        if not (field.least if whole else 0) <= value <= field.most or (not whole and not value):
            least = field.least if whole else 0
            raise self._wrong(
                Message(
                    "{name} lies between {least} and {most}",
                    name=name,
                    least=least,
                    most=field.most,
                ),
                pointer,
            )

    def _texts(self, name: str, value: list[Any], field: Field, pointer: str) -> None:
        one = replace(field, kind={"ids": "id", "paths": "path", "words": "content"}[field.kind])
        for place, entry in enumerate(value):
            if type(entry) is not str:
                raise self._wrong(
                    Message("{name} is a list of texts", name=name), f"{pointer}/{place}"
                )
            self._string(name, entry, one, f"{pointer}/{place}")
        if name == "argv" and (not value or not value[0]):
            raise self._wrong("argv begins with the name of a program", pointer)

    def _string(self, name: str, value: str, field: Field, pointer: str) -> None:
        if field.kind == "id" and not re.fullmatch(ID, value):
            raise self._wrong(
                Message("{value} is no name of a step", value=repr(value)),
                pointer,
                "letters, digits, dots, dashes",
            )
        if field.kind == "target" and not re.fullmatch(TARGET, value, re.ASCII):
            raise self._wrong(
                Message("{value} names no function", value=repr(value)),
                pointer,
                "package.module:function",
            )
        if field.kind in ("text", "path", "name") and not value.strip():
            raise self._wrong(Message("{name} is empty", name=name), pointer)
        if "\0" in value:
            raise self._wrong(Message("{name} has a NUL in it", name=name), pointer)
        if field.kind == "name" and len(value) > LONGEST_NAME:
            raise self._wrong(f"{name} has at most {LONGEST_NAME} characters", pointer)

    def _wrong(self, what: str, pointer: str, hint: str = "") -> PlanSyntax:
        return PlanSyntax(what, location=self._text.location(pointer), pointer=pointer, hint=hint)


def _both(around: StepConstraints, own: StepConstraints) -> StepConstraints:
    """What holds for every step and what holds for this one: both, so the tighter of them."""
    made = {**fields_of(around), **{n: v for n, v in fields_of(own).items() if v is not None}}
    made["forbidden_paths"] = tuple(dict.fromkeys(around.forbidden_paths + own.forbidden_paths))
    for name in ("max_execution_time", "max_memory_mb", "max_file_size_mb", "max_subprocesses"):
        given = [v for v in (getattr(around, name), getattr(own, name)) if v is not None]
        made[name] = min(given) if given else None
    if around.allow_network is False:
        made["allow_network"] = False
    for name, covers in (("allowed_write_paths", _path_covers), ("allowed_hosts", _host_covers)):
        one, other = getattr(around, name), getattr(own, name)
        if one is not None and other is not None:
            made[name] = tuple(
                dict.fromkeys(
                    [a for a in other if any(covers(b, a) for b in one)]
                    + [b for b in one if any(covers(a, b) for a in other)]
                )
            )
    return StepConstraints(**made)


def _path_covers(above: str, path: str) -> bool:
    """Whether one path, as written, is another or lies above it."""
    from posixpath import normpath

    above, path = normpath(above), normpath(path)
    if above == ".":
        return not path.startswith(("/", "../")) and path != ".."
    return is_within(path, above)


def _host_covers(above: str, host: str) -> bool:
    return host == above or (above.startswith("*.") and host.endswith(above[1:]))


def _canonical(value: Any) -> bytes:
    """The same bytes for the same content, whatever its blanks and the order of its keys."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")


def _operations() -> str:
    return "operations: " + ", ".join(operation.value for operation in Operation)


def ordered(steps: list[Step], location: Callable[[str], str]) -> tuple[Step, ...]:
    """The steps in the order of their doing; `location` says where a JSON Pointer stands."""
    made: dict[str, Step] = {}
    waiting = list(steps)
    while waiting:
        ready = next((step for step in waiting if all(need in made for need in step.needs)), None)
        if ready is None:
            circle = _circle({step.id: step for step in waiting})
            place = next(n for n, step in enumerate(steps) if step.id == circle[0])
            pointer = f"/steps/{place}/needs"
            raise PlanCycle(circle, location=location(pointer), pointer=pointer)
        made[ready.id] = ready
        waiting.remove(ready)
    return tuple(made.values())


def _circle(waiting: dict[str, Step]) -> list[str]:
    """Steps of which each needs the next, and the last the first."""
    walked: list[str] = []
    here = next(iter(waiting))
    while here not in walked:
        walked.append(here)
        here = next(need for need in waiting[here].needs if need in waiting)
    return walked[walked.index(here) :]
