"""Plain function-calling schemas, for programs that speak to a model's API themselves."""

from __future__ import annotations

import inspect

from redoma.integrations.tools import SandboxTools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from redoma import Sandbox

_KINDS = {"str": "string", "float": "number", "int": "integer", "bool": "boolean"}


class FunctionCalls:
    """The tools as JSON schemas, and the function that carries a call out.

    >>> from redoma.integrations.function_calls import FunctionCalls
    >>> calls = FunctionCalls()
    >>> [schema["function"]["name"] for schema in calls.openai()]
    ['run_command', 'preview_command', 'run_python', 'undo_changes']
    >>> calls.call("run_command", {"command": "rm -rf ~"}).splitlines()[0]
    '[denied]'
    """

    def __init__(self, sandbox: Sandbox | None = None) -> None:
        self._functions = {one.__name__: one for one in SandboxTools(sandbox).functions()}

    def schemas(self) -> list[dict[str, object]]:
        """Name, description and JSON schema of the arguments of each tool."""
        return [
            _schema(name, inspect.getdoc(one) or "", one) for name, one in self._functions.items()
        ]

    def openai(self) -> list[dict[str, object]]:
        """As `tools` of an OpenAI chat completion."""
        return [{"type": "function", "function": schema} for schema in self.schemas()]

    def anthropic(self) -> list[dict[str, object]]:
        """As `tools` of an Anthropic message."""
        return [
            {
                "name": schema["name"],
                "description": schema["description"],
                "input_schema": schema["parameters"],
            }
            for schema in self.schemas()
        ]

    def call(self, name: str, arguments: Mapping[str, object]) -> str:
        """The text for the model; what it got wrong is said to it."""
        function = self._functions.get(name)
        if function is None:
            return f"[there is no tool {name!r}; tools: {', '.join(self._functions)}]"
        try:
            bound = inspect.signature(function).bind(**arguments)
        except TypeError as error:
            return f"[{name}: {error}]"
        for key, value in bound.arguments.items():
            wanted = inspect.signature(function).parameters[key].annotation
            fits = isinstance(value, str) if wanted == "str" else isinstance(value, int | float)
            if not fits or isinstance(value, bool):
                return f"[{name}: {key} is to be a {_KINDS[wanted]}]"
        return function(**arguments)


def _schema(name: str, document: str, function: object) -> dict[str, object]:
    about, _, described = document.partition("\n\nArgs:\n")
    texts = dict(line.strip().split(": ", 1) for line in described.splitlines() if ": " in line)
    parameters = inspect.signature(function).parameters  # type: ignore[arg-type]
    return {
        "name": name,
        "description": about.replace("\n\n", " "),
        "parameters": {
            "type": "object",
            "properties": {
                key: {"type": _KINDS[one.annotation], "description": texts[key]}
                for key, one in parameters.items()
            },
            "required": [key for key, one in parameters.items() if one.default is one.empty],
            "additionalProperties": False,
        },
    }
