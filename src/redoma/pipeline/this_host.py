"""The machine that this process runs on: probed once, ready for every sandbox; its workspaces."""

from __future__ import annotations

import atexit
import os
import stat
from _thread import allocate_lock

from redoma.base.paths import is_below
from redoma.jail.kernel.process import standing
from redoma.jail.supervisor.host import Host
from redoma.jail.supervisor.start import Control
from redoma.model.errors import UsageError
from redoma.model.grant import SHARED
from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.jail.profiles.profile import SIZES, read_limit
    from redoma.jail.supervisor.streams import fed, raw, size_of
    from redoma.model.remedies import Remedy


_lock = allocate_lock()
_hosts: dict[tuple[object, ...], Host] = {}


def _in_a_child() -> None:
    """A child has none of our threads, and none of what its parent keeps ready is its own."""
    global _lock  # noqa: PLW0603 — the parent's may be held for ever
    _lock = allocate_lock()
    _hosts.clear()


os.register_at_fork(after_in_child=_in_a_child)


def this_host() -> Host:
    """The host of this process; what it keeps ready is removed when the process ends.

    Attack: a program gives up rights, or enters another root or network. What was kept ready
    before never did, and whatever it starts would have what the program gave up.
    """
    now = standing()
    with _lock:
        if now not in _hosts:
            from redoma.jail.overlay.locks import recover
            from redoma.jail.protect.run_journal import finish_others

            finish_others()
            recover()
            _hosts[now] = Host()
            atexit.register(_hosts[now].close)
        return _hosts[now]


__all__ = ["SIZES", "Control", "fed", "raw", "read_limit", "size_of"]

_HOMES = {
    "SIZES": "redoma.jail.profiles.profile",
    "read_limit": "redoma.jail.profiles.profile",
    "fed": "redoma.jail.supervisor.streams",
    "raw": "redoma.jail.supervisor.streams",
    "size_of": "redoma.jail.supervisor.streams",
}


def __getattr__(name: str) -> object:
    """Loads a service when somebody uses it: a plain run needs none but `Control`."""
    if name not in _HOMES:
        raise AttributeError(name)
    return getattr(__import__(_HOMES[name], fromlist=[name]), name)


WRITTEN, READ = "written", "read"
_SYSTEM = frozenset(
    "/bin /boot /dev /etc /home /lib /lib64 /media /mnt /opt /proc /root /run /sbin /srv /sys /tmp "
    "/usr /var /var/tmp /usr/local".split()
)


def workspace(path: str) -> str:
    """The real path of a usable workspace; otherwise an error that says what is wrong with it."""
    real = os.path.realpath(path or ".")
    wrong = _wrong(path, real)
    if wrong:
        raise UsageError(wrong, hint=remedy("WORKSPACE"))
    refuse_ours(real, "the workspace", elsewhere="WORKSPACE")
    if not os.access(real, os.R_OK | os.W_OK | os.X_OK):
        owner = os.stat(real).st_uid
        raise UsageError(
            "{real} belongs to uid {owner}, and you cannot write it",
            real=real,
            owner=owner,
            hint=remedy("OWN_WORKSPACE"),
        )
    return real


def project_root(here: str) -> str:
    """The root of the repository around a real directory; the directory itself where none is.

    Attack: somebody puts a `.git` into a directory that others can write, or into a home, and so
    everything below it would be one workspace: neither counts.
    """
    mine = (os.geteuid(), os.stat(here).st_uid)
    found, data, folder = here, "", here
    while len(folder) > 1:
        try:
            mark = os.lstat(f"{folder}/.git")
        except OSError:
            mark = None
        if mark is not None and (not data or is_below(data, folder)):
            open_to_all = os.stat(folder).st_mode & stat.S_IWOTH
            if mark.st_uid not in mine or open_to_all or _wrong(folder, folder):
                break
            if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
                break
            found = folder
            # What belongs to a submodule or a worktree may lie in a repository around it.
            data = _data_of(f"{folder}/.git") if stat.S_ISREG(mark.st_mode) else ""
            if not data:
                break
        folder = os.path.dirname(folder)
    return found


