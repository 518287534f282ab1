"""The fields of a plan: one table that reads it and describes it as a JSON Schema."""

from __future__ import annotations

from redoma.model.intent import Operation
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

VERSION = 1
MOST_STEPS = 1000
LONGEST_NAME = 200
ID = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
TARGET = r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$"


class Field(Value):
    """One field: what it takes and what it is for."""

    kind: str
    about: str
    required: bool = False
    least: int = 1
    most: int = 1 << 40


_PATH = Field(kind="path", about="A path; relative ones start at the workspace.", required=True)
_CWD = Field(kind="path", about="The directory to work in, below the workspace.")
ARGUMENTS: Mapping[Operation, Mapping[str, Field]] = {
    Operation.SHELL: {
        "command": Field(kind="text", about="A line for the shell.", required=True),
        "stdin": Field(kind="content", about="What it reads from standard input."),
        "cwd": _CWD,
    },
    Operation.PROGRAM: {
        "argv": Field(kind="words", about="A program and its arguments.", required=True),
        "stdin": Field(kind="content", about="What it reads from standard input."),
        "cwd": _CWD,
    },
    Operation.PYTHON: {
        "call": Field(
            kind="target", about="A function, as package.module:function.", required=True
        ),
        "args": Field(kind="list", about="Its arguments in order."),
        "kwargs": Field(kind="object", about="Its arguments by name."),
    },
    Operation.FILE_READ: {"path": _PATH},
    Operation.FILE_WRITE: {
        "path": _PATH,
        "content": Field(kind="content", about="The whole text of the file.", required=True),
    },
    Operation.FILE_MOVE: {
        "path": _PATH,
        "to": Field(kind="path", about="Its new path, with its name.", required=True),
    },
    Operation.FILE_DELETE: {
        "path": _PATH,
        "recursive": Field(kind="flag", about="Whether it may be a folder with all in it."),
    },
    Operation.FOLDER_MAKE: {"path": _PATH},
}
CONSTRAINTS: Mapping[str, Field] = {
    "allowed_write_paths": Field(kind="paths", about="The only paths that may change."),
    "forbidden_paths": Field(kind="paths", about="Paths that are neither seen nor changed."),
    "max_execution_time": Field(kind="seconds", about="Seconds it may take.", most=86_400),
    "max_memory_mb": Field(kind="integer", about="Megabytes of memory.", most=1 << 24),
    "max_file_size_mb": Field(kind="integer", about="Megabytes of one file.", most=1 << 24),
    "allow_network": Field(kind="flag", about="false closes the network; true opens nothing."),
    "allowed_hosts": Field(kind="words", about="Of the hosts that are granted, only these."),
    "max_subprocesses": Field(
        kind="integer", about="Processes beside the first.", least=0, most=1 << 20
    ),
}
STEP: Mapping[str, Field] = {
    "id": Field(kind="id", about="The step's name in this plan.", required=True),
    "operation": Field(kind="operation", about="What it does.", required=True),
    "needs": Field(kind="ids", about="Steps that have to be done before it."),
    "constraints": Field(kind="constraints", about="What holds it tighter than its sandbox."),
    "metadata": Field(kind="object", about="Anything of the writer's own."),
}
PLAN: Mapping[str, Field] = {
    "version": Field(kind="version", about="The format.", required=True),
    "name": Field(kind="name", about="What the plan is called.", required=True),
    "constraints": Field(kind="constraints", about="What holds for every step."),
    "steps": Field(kind="steps", about="What is to be done.", required=True),
    "metadata": Field(kind="object", about="Anything of the writer's own."),
}


def json_schema() -> dict[str, object]:
    """The same tables as a JSON Schema (2020-12), for editors and for whoever writes plans."""
    steps = [
        _object(
            {
                **STEP,
                **ARGUMENTS[operation],
                "operation": Field(kind=f"={operation.value}", about="", required=True),
            }
        )
        for operation in Operation
    ]
    made = _object(PLAN)
    properties: dict[str, object] = made["properties"]  # type: ignore[assignment]
    properties["steps"] = {
        "description": PLAN["steps"].about,
        "type": "array",
        "minItems": 1,
        "maxItems": MOST_STEPS,
        "items": {"oneOf": steps},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A plan of work",
        **made,
    }


def _object(fields: Mapping[str, Field]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": {name: _described(field) for name, field in fields.items()},
        "required": [name for name, field in fields.items() if field.required],
        "additionalProperties": False,
    }


def _described(field: Field) -> dict[str, object]:
    text: dict[str, object] = {"type": "string", "minLength": 1}
    kinds: dict[str, dict[str, object]] = {
        "version": {"const": VERSION},
        "name": {**text, "maxLength": LONGEST_NAME},
        "id": {"type": "string", "pattern": ID},
        "ids": {"type": "array", "items": {"type": "string", "pattern": ID}},
        "text": text,
        "path": text,
        "paths": {"type": "array", "items": text},
        "words": {"type": "array", "items": {"type": "string"}},
        "content": {"type": "string"},
        "target": {"type": "string", "pattern": TARGET},
        "flag": {"type": "boolean"},
        "integer": {"type": "integer", "minimum": field.least, "maximum": field.most},
        "seconds": {"type": "number", "exclusiveMinimum": 0, "maximum": field.most},
        "list": {"type": "array"},
        "object": {"type": "object"},
        "steps": {"type": "array"},
    }
    if field.kind.startswith("="):
        return {"const": field.kind[1:]}
    about: dict[str, object] = {"description": field.about} if field.about else {}
    if field.kind == "constraints":
        return {**about, **_object(CONSTRAINTS)}
    if field.kind == "operation":
        return {**about, "enum": [operation.value for operation in Operation]}
    return {**about, **kinds[field.kind]}
