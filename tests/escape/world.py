"""A machine in small, made for one attack: a home full of secrets, a workspace, things to hit.

Everything an attack may change is made here, so that even an attack that succeeds hurts nothing:
the victim file, the host process, the listener and the repository are all decoys, and go with it.
"""

from __future__ import annotations

import os
import secrets
import select
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from tests.tidy import remove

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# Where people and their tools keep what nobody else may read, below the home directory.
SECRET_PLACES = """
    .ssh/id_ed25519 .ssh/config .aws/credentials .azure/accessTokens.json .kube/config
    .config/gcloud/application_default_credentials.json .config/gh/hosts.yml .docker/config.json
    .gnupg/private-keys-v1.d/key.key .netrc .git-credentials .npmrc .pypirc .vault-token
    .password-store/bank.gpg .local/share/keyrings/login.keyring .cargo/credentials.toml
    .gem/credentials .m2/settings.xml .terraform.d/credentials.tfrc.json .env other-project/.env
    .mozilla/firefox/a.default/logins.json .config/google-chrome/Default/Cookies
    .bash_history .zsh_history .python_history .claude.json .claude/.credentials.json
    .codex/auth.json .gemini/oauth_creds.json .local/share/redoma/state .cache/redoma/state
    .local/state/redoma/state .config/redoma/state Documents/letter.txt
""".split()

_DECOY = """
import ctypes, os, signal, sys, time
kept = ctypes.create_string_buffer(sys.argv[1].encode() + b" in memory")
signal.signal(signal.SIGUSR1, lambda *_: os.write(1, b"signalled\\n"))
signal.signal(signal.SIGUSR2, lambda *_: os.write(1, b"asked\\n"))
print(ctypes.addressof(kept), flush=True)
while True:
    time.sleep(60)
"""


class Decoy(NamedTuple):
    """A process of the host that no attack may see, stop, trace or read."""

    process: subprocess.Popen[bytes]
    address: int

    @property
    def pid(self) -> int:
        return self.process.pid

    def harmed(self) -> str:
        """What happened to it, or nothing."""
        # It tells of signals in their order, so its answer comes after what it got before.
        with suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGUSR2)
        assert self.process.stdout is not None
        heard = b""
        while b"asked" not in heard:
            if not select.select([self.process.stdout], [], [], 10)[0]:
                return "the host process answers no more"
            chunk = os.read(self.process.stdout.fileno(), 4096)
            if not chunk:
                return f"the host process ended: {self.process.wait()}"
            heard += chunk
        return f"the host process was reached: {heard!r}" if heard != b"asked\n" else ""


class Trace(NamedTuple):
    """Everything about a file that a command could change."""

    kind: int
    mode: int
    owner: tuple[int, int]
    links: int
    modified: int
    content: bytes
    attributes: tuple[tuple[str, bytes], ...]


