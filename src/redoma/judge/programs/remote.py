"""`ssh`, `scp`, `sftp` and their kin: commands and files that go to another machine."""

from __future__ import annotations

from redoma.judge.interpret.arg import ANYTHING, NETWORK, NOTHING, SECRET, UNKNOWN, Arg, Stream, arg
from redoma.judge.programs.cards import options_of
from redoma.judge.programs.options import split
from redoma.model.decision import Effect, Place, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.invocation import Invocation
    from redoma.judge.programs.options import ProgramOptions

_SSH_TAKES = frozenset("-B -b -c -D -E -e -F -I -i -J -L -l -m -O -o -P -p -Q -R -S -W -w".split())
_RUNNING_OPTIONS = ("proxycommand", "localcommand", "knownhostscommand", "remotecommand")
_SYSTEM_PLACES = (
    "/boot",
    "/bin",
    "/sbin",
    "/lib",
    "/usr",
    "/etc",
    "/dev",
    "/root",
    "/sys",
    "/proc",
)


def remote_of(word: str) -> tuple[str, str] | None:
    """The host and the path of `user@host:path`, `scp://host/path`; None for a local path."""
    for scheme in ("scp://", "sftp://", "rsync://", "ssh://", "ftp://"):
        if word.startswith(scheme):
            host, _, path = word[len(scheme) :].partition("/")
            return host.rpartition("@")[2].partition(":")[0], f"/{path}"
    before, colon, after = word.partition(":")
    if not colon or "/" in before or not before or (len(before) == 1 and after.startswith("\\")):
        return None
    if before.startswith("[") and "]" in word:
        inside, _, rest = word.partition("]:")
        return inside.rpartition("@")[2].strip("["), rest
    return before.rpartition("@")[2], after.removeprefix(":")


def judge_ssh_options(call: Invocation, options: ProgramOptions) -> None:
    """`-o ProxyCommand=…` and its like run programs here; some switch checks off."""
    for word in options.values("-o"):
        name, _, value = word.replace("=", " ", 1).strip().partition(" ")
        name, value = name.lower(), value.strip()
        if name in _RUNNING_OPTIONS and value.lower() not in ("none", ""):
            call.fact(Effect.EXECUTES, tags=("flag", "arbitrary"), at=word.span)
            if name != "remotecommand":
                call.run_shell(word.like(value.lstrip(";")))
        elif name in ("pkcs11provider", "securitykeyprovider"):
            call.fact(Effect.EXECUTES, tags=("library",), at=word.span)
        elif name in ("localforward", "remoteforward", "dynamicforward"):
            call.fact(Effect.NETWORK, tags=("tunnel",), at=word.span)
        elif name == "stricthostkeychecking" and value.lower() in ("no", "off"):
            call.fact(Effect.NETWORK, tags=("insecure",), at=word.span)
    for word in options.values("-F"):
        if word not in ("none", "/dev/null"):
            call.fact(Effect.EXECUTES, tags=("flag",), at=word.span)
    for word in options.values("-I"):
        call.fact(Effect.EXECUTES, tags=("library",), at=word.span)


def ssh(call: Invocation) -> Stream:
    """A command on another machine is judged as one here, marked as done elsewhere."""
    options = split(call.args, _SSH_TAKES, stops=True)
    if options.has("-V") or options.has("-G") or options.has("-Q"):
        return Stream(None)
    words = list(options.operands)
    judge_ssh_options(call, options)
    if options.has("-R", "-D", "-L", "-w", "-W"):
        call.fact(Effect.NETWORK, tags=("tunnel",))
    if not words:
        return Stream(None)
    host = words.pop(0)
    # Options may follow the host: `ssh host -o X=y cmd`.
    if words and words[0].startswith("-"):
        more = split(words, _SSH_TAKES, stops=True)
        judge_ssh_options(call, more)
        words = list(more.operands)
    place = host.like(host.rpartition("@")[2])
    if call.stdin.taint & SECRET or host.taint & SECRET:
        call.sends(call.stdin.taint | host.taint, place)
    else:
        call.host(place, "remote-shell")
    if not words:
        if call.stdin.text is None and not call.stdin.source and not call.stdin.taint:
            return Stream(None, NETWORK, str(host))
        call.fact(Effect.REMOTE, detail=f"runs what flows in on {host}")
        if call.stdin.text is not None:
            return _elsewhere(call, host, [host.like(call.stdin.text)])
        return Stream(None, NETWORK, str(host))
    return _elsewhere(call, host, words, stdin=call.stdin)


