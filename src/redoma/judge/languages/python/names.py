"""Which function a name in the code means, through imports, aliases and indirect look-ups."""

from __future__ import annotations

import ast

_BUILTINS = frozenset(("builtins", "__builtins__", "__builtin__"))
_IMPORTERS = frozenset(("__import__", "importlib.import_module", "importlib.__import__"))
_SYNONYMS = {
    "posix": "os",
    "nt": "os",
    "_io": "io",
    "urllib2": "urllib.request",
    "posixpath": "os.path",
    "Path": "pathlib.Path",
}


class Names:
    """The aliases that imports and assignments have made so far."""

    def __init__(self) -> None:
        self.aliases: dict[str, str] = {}

    def imported(self, node: ast.Import | ast.ImportFrom) -> None:
        """Notes what an import statement binds."""
        if isinstance(node, ast.Import):
            for each in node.names:
                if each.asname:
                    self.aliases[each.asname] = _plain(each.name)
                else:
                    first = each.name.partition(".")[0]
                    self.aliases[first] = _plain(first)
            return
        module = _plain(node.module or "")
        for each in node.names:
            if each.name == "*":
                self.aliases[f"*{module}"] = module
            else:
                self.aliases[each.asname or each.name] = f"{module}.{each.name}"

    def of(self, node: ast.AST) -> str:
        """The dotted name that an expression stands for, or an empty text."""
        if isinstance(node, ast.Name):
            return self._bound(node.id)
        if isinstance(node, ast.Attribute):
            before = self.of(node.value)
            if before in _BUILTINS:
                return node.attr
            return f"{before}.{node.attr}" if before else ""
        if isinstance(node, ast.Call):
            return self._called(node)
        if isinstance(node, ast.Subscript):
            return self._looked_up(node)
        if isinstance(node, ast.NamedExpr):
            return self.of(node.value)
        return ""

    def _bound(self, name: str) -> str:
        found = self.aliases.get(name)
        if found is not None:
            return found
        for star, module in self.aliases.items():
            if star.startswith("*") and name in _FROM_STAR.get(module, ()):
                return f"{module}.{name}"
        return _SYNONYMS.get(name, name)

    def _called(self, node: ast.Call) -> str:
        """`__import__("os")`, `getattr(os, "system")`: names that are made while running."""
        name = self.of(node.func)
        if name in _IMPORTERS and node.args:
            module = _literal(node.args[0])
            return (
                _plain(module.partition(".")[0] if name == "__import__" else module)
                if module
                else ""
            )
        if name in ("getattr", "operator.attrgetter") and len(node.args) >= 2:
            attribute = _literal(node.args[1])
            before = self.of(node.args[0])
            if attribute and before:
                return attribute if before in _BUILTINS else f"{before}.{attribute}"
        if name in ("vars", "globals", "locals"):
            return self.of(node.args[0]) if node.args else "builtins"
        return ""

    def _looked_up(self, node: ast.Subscript) -> str:
        before = self.of(node.value).removesuffix(".__dict__")
        key = _literal(node.slice)
        if not before or not key:
            return ""
        if before == "sys.modules":
            return _plain(key)
        if before in _BUILTINS or before == "builtins":
            return "__builtins__" if key in _BUILTINS else key
        return f"{before}.{key}" if before in _MODULES else ""


def _plain(module: str) -> str:
    return _SYNONYMS.get(module, module)


def _literal(node: ast.AST) -> str:
    """A text that is written out, or put together from written texts with `+`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _literal(node.left), _literal(node.right)
        return left + right if left and right else ""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        text = _literal(node.value)
        step = node.slice.step
        backwards = (
            isinstance(step, ast.UnaryOp)
            and isinstance(step.operand, ast.Constant)
            and step.operand.value == 1
        )
        return (
            text[::-1]
            if backwards and node.slice.lower is None and node.slice.upper is None
            else ""
        )
    return ""


_MODULES = frozenset(("os", "subprocess", "shutil", "pty", "posix", "builtins"))
_FROM_STAR: dict[str, tuple[str, ...]] = {
    "os": (
        "system",
        "popen",
        "remove",
        "unlink",
        "rmdir",
        "execv",
        "execl",
        "environ",
        "kill",
        "rename",
    ),
    "subprocess": (
        "run",
        "call",
        "Popen",
        "check_call",
        "check_output",
        "getoutput",
        "getstatusoutput",
    ),
    "shutil": ("rmtree", "move", "copy", "copytree", "copyfile"),
    "pathlib": ("Path", "PurePath"),
    "pty": ("spawn",),
    "socket": ("socket", "create_connection"),
    "urllib.request": ("urlopen", "urlretrieve"),
}
