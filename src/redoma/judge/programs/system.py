"""Programs whose words decide whether they look at the machine or change it."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import ANYTHING, NOTHING, Arg, Stream
from redoma.judge.programs.cards import options_of
from redoma.model.decision import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.invocation import Invocation


def sysctl(call: Invocation) -> Stream:
    """`sysctl NAME` looks, `sysctl NAME=VALUE` changes the kernel."""
    options = options_of(call)
    sets = any("=" in word for word in options.operands)
    if sets or options.has("-w", "--write", "-p", "--load", "--system", "-f"):
        call.fact(Effect.SYSTEM, detail=" ".join(options.operands[:1]))
    return ANYTHING


def date(call: Invocation) -> Stream:
    """`date` tells the time; with a bare number or `-s` it sets the clock."""
    options = options_of(call)
    bare = [w for w in options.operands if not w.startswith("+")]
    only_tells = options.has("-j", "-d", "--date", "-r", "--reference")
    if options.has("-s", "--set") or (
        bare and not only_tells and re.fullmatch(r"[\d.]{4,}", bare[0])
    ):
        call.fact(Effect.SYSTEM, detail="clock")
    for word in options.values("-f", "--file"):
        if not options.has("-j"):
            call.reads(word)
    return ANYTHING


def ifconfig(call: Invocation) -> Stream:
    """`ifconfig [NAME]` looks, anything after the name changes."""
    words = [
        w
        for w in call.args
        if w not in ("-a", "-l", "-s", "-v", "-L", "-m", "-u", "-d", "-r", "-C")
    ]
    if len(words) > 1:
        call.fact(Effect.SYSTEM, detail="network")
    return ANYTHING


def route(call: Invocation) -> Stream:
    """`route`, `arp`: looking up is harmless, adding and deleting is not."""
    changes = {
        "add",
        "del",
        "delete",
        "change",
        "flush",
        "-s",
        "-d",
        "-f",
        "--set",
        "--delete",
        "--file",
    }
    if call.name == "route":
        changes -= {"-s", "-d", "-f"}
        if "-f" in call.args:
            changes.add("-f")
    if any(word in changes for word in call.args):
        call.fact(Effect.SYSTEM, detail="network")
    return ANYTHING


_IP_LOOKS = (
    "show",
    "list",
    "lst",
    "ls",
    "get",
    "help",
    "monitor",
    "identify",
    "pids",
    "save",
    "showdump",
    "shows",
)
_IP_CHANGES = (
    "add delete del set change replace append prepend flush restore attach modify allocspi update "
    "prl 6rd test deleteall".split()
)


def ip(call: Invocation) -> Stream:
    """`ip OBJECT [VERB]`: verbs may be shortened; `netns exec` runs a command."""
    for index, word in enumerate(call.args):
        if word in ("-b", "-batch", "--batch") and index + 1 < len(call.args):
            call.reads(call.args[index + 1])
            call.fact(Effect.SYSTEM, detail="network")
            return ANYTHING
    options = options_of(call)
    words = options.operands
    if len(words) < 2:
        return ANYTHING
    verb = str(words[1])
    if "netns".startswith(words[0]) and len(words[0]) > 3 and "exec".startswith(verb):
        call.fact(Effect.PRIVILEGE)
        return call.run_args(words[3:]) if len(words) > 3 else ANYTHING
    if "vrf".startswith(words[0]) and verb == "exec":
        return call.run_args(words[3:]) if len(words) > 3 else ANYTHING
    changes = any(each.startswith(verb) for each in _IP_CHANGES)
    looks = any(each.startswith(verb) for each in _IP_LOOKS) or verb in (
        "dev",
        "table",
        "group",
        "up",
        "type",
    )
    if "xfrm".startswith(words[0]):
        # Its second word is an object of its own: `ip xfrm state [VERB]`.
        verb = str(words[2]) if len(words) > 2 else "show"
        changes = any(each.startswith(verb) for each in _IP_CHANGES)
        looks = any(each.startswith(verb) for each in _IP_LOOKS)
    if verb == "s" and "link".startswith(words[0]):
        # `ip l s` is `ip link set`; for every other object it is `show`.
        looks = False
    if not looks or (changes and verb in ("a", "add", "d", "del", "c", "r", "f", "se", "set")):
        call.fact(Effect.SYSTEM, detail="network")
    return ANYTHING


def mount(call: Invocation) -> Stream:
    """`mount` alone lists; `-o remount` and binding change what lies where."""
    options = options_of(call)
    acting = "-a --all -L -U --label --uuid --bind --move --make-private --make-shared --source"
    if not options.operands and not options.has(*acting.split()):
        return ANYTHING
    call.fact(Effect.SYSTEM, detail="mount")
    return NOTHING


_VITAL = frozenset(
    "init systemd launchd sshd bash sh zsh fish dash ksh login getty dbus-daemon dbus Xorg wayland "
    "gnome-shell kwin systemd-logind systemd-journald journald redoma claude codex gemini cursor "
    "dockerd containerd kubelet NetworkManager WindowServer loginwindow Finder tmux screen".split()
)
_GUARDS = (
    "guard",
    "redoma",
    "sandbox",
    "falco",
    "auditd",
    "osquery",
    "wazuh",
    "crowdstrike",
    "sentinel",
    "clamd",
    "fail2ban",
    "apparmor",
)


def kill(call: Invocation) -> Stream:
    """`kill PID`: signal 0 only asks; -1 is everyone, 1 is the process all others hang on."""
    words = list(call.args)
    signal = ""
    if words and words[0] in ("-l", "-L", "--list", "--table"):
        return ANYTHING
    if words and words[0] in ("-s", "--signal", "-n", "-q") and len(words) > 1:
        signal = str(words[1])
        words = words[2:]
    elif words and words[0].startswith("--signal="):
        signal = words.pop(0).partition("=")[2]
    elif words and words[0].startswith("-") and words[0] != "--" and len(words) > 1:
        signal = words.pop(0)[1:]
    words = [w for w in words if w != "--"]
    if signal == "0":
        return NOTHING
    for word in words:
        _killed(call, word)
    return NOTHING


def _killed(call: Invocation, word: Arg) -> None:
    everything = word.strip() in ("-1", "0") or word.strip().startswith("-1 ")
    tags: tuple[str, ...] = ("everything",) if everything else ()
    if word == "1":
        tags = ("init",)
    elif call.walker.text and word in ("$PPID",):
        tags = ("parent",)
    told = call.walker.source[word.span[0] : word.span[1]].lower()
    if not word.known and (any(g in told for g in _GUARDS) or "redoma" in call.walker.text):
        # `kill $(pgrep redoma)`: the number is not known, but whose it is.
        call.fact(Effect.TAMPERS, at=word.span)
    call.fact(Effect.KILLS, tags=tags, at=word.span)


def pkill(call: Invocation) -> Stream:
    """`pkill`, `killall`: by name; a name that fits everything ends everything."""
    words = [
        w for w in call.args if not re.fullmatch(r"-(?:\d+|SIG)?[A-Z]*\d*", w) or w in ("-I", "-V")
    ]
    options = options_of(call, words)
    names = options.operands
    if options.has("-l", "--list", "-V", "--version") and not names:
        return ANYTHING
    if options.value("--signal") == "0" or "-0" in call.args:
        return ANYTHING
    for word in names:
        plain = re.sub(r"[\^$*.+?\[\](){}]", "", word)
        everything = not word.strip("^$.*+?")
        tags: tuple[str, ...] = ("everything",) if everything else ()
        if plain in _VITAL:
            tags = ("vital",)
        if any(guard in word.lower() for guard in _GUARDS):
            call.fact(Effect.TAMPERS, at=word.span)
        call.fact(Effect.KILLS, tags=tags, at=word.span, detail=str(word))
    if not names:
        by_user = options.has(
            "-u", "-U", "--euid", "--uid", "--user", "-t", "-s", "--session", "-G"
        )
        call.fact(Effect.KILLS, tags=("everything",) if by_user else ())
    return NOTHING


def killall5(call: Invocation) -> Stream:
    call.fact(Effect.KILLS, tags=("everything",))
    return NOTHING


def fuser(call: Invocation) -> Stream:
    """`fuser` names who uses a file; `-k` ends them."""
    if any(
        w in ("-k", "--kill") or (w[:1] == "-" and w[1:2] != "-" and "k" in w) for w in call.args
    ):
        call.fact(Effect.KILLS)
    return ANYTHING


def renice(call: Invocation) -> Stream:
    call.fact(Effect.SYSTEM, tags=("service",), detail="priority")
    return NOTHING


def dc(call: Invocation) -> Stream:
    """`dc`: a calculator whose `!` runs a shell."""
    options = options_of(call)
    for text in options.values("-e", "--expression"):
        if "!" in text:
            call.run_shell(text.like(text.partition("!")[2].partition("\n")[0]))
    if call.stdin.text and call.stdin.text.lstrip().startswith("!"):
        call.run_shell(call.word.like(call.stdin.text.lstrip()[1:]))
    for word in [*options.values("-f", "--file"), *options.operands]:
        call.reads(word)
    return ANYTHING