class World:
    """One attack's machine."""

    def __init__(self, parent: str = "/var/tmp") -> None:
        # Short, since the path of a socket may have 107 bytes.
        self.token = f"rdm{secrets.token_hex(6)}"
        self.base = Path(tempfile.mkdtemp(prefix="rdm-", dir=parent))
        self.base.chmod(0o755)
        self.home = self.base / "home"
        self.workspace = self.home / "project"
        self.outside = self.base / "outside"
        # Open to everybody: what holds is the sandbox, and not the mode of a file.
        for place in (self.home, self.workspace, self.outside):
            place.mkdir()
        self.outside.chmod(0o777)
        self.victim = self.outside / "victim"
        self.victim.write_text("as it was")
        self.victim.chmod(0o666)
        self.secret = f"{self.token}-secret"
        for name in SECRET_PLACES:
            place = self.home / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(f"{self.secret} in {name}\n")
        (self.workspace / "README").write_text("a project\n")
        # The judge reads a payload's file and would ask; what is tried here is the sandbox.
        policy = self.home / ".config/redoma/sandbox.yaml"
        policy.write_text('version: "1.0"\npolicy: isolation-only\n')
        # Variables that one attack adds to the caller's own.
        self.env_extra: dict[str, str] = {}
        self._processes: list[subprocess.Popen[bytes]] = []
        self._elsewhere: list[Path] = []
        self.before = self.trace(self.outside)

    @property
    def env(self) -> dict[str, str]:
        """The environment of whoever calls the sandbox: with secrets, as people's are."""
        return {
            "HOME": str(self.home),
            "PATH": PATH,
            "LANG": "C.UTF-8",
            "TERM": "xterm",
            "USER": os.environ.get("USER", "someone"),
            "AWS_SECRET_ACCESS_KEY": self.secret,
            "GITHUB_TOKEN": self.secret,
            "LC_SECRET": self.secret,
            "OPENAI_API_KEY": self.secret,
            "SSH_AUTH_SOCK": str(self.home / ".ssh/agent.sock"),
            "XDG_CACHE_HOME": f"{_shared_place()}/cache",
            "XDG_STATE_HOME": f"{_shared_place()}/state",
            **self.env_extra,
        }

    @contextmanager
    def environment(self) -> Iterator[None]:
        """This process as such a caller, as long as the block lasts; blocks may be nested."""
        kept = dict(os.environ)
        if kept == self.env:
            yield
            return
        os.environ.clear()
        os.environ.update(self.env)
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(kept)

    def decoy(self) -> Decoy:
        """A running process of the host, with a secret in its environment and its memory."""
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _DECOY, self.secret],
            env={"DECOY_TOKEN": self.secret},
            cwd=self.outside,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self._processes.append(process)
        assert process.stdout is not None
        return Decoy(process, int(process.stdout.readline()))

    def place(self, parent: str) -> Path:
        """A directory of our own somewhere else on the machine, gone at the end."""
        made = Path(tempfile.mkdtemp(prefix="rdm-", dir=parent))
        made.chmod(0o755)
        self._elsewhere.append(made)
        return made

    def trace(self, top: Path) -> dict[str, Trace]:
        """Everything below a directory as it is now, read without following links."""
        found = {}
        for place, directories, files in os.walk(top):
            for name in ["", *directories, *files]:
                path = os.path.join(place, name) if name else place
                found[os.path.relpath(path, top)] = _trace(path)
        return found

    def changed_outside(self) -> str:
        """What is not as it was in the directory beside the workspace."""
        now = self.trace(self.outside)
        changed = sorted(
            n for n in now.keys() | self.before.keys() if now.get(n) != self.before.get(n)
        )
        return f"changed outside the workspace: {', '.join(changed)[:200]}" if changed else ""

    def alive(self) -> list[int]:
        """Processes of the payload that live now, whoever their parent is."""
        found = []
        for name in os.listdir("/proc"):
            with suppress(OSError):
                if name.isdigit() and int(name) != os.getpid():
                    command = Path(f"/proc/{name}/cmdline").read_bytes()
                    if self.token.encode() in command and self.secret.encode() not in command:
                        found.append(int(name))
        return found

    def left_behind(self, *, within: float = 1.0) -> str:
        """Processes that outlive their command by more than a moment."""
        until = time.monotonic() + within
        while (found := self.alive()) and time.monotonic() < until:
            time.sleep(0.02)
        return f"{len(found)} processes left behind" if found else ""

    def close(self) -> None:
        """Ends the decoys and whatever an attack left, and removes every file of this world."""
        for process in self._processes:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
        for _ in range(50):
            found = self.alive()
            for pid in found:
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            if not found:
                break
            time.sleep(0.02)
        for place in (self.base, *self._elsewhere):
            remove(place)


def _trace(path: str) -> Trace:
    status = os.lstat(path)
    content = b""
    if stat.S_ISREG(status.st_mode):
        content = Path(path).read_bytes()[: 1 << 20]
    elif stat.S_ISLNK(status.st_mode):
        content = os.readlink(path).encode(errors="surrogateescape")
    attributes = []
    with suppress(OSError):
        for name in os.listxattr(path, follow_symlinks=False):
            attributes.append((name, os.getxattr(path, name, follow_symlinks=False)))
    return Trace(
        kind=stat.S_IFMT(status.st_mode),
        mode=stat.S_IMODE(status.st_mode),
        owner=(status.st_uid, status.st_gid),
        links=status.st_nlink if stat.S_ISREG(status.st_mode) else 0,
        modified=status.st_mtime_ns if not stat.S_ISDIR(status.st_mode) else 0,
        content=content,
        attributes=tuple(attributes),
    )


_shared: list[str] = []


def _shared_place() -> str:
    """Where all worlds of this process keep what was probed once and need not be probed again."""
    if not _shared:
        import atexit

        _shared.append(tempfile.mkdtemp(prefix="rdm-shared-", dir="/var/tmp"))
        atexit.register(remove, _shared[0])
    return _shared[0]
