"""`nc`, `socat`, `dig` and others that join streams with another machine or ask about it."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import IDENTITY, NETWORK, SECRET, UNKNOWN, Arg, Stream, arg
from redoma.judge.programs.cards import card_of, options_of
from redoma.judge.programs.options import split
from redoma.model.decision import Effect, Place, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.invocation import Invocation


def nc(call: Invocation) -> Stream:
    """`nc`, `ncat`: a program behind `-e` or `-c` is a shell for whoever is at the other end."""
    card = card_of(call)
    listens = any(w[:1] == "-" and w[1:2] != "-" and "l" in w for w in call.args)
    # While `ncat` listens, `-d` waits for nothing.
    takes = card["takes"] - {"-d"} if listens else card["takes"]
    options = split(call.args, takes, card["known"])
    if options.has("-h", "--help", "--version"):
        return Stream(None)
    for word in options.values("-e", "-c", "--exec", "--sh-exec", "--lua-exec"):
        call.fact(Effect.NETWORK, tags=("reverse-shell",), at=word.span)
        call.run_shell(word, stdin=Stream(None, NETWORK, "the other end"))
    for word in options.values("-o", "--output", "--hex-dump"):
        call.writes(word)
    host = options.operands[0] if options.operands else call.word.like("")
    if options.has("-l", "--listen", "-L"):
        call.fact(Effect.NETWORK, tags=("listen",))
        if call.stdin.taint & SECRET:
            call.sends(call.stdin.taint, call.word.like(UNKNOWN), "raw")
        return Stream(None, NETWORK, "whoever connects")
    if options.has("-z", "--zero"):
        call.host(host, "scan")
        return Stream(None)
    taint = call.stdin.taint | host.taint
    sends = call.stdin.text not in (None, "") or bool(call.stdin.source) or bool(taint & SECRET)
    if call.redirects is not None and call.redirects.stdin is not call.stdin:
        sends = True
    if sends or call.walker.forks:
        call.sends(taint, host, "raw")
    else:
        call.host(host, "raw")
    return Stream(None, NETWORK, str(host))


def telnet(call: Invocation) -> Stream:
    options = options_of(call)
    host = options.operands[0] if options.operands else call.word.like(UNKNOWN)
    taint = call.stdin.taint | call.taint()
    if taint & SECRET:
        call.sends(taint, host, "raw")
    else:
        call.host(host, "raw")
    return Stream(None, NETWORK, str(host))


_LISTENING = ("-listen", "-l:", "recvfrom", "-recv")
_REMOTE = tuple(
    ("tcp udp ssl openssl sctp dccp vsock socks proxy ip udplite rawip dtls tun interface").split()
)
_RUNS = frozenset(("exec", "system", "shell"))
_FILES = frozenset(("open", "file", "gopen", "create", "creat"))


def socat(call: Invocation) -> Stream:
    """`socat`: two addresses; one of another machine and one of a program are a shell for it."""
    options = options_of(call)
    ends: list[Arg] = []
    for word in options.operands:
        ends.extend(word.like(part) for part in str(word).split("!!") if part)
    kinds = [_address(end) for end in ends]
    remote = [
        (kind, end) for kind, end in zip(kinds, ends, strict=True) if kind[0].startswith(_REMOTE)
    ]
    runs = [(kind, end) for kind, end in zip(kinds, ends, strict=True) if kind[0] in _RUNS]
    one_way = options.has("-u")
    taint = call.stdin.taint
    for (name, value), end in zip(kinds, ends, strict=True):
        taint |= _local_end(call, name, value, end, reads=end is ends[0] or not one_way)
    for (name, value), end in runs:
        if remote:
            call.fact(Effect.NETWORK, tags=("reverse-shell",), at=end.span)
        code = end.like(value.replace('\\"', '"').replace("\\ ", " "))
        taint |= call.run_shell(code, stdin=Stream(None, NETWORK if remote else 0)).taint
        del name
    for (name, value), end in remote:
        if any(mark in f"-{name}:" for mark in _LISTENING) or name.endswith("-l"):
            call.fact(Effect.NETWORK, tags=("listen",), at=end.span)
            if taint & SECRET:
                call.sends(taint, end.like(UNKNOWN), "raw")
        else:
            call.sends(taint, end.like(value), "raw")
    return Stream(None, NETWORK if remote else taint, str(ends[-1]) if ends else "")


def _address(end: Arg) -> tuple[str, str]:
    """An address such as `TCP:host:1,reuseaddr` as its keyword in lower case and its value."""
    text = str(end)
    if text in ("-", "stdio", "STDIO"):
        return "stdio", ""
    name, colon, value = text.partition(":")
    if not colon or "/" in name:
        return ("fd", text) if text.isdigit() else ("gopen", text.partition(",")[0])
    name = name.lower()
    if name in _RUNS:
        return name, _until_option(value)
    return name, value.partition(",")[0]


def _until_option(value: str) -> str:
    """`EXEC:cmd,pty` has options after a comma, unless the comma is escaped."""
    index = 0
    while index < len(value):
        if value[index] == "\\":
            index += 2
            continue
        if value[index] == ",":
            return value[:index]
        index += 1
    return value


def _local_end(call: Invocation, name: str, value: str, end: Arg, *, reads: bool) -> int:
    if name in _FILES and not value.endswith((".sock", ".socket")):
        word = end.like(value)
        if name in ("create", "creat") or not reads or ",creat" in end.lower():
            call.writes(word, content=Stream(None, NETWORK, "socat"))
            return 0
        return call.reads(word).taint
    if name == "fd":
        number = value
        if value.lower().startswith("0x"):
            number = (
                str(int(value, 16))
                if all(c in "0123456789abcdef" for c in value[2:].lower()) and value[2:]
                else ""
            )
        held = call.state.descriptors.get(number)
        if held is not None:
            call.writes(arg(held, end.span, held.taint), content=Stream(None, _sent_along(call)))
        return 0
    if name.startswith(("unix", "abstract")) or (
        name == "gopen" and value.endswith((".sock", ".socket"))
    ):
        command = call.stdin.text or ""
        if any(
            word in command.lower()
            for word in ("shutdown", "disable", "del ", "delete", "kill", "stop")
        ):
            call.fact(Effect.REMOTE, tags=("destroy",), detail=command.strip()[:60])
        else:
            call.fact(Effect.NETWORK, tags=("upload", "local"))
    return 0


def _sent_along(call: Invocation) -> int:
    """What the other addresses of this call read, for a descriptor that is only a number."""
    taint = call.stdin.taint
    for word in call.args:
        name, value = _address(word)
        if name in _FILES:
            taint |= call.reads(word.like(value)).taint
    return taint


def channel(call: Invocation) -> Stream:
    """`websocat`, `wscat`, `grpcurl`: messages to a service, answers from it."""
    options = options_of(call)
    if options.has("-l", "--listen", "-s"):
        call.fact(Effect.NETWORK, tags=("listen",))
    target = options.value("-c", "--connect")
    operands = [o for o in options.operands if o not in ("list", "describe")]
    if target is None:
        target = operands[0] if operands else call.word.like(UNKNOWN)
    for end in operands:
        kind, _, program = end.partition(":")
        if kind.lower() in ("exec", "cmd", "sh-c", "socat", "autoreconnect"):
            call.fact(Effect.NETWORK, tags=("reverse-shell",), at=end.span)
            call.run_shell(end.like(program))
    if call.name == "grpcurl" and ("list" in options.operands or "describe" in options.operands):
        call.host(target, "query")
        return Stream(None, NETWORK, str(target))
    taint = call.taint()
    data = options.value("-d")
    if data is not None and data.startswith("@") and len(data) > 1:
        taint |= call.reads(data.like(data[1:])).taint
    call.sends(taint, target)
    return Stream(None, NETWORK, str(target))


_TEXT_RECORD = re.compile(r"(?:-t|-q|-type=|-query=|-querytype=)?(?:txt|any|spf)", re.IGNORECASE)


def lookup(call: Invocation) -> Stream:
    """DNS, ping, whois: a read, unless who we are or a secret stands in the question."""
    options = options_of(call)
    operands = [w for w in options.operands if not w.startswith(("+", "@"))]
    target = operands[0] if operands else call.word.like("")
    carried = 0
    for word in call.args:
        carried |= word.taint
    if carried & (SECRET | IDENTITY):
        place = Target(text=target, place=Place.HOST)
        call.fact(Effect.EXFILTRATES, place, tags=("dns",))
    if any(w.lower() in ("axfr", "ixfr") for w in operands):
        call.fact(Effect.NETWORK, Target(text=target, place=Place.HOST), tags=("scan", "transfer"))
    for word in (
        options.values("-f", "--filename", "-F", "-i")
        if call.name in ("dig", "drill", "mtr", "fping")
        else ()
    ):
        if call.reads(word).taint & SECRET:
            call.fact(Effect.EXFILTRATES, Target(text=word, place=Place.HOST), tags=("dns",))
    if options.has("--flood") or (options.has("-f") and call.name.startswith(("ping", "hping"))):
        call.fact(Effect.NETWORK, Target(text=target, place=Place.HOST), tags=("flood",))
    if call.name == "whois" and options.has("-h") and options.has("-p"):
        call.sends(call.taint(), options.values("-h")[0], "raw")
    else:
        call.fact(Effect.NETWORK, Target(text=target, place=Place.HOST), tags=("query",))
    # What stands in a TXT record is whatever its owner likes, commands too.
    free_text = call.name == "whois" or any(_TEXT_RECORD.fullmatch(w) for w in call.args)
    return Stream(None, NETWORK if free_text else 0, str(target))


def nsupdate(call: Invocation) -> Stream:
    """Changes records of a name server."""
    text = (call.stdin.text or UNKNOWN).lower()
    destroys = "delete" in text or UNKNOWN in text
    call.fact(Effect.REMOTE, tags=("destroy",) if destroys else (), detail="nsupdate")
    return Stream(None)


def identity(call: Invocation) -> Stream:
    """`whoami`, `hostname`, `id`: who and where this is; with a new name a change of the system."""
    if call.name == "hostname":
        options = options_of(call)
        if options.operands or options.has("-F", "--file", "-b", "--boot"):
            call.fact(Effect.SYSTEM)
    if call.name == "hostnamectl":
        words = [w for w in call.args if not w.startswith("-")]
        if words and words[0] not in ("status", "show"):
            call.fact(Effect.SYSTEM)
    return Stream(None, IDENTITY, call.name)


def printenv(call: Invocation) -> Stream:
    """One variable is a read, unless its name is that of a secret; all of them show everything."""
    from redoma.judge.interpret.sensitive import is_secret_variable

    names = [w for w in call.args if not w.startswith("-")]
    if not names:
        target = Target(text="environment", place=Place.SECRET)
        call.fact(Effect.SECRETS, target, tags=("environment",))
        return Stream(None, SECRET, "environment")
    return Stream(None, _shown(call, [n for n in names if is_secret_variable(n) or UNKNOWN in n]))


def _shown(call: Invocation, names: list[Arg]) -> int:
    for word in names:
        target = Target(text=word, place=Place.SECRET)
        call.fact(Effect.SECRETS, target, tags=("variable",), at=word.span)
    return SECRET if names else 0


def scan(call: Invocation) -> Stream:
    """`nmap`, `masscan`: other machines are probed; scripts are code."""
    options = options_of(call)
    if not options.operands and options.has("-h", "--help", "-V", "--version", "--iflist"):
        return Stream(None)
    for name, value, word in options.order:
        if name == "--interactive":
            call.fact(Effect.EXECUTES, tags=("interactive",))
        if value is None:
            continue
        if name.startswith("--script") and name != "--script-args":
            if "/" in value or value.endswith((".nse", ".lua")):
                # Attack: a script beside the command is code of the caller's choice.
                call.executes_file(value, "lua")
                call.fact(Effect.EXECUTES, tags=("library",), at=value.span)
            else:
                call.fact(Effect.NETWORK, tags=("scan", "intrusive"), at=value.span)
        elif name.startswith("-o") and value != "-":
            call.writes(value)
        elif name in ("-iL", "--excludefile", "--resume", "-c"):
            call.reads(value)
        del word
    for host in options.operands:
        call.host(host, "scan")
    return Stream(None)
