"""What a command sees of the machine: enough to run programs, and nothing that is a secret.

The root is put together from parts. /usr and its like are there to be read; /etc is a copy of the
few entries that programs need; the home directory is empty but for toolchains. Nothing else of the
machine has a name inside.
"""

from __future__ import annotations

import os
import stat
from binascii import crc32
from time import time

from redoma.base import own_directories, private_file
from redoma.base.paths import is_below, is_within
from redoma.model.grant import Home, Variables
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# Passed on from the caller, since they say how to show things and never hold a secret.
_PASSED = frozenset(
    """
    COLORTERM COLUMNS FORCE_COLOR LANG LANGUAGE LC_ADDRESS LC_ALL LC_COLLATE LC_CTYPE
    LC_IDENTIFICATION LC_MEASUREMENT LC_MESSAGES LC_MONETARY LC_NAME LC_NUMERIC LC_PAPER
    LC_TELEPHONE LC_TIME LINES NO_COLOR TERM TZ
    """.split()
)
# Toolchains say with these where they stand; only a path that is seen inside passes.
_PLACES = (
    "CARGO_HOME",
    "CONDA_PREFIX",
    "GOROOT",
    "JAVA_HOME",
    "NVM_DIR",
    "PYENV_ROOT",
    "RUSTUP_HOME",
    "VIRTUAL_ENV",
    "VOLTA_HOME",
)


def passing(variables: Variables) -> Mapping[str, str]:
    """The caller's variables, of which the harmless ones pass; or none of them."""
    return os.environ if variables is Variables.FEW else {}


def clean(
    caller: Mapping[str, str],
    *,
    home: str,
    path: str,
    user: str,
    given: tuple[tuple[str, str], ...],
    visible: tuple[str, ...],
) -> dict[str, str]:
    """What the command gets: a few of the caller's, ours, and what was given by name."""
    made = {name: value for name, value in caller.items() if name in _PASSED and len(value) < 64}
    for name in _PLACES:
        value = caller.get(name, "")
        if value and any(value == v or value.startswith(v + "/") for v in visible):
            made[name] = value
    made.setdefault("LANG", "C.UTF-8")
    made |= {
        "HOME": home,
        "LOGNAME": user,
        "PATH": path,
        "SHELL": "/bin/sh",
        "TMPDIR": "/tmp",
        "USER": user,
        # Bytecode and caches of people's own toolchains are read-only inside.
        "PYTHONDONTWRITEBYTECODE": "1",
        "REDOMA": "1",
    }
    made.update(given)
    return made


def user_name(uid: int) -> str:
    """The name of a user, or its number where there is none."""
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def home_directory() -> str:
    """The caller's home: the environment's word if it is a directory, else the user database's."""
    home = os.environ.get("HOME", "")
    if home.startswith("/") and os.path.isdir(home):
        return os.path.realpath(home)
    import pwd

    try:
        return os.path.realpath(pwd.getpwuid(os.geteuid()).pw_dir)
    except KeyError:
        return "/nonexistent"


