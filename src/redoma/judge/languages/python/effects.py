"""What one call in Python code does: programs run, files touched, machines talked to."""

from __future__ import annotations

import ast

from redoma.judge.interpret.arg import NETWORK, SECRET, UNKNOWN, Arg, Stream
from redoma.judge.interpret.hosts import host_target
from redoma.judge.languages.python import functions
from redoma.judge.languages.python.functions import argument, first, is_address, keyword, true
from redoma.judge.languages.python.values import FunctionValues, unpickles
from redoma.model.decision import Effect, Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.judge.interpret.invocation import Invocation
    from redoma.judge.languages.python.constants import Constants
    from redoma.judge.languages.python.functions import Aliases


DEEPEST = 24


class PythonEffects:
    """Facts of the calls of one piece of code, and what only their combination tells."""

    def __init__(self, call: Invocation, text: Arg, names: Aliases, constants: Constants) -> None:
        self.call = call
        self.text = text
        self.names = names
        self.constants = constants
        self.taint = 0
        self.hosts: list[Arg] = []
        self.sends = False
        self.connects = False
        self.listens = False
        self.spawns = False
        self.evaluates = False
        self.walked: list[str] = []
        """Directories whose names the code goes through."""
        self.values = FunctionValues(self)
        self.handles: dict[str, str] = {}
        """Names that stand for an opened file, and its path."""

    def word(self, text: str | None) -> Arg:
        return self.text.like(UNKNOWN if text is None else text)

    def called(self, name: str, node: ast.Call) -> None:
        """Notes one call; what is not known by name is left to the general 'runs code'."""
        handler = _HANDLERS.get(name)
        if handler is not None:
            self.call.walker.step()
            handler(self, node, name)
            return
        if isinstance(node.func, ast.Attribute):
            self._method(node, node.func.attr)
        else:
            self.values.dynamic(node)

    # Programs ----------------------------------------------------------------------------------

    def _obscured(self, node: ast.expr | None) -> None:
        """A known text that had to be decoded first was meant not to be read."""
        for each in ast.walk(node) if node is not None else ():
            if isinstance(each, ast.Call) and self.names.of(each.func).startswith(
                functions.DECODING
            ):
                self.call.fact(Effect.EXECUTES, tags=("obscured",), at=self.text.span)
                return

    def shell(self, node: ast.Call, _name: str) -> None:
        self.spawns = True
        self._obscured(first(node))
        self._shell(self.constants.text(first(node)))

    def _shell(self, command: str | None) -> None:
        if command is None:
            self.unknown_code()
            return
        self.taint |= self.call.run_shell(self.word(command)).taint

    def program(self, node: ast.Call, name: str) -> None:
        self.spawns = True
        given = first(node) or keyword(node, "args")
        self._obscured(given)
        words = self.constants.words(given)
        if name == "asyncio.create_subprocess_exec" or name.startswith("os.posix_spawn"):
            words = [self.constants.text(each) or UNKNOWN for each in node.args]
        if true(keyword(node, "shell")):
            self._shell(words[0] if words else self.constants.text(given))
            return
        if words is None:
            command = self.constants.text(given)
            if command is None:
                self.unknown_code()
                return
            words = [command] if " " not in command or name != "pty.spawn" else command.split()
        self._program(words)

    def _program(self, words: list[str]) -> None:
        if not words or not words[0].strip(UNKNOWN):
            self.unknown_code()
            return
        self.taint |= self.call.run_args([self.word(each) for each in words]).taint

    def execs(self, node: ast.Call, name: str) -> None:
        self.spawns = True
        args = node.args[1:] if name in functions.SPAWNS else node.args
        program = self.constants.text(args[0]) if args else None
        words = self.constants.words(args[1]) if len(args) > 1 else None
        if words is None:
            words = [self.constants.text(each) or UNKNOWN for each in args[1:]]
        self._program([program or UNKNOWN, *words[1:]])

    def evaluate(self, node: ast.Call, name: str) -> None:
        source = self.constants.text(first(node))
        self.evaluates = True
        self._obscured(first(node))
        if source is None:
            given = first(node)
            if isinstance(given, ast.Call) and self.names.of(given.func) == "compile":
                return
            if (
                name == "eval"
                and isinstance(given, ast.Call)
                and self.names.of(given.func) == "input"
            ):
                return
            self.unknown_code()
            return
        if self.call.walker.depth > DEEPEST:
            self.unknown_code()
            return
        from redoma.judge.languages.python.source import read_python

        self.call.walker.depth += 1
        try:
            self.taint |= read_python(self.call, self.word(source)).taint
        finally:
            self.call.walker.depth -= 1

    def unknown_code(self, *_: object) -> None:
        self.evaluates = True
        self.call.unknown_code(self.text.span)

    def runs_file(self, node: ast.Call, _name: str) -> None:
        self.call.executes_file(self.word(self.constants.text(first(node))), "python")

    def library(self, *_: object) -> None:
        self.call.fact(Effect.EXECUTES, tags=("library",), at=self.text.span)

    def _method(self, node: ast.Call, method: str) -> None:
        action = functions.PATH_METHODS.get(method)
        func = node.func
        assert isinstance(func, ast.Attribute)
        held = self.constants.text(func.value)
        if action is not None:
            self.path_method(action, held, method)
            if method == "write_text" and held is not None:
                written = Stream(self.constants.text(first(node)), self.taint, "python")
                self.call.walker.files.put(self.call.path(self.word(held)), written)
        elif method in ("write", "writelines"):
            self.fills(func.value, node)
        elif method in ("rglob", "glob", "iterdir", "walk") and held is not None:
            self.walked.append(held)
        elif method in ("system", "popen") and self.constants.text(first(node)):
            # A library's own function: `ctypes.CDLL(None).system(…)`.
            self.shell(node, method)
        elif method == "open" and held is not None:
            mode = self.constants.text(first(node)) or "r"
            if any(letter in mode for letter in "wax+"):
                self.call.writes(self.word(held))
            else:
                self.taint |= self.call.reads(self.word(held)).taint & SECRET
        elif method in ("rename", "replace") and held is not None and len(node.args) == 1:
            self.moves(ast.Call(func=func, args=[func.value, *node.args], keywords=[]), method)
        elif method in functions.SQL_METHODS:
            self.sql(self.constants.text(first(node)))
        elif method == "connect" and (self.connects or is_address(first(node))):
            self.connects = True
            self.address(first(node))
        elif method in ("bind", "listen", "serve_forever") and (self.connects or self.listens):
            self.listens = True
        elif method in functions.SENDING_METHODS and (self.connects or self.hosts):
            self.sends = True

    # Files ------------------------------------------------------------------------------------

    def deletes(self, node: ast.Call, name: str) -> None:
        path = self.constants.text(first(node))
        self.call.deletes(self.word(path), *functions.DELETES[name])
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

    # Other machines ---------------------------------------------------------------------------

    def _url(self, node: ast.AST | None) -> Arg:
        word = self.word(self.constants.text(node))
        self.hosts.append(word)
        return word

    def asks(self, node: ast.Call, name: str) -> None:
        given = first(node) or keyword(node, "url")
        url = self._url(given)
        data = (
            argument(node, 1)
            or keyword(node, "data")
            or keyword(node, "json")
            or keyword(node, "params")
        )
        if data is not None and name.endswith(("urlopen", "Request")):
            self.sends = True
            self.call.sends(0, url)
        elif keyword(node, "params") is not None or UNKNOWN in url:
            self.sends = self.sends or bool(self.taint & SECRET)
            self.call.host(url, "download")
        else:
            self.call.host(url, "download")

    def posts(self, node: ast.Call, name: str) -> None:
        from redoma.judge.interpret.hosts import web_request

        url = self._url(first(node) or keyword(node, "url"))
        self.sends = True
        web_request(self.call, url, functions.NETWORK_SENDS[name], 0, ())

    def fetches(self, node: ast.Call, _name: str) -> None:
        url = self._url(first(node))
        self.call.host(url, "download")
        target = self.constants.text(argument(node, 1))
        if target is not None:
            self.call.writes(self.word(target), content=Stream(None, NETWORK, str(url)))

    def socket(self, node: ast.Call, name: str) -> None:
        self.connects = True
        if name not in ("socket.socket", "paramiko.SSHClient"):
            self.address(first(node))
        if name.startswith(("ftplib", "smtplib", "dns.", "socket.get")):
            self.sends = True

    def address(self, node: ast.AST | None) -> None:
        words = self.constants.words(node)
        host = self.word(words[0] if words else self.constants.text(node))
        self.hosts.append(host)
        self.call.host(host, "raw")

    def serves(self, *_: object) -> None:
        self.listens = True
        self.call.fact(Effect.NETWORK, tags=("listen",), at=self.text.span)

    # The machine -------------------------------------------------------------------------------

    def kills(self, node: ast.Call, name: str) -> None:
        everything = self.constants.fold(first(node)) in (-1, 1) and name != "os.abort"
        self.call.fact(Effect.KILLS, tags=("everything",) if everything else (), at=self.text.span)

    def rights(self, *_: object) -> None:
        self.call.fact(Effect.PRIVILEGE, at=self.text.span)

    def installs(self, *_: object) -> None:
        self.call.fact(Effect.INSTALLS, at=self.text.span)

    def duplicates(self, *_: object) -> None:
        if self.connects:
            self.spawns = True

    def variable(self, node: ast.Call, _name: str) -> None:
        from redoma.judge.interpret.sensitive import is_secret_variable

        if is_secret_variable(self.constants.text(first(node)) or ""):
            self.taint |= SECRET

    def conclude(self) -> None:
        """What the calls mean together: a shell for others, secrets sent, code fetched and run."""
        if (self.connects or self.listens) and self.spawns:
            self.call.fact(Effect.NETWORK, tags=("reverse-shell",), at=self.text.span)
        carried = self.taint | self.call.stdin.taint
        if (self.sends or self.connects) and carried & SECRET:
            target = self.hosts[-1] if self.hosts else self.word(None)
            self.call.sends(SECRET, target)
        fetched = not self.sends and any(
            host_target(str(host))[0].place is not Place.LOOPBACK for host in self.hosts
        )
        if fetched and self.evaluates:
            self.call.fact(Effect.DOWNLOADS_AND_EXECUTES, at=self.text.span)


