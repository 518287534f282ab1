"""The part of a sandbox that is the same for every run under one grant."""

from __future__ import annotations

import os
from contextlib import suppress

from redoma.jail.engines import hidden_paths, prepared_sandbox, view
from redoma.model.errors import UsageError
from redoma.model.grant import SECRETS, Grant, Home, NetworkMode, Writes
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    Pairs: TypeAlias = tuple[tuple[str, str], ...]
    BaseRoot: TypeAlias = Callable[[Pairs, Pairs, tuple[str, ...]], str]

_PAGE = 4096
_SECRETS_SIZE = 1 << 20
# Where a command may write everywhere in the workspace, and something of that is kept.
_WHOLLY = (Writes.DIRECT, Writes.LAYER)


class Frame(Value):
    """Arguments for bubblewrap up to, and after, the workspace's protected paths."""

    # What holds for every run whenever it begins; it can be done before anyone asks for a run.
    base: tuple[str, ...]
    # What has to be looked up when a run begins: files may have been replaced since the last one.
    before: tuple[str, ...]
    after: tuple[str, ...]
    # Directories that a command may write, each with where it is mounted from.
    writable: tuple[tuple[str, str], ...]
    visible: tuple[str, ...]
    path: str
    home: str
    # Directories inside whose files are in memory, each of a size that is its own.
    in_memory: tuple[str, ...]
    # Directories that can be written, and nothing of that lasts.
    forgotten: tuple[str, ...] = ()
    # Directories that are only read and are the machine's own, with whatever listens in them.
    as_they_are: tuple[str, ...] = ()


def build(
    grant: Grant,
    *,
    place: Callable[[str], str],
    show: Callable[[str, str], list[str]],
    read: Callable[[str], list[str]],
    base: BaseRoot | None,
    as_nobody: bool,
    forgotten: tuple[str, ...] = (),
) -> Frame:
    """The frame for a grant.

    `place` says where a source is found (staged, when root runs it); `show` orders the mount of
    what everybody may read; `read` that of what was given to be read; `base` puts the read-only
    part of the root together once for all runs, where that can be done; what is written to the
    directories of `forgotten` is gone when the run ends.
    """
    home = view.home_directory()
    readable = tuple(path for path in grant.readable if path != "/")
    everything = _everything(grant, readable, as_nobody=as_nobody)
    roots = (grant.workspace, *grant.writable, *readable, *everything, *forgotten)
    seen = view.build(grant.home, home=home, path=os.environ.get("PATH", ""), keep=roots)
    targets = tuple(target for _, target in seen.binds)
    etc = next(source for source, target in seen.binds if target == "/etc")
    # What is mounted below /var/tmp needs it to be a directory; else it is another name of /tmp.
    apart = any(path.startswith("/var/tmp/") for path in (*roots, *targets, home + "/"))
    mounted = (*roots, SECRETS) if any(each.path for each in grant.secrets) else roots
    ready = [*_namespaces(grant), *_machine(seen, home, mounted, show, base, apart=apart)]
    if grant.network is NetworkMode.GATED and _is_plain_file(f"{etc}/hosts"):
        # Every name is asked for at the gate: one that this machine knows by itself would lead to
        # an address that stands for nobody there.
        ready += show(view.own_hosts(), "/etc/hosts")
    own, in_memory = _own_parts(grant, home, apart=apart)
    ready += own
    arguments = _own_places(seen, home, show)
    given = _given(grant, readable, read)
    arguments += _readable(everything, [given[path] for path in readable], show)
    arguments += hidden_paths.passages(everything, roots) if as_nobody else []
    mounts, writable = _written(grant, place, given)
    arguments += mounts
    for path in forgotten:
        arguments += ["--overlay-src", place(path), "--tmp-overlay", path]
    after = hidden_paths.cover(
        hidden_paths.reachable(grant, everything) if as_nobody else grant.hidden,
        (*targets, *roots, home, "/proc", "/tmp", "/var/tmp"),
        etc="/etc" if everything else etc,
        show=show,
    )
    if base is None:
        after += ["--remount-ro", "/"]
    env = view.clean(
        view.passing(grant.variables),
        home=home,
        path=seen.path,
        user="redoma" if as_nobody else view.user_name(os.geteuid()),
        given=grant.env,
        visible=targets + roots,
    )
    for name, value in env.items():
        after += ["--setenv", name, value]
    covered = tuple(f"{root}/" for root in roots)
    return Frame(
        base=tuple(ready),
        before=tuple(arguments),
        after=tuple(after),
        writable=tuple(writable),
        visible=targets + roots,
        path=env["PATH"],
        home=home,
        in_memory=tuple(path for path in in_memory if not f"{path}/".startswith(covered)),
        forgotten=forgotten,
        as_they_are=tuple(path for path, how in given.items() if how[0] == "--ro-bind"),
    )


def _machine(
    seen: view.View,
    home: str,
    roots: tuple[str, ...],
    show: Callable[[str, str], list[str]],
    base: BaseRoot | None,
    *,
    apart: bool,
) -> list[str]:
    """The read-only part of the root: the machine's own directories, and links beside them.

    `apart` is whether /var/tmp is a directory of its own.
    """
    system = tuple(
        (source, target)
        for source, target in seen.binds
        if not target.startswith(("/tmp/", "/var/tmp/", home + "/"))
    )
    links = seen.links if apart else (*seen.links, ("/tmp", "/var/tmp"))
    if base is not None:
        places = ("/proc", "/dev", "/tmp", "/run", "/var", "/var/tmp", home, *roots)
        places = tuple(path for path in places if path != "/var/tmp" or apart)
        wanted = tuple(p for p in places if not p.startswith(tuple(f"{t}/" for _, t in system)))
        return ["--ro-bind", base(system, links, wanted), "/"]
    made: list[str] = []
    for source, target in system:
        made += show(source, target)
    for target, link in links:
        made += ["--symlink", target, link]
    return [*made, "--dir", "/run"]


