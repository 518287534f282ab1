"""What one call in Python code does: programs run, files touched, machines talked to."""

from __future__ import annotations

import ast

from redoma.judge.interpret.arg import NETWORK, SECRET, UNKNOWN, Arg, Stream
from redoma.judge.python import calls
from redoma.model.risk import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.call import Call
    from redoma.judge.python.constants import Constants
    from redoma.judge.python.names import Names

_PATH_METHODS = {
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
_SENDING_METHODS = frozenset("send sendall sendto post put patch upload sendmail send_message storbinary storlines request urlopen".split())
_DECODING = ("base64.", "binascii.", "bytes.fromhex", "bytearray.fromhex", "codecs.", "zlib.", "gzip.", "marshal.", "chr")
DEEPEST = 6


class Doing:
    """Facts of the calls, and what only their combination tells."""

    def __init__(self, call: Call, text: Arg, names: Names, constants: Constants) -> None:
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
        self.depth = getattr(call, "code_depth", 0)

    def word(self, text: str | None) -> Arg:
        return self.text.like(UNKNOWN if text is None else text)

    def called(self, name: str, node: ast.Call) -> None:
        """Notes one call; what is not known by name is left to the general 'runs code'."""
        handler = _HANDLERS.get(name)
        if handler is not None:
            handler(self, node, name)
            return
        if isinstance(node.func, ast.Attribute):
            self._method(node, node.func.attr)
        elif name == "" and isinstance(node.func, ast.Call | ast.Subscript):
            # Attack: a function looked up by a name that is made while running.
            if any(self.names.of(each) in ("os", "subprocess", "builtins") for each in ast.walk(node.func)):
                self.call.fact(Effect.UNKNOWN, tags=("code",), at=self.text.span)
        elif name in ("__import__", "importlib.import_module") and self.constants.text(_first(node)) is None:
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
        self._obscured(_first(node))
        self._shell(self.constants.text(_first(node)))

    def _shell(self, command: str | None) -> None:
        if command is None:
            self.unknown_code()
            return
        self.taint |= self.call.run_shell(self.word(command)).taint

    def program(self, node: ast.Call, name: str) -> None:
        self.spawns = True
        first = _first(node) or _keyword(node, "args")
        self._obscured(first)
        words = self.constants.words(first)
        if name == "asyncio.create_subprocess_exec" or name.startswith("os.posix_spawn"):
            words = [self.constants.text(each) or UNKNOWN for each in node.args]
        if _true(_keyword(node, "shell")):
            self._shell(words[0] if words else self.constants.text(first))
            return
        if words is None:
            command = self.constants.text(first)
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
        source = self.constants.text(_first(node))
        self.evaluates = True
        self._obscured(_first(node))
        if source is None:
            first = _first(node)
            if isinstance(first, ast.Call) and self.names.of(first.func) == "compile":
                return
            if name == "eval" and isinstance(first, ast.Call) and self.names.of(first.func) == "input":
                return
            self.unknown_code()
            return
        if self.call.walker.depth > DEEPEST * 4:
            self.unknown_code()
            return
        from redoma.judge.python.reader import read_python

        self.call.walker.depth += 1
        try:
            self.taint |= read_python(self.call, self.word(source)).taint
        finally:
            self.call.walker.depth -= 1

    def unknown_code(self, *_: object) -> None:
        self.evaluates = True
        self.call.fact(Effect.UNKNOWN, tags=("code",), at=self.text.span)

    def runs_file(self, node: ast.Call, _name: str) -> None:
        self.call.executes_file(self.word(self.constants.text(_first(node))), "python")

    def library(self, *_: object) -> None:
        self.call.fact(Effect.EXECUTES, tags=("library",), at=self.text.span)

    # Files -------------------------------------------------------------------------------------

    def deletes(self, node: ast.Call, name: str) -> None:
        self.call.deletes(self.word(self.constants.text(_first(node))), *calls.DELETES[name])

    def moves(self, node: ast.Call, _name: str) -> None:
        source = self.word(self.constants.text(_first(node)))
        target, marks = self.call.written_target(source)
        if target.place.value not in ("workspace", "temp", "nowhere") or "whole" in marks:
            self.call.fact(Effect.DELETES, target, tags=("moved", "recursive", *marks), at=self.text.span)
        self.taint |= self.call.reads(source).taint & SECRET
        self.call.writes(self.word(self.constants.text(_argument(node, 1))))

    def copies(self, node: ast.Call, _name: str) -> None:
        content = self.call.reads(self.word(self.constants.text(_first(node))))
        self.taint |= content.taint & SECRET
        self.call.writes(self.word(self.constants.text(_argument(node, 1))), content=content)

    def writes(self, node: ast.Call, _name: str) -> None:
        self.call.writes(self.word(self.constants.text(_first(node))))

    def opens(self, node: ast.Call, name: str) -> None:
        path = self.constants.text(_first(node))
        mode = self.constants.text(_argument(node, 1) or _keyword(node, "mode")) or "r"
        writes = any(letter in mode for letter in "wax+") and name not in ("os.open", "sqlite3.connect")
        if path is None and not writes:
            return
        if path in ("0", "1", "2") or isinstance(self.constants.fold(_first(node)), int):
            return
        if writes:
            self.call.writes(self.word(path), "append" if "a" in mode else "overwrite")
        else:
            self.taint |= self.call.reads(self.word(path)).taint & SECRET

    def _method(self, node: ast.Call, method: str) -> None:
        action = _PATH_METHODS.get(method)
        func = node.func
        assert isinstance(func, ast.Attribute)
        held = self.constants.text(func.value)
        if action is not None:
            self._path_method(action, held, method)
        elif method == "open" and held is not None:
            mode = self.constants.text(_first(node)) or "r"
            if any(letter in mode for letter in "wax+"):
                self.call.writes(self.word(held))
            else:
                self.taint |= self.call.reads(self.word(held)).taint & SECRET
        elif method in ("rename", "replace") and held is not None and len(node.args) == 1:
            self.moves(ast.Call(func=func, args=[func.value, *node.args], keywords=[]), method)
        elif method in calls.SQL_METHODS:
            self._sql(self.constants.text(_first(node)))
        elif method == "connect" and (self.connects or _is_address(_first(node))):
            self.connects = True
            self._address(_first(node))
        elif method in ("bind", "listen", "serve_forever") and (self.connects or self.listens):
            self.listens = True
        elif method in _SENDING_METHODS and (self.connects or self.hosts):
            self.sends = True

    def _path_method(self, action: str, held: str | None, method: str) -> None:
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

    def _sql(self, text: str | None) -> None:
        if text:
            from redoma.judge.programs.code import read_code

            read_code(self.call, "sql", self.word(text))

    # Network -----------------------------------------------------------------------------------

    def _url(self, node: ast.AST | None) -> Arg:
        word = self.word(self.constants.text(node))
        self.hosts.append(word)
        return word

    def asks(self, node: ast.Call, name: str) -> None:
        first = _first(node) or _keyword(node, "url")
        url = self._url(first)
        data = _argument(node, 1) or _keyword(node, "data") or _keyword(node, "json") or _keyword(node, "params")
        if data is not None and name.endswith(("urlopen", "Request")):
            self.sends = True
            self.call.sends(0, url)
        elif _keyword(node, "params") is not None or UNKNOWN in url.strip(UNKNOWN):
            self.sends = self.sends or bool(self.taint & SECRET)
            self.call.host(url, "download")
        else:
            self.call.host(url, "download")

    def posts(self, node: ast.Call, name: str) -> None:
        from redoma.judge.programs.sending import requests

        url = self._url(_first(node) or _keyword(node, "url"))
        self.sends = True
        requests(self.call, url, calls.NETWORK_SENDS[name], 0, ())

    def fetches(self, node: ast.Call, _name: str) -> None:
        url = self._url(_first(node))
        self.call.host(url, "download")
        target = self.constants.text(_argument(node, 1))
        if target is not None:
            self.call.writes(self.word(target), content=Stream(None, NETWORK, str(url)))

    def socket(self, node: ast.Call, name: str) -> None:
        self.connects = True
        if name not in ("socket.socket", "paramiko.SSHClient"):
            self._address(_first(node))
        if name.startswith(("ftplib", "smtplib", "dns.", "socket.get")):
            self.sends = True

    def _address(self, node: ast.AST | None) -> None:
        words = self.constants.words(node)
        host = self.word(words[0] if words else self.constants.text(node))
        self.hosts.append(host)
        self.call.host(host, "raw")

    def serves(self, *_: object) -> None:
        self.listens = True
        self.call.fact(Effect.NETWORK, tags=("listen",), at=self.text.span)

    # The machine -------------------------------------------------------------------------------

    def kills(self, node: ast.Call, name: str) -> None:
        everything = self.constants.fold(_first(node)) in (-1, 1) and name != "os.abort"
        self.call.fact(Effect.KILLS, tags=("everything",) if everything else (), at=self.text.span)

    def rights(self, *_: object) -> None:
        self.call.fact(Effect.PRIVILEGE, at=self.text.span)

    def installs(self, *_: object) -> None:
        self.call.fact(Effect.INSTALLS, at=self.text.span)

    def duplicates(self, *_: object) -> None:
        if self.connects:
            self.spawns = True

    def variable(self, node: ast.Call, _name: str) -> None:
        from redoma.judge.sensitive import is_secret_variable

        if is_secret_variable(self.constants.text(_first(node)) or ""):
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


def _first(node: ast.Call) -> ast.expr | None:
    return _argument(node, 0)


def _argument(node: ast.Call, index: int) -> ast.expr | None:
    if len(node.args) > index and not isinstance(node.args[index], ast.Starred):
        return node.args[index]
    return None


def _keyword(node: ast.Call, name: str) -> ast.expr | None:
    return next((each.value for each in node.keywords if each.arg == name), None)


def _true(node: ast.expr | None) -> bool:
    return node is not None and not (isinstance(node, ast.Constant) and not node.value)


def _is_address(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Tuple) and len(node.elts) == 2


_HANDLERS = {
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
    "os.dup2": Doing.duplicates,
    "os.getenv": Doing.variable,
    "os.environ.get": Doing.variable,
}