_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_SOFTWARE = ("/opt", "/nix/store", "/gnu/store", "/snap", "/home/linuxbrew/.linuxbrew")
# Entries of /etc that programs need to start, resolve names, check certificates and show text.
# Not here: shadow, ssh host keys, ssl/private, mail and database configuration, sudoers, …
ETC = """
    alternatives bash.bashrc bashrc ca-certificates ca-certificates.conf crypto-policies
    debian_version fonts gai.conf gitattributes gitconfig group host.conf hostname hosts inputrc
    java java-11-openjdk java-17-openjdk java-21-openjdk jvm
    ld.so.cache ld.so.conf ld.so.conf.d localtime locale.alias locale.conf locale.gen lsb-release
    magic mailcap maven mime.types mke2fs.conf netconfig networks nsswitch.conf os-release
    passwd perl php pki/ca-trust pki/tls/cert.pem pki/tls/certs pki/tls/openssl.cnf profile
    profile.d protocols python2.7 python3 python3.9 python3.10 python3.11 python3.12 python3.13
    python3.14 R redhat-release resolv.conf rpc services shells ssl/cert.pem ssl/certs
    ssl/openssl.cnf terminfo timezone vim xattr.conf xdg zsh zshrc zprofile
""".split()
# Below the home directory: programs and what they were installed with. Never the directories that
# also hold tokens (~/.cargo itself, ~/.config, ~/.npm, ~/.m2 itself, ~/.docker …).
_TOOLCHAINS = """
    .asdf .bun/bin .bun/install/global .cabal/bin .cargo/bin .cargo/git .cargo/registry
    .deno/bin .dotnet .elan .fnm .ghcup .goenv .go go/bin go/pkg .gem/ruby .jenv .juliaup/bin
    .linuxbrew .local/bin .local/lib .local/pipx .local/share/fnm .local/share/mise
    .local/share/pipx .local/share/pnpm .local/share/uv/python .local/share/uv/tools
    .local/share/virtualenvs .m2/repository .mix .n .nodenv .npm-global .nvm .opam .pixi .pnpm
    .poetry .pyenv .rbenv .rustup .rvm .rye .sdkman .swiftly .tfenv .volta .yarn/bin
    anaconda3 mambaforge miniconda3 miniforge3
""".split()
# Where a program on the search path is a shim, what it starts lies beside it, in whoever's home.
_ROOTS = frozenset(name for name in _TOOLCHAINS if "/" not in name)
# Attack: a PATH entry such as ~/.ssh would show what it holds.
NEVER = """
    .ssh .aws .azure .gnupg .kube .docker .config .netrc .password-store .mozilla .thunderbird
    .local/share/keyrings .git-credentials .npmrc .pypirc .cargo/credentials .cargo/credentials.toml
""".split()
# How long a copy of /etc is kept that nobody has used.
_KEPT = 7 * 86400
# What the copies hold beyond that; counted up when it changes.
_LAYOUT = 2
DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class View(Value):
    """The parts of a root: what is bound from where, and what is a link."""

    binds: tuple[tuple[str, str], ...]  # (source, place), read-only
    links: tuple[tuple[str, str], ...]  # (target, place)
    home: str
    path: str


def build(home_view: Home, *, home: str, path: str, keep: tuple[str, ...] = ()) -> View:
    """The view for a caller with this home directory and search path.

    `keep` are paths that are bound by someone else (the workspace): nothing here covers them.
    """
    binds: list[tuple[str, str]] = []
    links: list[tuple[str, str]] = []
    for place in _SYSTEM:
        if os.path.islink(place):
            links.append((os.readlink(place), place))
        elif os.path.isdir(place):
            binds.append((place, place))
    binds += [(place, place) for place in _SOFTWARE if os.path.isdir(place)]
    binds.append((etc(tuple(path for path in keep if path.startswith("/etc/"))), "/etc"))
    entries = [entry for entry in path.split(":") if entry.startswith("/")]
    if home_view is Home.TOOLCHAINS:
        found = [f"{home}/{name}" for name in _TOOLCHAINS]
        found += [_root_of_tools(entry, home) for entry in entries]
        for source in _outermost(found, home, keep):
            binds.append((source, source))
    seen = [place for _, place in binds] + [place for _, place in links] + list(keep)
    visible = [e for e in entries if any(is_within(e, s) for s in seen)]
    visible += [entry for entry in DEFAULT_PATH.split(":") if entry not in visible]
    return View(binds=tuple(binds), links=tuple(links), home=home, path=":".join(visible))