def _elsewhere(call: Invocation, host: Arg, words: list[Arg], stdin: Stream = ANYTHING) -> Stream:
    taint = 0
    for word in words:
        taint |= word.taint
    text = arg(" ".join(words), (words[0].span[0], words[-1].span[1]), taint)
    if taint & SECRET:
        call.sends(taint, host)
    walker = call.walker
    before, files = walker.elsewhere, walker.files
    walker.elsewhere = str(host)
    noted = len(walker.facts)
    walker.files = type(files)()
    try:
        out = call.run_shell(text, stdin=stdin)
    finally:
        walker.elsewhere = before
        walker.files = files
    if any(fact.effect is not Effect.READS for fact in walker.facts[noted:]):
        call.fact(Effect.REMOTE, detail=f"runs a command on {host}", at=text.span)
    return Stream(out.text, out.taint | NETWORK, str(host))


def copy(call: Invocation) -> Stream:
    """`scp`: files go to another machine, or come from it."""
    options = options_of(call)
    judge_ssh_options(call, options)
    for word in options.values("-S"):
        call.fact(Effect.EXECUTES, tags=("flag", "arbitrary"), at=word.span)
        call.run_shell(word)
    if len(options.operands) < 2:
        return NOTHING
    *sources, target = options.operands
    transfer(call, sources, target)
    return NOTHING


def transfer(call: Invocation, sources: list[Arg], target: Arg) -> None:
    """Copies between machines: what leaves, what arrives, and where it lands."""
    there = remote_of(target)
    arriving = Stream(None)
    for word in sources:
        source = remote_of(word)
        if source is not None:
            call.host(word.like(source[0]), "download")
            arriving = Stream(None, NETWORK, str(word))
            if there is None:
                inside = target.like(f"{target.rstrip('/')}/{source[1].rpartition('/')[2]}")
                call.walker.files.put(call.path(inside), arriving)
        else:
            held = call.reads(word)
            if there is not None:
                call.sends(held.taint | word.taint, target.like(there[0]), *_system(there[1]))
            arriving = held
    if there is None:
        call.writes(target, content=arriving if arriving.taint else None)
    elif _system(there[1]):
        text = Target(text=target, place=Place.SYSTEM)
        call.fact(Effect.WRITES, text, tags=("elsewhere",), at=target.span)


def _system(path: str) -> tuple[str, ...]:
    return ("system-place",) if path.startswith(_SYSTEM_PLACES) else ()


def file_session(call: Invocation) -> Stream:
    """`sftp`, `ftp`, `tftp`, `lftp`: a session whose commands flow in or are given."""
    options = options_of(call)
    judge_ssh_options(call, options)
    host = options.operands[0] if options.operands else call.word.like(UNKNOWN)
    found = remote_of(host)
    commands = (
        [str(word) for word in options.values("-c", "-e")] if call.name in ("lftp", "tftp") else []
    )
    if call.name == "tftp" and options.has("-c"):
        # Its command is all the words after `-c`.
        commands = [" ".join([*commands, *options.operands[1:]])]
    if call.stdin.text:
        commands.append(call.stdin.text)
    for word in options.values("-b", "-f"):
        call.reads(word)
        call.fact(Effect.UNKNOWN, tags=("code",), at=word.span)
    call.fact(Effect.UNKNOWN, tags=("subcommand",), detail=f"{call.name} session")
    call.host(host.like(found[0]) if found else host, "download")
    for line in "\n".join(commands).replace(";", "\n").splitlines():
        _session_command(call, host, line.split())
    if found and found[1] and len(options.operands) > 1:
        call.writes(options.operands[1], content=Stream(None, NETWORK, str(host)))
    return Stream(None, NETWORK, str(host))


