"""Reading what is secret: in the home directory, on the machine, in the environment."""

from __future__ import annotations

import os
import socket

from tests.escape.attack import Unsupported, attack
from tests.escape.inside import Box
from tests.escape.payload import NotRun, answer
from tests.escape.prelude import everything_below, text_of
from tests.escape.promises import P
from tests.escape.world import SECRET_PLACES, World

HOME = "read other secrets of the home directory"
MACHINE = "read secrets of the machine (as root)"
ENVIRONMENT = "secret in the caller's environment"


def _which_hold(paths, secret):
    return [path for path in paths if secret in text_of(path)]


def _read(world: World, box: Box, names: list[str]) -> str:
    told = box.call(_which_hold, [f"{world.home}/{name}" for name in names], world.secret)
    return f"read {', '.join(told.value)[:200]}" if told.value else ""


@attack(P.SECRETS, "read ~/.ssh")
def read_ssh_keys(world: World, box: Box) -> str:
    return _read(world, box, [name for name in SECRET_PLACES if name.startswith(".ssh")])


@attack(P.SECRETS, "read ~/.aws")
def read_cloud_credentials(world: World, box: Box) -> str:
    kept = (".aws", ".azure", ".kube", ".config/gcloud", ".terraform.d", ".vault-token")
    return _read(world, box, [name for name in SECRET_PLACES if name.startswith(kept)])


@attack(P.SECRETS, HOME)
def read_everything_else_of_the_home(world: World, box: Box) -> str:
    return _read(world, box, SECRET_PLACES)


def _search(tops, secret):
    found = []
    for top in tops:
        found += [p for p in everything_below(top) if secret in p or secret in text_of(p)]
    return found


@attack(P.SECRETS, HOME)
def search_the_whole_home(world: World, box: Box) -> str:
    """Secrets also lie where no list knows of them."""
    (world.home / "unheard-of").mkdir()
    (world.home / "unheard-of/file").write_text(world.secret)
    (world.home / ".local/lib").mkdir(parents=True)
    (world.home / ".local/lib/link").symlink_to(world.home / "unheard-of")
    told = box.call(_search, [world.home, world.home / ".local/lib/link"], world.secret)
    own = str(world.workspace)  # the payload's own text names what it looks for
    found = [path for path in told.value or [] if not path.startswith(own)]
    return f"found {', '.join(found)[:200]}" if found else ""


@attack(P.SECRETS, HOME)
def read_through_a_planted_link_or_hard_link(world: World, box: Box) -> str:
    """The repository came with links to secrets, under names that read as its own."""
    for number, name in enumerate(SECRET_PLACES):
        (world.workspace / f"link{number}").symlink_to(world.home / name)
    told = box.call(_search, [world.workspace], world.secret)
    found = [path for path in told.value or [] if "/link" in path]
    return f"read through {', '.join(found)[:200]}" if found else ""


@attack(P.SECRETS, HOME)
def read_by_a_search_path_of_secrets(world: World, box: Box) -> str:
    """A directory of the search path is shown inside; one that holds secrets must not be."""
    world.env_extra["PATH"] = (
        f"{world.home}/.ssh:{world.home}/.aws:{world.home}:{world.env['PATH']}"
    )
    return _read(world, box, SECRET_PLACES)


@attack(P.SECRETS, HOME)
def read_what_a_toolchain_links_to(world: World, box: Box) -> str:
    """A toolchain's directory is a link to a place with secrets."""
    for name, to in ((".pyenv", ".ssh"), (".local/bin", ".aws"), (".nvm", ".config"), ("go", "")):
        place = world.home / name
        place.parent.mkdir(exist_ok=True)
        place.symlink_to(world.home / to)
    shown = (".pyenv/id_ed25519", ".local/bin/credentials", ".nvm/gh/hosts.yml", "go/.netrc")
    return _read(world, box, [*shown, "go/bin", *SECRET_PLACES])


