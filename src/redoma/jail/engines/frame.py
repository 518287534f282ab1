"""The part of an enclosure that is the same for every run under one grant."""

from __future__ import annotations

import os

from redoma.jail import environment, view
from redoma.jail.engines import hiding
from redoma.model.access import Grant, Home, Network, Writes
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    Pairs: TypeAlias = tuple[tuple[str, str], ...]
    BaseRoot: TypeAlias = Callable[[Pairs, Pairs, tuple[str, ...]], str]

_HOME_SIZE = 64 << 20
_SHM_SIZE = 64 << 20
_TEMPORARY = 512 << 20
_PAGE = 4096
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


def build(
    grant: Grant,
    *,
    place: Callable[[str], str],
    show: Callable[[str, str], list[str]],
    base: BaseRoot | None,
    as_nobody: bool,
    forgotten: tuple[str, ...] = (),
) -> Frame:
    """The frame for a grant.

    `place` says where a source is found (staged, when root runs it); `show` orders the mount of
    what is only there to be read; `base` puts the read-only
    part of the root together once for all runs, where that can be done; what is written to the
    directories of `forgotten` is gone when the run ends.
    """
    workspace = grant.workspace
    home = environment.home_directory()
    readable = tuple(path for path in grant.readable if path != "/")
    everything = hiding.top() if readable != grant.readable else ()
    roots = (workspace, *grant.writable, *readable, *everything, *forgotten)
    seen = view.build(grant.home, home=home, path=os.environ.get("PATH", ""), keep=roots)
    arguments = list(_namespaces(grant))
    system = tuple(
        (source, target)
        for source, target in seen.binds
        if not target.startswith(("/tmp/", "/var/tmp/", home + "/"))
    )
    # What is mounted below /var/tmp needs it to be a directory; else it is another name of /tmp.
    shown = (*roots, *(target for _, target in seen.binds))
    apart = any(path.startswith("/var/tmp/") for path in (*shown, home + "/"))
    links = seen.links if apart else (*seen.links, ("/tmp", "/var/tmp"))
    if base is not None:
        places = ("/proc", "/dev", "/tmp", "/run", "/var", "/var/tmp", home, *roots)
        places = tuple(path for path in places if path != "/var/tmp" or apart)
        wanted = tuple(p for p in places if not p.startswith(tuple(f"{t}/" for _, t in system)))
        arguments += ["--ro-bind", base(system, links, wanted), "/"]
    else:
        for source, target in system:
            arguments += show(source, target)
        for target, link in links:
            arguments += ["--symlink", target, link]
        arguments += ["--dir", "/run"]
    if grant.network is Network.GATED:
        known = next((source for source, target in system if target == "/etc"), "")
        if os.path.isfile(f"{known}/hosts") and not os.path.islink(f"{known}/hosts"):
            # Every name is asked for at the gate: one that this machine knows by itself would
            # lead to an address that stands for nobody there.
            arguments += show(view.own_hosts(), "/etc/hosts")
    temporary = grant.limits.temporary or _TEMPORARY
    arguments += ["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"]
    if not as_nobody:
        # Attack: /proc/1/exe leads to the launcher's own program, past every mount made here, and
        # its owner could change its mode, its times or, when the run is over, its contents.
        arguments += [*_memory(_PAGE, "/proc/1", "0555"), "--remount-ro", "/proc/1"]
    arguments += ["--dev", "/dev"]
    # Together they stay within the limit of one, or near it: all of them are memory.
    shared = temporary // 2 if apart else temporary
    in_memory = ["/dev/shm", "/tmp"]
    arguments += _memory(min(temporary, _SHM_SIZE), "/dev/shm", "1777")
    arguments += ["--remount-ro", "/dev"]
    arguments += _memory(shared, "/tmp", "1777")
    if apart:
        in_memory.append("/var/tmp")
        arguments += _memory(shared, "/var/tmp", "1777")
    if home != "/" and not home.startswith(("/usr", "/etc", "/nonexistent")):
        in_memory.append(home)
        arguments += _memory(min(temporary, _HOME_SIZE), home, "0755")
        if grant.home is Home.TOOLCHAINS:
            arguments += ["--symlink", "/etc/redoma/gitconfig", f"{home}/.gitconfig"]
    ready, arguments = arguments, _own_places(seen, home, show)
    arguments += _readable(readable, everything, place, show)
    arguments += hiding.passages(everything, roots) if as_nobody else []
    mounts, writable = _written(grant, place)
    arguments += mounts
    for path in forgotten:
        arguments += ["--overlay-src", place(path), "--tmp-overlay", path]
    in_memory = [p for p in in_memory if not f"{p}/".startswith(tuple(f"{r}/" for r in roots))]
    inside = (*(target for _, target in seen.binds), *roots, home, "/proc", "/tmp", "/var/tmp")
    known = next(source for source, target in seen.binds if target == "/etc")
    after = hiding.cover(
        hiding.reachable(grant, everything) if as_nobody else grant.hidden,
        inside,
        etc="/etc" if everything else known,
    )
    if base is None:
        after += ["--remount-ro", "/"]
    user = "redoma" if as_nobody else environment.user_name(os.geteuid())
    visible = tuple(target for _, target in seen.binds) + roots
    env = environment.clean(
        environment.passing(grant.variables),
        home=home,
        path=seen.path,
        user=user,
        given=grant.env,
        visible=visible,
    )
    for name, value in env.items():
        after += ["--setenv", name, value]
    return Frame(
        base=tuple(ready),
        before=tuple(arguments),
        after=tuple(after),
        writable=tuple(writable),
        visible=visible,
        path=env["PATH"],
        home=home,
        in_memory=tuple(in_memory),
        forgotten=forgotten,
    )


