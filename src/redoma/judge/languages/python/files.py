"""What Python code does to files: deletes, moves, copies, writes, reads, and SQL in databases."""

from __future__ import annotations

import ast

from redoma.judge.interpret.arg import SECRET, UNKNOWN, Stream
from redoma.judge.languages.python import calls
from redoma.judge.languages.python.arguments import argument, first, keyword
from redoma.judge.languages.python.reading import Reading
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
        path = self.constants.text(first(node))
        self.call.deletes(self.word(path), *calls.DELETES[name])
        if path is None or UNKNOWN in path:
            self.deletes_walked()

    def deletes_walked(self) -> None:
        """What is deleted without a known name may be all that the code has gone through."""
        for root in self.walked[:4]:
            self.call.deletes(self.word(root), "recursive")

    def walks(self, node: ast.Call, _name: str) -> None:
        root = self.constants.text(first(node))
        if root is not None:
            self.walked.append(root)

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

    def fills(self, opened: ast.expr, node: ast.Call) -> None:
        """`open(path, "w").write(text)`: what lies in the file from then on."""
        path = None
        if isinstance(opened, ast.Call) and self.names.of(opened.func) in ("open", "io.open"):
            path = self.constants.text(first(opened))
        elif isinstance(opened, ast.Name):
            path = self.handles.get(opened.id)
        if path is not None:
            held = Stream(self.constants.text(first(node)), self.taint, "python")
            self.call.walker.files.put(self.call.path(self.word(path)), held, append=True)

    def path_method(self, action: str, held: str | None, method: str) -> None:
        if held is None and method in ("mkdir", "touch", "chmod", "read_text", "read_bytes"):
            return
        word = self.word(held)
        if action.startswith("delete") and (held is None or UNKNOWN in held):
            self.deletes_walked()
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
            self.call.reads_code("sql", self.word(text))
