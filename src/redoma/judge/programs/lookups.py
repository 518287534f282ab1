"""Programs that ask about names and machines: what they carry in the question may be a secret."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import IDENTITY, NETWORK, SECRET, UNKNOWN, Arg, Stream
from redoma.judge.programs.cards import options_of
from redoma.judge.programs.options import split
from redoma.model.risk import Effect, Place, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.call import Call

_TAKES = {
    "dig": "-b -c -f -k -p -q -t -x -y",
    "nslookup": "",
    "host": "-c -m -N -p -R -t -W",
    "drill": "-c -d -f -i -k -o -p -q -r -t -w -x -y",
    "ping": "-c -i -I -l -m -M -p -Q -s -S -t -T -w -W -F -G -g -h -N -e",
    "whois": "-h -p -i -s -g -t -q",
    "traceroute": "-f -g -i -m -N -p -q -s -S -t -l -w -z --port --sport --mtu -M -O --max-hops -A",
    "mtr": "-c -i -s -B -Q -a -f -m -U -P -L -Z -G -n -F --filename --report-cycles "
    "--interval --psize",
    "tracepath": "-l -m -p",
}
_TEXT_RECORD = re.compile(r"(?:-t|-q|-type=|-query=|-querytype=)?(?:txt|any|spf)", re.IGNORECASE)


def lookup(call: Call) -> Stream:
    """DNS, ping, whois: a read, unless who we are or a secret stands in the question."""
    takes = _TAKES.get(call.name, _TAKES["ping"])
    options = split(call.args, frozenset(takes.split()))
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


def nsupdate(call: Call) -> Stream:
    """Changes records of a name server."""
    text = (call.stdin.text or UNKNOWN).lower()
    destroys = "delete" in text or UNKNOWN in text
    call.fact(Effect.REMOTE, tags=("destroy",) if destroys else (), detail="nsupdate")
    return Stream(None)


def identity(call: Call) -> Stream:
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


def printenv(call: Call) -> Stream:
    """One variable is a read, unless its name is that of a secret; all of them show everything."""
    from redoma.judge.interpret.sensitive import is_secret_variable

    names = [w for w in call.args if not w.startswith("-")]
    if not names:
        target = Target(text="environment", place=Place.SECRET)
        call.fact(Effect.SECRETS, target, tags=("environment",))
        return Stream(None, SECRET, "environment")
    return Stream(None, _shown(call, [n for n in names if is_secret_variable(n) or UNKNOWN in n]))


def _shown(call: Call, names: list[Arg]) -> int:
    for word in names:
        target = Target(text=word, place=Place.SECRET)
        call.fact(Effect.SECRETS, target, tags=("variable",), at=word.span)
    return SECRET if names else 0


def scan(call: Call) -> Stream:
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