def _own_parts(grant: Grant, home: str, *, apart: bool) -> tuple[list[str], list[str]]:
    """The mounts of what a sandbox has of its own, and which of these are memory."""
    temporary = grant.limits.temporary or os.sysconf("SC_PHYS_PAGES") * _PAGE
    first = prepared_sandbox.FIRST_PROCESS
    made = ["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"]
    made += [*_memory(_PAGE, first, "0555"), "--remount-ro", first]
    made += ["--dev", "/dev", *_memory(temporary, "/dev/shm", "1777"), "--remount-ro", "/dev"]
    in_memory = ["/dev/shm", "/tmp"]
    # Together they stay within the limit of one, or near it: all of them are memory.
    shared = temporary // 2 if apart else temporary
    made += _memory(shared, "/tmp", "1777")
    if apart:
        in_memory.append("/var/tmp")
        made += _memory(shared, "/var/tmp", "1777")
    if home != "/" and not home.startswith(("/usr", "/etc", "/nonexistent")):
        in_memory.append(home)
        made += _memory(temporary, home, "0755")
        if grant.home is Home.TOOLCHAINS:
            made += ["--symlink", "/etc/redoma/gitconfig", f"{home}/.gitconfig"]
    if any(each.path for each in grant.secrets):
        made += _memory(_SECRETS_SIZE, SECRETS, "0755")
    return made, in_memory


def _is_plain_file(path: str) -> bool:
    return os.path.isfile(path) and not os.path.islink(path)


def _everything(grant: Grant, readable: tuple[str, ...], *, as_nobody: bool) -> tuple[str, ...]:
    """What there is to read where all of it may be; nothing where only some of it may."""
    if readable == grant.readable:
        return ()
    return hidden_paths.top(as_nobody=as_nobody, given=(*readable, *grant.writable))


def _readable(
    everything: tuple[str, ...],
    given: list[list[str]],
    show: Callable[[str, str], list[str]],
) -> list[str]:
    """The mounts of what may be read: as everybody may where it is all, else as its owner."""
    made: list[str] = show("/etc", "/etc") if everything else []
    for path in everything:
        # One that is gone meanwhile, or of a kind that cannot be shown as nobody's, is left out.
        with suppress(OSError):
            made += show(path, path)
    for how in given:
        made += how
    return made


def _given(
    grant: Grant, readable: tuple[str, ...], read: Callable[[str], list[str]]
) -> dict[str, list[str]]:
    """By path, the mount of what was given and is only read."""
    whole = (grant.workspace,) if grant.writes is Writes.NONE else ()
    return {path: read(path) for path in (*readable, *whole)}


def _own_places(seen: view.View, home: str, show: Callable[[str, str], list[str]]) -> list[str]:
    """What is shown of the machine below directories that are the run's own."""
    made: list[str] = []
    above: dict[str, None] = {}
    for source, target in seen.binds:
        if target.startswith(("/tmp/", "/var/tmp/", home + "/")):
            way = os.path.dirname(target)
            if way.startswith(home + "/") and way not in above:
                above[way] = None
                made += ["--perms", "0755", "--dir", way]
            made += show(source, target)
    return made


def _written(
    grant: Grant, place: Callable[[str], str], given: dict[str, list[str]]
) -> tuple[list[str], list[tuple[str, str]]]:
    """The mounts of what may be written, and those that are written directly."""
    workspace = grant.workspace
    arguments: list[str] = []
    writable: list[tuple[str, str]] = []
    for path in (workspace, *grant.writable):
        if path == workspace and grant.writes is Writes.LAYER:
            continue  # each run has an overlay of its own
        if path == workspace and grant.writes is Writes.NONE:
            arguments += given[path]
        elif path == workspace and grant.writes is Writes.MEMORY:
            arguments += ["--overlay-src", place(path), "--tmp-overlay", path]
        elif grant.writes in _WHOLLY and path.startswith(workspace + "/"):
            continue  # writable already; a mount of its own could not be replaced by a rename
        elif path.startswith(workspace + "/") and not os.path.lexists(path):
            continue  # a name for what is to be made, where nothing may be made
        else:
            arguments += ["--bind", place(path), path]
            writable.append((path, place(path)))
    return arguments, writable


def _namespaces(grant: Grant) -> list[str]:
    made = ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    if grant.network is not NetworkMode.OPEN:
        made.append("--unshare-net")
    made += ["--unshare-user", "--disable-userns"]
    return [*made, "--die-with-parent", "--cap-drop", "ALL"]


def seen_through(empty: str, source: str, target: str) -> list[str]:
    """The mount of an overlay that is only read; bubblewrap gives it its flags afterwards."""
    made = ["--overlay-src", empty, "--overlay-src", source, "--ro-overlay", target]
    return [*made, "--remount-ro", target]


def _memory(size: int, path: str, mode: str) -> list[str]:
    return ["--size", str(size), "--perms", mode, "--tmpfs", path]


def words(given: list[str]) -> bytes:
    """Words as bubblewrap reads them from a file, each ended by a NUL."""
    # Attack: a NUL in a value would end it, and what follows would be an option of ours.
    text = "".join([f"{word}\0" for word in given])
    if text.count("\0") != len(given):
        raise UsageError("a path, a variable or an argument contains a NUL byte")
    return text.encode(errors="surrogateescape")


def memory_file(data: bytes) -> int:
    """A descriptor of a file in memory, to be read from its beginning."""
    fd = os.memfd_create("redoma")
    os.write(fd, data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd
