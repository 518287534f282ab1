"""Languages whose statements are lines of words: Tcl, expect, AppleScript, PowerShell."""

from __future__ import annotations

import base64
import binascii
import re

from redoma.judge.interpret.arg import NETWORK, SECRET, UNKNOWN, Arg, Stream
from redoma.judge.languages.others.expressions import STRING, tokens
from redoma.model.decision import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.invocation import Invocation

_TCL_COMMANDS = re.compile(
    r"(?:^|[;\n\[{])[^\S\n]*+(exec|spawn|system|open|socket|source|eval|file|send)\b([^;\n\]}]*)"
)
_WORD = re.compile(
    r"""'(?:[^']++|'')*+(?:'|\Z)|"(?:[^"`]++|`.)*+(?:"|`?\Z)|[^\s;|()'"{}]+|[;|(){}\n]"""
)
_REMOVES = frozenset(
    "remove-item ri rm rmdir rd del erase clear-content clc remove-itemproperty".split()
)
_EVALUATES = frozenset("invoke-expression iex invoke-command icm".split())
_FETCHES = frozenset(
    "invoke-webrequest iwr invoke-restmethod irm curl wget start-bitstransfer".split()
)
_RUNS = frozenset("start-process saps start invoke-item ii start-job".split())
_READS = frozenset("get-content gc cat type select-string".split())
_WRITES = frozenset(
    "set-content sc add-content ac out-file new-item ni tee-object copy-item copy cp "
    "move-item move mv rename-item".split()
)
_POWER = frozenset("stop-computer restart-computer".split())
_SYSTEM = frozenset(
    "set-executionpolicy set-mppreference disable-windowsoptionalfeature "
    "set-netfirewallprofile new-localuser add-localgroupmember set-acl takeown icacls "
    "bcdedit reg sc.exe set-itemproperty new-itemproperty".split()
)
_DEVICES = frozenset(
    "format-volume clear-disk initialize-disk remove-partition diskpart vssadmin".split()
)
_PERSISTS = frozenset("register-scheduledtask schtasks new-service register-scheduledjob".split())
_KILLS = frozenset("stop-process kill spps taskkill stop-service".split())
_EFFECTS: dict[str, tuple[Effect, tuple[str, ...]]] = {
    **dict.fromkeys(_POWER, (Effect.SYSTEM, ("power",))),
    **dict.fromkeys(_DEVICES, (Effect.SYSTEM, ("device",))),
    **dict.fromkeys(_PERSISTS, (Effect.PERSISTS, ())),
    **dict.fromkeys(_SYSTEM, (Effect.SYSTEM, ())),
    **dict.fromkeys(_KILLS, (Effect.KILLS, ())),
}


def read_tcl(call: Invocation, text: Arg) -> Stream:
    """Tcl and expect: `exec`, `spawn`, `open "|…"`, `socket`, `file delete`."""
    call.begins_code("tcl", text)
    _unseen(call, text)
    connects = spawns = False
    taint = 0
    for match in _TCL_COMMANDS.finditer(text):
        call.walker.step()
        verb = match[1]
        rest = match[2].replace("{*}", " ").replace("{", " ").replace("}", " ").strip()
        rest = re.sub(r"\$\{?\w+\}?", UNKNOWN, rest)
        if verb in ("exec", "spawn", "system"):
            spawns = True
            words = rest.split()
            while words and words[0].startswith("-"):
                words.pop(0)
            taint |= call.run_shell(text.like(" ".join(words).strip('"'))).taint
        elif verb == "open":
            spawns = spawns or _tcl_open(call, text, rest)
        elif verb == "socket":
            connects = True
            words = [w for w in rest.split() if not w.startswith("-")]
            call.host(text.like(words[0] if words else UNKNOWN), "raw")
        elif verb == "source":
            call.executes_file(text.like(rest.split()[0] if rest.split() else UNKNOWN), "tcl")
        elif verb == "eval" and UNKNOWN in rest:
            call.unknown_code(text.span)
        elif verb == "file":
            _tcl_file(call, text, rest.split())
    if connects and (spawns or "exec" in text):
        call.fact(Effect.NETWORK, tags=("reverse-shell",), at=text.span)
    return Stream(None, taint | text.taint, "tcl")