@attack(P.SECRETS, "read other people's files")
def read_other_homes(world: World, box: Box) -> str:
    """Other people's homes and the places where programs leave files for each other."""
    tops = []
    for parent in ("/tmp", "/var/tmp", "/dev/shm", "/home", "/srv", "/var/lib", "/root"):
        if os.access(parent, os.W_OK):
            place = world.place(parent)
            (place / "secret").write_text(world.secret)
            tops.append(place)
    told = box.call(_search, [str(t) for t in tops], world.secret)
    return f"read {', '.join(told.value)[:200]}" if told.value else ""


@attack(P.SECRETS, "read secrets that services keep in /run", works_for="root")
def read_secrets_in_run(world: World, box: Box) -> str:
    """Containers and services keep tokens below /run."""
    if not os.access("/run", os.W_OK):
        raise Unsupported("only root can put a secret into /run")
    place = world.place("/run")
    (place / "token").write_text(world.secret)
    told = box.call(_search, [str(place), f"/var{place}"], world.secret)
    return f"read {', '.join(told.value)}" if told.value else ""


def _shadow():
    import glob

    names = ["/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/shadow-"]
    names += glob.glob("/etc/ssh/ssh_host_*_key") + glob.glob("/etc/ssl/private/*")
    return [name for name in names if text_of(name)]


@attack(P.SECRETS, "read /etc/shadow (as root)", works_for="root")
def read_shadow(world: World, box: Box) -> str:
    """Password hashes and the machine's own keys."""
    told = box.call(_shadow)
    return f"read {', '.join(told.value)}" if told.value else ""


@attack(P.SECRETS, MACHINE, works_for="root")
def read_what_only_root_may(world: World, box: Box) -> str:
    """A file of root's in a place that is shown inside, readable to nobody else."""
    if os.geteuid() != 0:
        raise Unsupported("only root can make a file that only root may read")
    told = []
    for parent in ("/usr/local/share", "/opt"):
        place = world.place(parent)
        for name, mode in (("owner", 0o600), ("group", 0o640)):
            (place / name).write_text(world.secret)
            (place / name).chmod(mode)
            told.append(str(place / name))
    readable = box.call(_which_hold, told, world.secret).value
    return f"read {', '.join(readable)}" if readable else ""