def _root_of_tools(entry: str, home: str) -> str:
    """What to show for one entry of the search path: all that it belongs to, or just it."""
    real = os.path.realpath(entry)
    if any(is_within(real, s) for s in (*_SYSTEM, *_SOFTWARE)):
        return ""
    parts = entry.split("/")
    for length, part in enumerate(parts, 1):
        if part in _ROOTS:
            return "/".join(parts[:length])
    above = os.path.dirname(entry)
    if os.path.exists(f"{above}/pyvenv.cfg"):
        return above
    if os.path.isdir(f"{above}/conda-meta"):
        return above
    if os.path.exists(f"{above}/lib/node_modules"):
        return above if above != home else entry
    return entry


def _outermost(found: list[str], home: str, keep: tuple[str, ...]) -> list[str]:
    """Directories that may be shown, without those that lie inside another."""
    never = [f"{home}/{name}" for name in NEVER]
    chosen: list[str] = []
    # Most are not there, and one question is cheaper than following each part of a path.
    for path in sorted({p for p in found if p and os.access(p, os.F_OK)}):
        real = os.path.realpath(path)
        if real in ("/", home) or is_below(home, real):
            continue
        if real.startswith(("/etc", "/proc", "/sys", "/dev", "/run", "/var/run", "/boot")):
            continue
        if real in ("/tmp", "/var", "/var/tmp", "/home", "/root", "/mnt", "/srv", "/media"):
            continue
        if any(is_within(real, n) or is_below(n, real) for n in never):
            continue
        if any(is_within(path, k) for k in keep):
            continue
        if any(is_below(path, c) for c in chosen):
            continue
        if os.path.islink(path) and real != path:
            path = real  # noqa: PLW2901 — a link is shown by what it leads to
        chosen.append(path)
    return chosen


def etc(given: tuple[str, ...] = ()) -> str:
    """A directory with copies of what is needed of /etc, another one when an original changed.

    What runs sees its copy as it is: nothing may be taken out of one that is in use. Paths of /etc
    that are `given` have an empty place there, over which they are mounted.
    """
    sources = [(name, _identity(f"/etc/{name}")) for name in ETC]
    persons = _identity(os.path.expanduser("~/.gitconfig"))
    wanted = "\n".join(f"{name} {who}" for name, who in sources if who) + f"\n~ {persons}"
    wanted += "".join(f"\n+ {path} {os.path.isdir(path)}" for path in given)
    place = f"{own_directories.cache()}/etc-{_LAYOUT}-{crc32(wanted.encode()):08x}"
    if _made(place, wanted):
        return place
    from fcntl import LOCK_EX, flock

    from redoma.jail.engines.etc_copy import copy, remove_unused

    # Threads and processes that start side by side would copy into each other's half.
    with open(f"{own_directories.made_cache()}/etc.lock", "w") as lock:
        flock(lock, LOCK_EX)
        if not _made(place, wanted):
            copy([name for name, who in sources if who], place, given)
            with open(f"{place}.made", "w") as file:
                file.write(wanted)
            remove_unused(own_directories.cache(), older_than=_KEPT)
    return place


def own_hosts() -> str:
    """A file that names a sandbox itself, and no other host."""
    own = os.uname().nodename
    text = f"127.0.0.1\tlocalhost\n127.0.1.1\t{own}\n::1\tlocalhost ip6-localhost ip6-loopback\n"
    place = f"{own_directories.cache()}/hosts"
    try:
        with open(place) as file:
            if file.read() == text:
                return place
    except OSError:
        pass
    own_directories.made_cache()
    private_file.write(place, text, mode=0o644)
    return place


def _made(place: str, wanted: str) -> bool:
    try:
        with open(f"{place}.made") as file:
            made = file.read() == wanted and os.path.isdir(place)
            if made and os.fstat(file.fileno()).st_mtime < time() - _KEPT / 7:
                os.utime(f"{place}.made")
            return made
    except OSError:
        return False


def _identity(path: str) -> str:
    try:
        status = os.stat(path)
    except OSError:
        return ""
    # Attack: what only root may read has no place in a copy, whoever makes the copy.
    if not status.st_mode & stat.S_IROTH:
        return ""
    return f"{status.st_ino}.{status.st_mtime_ns}.{status.st_size}"