def _tcl_open(call: Invocation, text: Arg, rest: str) -> bool:
    words = rest.strip('"').split()
    if rest.startswith(("|", '"|')):
        call.run_shell(text.like(rest.strip('"').lstrip("| ")))
        return True
    if words:
        if len(words) > 1 and words[1].strip('"')[:1] in ("w", "a"):
            call.writes(text.like(words[0].strip('"')))
        else:
            call.reads(text.like(words[0].strip('"')))
    return False


def _tcl_file(call: Invocation, text: Arg, words: list[str]) -> None:
    if words[:1] == ["delete"]:
        for each in words[1:]:
            if not each.startswith("-"):
                call.deletes(text.like(each.strip('"')), "recursive")
    elif words[:1] in (["rename"], ["copy"]) and len(words) > 2:
        call.writes(text.like(words[-1]))


def read_applescript(call: Invocation, text: Arg) -> Stream:
    """`do shell script "…"` is a command; the rest steers applications."""
    call.begins_code("applescript", text, "desktop")
    _unseen(call, text)
    found = tokens(str(text), "applescript")
    taint = 0
    for index, token in enumerate(found):
        if token.text == "script" and index > 1 and found[index - 1].text == "shell":
            following = found[index + 1] if index + 1 < len(found) else None
            if following is not None and following.kind == STRING:
                taint |= call.run_shell(text.like(following.text)).taint
            else:
                call.unknown_code(text.span)
        elif token.text == "administrator":
            call.fact(Effect.PRIVILEGE, at=text.span)
        elif token.text == "do" and index + 1 < len(found) and found[index + 1].text == "script":
            following = found[index + 2] if index + 2 < len(found) else None
            if following is not None and following.kind == STRING:
                call.run_shell(text.like(following.text))
    if ".doShellScript" in text or "doShellScript" in text:
        for token in found:
            if token.kind == STRING:
                call.run_shell(text.like(token.text))
    return Stream(None, taint | text.taint, "applescript")


def _unseen(call: Invocation, text: Arg) -> bool:
    """Whether nothing of the code is known, which is noted."""
    unseen = not text.strip(UNKNOWN + " ")
    if unseen:
        call.unknown_code(text.span)
    return unseen


def read_powershell(call: Invocation, text: Arg) -> Stream:
    """Notes what the commands do; a downloaded text that is evaluated is code from elsewhere."""
    call.begins_code("powershell", text)
    if _unseen(call, text):
        return Stream(None, text.taint)
    reader = _PowerShellReader(call, text)
    for words in _commands(str(text)):
        reader.command(words)
    reader.conclude()
    return Stream(None, reader.taint | text.taint | call.stdin.taint, "powershell")


def decode_command(text: Arg) -> Arg:
    """The text of `-EncodedCommand`: base64 of UTF-16."""
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4))
        return text.like(raw.decode("utf-16-le", "replace"))
    except (ValueError, binascii.Error):
        return text.like(UNKNOWN)


def _commands(text: str) -> list[list[str]]:
    out: list[list[str]] = [[]]
    for match in _WORD.finditer(text):
        word = match[0]
        if word in (";", "|", "\n", "(", ")", "{", "}"):
            out.append([])
        else:
            out[-1].append(word[1:].removesuffix(word[0]) if word[0] in "'\"" else word)
    return [words for words in out if words]