def _session_command(call: Invocation, host: Arg, words: list[str]) -> None:
    if not words:
        return
    verb = words[0].lower()
    files = [w for w in words[1:] if not w.startswith("-")]
    if verb.startswith("!"):
        call.run_shell(host.like(" ".join(words)[1:]))
    elif verb in ("put", "mput", "reput", "send", "mirror") and files:
        call.sends(call.reads(host.like(files[0])).taint, host)
    elif verb in ("get", "mget", "reget", "recv") and files:
        name = files[1] if len(files) > 1 else files[0].rpartition("/")[2]
        call.writes(host.like(name), content=Stream(None, NETWORK, str(host)))
    elif verb in ("rm", "delete", "mdelete", "rmdir", "mrm"):
        call.fact(Effect.REMOTE, tags=("destroy",), detail=" ".join(words))
    elif verb in ("rename", "chmod", "chown", "mkdir", "symlink", "ln"):
        call.fact(Effect.REMOTE, detail=" ".join(words))


def keygen(call: Invocation) -> Stream:
    """`ssh-keygen`: shows, makes or changes keys."""
    options = options_of(call)
    file = options.value("-f")
    for word in options.values("-D", "-w"):
        call.fact(Effect.EXECUTES, tags=("library",), at=word.span)
    if options.has("-l", "-F", "-B", "-L", "-v") and not options.has("-y"):
        return Stream(None)
    if options.has("-y"):
        if file is not None:
            call.reads(file)
        return Stream(None)
    if options.has("-Y", "-Q"):
        return Stream(None)
    target = file if file is not None else call.word.like("~/.ssh/id_rsa")
    if options.has("-R"):
        target = file if file is not None else call.word.like("~/.ssh/known_hosts")
        call.fact(Effect.WRITES, Target(text="known_hosts", place=Place.HOME), tags=("settings",))
        return NOTHING
    if file is None:
        home = call.state.variables.get("HOME") or arg("/root", call.span)
        target = call.word.like(f"{home}/.ssh/id_ed25519")
    place = call.written_target(target)[0].place
    made = Target(
        text=target, place=Place.HOME if place in (Place.STARTUP, Place.SECRET) else place
    )
    call.fact(Effect.WRITES, made, tags=("key",))
    return NOTHING


def agent(call: Invocation) -> Stream:
    """`ssh-add`, `ssh-copy-id`, `ssh-agent`: keys in use, and keys put on other machines."""
    options = options_of(call)
    if call.name == "ssh-copy-id":
        host = options.operands[0] if options.operands else call.word.like(UNKNOWN)
        judge_ssh_options(call, options)
        call.sends(0, host)
        call.fact(Effect.PRIVILEGE, tags=("grant",))
        return NOTHING
    if call.name == "ssh-agent":
        if options.operands:
            return call.run_args(list(options.operands))
        return Stream(
            "SSH_AUTH_SOCK=/tmp/agent; export SSH_AUTH_SOCK; "
            "SSH_AGENT_PID=1; export SSH_AGENT_PID;\n"
        )
    if options.has("-l", "-L", "-T"):
        return Stream(None)
    for word in options.values("-s"):
        call.fact(Effect.EXECUTES, tags=("library",), at=word.span)
    if options.has("-D", "-d"):
        call.fact(Effect.SECRETS, tags=("credentials", "removed"))
    else:
        call.fact(Effect.SECRETS, tags=("credentials",))
    return NOTHING


def carrier(call: Invocation) -> Stream:
    """`sshpass`, `autossh`, `mosh`, `torsocks`: another program's connection made easier."""
    options = options_of(call)
    words = list(options.operands)
    if call.name == "sshpass":
        for word in options.values("-f"):
            call.reads(word)
    if call.name == "autossh":
        call.fact(Effect.NETWORK, tags=("tunnel",))
        return ssh_as(call, [w for w in call.args if w not in options.values("-M") and w != "-M"])
    if call.name == "mosh":
        for word in options.values("--ssh", "--client", "--server"):
            call.fact(Effect.EXECUTES, tags=("flag",), at=word.span)
            if word not in ("ssh", "mosh-server", "mosh-client") and "ssh " not in word:
                call.run_shell(word)
        if not words:
            return ANYTHING
        return ssh_as(call, [w for w in words if w != "--"])
    if not words:
        return ANYTHING
    return call.run_args(words)


def ssh_as(call: Invocation, words: list[Arg]) -> Stream:
    """Reads the words as those of `ssh`."""
    return call.run_args([call.word.like("ssh"), *words])
