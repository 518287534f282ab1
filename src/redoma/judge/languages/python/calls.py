"""What well-known Python functions do, by their dotted names."""

from __future__ import annotations

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
    "code.interact code.InteractiveInterpreter.runsource".split()
)
RUNS_FILES = frozenset(
    "runpy.run_path runpy.run_module imp.load_source execfile "
    "importlib.machinery.SourceFileLoader".split()
)
UNPICKLES = frozenset(
    "pickle.loads pickle.load cPickle.loads cPickle.load dill.loads dill.load "
    "marshal.loads marshal.load shelve.open jsonpickle.decode yaml.unsafe_load "
    "joblib.load torch.load types.FunctionType types.CodeType".split()
)
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
POWER = frozenset(("os.reboot",))
ENVIRONMENT = frozenset(("os.environ", "os.environb"))
OPENS = frozenset(
    "open io.open builtins.open codecs.open os.open gzip.open bz2.open lzma.open "
    "fileinput.input tarfile.open zipfile.ZipFile linecache.getlines sqlite3.connect".split()
)
SQL_METHODS = frozenset(("execute", "executescript", "executemany", "raw", "exec_driver_sql"))
FORKS = frozenset(("os.fork", "os.forkpty", "pty.fork"))
