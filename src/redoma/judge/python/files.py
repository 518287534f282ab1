"""What Python code does to files: deletes, moves, copies, writes, reads, and SQL in databases."""

from __future__ import annotations

import ast

from redoma.judge.interpret.arg import SECRET
from redoma.judge.python import calls
from redoma.judge.python.arguments import argument, first, keyword
from redoma.judge.python.reading import Reading
from redoma.model.risk import Effect

PATH_METHODS = {
    "unlink": "delete",
    "rmdir": "delete-empty",
    "write_text": "write",
    "write_bytes": "write",
    "touch": "write",
    "mkdir": "write",
    "chmod": "write",
    "symlink_to": "write",
    "hardlink_to": "write",
    "read_text": "read",
    "read_bytes": "read",
    "rmtree": "delete-tree",
}


class Files(Reading):
    """Calls that touch files."""

    def deletes(self, node: ast.Call, name: str) -> None:
        self.call.deletes(self.word(self.constants.text(first(node))), *calls.DELETES[name])

    def moves(self, node: ast.Call, _name: str) -> None:
        source = self.word(self.constants.text(first(node)))
        target, marks = self.call.written_target(source)
        if target.place.value not in ("workspace", "temp", "nowhere") or "whole" in marks:
            self.call.fact(
                Effect.DELETES, target, tags=("moved", "recursive", *marks), at=self.text.span
            )
        self.taint |= self.call.reads(source).taint & SECRET
        self.call.writes(self.word(self.constants.text(argument(node, 1))))

    def copies(self, node: ast.Call, _name: str) -> None:
        content = self.call.reads(self.word(self.constants.text(first(node))))
        self.taint |= content.taint & SECRET
        self.call.writes(self.word(self.constants.text(argument(node, 1))), content=content)

    def writes(self, node: ast.Call, _name: str) -> None:
        self.call.writes(self.word(self.constants.text(first(node))))

    def opens(self, node: ast.Call, name: str) -> None:
        path = self.constants.text(first(node))
        mode = self.constants.text(argument(node, 1) or keyword(node, "mode")) or "r"
        writes = any(letter in mode for letter in "wax+") and name not in (
            "os.open",
            "sqlite3.connect",
        )
        if path is None and not writes:
            return
        if path in ("0", "1", "2") or isinstance(self.constants.fold(first(node)), int):
            return
        if writes:
            self.call.writes(self.word(path), "append" if "a" in mode else "overwrite")
        else:
            self.taint |= self.call.reads(self.word(path)).taint & SECRET

    def path_method(self, action: str, held: str | None, method: str) -> None:
        if held is None and method in ("mkdir", "touch", "chmod", "read_text", "read_bytes"):
            return
        word = self.word(held)
        if action == "delete":
            self.call.deletes(word)
        elif action == "delete-empty":
            self.call.deletes(word, "empty")
        elif action == "delete-tree":
            self.call.deletes(word, "recursive")
        elif action == "write":
            self.call.writes(word)
        else:
            self.taint |= self.call.reads(word).taint & SECRET

    def sql(self, text: str | None) -> None:
        if text:
            from redoma.judge.programs.code import read_code

            read_code(self.call, "sql", self.word(text))