def _readable(
    paths: tuple[str, ...],
    everything: tuple[str, ...],
    place: Callable[[str], str],
    show: Callable[[str, str], list[str]],
) -> list[str]:
    """The mounts of what may be read: as everybody may where it is all, else as its owner."""
    made: list[str] = []
    for path in (*(("/etc",) if everything else ()), *everything):
        made += show(path, path)
    for path in paths:
        made += ["--ro-bind", place(path), path]
    return made


def _own_places(seen: view.View, home: str, show: Callable[[str, str], list[str]]) -> list[str]:
    """What is shown of the machine below directories that are the run's own."""
    made: list[str] = []
    for source, target in seen.binds:
        if target.startswith(("/tmp/", "/var/tmp/", home + "/")):
            made += show(source, target)
    return made


def _written(grant: Grant, place: Callable[[str], str]) -> tuple[list[str], list[tuple[str, str]]]:
    """The mounts of what may be written, and those that are written directly."""
    workspace = grant.workspace
    arguments: list[str] = []
    writable: list[tuple[str, str]] = []
    for path in (workspace, *grant.writable):
        if path == workspace and grant.writes is Writes.LAYER:
            continue  # each run has a layer of its own
        if path == workspace and grant.writes is Writes.NONE:
            arguments += ["--ro-bind", place(path), path]
        elif path == workspace and grant.writes is Writes.MEMORY:
            arguments += ["--overlay-src", place(path), "--tmp-overlay", path]
        elif grant.writes in _WHOLLY and path.startswith(workspace + "/"):
            continue  # writable already; a mount of its own could not be replaced by a rename
        else:
            arguments += ["--bind", place(path), path]
            writable.append((path, place(path)))
    return arguments, writable


def _namespaces(grant: Grant) -> list[str]:
    made = ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    if grant.network is not Network.OPEN:
        made.append("--unshare-net")
    made += ["--unshare-user", "--disable-userns"]
    return [*made, "--die-with-parent", "--cap-drop", "ALL"]


def _memory(size: int, path: str, mode: str) -> list[str]:
    return ["--size", str(size), "--perms", mode, "--tmpfs", path]
