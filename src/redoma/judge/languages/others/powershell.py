"""PowerShell: cmdlets that remove, fetch, run and stop, by their names and aliases."""

from __future__ import annotations

import base64
import binascii
import re

from redoma.judge.interpret.arg import NETWORK, SECRET, UNKNOWN, Arg, Stream
from redoma.model.risk import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.call import Call

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


def read_powershell(call: Call, text: Arg) -> Stream:
    """Notes what the commands do; a downloaded text that is evaluated is code from elsewhere."""
    call.fact(Effect.EXECUTES, tags=("code",), at=text.span, detail="powershell")
    if text.taint & NETWORK:
        call.fact(Effect.DOWNLOADS_AND_EXECUTES, at=text.span)
    if not text.strip(UNKNOWN + " "):
        call.fact(Effect.UNKNOWN, tags=("code",), at=text.span)
        return Stream(None, text.taint)
    reader = _Reader(call, text)
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


class _Reader:
    def __init__(self, call: Call, text: Arg) -> None:
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
            self.call.fact(Effect.UNKNOWN, tags=("code",), at=self.text.span)
        if self.connects and self.evaluates:
            self.call.fact(Effect.NETWORK, tags=("reverse-shell",), at=self.text.span)