class _PowerShellReader:
    def __init__(self, call: Invocation, text: Arg) -> None:
        self.call = call
        self.text = text
        self.taint = 0
        self.fetches = self.evaluates = self.connects = False
        self.unknown_code = False

    def word(self, text: str) -> Arg:
        home = self.call.state.variables.get("HOME")
        text = (
            text.replace("$HOME", str(home))
            .replace("$env:USERPROFILE", str(home))
            .replace("\\", "/")
        )
        if text.startswith("~"):
            text = f"{home}{text[1:]}"
        if re.match(r"[A-Za-z]:/", text):
            text = text[2:]
        return self.text.like(re.sub(r"\$[\w:{}]+", UNKNOWN, text))

    def command(self, words: list[str]) -> None:
        while words and (
            words[0] in ("&", ".", "=", "if", "else", "try")
            or (words[0].startswith("$") and words[1:2] == ["="])
        ):
            words = words[2:] if words[1:2] == ["="] else words[1:]
        if not words:
            return
        name = words[0].lower()
        plain = [w for w in words[1:] if not w.startswith("-")]
        flags = {w.lower() for w in words if w.startswith("-")}
        if "net.sockets" in " ".join(words).lower() or "tcpclient" in " ".join(words).lower():
            self.connects = True
            self.call.fact(Effect.NETWORK, tags=("upload",), at=self.text.span)
        if (
            "downloadstring" in " ".join(words).lower()
            or "downloadfile" in " ".join(words).lower()
            or "net.webclient" in name
        ):
            self.fetches = True
        self._known(name, words, plain, flags)

    def _known(self, name: str, words: list[str], plain: list[str], flags: set[str]) -> None:
        call = self.call
        if name in _REMOVES:
            tree = any("-recurse".startswith(flag) and len(flag) > 1 for flag in flags)
            for each in plain or [UNKNOWN]:
                call.deletes(self.word(each), *(("recursive",) if tree else ()))
        elif name in _EVALUATES:
            self._evaluate(" ".join(plain))
        elif name in _FETCHES:
            self._fetch(words, plain, flags)
        elif name in _RUNS:
            call.fact(Effect.EXECUTES, tags=("arbitrary",), at=self.text.span)
            if plain:
                call.run_args([self.word(each) for each in plain])
            if any(w.lower() == "runas" for w in words):
                call.fact(Effect.PRIVILEGE, at=self.text.span)
        elif name in _READS:
            for each in plain[:1]:
                self.taint |= call.reads(self.word(each)).taint & SECRET
        elif name in _WRITES:
            for each in (
                plain[:2] if name.startswith(("copy", "move", "cp", "mv", "rename")) else plain[:1]
            ):
                call.writes(self.word(each))
        elif name in _EFFECTS:
            effect, tags = _EFFECTS[name]
            call.fact(effect, tags=tags, at=self.text.span)
        elif name in self.call.walker.knowledge and not name.startswith(("$", "[")):
            call.run_args([self.word(each) for each in words])
        elif name.startswith("[") and "::" in name and "load" in name:
            self.unknown_code = True

    def _evaluate(self, code: str) -> None:
        self.evaluates = True
        if code and "$" not in code and "http" not in code:
            for inner in _commands(code):
                self.command(inner)
        else:
            self.unknown_code = True

    def _fetch(self, words: list[str], plain: list[str], flags: set[str]) -> None:
        self.fetches = True
        url = next((w for w in words[1:] if "://" in w), plain[0] if plain else UNKNOWN)
        lowered = [w.lower() for w in words]
        sends = (
            "-body" in flags
            or "-infile" in flags
            or any(m in lowered for m in ("post", "put", "patch", "delete"))
        )
        if sends:
            self.call.sends(self.taint, self.text.like(url))
            if "delete" in lowered:
                self.call.fact(Effect.REMOTE, tags=("destroy",), at=self.text.span, detail="DELETE")
        else:
            self.call.host(self.text.like(url), "download")
        if "-outfile" in flags and lowered.index("-outfile") + 1 < len(words):
            path = words[lowered.index("-outfile") + 1]
            self.call.writes(self.word(path), content=Stream(None, NETWORK, url))

    def conclude(self) -> None:
        if self.fetches and self.evaluates:
            self.call.fact(Effect.DOWNLOADS_AND_EXECUTES, at=self.text.span)
        elif self.unknown_code:
            self.call.unknown_code(self.text.span)
        if self.connects and self.evaluates:
            self.call.fact(Effect.NETWORK, tags=("reverse-shell",), at=self.text.span)
