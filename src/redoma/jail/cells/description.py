"""What a cell is made of: the machine's programs to read, and places of its own to write."""

from __future__ import annotations

import marshal
import os
from contextlib import suppress

from redoma.jail.engines import view
from redoma.jail.engines.frame import seen_through
from redoma.jail.kernel import seccomp
from redoma.jail.kernel.mounts import has_mounts
from redoma.jail.kernel.process import is_machines_root
from redoma.model.cell import DEFAULT_UID, DEFAULT_USER, WORKSPACE
from redoma.model.grant import Home, Limits, Syscalls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# A directory that every machine has and that no launcher needs; covered in our namespace only.
STAGE = "/sys"
_SHARED_MEMORY = 64 << 20
# Settings of the programs that add users; the defaults of the machine are good ones.
_TAKEN = (*("adduser.conf", "deluser.conf", "login.defs"), "default/useradd")
_LARGEST = 64 << 10
_USERS = f"""\
root:x:0:0:root:/root:/bin/sh
daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin
bin:x:2:2:bin:/bin:/usr/sbin/nologin
sys:x:3:3:sys:/dev:/usr/sbin/nologin
mail:x:8:8:mail:/var/mail:/usr/sbin/nologin
www-data:x:33:33:www-data:/var/www:/usr/sbin/nologin
{DEFAULT_USER}:x:{DEFAULT_UID}:{DEFAULT_UID}:Redoma:/home/{DEFAULT_USER}:/bin/sh
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
"""
_GROUPS = f"""\
root:x:0:
daemon:x:1:
bin:x:2:
sys:x:3:
adm:x:4:
tty:x:5:
mail:x:8:
www-data:x:33:
shadow:x:42:
staff:x:50:
users:x:100:
{DEFAULT_USER}:x:{DEFAULT_UID}:
nogroup:x:65534:
"""
# Programs that add and change users ask by this whether they may: root of the cell, and no other.
_ROOT_MAY = "".join(
    "\t".join(words) + "\n"
    for words in (
        ("auth", "sufficient", "pam_rootok.so"),
        ("auth", "required", "pam_deny.so"),
        ("account", "required", "pam_permit.so"),
        ("password", "required", "pam_unix.so"),
        ("session", "required", "pam_permit.so"),
    )
)


def described(
    *, limits: Limits, readable: tuple[str, ...], ranged: bool, name: str
) -> tuple[dict[str, Any], str]:
    """A cell for its first process, and the search path of its commands."""
    seen = view.build(
        Home.TOOLCHAINS,
        home=view.home_directory(),
        path=os.environ.get("PATH", ""),
        keep=readable,
    )
    sources: list[str] = []
    words: list[str] = []
    etc = ""
    for source, target in (*seen.binds, *((path, path) for path in readable)):
        place = f"{STAGE}/{len(sources)}"
        sources.append(os.path.realpath(source))
        if target == "/etc":
            etc = place
        elif os.path.isdir(source) and not has_mounts(sources[-1]):
            # Attack: a socket that the machine listens on is connected to through a mount that is
            # only read; through an overlay it leads nowhere.
            words += seen_through(f"{STAGE}/empty", place, target)
        else:
            words += ["--ro-bind", place, target]
    for target, link in seen.links:
        words += ["--symlink", target, link]
    words += ["--proc", "/proc", "--dev", "/dev"]
    words += ["--size", str(_SHARED_MEMORY), "--perms", "1777", "--tmpfs", "/dev/shm"]
    words += ["--remount-ro", "/dev"]
    return {
        "root": is_machines_root(),
        "ranged": ranged,
        "name": name,
        "sources": sources,
        "etc_below": etc,
        "root_words": words,
        "etc": _own_etc(name),
        "size": limits.temporary or os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2,
        "directories": [
            ("/tmp", 0o1777, 0),
            ("/var/tmp", 0o1777, 0),
            ("/run", 0o755, 0),
            ("/var/log", 0o755, 0),
            ("/var/lib", 0o755, 0),
            ("/var/mail", 0o775, 0),
            ("/home", 0o755, 0),
            ("/root", 0o755, 0),
            (f"/home/{DEFAULT_USER}", 0o755, DEFAULT_UID),
            (WORKSPACE, 0o755, DEFAULT_UID),
        ],
        "filter": seccomp.assemble(Syscalls.USUAL),
    }, seen.path


def _own_etc(name: str) -> list[tuple[str, str]]:
    """Files of /etc that are the cell's own: its users, its name, and no secret of anyone."""
    shadow = "".join(f"{line.split(':')[0]}:*:20000:0:99999:7:::\n" for line in _USERS.split())
    hosts = f"127.0.0.1\tlocalhost\n127.0.1.1\t{name}\n::1\tlocalhost ip6-localhost\n"
    found = [
        ("/passwd", _USERS),
        ("/group", _GROUPS),
        ("/shadow", shadow),
        ("/gshadow", "".join(f"{line.split(':')[0]}:*::\n" for line in _GROUPS.split())),
        ("/subuid", ""),
        ("/subgid", ""),
        ("/.pwd.lock", ""),
        ("/hosts", hosts),
        ("/hostname", f"{name}\n"),
        ("/resolv.conf", ""),
        ("/skel/.profile", ""),
        ("/pam.d/other", _ROOT_MAY),
    ]
    for each in _TAKEN:
        with suppress(OSError, UnicodeDecodeError):
            # Attack: what only root may read has no place in a cell, whoever makes it.
            if os.stat(f"/etc/{each}").st_mode & 0o004:
                with open(f"/etc/{each}", encoding="utf-8") as file:
                    found.append((f"/{each}", file.read(_LARGEST)))
    return found


def packed(value: dict[str, Any]) -> int:
    """A descriptor of a file in memory with plain data, to be sent to a cell."""
    fd = os.memfd_create("redoma")
    data = memoryview(marshal.dumps(value))
    while data:
        data = data[os.write(fd, data) :]
    return fd