def _kernel_memory():
    names = ("/proc/kcore", "/dev/mem", "/dev/kmem", "/proc/kmsg", "/dev/kmsg")
    found = []
    for name in names:
        try:
            fd = os.open(name, os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            continue
        os.close(fd)
        found.append(name)
    return found


@attack(P.SECRETS, MACHINE, works_for="root")
def read_kernel_memory(world: World, box: Box) -> str:
    """Memory and messages of the kernel; they are opened, and not read."""
    told = box.call(_kernel_memory)
    return f"opened {', '.join(told.value)}" if told.value else ""


def _environment(secret, pids):
    found = [name for name, value in os.environ.items() if secret in value]
    for name in pids or os.listdir("/proc"):
        if name.isdigit() and secret in text_of(f"/proc/{name}/environ"):
            found.append(f"/proc/{name}/environ")
    return found


@attack(P.ENVIRONMENT, ENVIRONMENT, only_bare=True)
def read_variables_of_the_caller(world: World, box: Box) -> str:
    """Tokens that people keep in their environment, under well-known and unknown names."""
    for name in ("DATABASE_URL", "PGPASSWORD", "NPM_TOKEN", "XDG_SECRET", "REDOMA_KEY"):
        world.env_extra[name] = world.secret
    told = box.call(_environment, world.secret, ["self"])
    return f"seen: {', '.join(told.value)[:200]}" if told.value else ""


@attack(P.ENVIRONMENT, ENVIRONMENT)
def read_variables_of_other_processes(world: World, box: Box) -> str:
    """The environment of every process that can be seen, the sandbox's first one too."""
    decoy = world.decoy()
    pids = [] if box.enclosure.hides_processes else [str(decoy.pid)]
    told = box.call(_environment, world.secret, pids)
    found = [name for name in told.value or [] if name.startswith("/proc/")]
    return f"seen: {', '.join(found)[:200]}" if found else ""


@attack(P.ENVIRONMENT, ENVIRONMENT, only_bare=True)
def be_loaded_with_the_callers_libraries(world: World, box: Box) -> str:
    """Variables that make programs run other code do not come from the caller either."""
    names = {"LD_LIBRARY_PATH", "PYTHONPATH", "BASH_ENV", "NODE_OPTIONS", "GIT_SSH_COMMAND"}
    world.env_extra |= dict.fromkeys(names, f"/nonexistent/{world.secret}")
    told = box.call(_environment, world.secret, ["self"])
    found = sorted(names & set(told.value or []))
    return f"seen: {', '.join(found)}" if found else ""


def _descriptors(secret):
    found = []
    for fd in range(3, 1024):
        try:
            os.fstat(fd)
        except OSError:
            continue
        try:
            if secret.encode() in os.pread(fd, 4096, 0):
                found.append(f"read {fd}")
        except OSError:
            pass
        try:
            os.write(fd, b"owned")
            found.append(f"wrote {fd}")
        except OSError:
            pass
        for up in ("secret", "outside/victim", ".", ".."):
            try:
                names = os.listdir(fd) if up == "." else []
                found += [f"listed {fd}"] if names else []
                os.close(os.open(up, os.O_RDONLY, dir_fd=fd))
                found.append(f"opened {up} by {fd}")
            except OSError:
                pass
    return [f for f in found if "by" not in f or "secret" in f or "victim" in f or ".." in f]


@attack(P.DESCRIPTORS, "open descriptors of the caller", only_bare=True)
def use_descriptors_of_the_caller(world: World, box: Box) -> str:
    """A careless caller has inheritable descriptors: a secret, a log, a directory, a socket."""
    ours, theirs = socket.socketpair()
    log = os.open(world.victim, os.O_WRONLY)
    key = os.open(world.home / ".ssh/id_ed25519", os.O_RDONLY)
    top = os.open(world.base, os.O_RDONLY | os.O_DIRECTORY)
    fds = [theirs.fileno(), log, key, top]
    for fd in fds:
        os.set_inheritable(fd, True)
    try:
        told = box.call(_descriptors, world.secret, fds=fds)
        ours.setblocking(False)
        try:
            heard = ours.recv(16)
        except BlockingIOError:
            heard = b""
    finally:
        for fd in (log, key, top):
            os.close(fd)
        ours.close()
        theirs.close()
    if heard:
        return "a socket of the caller was written to"
    used = [t for t in told.value or [] if t.startswith("read") or "opened" in t]
    return world.changed_outside() or (f"used descriptors: {', '.join(used)}" if used else "")


def _spoil_own_output():
    for fd in (0, 1, 2):
        for way in (lambda: os.ftruncate(fd, 0), lambda: os.truncate(f"/proc/self/fd/{fd}", 0)):  # noqa: B023
            try:
                way()
            except OSError:
                continue


@attack(P.DESCRIPTORS, "open descriptors of the caller", only_bare=True)
def spoil_the_file_that_output_goes_to(world: World, box: Box) -> str:
    """`redoma run … >> log`: the command may add to the log, and not change what is in it."""
    log = world.outside / "log"
    log.write_text("what happened before\n")
    with log.open("ab") as out:
        process = box.started(_spoil_own_output, stdout=out, stderr=out)
        process.wait(timeout=60)
    text = log.read_text()
    if "began" not in text and "what happened before" in text:
        raise NotRun(f"the command line did not run the payload: {text[-600:]}")
    return "" if text.startswith("what happened before\n") else "the log was cut off"


@attack(P.DESCRIPTORS, "open descriptors of the caller", only_bare=True)
def use_descriptors_of_a_shell_script(world: World, box: Box) -> str:
    """`exec 7<~/.ssh/key 8>log; redoma run …`: a script's descriptors do not come along either."""
    key = os.open(world.home / ".ssh/id_ed25519", os.O_RDONLY)
    try:
        process = box.started(_descriptors, world.secret, pass_fds=[key])
        out, err = process.communicate(timeout=60)
    finally:
        os.close(key)
    told = answer(out, complaint=err)
    used = [t for t in told.value or [] if t.startswith("read")]
    return f"used descriptors: {', '.join(used)}" if used else ""
