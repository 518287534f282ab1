"""What one call in Python code does: programs run, files touched, machines talked to."""

from __future__ import annotations

import ast

from redoma.judge.interpret.arg import SECRET, UNKNOWN, Stream
from redoma.judge.languages.python import calls
from redoma.judge.languages.python.arguments import first, is_address, keyword, true
from redoma.judge.languages.python.files import PATH_METHODS, Files
from redoma.judge.languages.python.network import Network
from redoma.model.risk import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_SENDING_METHODS = frozenset(
    "send sendall sendto post put patch upload sendmail send_message storbinary "
    "storlines request urlopen".split()
)
_DECODING = (
    "base64.",
    "binascii.",
    "bytes.fromhex",
    "bytearray.fromhex",
    "codecs.",
    "zlib.",
    "gzip.",
    "marshal.",
    "chr",
)
DEEPEST = 6


class Doing(Files, Network):
    """Facts of the calls, and what only their combination tells."""

    def called(self, name: str, node: ast.Call) -> None:
        """Notes one call; what is not known by name is left to the general 'runs code'."""
        handler = _HANDLERS.get(name)
        if handler is not None:
            self.call.walker.step()
            handler(self, node, name)
            return
        if isinstance(node.func, ast.Attribute):
            self._method(node, node.func.attr)
        elif name == "" and isinstance(node.func, ast.Call | ast.Subscript):
            # Attack: a function looked up by a name that is made while running.
            if any(
                self.names.of(each) in ("os", "subprocess", "builtins")
                for each in ast.walk(node.func)
            ):
                self.call.fact(Effect.UNKNOWN, tags=("code",), at=self.text.span)
        elif (
            name in ("__import__", "importlib.import_module")
            and self.constants.text(first(node)) is None
        ):
            self.call.fact(Effect.UNKNOWN, tags=("code",), at=self.text.span)

    # Programs ----------------------------------------------------------------------------------

    def _obscured(self, node: ast.expr | None) -> None:
        """A known text that had to be decoded first was meant not to be read."""
        for each in ast.walk(node) if node is not None else ():
            if isinstance(each, ast.Call) and self.names.of(each.func).startswith(_DECODING):
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
        args = node.args[1:] if name in calls.SPAWNS else node.args
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
        if self.call.walker.depth > DEEPEST * 4:
            self.unknown_code()
            return
        from redoma.judge.languages.python.reader import read_python

        self.call.walker.depth += 1
        try:
            self.taint |= read_python(self.call, self.word(source)).taint
        finally:
            self.call.walker.depth -= 1

    def unknown_code(self, *_: object) -> None:
        self.evaluates = True
        self.call.fact(Effect.UNKNOWN, tags=("code",), at=self.text.span)

    def runs_file(self, node: ast.Call, _name: str) -> None:
        self.call.executes_file(self.word(self.constants.text(first(node))), "python")

    def library(self, *_: object) -> None:
        self.call.fact(Effect.EXECUTES, tags=("library",), at=self.text.span)

    def _method(self, node: ast.Call, method: str) -> None:
        action = PATH_METHODS.get(method)
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
        elif method in calls.SQL_METHODS:
            self.sql(self.constants.text(first(node)))
        elif method == "connect" and (self.connects or is_address(first(node))):
            self.connects = True
            self.address(first(node))
        elif method in ("bind", "listen", "serve_forever") and (self.connects or self.listens):
            self.listens = True
        elif method in _SENDING_METHODS and (self.connects or self.hosts):
            self.sends = True

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
        fetched = bool(self.hosts) and not self.sends
        if fetched and self.evaluates:
            self.call.fact(Effect.DOWNLOADS_AND_EXECUTES, at=self.text.span)


_HANDLERS: dict[str, Callable[..., None]] = {
    **dict.fromkeys(calls.SHELLS, Doing.shell),
    **dict.fromkeys(calls.PROGRAMS, Doing.program),
    **dict.fromkeys((*calls.EXECS, *calls.SPAWNS), Doing.execs),
    **dict.fromkeys(calls.EVALUATES, Doing.evaluate),
    **dict.fromkeys(calls.RUNS_FILES, Doing.runs_file),
    **dict.fromkeys(calls.UNPICKLES, Doing.unknown_code),
    **dict.fromkeys(calls.LIBRARIES, Doing.library),
    **dict.fromkeys(calls.DELETES, Doing.deletes),
    **dict.fromkeys(calls.MOVES, Doing.moves),
    **dict.fromkeys(calls.COPIES, Doing.copies),
    **dict.fromkeys(calls.WRITES, Doing.writes),
    **dict.fromkeys(calls.OPENS, Doing.opens),
    **dict.fromkeys(calls.NETWORK_READS, Doing.asks),
    **dict.fromkeys(calls.NETWORK_SENDS, Doing.posts),
    **dict.fromkeys(calls.FETCHES_FILES, Doing.fetches),
    **dict.fromkeys(calls.SOCKETS, Doing.socket),
    **dict.fromkeys(calls.SERVERS, Doing.serves),
    **dict.fromkeys(calls.KILLS, Doing.kills),
    **dict.fromkeys(calls.RAISES_RIGHTS, Doing.rights),
    **dict.fromkeys(calls.INSTALLS, Doing.installs),
    **dict.fromkeys(calls.WALKS, Doing.walks),
    "os.dup2": Doing.duplicates,
    "os.getenv": Doing.variable,
    "os.environ.get": Doing.variable,
}