def _data_of(mark: str) -> str:
    """Where git keeps what belongs to a submodule or a worktree; nothing for anything else."""
    try:
        with open(mark, encoding="utf-8", errors="surrogateescape") as file:
            name, _, place = file.read(4096).partition(": ")
    except OSError:
        return ""
    if name != "gitdir":
        return ""
    return os.path.realpath(os.path.join(os.path.dirname(mark), place.strip()))


def _wrong(path: str, real: str) -> str:
    """Why a directory is no workspace; nothing where it is one."""
    if not os.path.lexists(path or "."):
        return Message("the workspace {path} does not exist", path=path)
    if not os.path.isdir(real):
        return Message("the workspace {path} is not a directory", path=path)
    home = _home()
    if real == home:
        return Message(
            "{real} is your home directory: a command could write everything in it", real=real
        )
    if real == "/" or real in _SYSTEM or is_below(home, real):
        return Message("{real} belongs to the whole machine, not to one project", real=real)
    return ""


def remedy(name: str, about: str = "") -> Remedy:
    """What would help; loaded when it is needed: whoever has a good workspace does without."""
    from redoma.model.remedies import Help, Remedy

    return Remedy(help=getattr(Help, name), about=about)


def refuse_ours(path: str, what: str, hint: str = "", *, elsewhere: str = "") -> None:
    """An error where a path that is to be written is Redoma's own, or every program's.

    Attack: what a command writes there is executed, loaded or believed at the next start.
    """
    from redoma.base import own_directories
    from redoma.jail.protect import installation

    around = installation.place_around(path)
    if around:
        raise UsageError(
            "{what}: {path} is Redoma's own, which runs from {around}: no command may write there",
            what=what,
            path=path,
            around=around,
            hint=remedy(elsewhere) if elsewhere else hint,
        )
    if path in map(os.path.realpath, own_directories.bases()):
        raise UsageError(
            "{what}: {path} is where programs keep what is theirs, Redoma too",
            what=what,
            path=path,
            hint=Message("name a directory in it, as {path}/PROGRAM", path=path),
        )


def _home() -> str:
    home = os.path.expanduser("~")
    if not home.startswith("/"):
        raise UsageError(
            "HOME is {home}, which is no absolute path",
            home=repr(home),
            hint="set HOME to your home directory",
        )
    return os.path.realpath(home)


def granted_path(path: str, use: str, *, wide: bool = False, root: str = "") -> str:
    """The real path of something that a run may also use; `wide` lets a home be written.

    `use` is what it is given for: to be `written`, or to be `read`. Attack: in the workspace `root`
    a command makes `build` a link; whoever gives `build` the next time would give what that leads
    to.
    """
    path = os.path.expanduser(path)
    real = os.path.realpath(path)
    # In the workspace a name can be given for what the command is to make.
    named = use == WRITTEN and root and is_below(real, root)
    if not os.path.exists(path) and not named:
        raise UsageError("{path} is given to be {use}, and does not exist", path=path, use=use)
    from redoma.jail.protect.untrusted_paths import led_out

    if root and led_out(os.path.abspath(path), (root,)):
        raise UsageError(
            "{path} is led out of the workspace by a link in it, to {real}",
            path=path,
            real=real,
            hint=remedy("NAME_THE_TARGET", real),
        )
    home = _home()
    if wide and real in (home, *SHARED):
        return real
    if use == WRITTEN:
        fix = "name what the command needs there, or another directory"
        refuse_ours(real, "what is given to be written", fix)
        if real in (*_SYSTEM, "/", home) or is_below(home, real):
            raise UsageError("{real} is too much to give to one command to be written", real=real)
    return real
