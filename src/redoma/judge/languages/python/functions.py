"""Which function a name in Python code means, and what well-known functions and methods do."""

from __future__ import annotations

import ast

from redoma.judge.interpret.arg import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_LONGEST_NAME = 100
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
SHELLS = frozenset(
    "os.system os.popen os.popen2 os.popen3 os.popen4 subprocess.getoutput "
    "subprocess.getstatusoutput commands.getoutput commands.getstatusoutput "
    "asyncio.create_subprocess_shell pexpect.spawn pexpect.run pexpect.spawnu "
    "popen2.popen2 platform.popen IPython.get_ipython.system fabric.run invoke.run".split()
)
PROGRAMS = frozenset(
    "subprocess.run subprocess.call subprocess.check_call subprocess.check_output "
    "subprocess.Popen pty.spawn asyncio.create_subprocess_exec os.posix_spawn "
    "os.posix_spawnp sh.Command".split()
)
EXECS = frozenset(
    "os.execv os.execve os.execvp os.execvpe os.execl os.execle os.execlp os.execlpe".split()
)
SPAWNS = frozenset(
    "os.spawnv os.spawnve os.spawnvp os.spawnvpe os.spawnl os.spawnle os.spawnlp "
    "os.spawnlpe".split()
)
EVALUATES = frozenset(
    "exec eval compile execfile builtins.exec builtins.eval builtins.compile "
    "code.interact code.InteractiveInterpreter.runsource code.InteractiveInterpreter.runcode "
    "code.InteractiveConsole.push code.InteractiveConsole.runsource timeit.timeit timeit.repeat "
    "timeit.Timer cProfile.run cProfile.runctx profile.run profile.runctx pdb.run pdb.runeval "
    "pdb.runcall trace.Trace.run bdb.Bdb.run".split()
)
_CLASSES = frozenset(
    "code.InteractiveInterpreter code.InteractiveConsole trace.Trace bdb.Bdb".split()
)
"""Classes whose methods are known by the class's name."""
RUNS_FILES = frozenset(
    "runpy.run_path runpy.run_module imp.load_source execfile "
    "importlib.machinery.SourceFileLoader".split()
)
UNPICKLES = frozenset(
    "pickle.loads pickle.load cPickle.loads cPickle.load dill.loads dill.load "
    "shelve.open jsonpickle.decode yaml.unsafe_load joblib.load torch.load "
    "pandas.read_pickle".split()
)
UNPICKLES_TEXT = frozenset("pickle.loads cPickle.loads dill.loads jsonpickle.decode".split())
MADE_CODE = frozenset("marshal.loads marshal.load types.FunctionType types.CodeType".split())
LIBRARIES = frozenset(
    "ctypes.CDLL ctypes.cdll.LoadLibrary ctypes.PyDLL ctypes.WinDLL "
    "ctypes.cdll.loadlibrary cffi.FFI.dlopen ctypes.util.find_library".split()
)
DELETES = {
    "os.remove": (),
    "os.unlink": (),
    "os.rmdir": ("empty",),
    "os.removedirs": ("empty",),
    "shutil.rmtree": ("recursive",),
    "send2trash.send2trash": ("recursive",),
}
WALKS = frozenset(
    "os.walk os.fwalk os.listdir os.scandir glob.glob glob.iglob os.path.walk".split()
)
MOVES = frozenset("os.rename os.replace os.renames shutil.move".split())
COPIES = frozenset(
    "shutil.copy shutil.copy2 shutil.copyfile shutil.copytree os.link os.symlink "
    "shutil.unpack_archive".split()
)
WRITES = frozenset(
    "os.mkdir os.makedirs os.mknod os.mkfifo os.truncate os.chmod os.chown os.lchown "
    "os.utime os.setxattr shutil.chown shutil.make_archive".split()
)
NETWORK_READS = frozenset(
    "urllib.request.urlopen urllib.urlopen urllib.request.Request requests.get "
    "requests.head requests.options httpx.get httpx.head httpx.options urllib3.request "
    "http.client.HTTPConnection http.client.HTTPSConnection urllib3.PoolManager "
    "aiohttp.ClientSession requests.Session httpx.Client httpx.AsyncClient "
    "feedparser.parse pandas.read_html wget.download webbrowser.open httpx.stream".split()
)
NETWORK_SENDS = {
    "requests.post": "POST",
    "requests.put": "PUT",
    "requests.patch": "PATCH",
    "requests.delete": "DELETE",
    "httpx.post": "POST",
    "httpx.put": "PUT",
    "httpx.patch": "PATCH",
    "httpx.delete": "DELETE",
}
FETCHES_FILES = frozenset("urllib.request.urlretrieve urllib.urlretrieve wget.download".split())
SOCKETS = frozenset(
    "socket.socket socket.create_connection socket.create_server ssl.wrap_socket "
    "telnetlib.Telnet paramiko.SSHClient paramiko.Transport ftplib.FTP ftplib.FTP_TLS "
    "smtplib.SMTP smtplib.SMTP_SSL websocket.create_connection poplib.POP3 imaplib.IMAP4 "
    "asyncio.open_connection dns.resolver.resolve socket.gethostbyname socket.getaddrinfo".split()
)
SERVERS = frozenset(
    "http.server.HTTPServer http.server.ThreadingHTTPServer http.server.test "
    "socketserver.TCPServer socketserver.UDPServer socketserver.ThreadingTCPServer "
    "SocketServer.TCPServer wsgiref.simple_server.make_server asyncio.start_server "
    "xmlrpc.server.SimpleXMLRPCServer SimpleHTTPServer.test".split()
)
KILLS = frozenset(
    "os.kill os.killpg os.abort signal.pthread_kill psutil.Process.kill "
    "psutil.Process.terminate".split()
)
RAISES_RIGHTS = frozenset(
    "os.setuid os.setgid os.seteuid os.setegid os.setreuid os.setresuid os.setgroups "
    "os.chroot".split()
)
INSTALLS = frozenset(
    "pip.main pip._internal.main pip._internal.cli.main.main ensurepip.bootstrap".split()
)
ENVIRONMENT = frozenset(("os.environ", "os.environb"))
OPENS = frozenset(
    "open io.open builtins.open codecs.open os.open gzip.open bz2.open lzma.open "
    "fileinput.input tarfile.open zipfile.ZipFile linecache.getlines sqlite3.connect".split()
)
SQL_METHODS = frozenset(("execute", "executescript", "executemany", "raw", "exec_driver_sql"))
FORKS = frozenset(("os.fork", "os.forkpty", "pty.fork"))
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
SENDING_METHODS = frozenset(
    "send sendall sendto post put patch upload sendmail send_message storbinary "
    "storlines request urlopen".split()
)
DECODING = (
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


class Aliases:
    """The aliases that imports and assignments have made so far."""

    def __init__(self) -> None:
        self.aliases: dict[str, str] = {}
        self.text: Callable[[ast.AST], str | None] = _literal
        """What an expression is worth as a text, for names that are put together."""

    def _made(self, node: ast.AST) -> str:
        """A name that is put together while running, where all of its pieces are known."""
        name = self.text(node)
        return "" if name is None or UNKNOWN in name else name

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
            return f"{before}.{node.attr}".removesuffix(".__call__") if before else ""
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
            module = self._made(node.args[0])
            return (
                _plain(module.partition(".")[0] if name == "__import__" else module)
                if module
                else ""
            )
        if name in ("getattr", "operator.attrgetter") and len(node.args) >= 2:
            attribute = self._made(node.args[1])
            before = self.of(node.args[0])
            if attribute and before:
                return attribute if before in _BUILTINS else f"{before}.{attribute}"
        if name == "eval" and node.args:
            return self._evaluated(self._made(node.args[0]))
        if name in _CLASSES:
            return name
        if name in ("vars", "globals", "locals"):
            return self.of(node.args[0]) if node.args else "builtins"
        return ""

    def _evaluated(self, text: str) -> str:
        """`eval("os.system")(…)`: the function that a text names."""
        plain = text.replace(".", "").replace("_", "").isalnum() and len(text) < _LONGEST_NAME
        first, _, rest = text.partition(".")
        if not plain:
            return ""
        return f"{self._bound(first)}.{rest}" if rest else self._bound(first)

    def _looked_up(self, node: ast.Subscript) -> str:
        before = self.of(node.value).removesuffix(".__dict__")
        key = self._made(node.slice)
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


def first(node: ast.Call) -> ast.expr | None:
    """The first argument, unless it is spread."""
    return argument(node, 0)


def argument(node: ast.Call, index: int) -> ast.expr | None:
    """The argument at a position."""
    if len(node.args) > index and not isinstance(node.args[index], ast.Starred):
        return node.args[index]
    return None


def keyword(node: ast.Call, name: str) -> ast.expr | None:
    """The argument with a name."""
    return next((each.value for each in node.keywords if each.arg == name), None)


def true(node: ast.expr | None) -> bool:
    """Whether it is given and may be true."""
    return node is not None and not (isinstance(node, ast.Constant) and not node.value)


def is_address(node: ast.expr | None) -> bool:
    """Whether it is a pair such as (host, port)."""
    return isinstance(node, ast.Tuple) and len(node.elts) == 2
