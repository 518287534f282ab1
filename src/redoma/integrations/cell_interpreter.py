"""A Python interpreter that stays in a cell: state lasts between steps, tools are called outside.

What crosses is JSON, one message a line. Attack: the code inside may send any line it likes; it can
give wrong answers to what it was asked itself, and call the tools that it was given, and no more.
"""

from __future__ import annotations

import json
import os
import select
import time

from redoma import Cell, CellProcess

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

_LONGEST = 16 << 20
# What runs inside. Prints are collected and come with the answer; the answer is the value of the
# last expression, or what `final_answer` was given.
_INSIDE = r"""
import ast, contextlib, io, json, os, sys, traceback
out = os.fdopen(os.dup(1), "w"); ask = sys.stdin; sys.stdin = open(os.devnull)
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
class Final(BaseException): pass
class ToolFailed(Exception): pass
def plain(value):
    try: json.dumps(value); return value
    except (TypeError, ValueError): return repr(value)
def say(message): out.write(json.dumps(message) + "\n"); out.flush()
def outside(name):
    def call(*args, **named):
        given = {key: plain(value) for key, value in named.items()}
        say({"tool": name, "args": [plain(value) for value in args], "named": given})
        told = json.loads(ask.readline())
        if "error" in told: raise ToolFailed(told["error"])
        return told["value"]
    call.__name__ = name
    return call
def final_answer(answer=None): raise Final(answer)
space = {"__name__": "__main__", "final_answer": final_answer}
for line in ask:
    told = json.loads(line)
    for name in told.get("tools", ()): space[name] = outside(name)
    space.update(told.get("variables", {}))
    printed, answer = io.StringIO(), {"value": None, "final": False}
    with contextlib.redirect_stdout(printed):
        try:
            tree = ast.parse(told.get("code", ""))
            last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, "<step>", "exec"), space)
            if last is not None:
                shown = compile(ast.Expression(last.value), "<step>", "eval")
                answer["value"] = plain(eval(shown, space))
        except Final as end: answer = {"value": plain(end.args[0]), "final": True}
        except BaseException as error:
            answer["error"] = "".join(traceback.format_exception_only(error)).strip()
    say({"done": answer, "printed": printed.getvalue()})
"""


class StepFailed(Exception):
    """The code of a step raised, or was ended; its words say how."""


class CellInterpreter:
    """One interpreter; a step past its time ends it, and the next begins with a new one."""

    def __init__(self, cell: Cell, timeout: float) -> None:
        self._cell = cell
        self._timeout = timeout
        self._process: CellProcess | None = None
        self._pending = b""
        self._tools: dict[str, Callable[..., object]] = {}
        self._variables: dict[str, object] = {}
        self.printed = ""

    def give_tools(self, tools: Mapping[str, Callable[..., object]]) -> None:
        """Functions that the code may call; they run out here."""
        self._tools.update(tools)

    def give_variables(self, variables: Mapping[str, object]) -> None:
        """Values that the code finds by name; data only."""
        try:
            json.dumps(dict(variables))
        except (TypeError, ValueError) as error:
            raise StepFailed(f"only plain data enters the cell: {error}") from error
        self._variables.update(variables)

    def run(self, code: str) -> tuple[object, bool]:
        """The value of the last expression, and whether it is the final answer."""
        self.printed = ""
        until = time.monotonic() + self._timeout
        asked = {"code": code, "tools": sorted(self._tools), "variables": self._variables}
        self._send(asked, until)
        self._variables = {}
        while True:
            told = self._received(until)
            if "tool" in told:
                self._send(self._called(told), until)
                continue
            done = told.get("done")
            if not isinstance(done, dict):
                self.close()
                raise StepFailed("the interpreter answered nonsense, and was ended")
            self.printed = str(told.get("printed", ""))
            if "error" in done:
                raise StepFailed(str(done["error"]))
            return done.get("value"), done.get("final") is True

    def close(self) -> None:
        """Ends the interpreter with everything that it started."""
        if self._process is not None:
            self._process.close()
            self._process = None
        self._pending = b""

    def _called(self, told: dict[str, Any]) -> dict[str, object]:
        name, args, named = told.get("tool"), told.get("args"), told.get("named")
        tool = self._tools.get(name) if isinstance(name, str) else None
        if tool is None or not isinstance(args, list) or not isinstance(named, dict):
            return {"error": "there is no such tool"}
        try:
            value = tool(*args, **named)
            json.dumps(value)
        except TypeError:
            return {"error": f"{name} took no such arguments, or gave back what is no plain data"}
        except Exception as error:
            return {"error": f"{name}: {error}"}
        return {"value": value}

    def _send(self, message: Mapping[str, object], until: float) -> None:
        if self._process is None:
            self._process = self._cell.start(["python3", "-I", "-c", _INSIDE])
            os.set_blocking(self._process.stdin, False)
        data = memoryview(json.dumps(message).encode() + b"\n")
        poll = select.poll()
        poll.register(self._process.stdin, select.POLLOUT)
        while data:
            # Attack: the code reads nothing of what it asked for, and we would wait for ever.
            if not poll.poll(max(0.0, until - time.monotonic()) * 1000):
                self.close()
                raise StepFailed(f"past its {self._timeout:g} s; the variables are gone")
            try:
                data = data[os.write(self._process.stdin, data) :]
            except BlockingIOError:
                continue
            except OSError as error:
                self.close()
                raise StepFailed("the interpreter has ended; its variables are gone") from error

    def _received(self, until: float) -> dict[str, Any]:
        assert self._process is not None
        poll = select.poll()
        poll.register(self._process.stdout, select.POLLIN)
        while b"\n" not in self._pending:
            if not poll.poll(max(0.0, until - time.monotonic()) * 1000):
                self.close()
                raise StepFailed(f"past its {self._timeout:g} s; the variables are gone")
            data = os.read(self._process.stdout, 1 << 16)
            self._pending += data
            if not data or len(self._pending) > _LONGEST:
                self.close()
                raise StepFailed("the interpreter has ended; its variables are gone")
        line, _, self._pending = self._pending.partition(b"\n")
        try:
            told = json.loads(line)
        except (ValueError, RecursionError):
            told = None
        return told if isinstance(told, dict) else {}