_HANDLERS: dict[str, Callable[..., None]] = {
    **dict.fromkeys(functions.SHELLS, PythonEffects.shell),
    **dict.fromkeys(functions.PROGRAMS, PythonEffects.program),
    **dict.fromkeys((*functions.EXECS, *functions.SPAWNS), PythonEffects.execs),
    **dict.fromkeys(functions.EVALUATES, PythonEffects.evaluate),
    **dict.fromkeys(functions.RUNS_FILES, PythonEffects.runs_file),
    **dict.fromkeys(functions.UNPICKLES, unpickles),
    **dict.fromkeys(functions.MADE_CODE, PythonEffects.unknown_code),
    **dict.fromkeys(functions.LIBRARIES, PythonEffects.library),
    **dict.fromkeys(functions.DELETES, PythonEffects.deletes),
    **dict.fromkeys(functions.MOVES, PythonEffects.moves),
    **dict.fromkeys(functions.COPIES, PythonEffects.copies),
    **dict.fromkeys(functions.WRITES, PythonEffects.writes),
    **dict.fromkeys(functions.OPENS, PythonEffects.opens),
    **dict.fromkeys(functions.NETWORK_READS, PythonEffects.asks),
    **dict.fromkeys(functions.NETWORK_SENDS, PythonEffects.posts),
    **dict.fromkeys(functions.FETCHES_FILES, PythonEffects.fetches),
    **dict.fromkeys(functions.SOCKETS, PythonEffects.socket),
    **dict.fromkeys(functions.SERVERS, PythonEffects.serves),
    **dict.fromkeys(functions.KILLS, PythonEffects.kills),
    **dict.fromkeys(functions.RAISES_RIGHTS, PythonEffects.rights),
    **dict.fromkeys(functions.INSTALLS, PythonEffects.installs),
    **dict.fromkeys(functions.WALKS, PythonEffects.walks),
    "os.dup2": PythonEffects.duplicates,
    "os.getenv": PythonEffects.variable,
    "os.environ.get": PythonEffects.variable,
}
