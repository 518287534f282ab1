"""Git's settings that run programs, trust strangers or lead traffic elsewhere, and `git config`."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import NOTHING, SECRET, UNKNOWN, Arg, Stream
from redoma.judge.programs.git import QUIET_EDITORS
from redoma.model.decision import Effect, Place, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.invocation import Invocation
    from redoma.judge.programs.git import Verb

# `section.last` or `section.*.last` in lower case: git ignores the case of both.
_PROGRAMS = frozenset(
    "core.pager core.editor core.sshcommand core.fsmonitor core.askpass core.gitproxy "
    "core.hookspath core.alternaterefscommand sequence.editor credential.helper "
    "diff.external gpg.program interactive.difffilter help.browser web.browser "
    "instaweb.httpd instaweb.browser sendemail.sendmailcmd sendemail.smtpserver "
    "sendemail.tocmd sendemail.cccmd sendemail.headercmd imap.tunnel "
    "uploadpack.packobjectshook init.templatedir include.path "
    "lfs.standalonetransferagent credential.*.helper diff.*.command diff.*.textconv "
    "difftool.*.cmd difftool.*.path mergetool.*.cmd mergetool.*.path merge.*.driver "
    "filter.*.clean filter.*.smudge filter.*.process gpg.*.program "
    "gpg.*.defaultkeycommand man.*.cmd man.*.path browser.*.cmd browser.*.path "
    "tar.*.command trailer.*.command trailer.*.cmd remote.*.uploadpack "
    "remote.*.receivepack remote.*.vcs lfs.extension.*.clean lfs.extension.*.smudge "
    "lfs.customtransfer.*.path guitool.*.cmd includeif.*.path hook.*.command "
    "sendemail.*.sendmailcmd sendemail.*.smtpserver ssh.variant".split()
)
_TRANSPORT = frozenset(
    "http.sslcainfo http.sslcapath http.sslversion http.sslcert http.sslkey http.sslbackend "
    "http.sslcipherlist http.cookiefile http.savecookies http.proxy http.proxyauthmethod "
    "http.proxysslcainfo http.proxysslcert http.proxysslkey http.curloptresolve http.pinnedpubkey "
    "http.schannelcheckrevoke http.schannelusesslcainfo core.gitproxy".split()
)
_ELSEWHERE = frozenset(
    "url.*.insteadof url.*.pushinsteadof remote.*.proxy remote.*.proxyauthmethod remote.*.url "
    "remote.*.pushurl".split()
)
_TRUST = frozenset(
    "safe.directory safe.barerepository core.bare core.worktree core.repositoryformatversion "
    "protocol.allow protocol.*.allow transfer.fsckobjects fetch.fsckobjects receive.fsckobjects "
    "core.protectntfs core.protecthfs trace2.configparams trace2.envvars trace2.normaltarget "
    "trace2.eventtarget trace2.perftarget uploadpack.allowanysha1inwant".split()
)
_PAGERS = re.compile(
    r"(?:/usr/bin/|/bin/)?(?:cat|less(?: -[A-Za-z]+)*|more|head|delta|bat|diff-so-fancy|most)?"
    r"|true|false|:"
)
_EDITOR_KEYS = ("core.editor", "sequence.editor")
_EDITORS = re.compile(
    r"(?:/usr/bin/|/bin/|/usr/local/bin/)?"
    r"(?:vim?|nvim|nano|pico|emacs(?: -nw)?|emacsclient(?: -t| -c)?|micro|hx|helix|kak|gedit|ed"
    r"|(?:code|codium|cursor|subl|zed|mate|atom)(?: (?:--wait|-w|-n))*)"
)
_HELPERS = re.compile(
    r"(?:cache(?: --timeout[= ]\d+)?|store(?: --file[= ][\w./~-]+)?"
    r"|osxkeychain|manager(?:-core)?|libsecret|wincred"
    r"|gcloud\.sh|!?(?:/\S*/)?"
    r"(?:gh auth|glab auth|aws codecommit|gcloud auth|az)\b[\w -]*+[\w$@]*+)?"
)
_SIGNERS = re.compile(r"(?:/usr/(?:local/)?bin/|/opt/homebrew/bin/)?(?:gpg2?|gpgsm|ssh-keygen)")
_LOOSE = frozenset(("false", "0", "no", "off"))
_SECRET_KEY = re.compile(
    r"credential|token|passw|smtppass|secret|extraheader|oauth|apikey|api_key|privatekey",
    re.IGNORECASE,
)


def kind_of(key: str) -> str:
    """The key as tables have it: lower case, what stands between first and last dot as `*`."""
    first, _, rest = key.partition(".")
    middle, _, last = rest.rpartition(".")
    section, name = first.lower(), last.lower()
    if section in ("lfs",) and middle:
        inner = middle.partition(".")[0].lower()
        return f"lfs.{inner}.*.{name}" if "." in middle else f"lfs.{middle.lower()}.{name}"
    if section == "http" and middle:
        return f"http.{name}"
    return f"{section}.*.{name}" if middle else f"{section}.{name}"


def judge_setting(call: Invocation, key: Arg, value: str | None, scope: str = "") -> bool:
    """Notes what a setting makes git do; whether anything was worth a note.

    `scope` is empty for one command (`-c`), else where it is kept: local, global or system.
    """
    if UNKNOWN in key:
        call.fact(
            Effect.EXECUTES, tags=("hooked",), at=key.span, detail="a setting that is not known"
        )
        return True
    kind = kind_of(key)
    text = (value or "").strip()
    if kind.startswith(("alias.", "pager.", "hook.", "extensions.")):
        return _judge_family(call, kind, key, text, scope)
    if kind.startswith("submodule.") and kind.endswith(".update"):
        return _hooked(call, key, text, scope) if text.startswith("!") else False
    if kind in _PROGRAMS:
        if value is not None and _harmless(kind, text, kept=bool(scope)):
            if kind in _EDITOR_KEYS and not scope:
                call.fact(Effect.EXECUTES, tags=("project",), at=key.span, detail=str(key))
            return False
        return _hooked(call, key, text, scope)
    if kind == "http.sslverify":
        loose = value is not None and (text.lower() in _LOOSE or UNKNOWN in text or not text)
        if loose:
            call.fact(Effect.NETWORK, tags=("insecure", "settings"), at=key.span, detail=str(key))
        return loose
    if kind in _TRANSPORT or kind in _ELSEWHERE:
        if text or value is None:
            call.fact(Effect.NETWORK, tags=("redirected",), at=key.span, detail=str(key))
            if "ext::" in text:
                run_transport(call, key.like(text))
            return True
        return False
    if kind in _TRUST:
        call.fact(Effect.WRITES, tags=("trust",), at=key.span, detail=str(key))
        return True
    return False


def _judge_family(call: Invocation, kind: str, key: Arg, text: str, scope: str) -> bool:
    if kind.startswith("alias."):
        if not text.startswith("!"):
            return False
        call.fact(Effect.EXECUTES, tags=("hooked",), at=key.span, detail=str(key))
        if scope:
            call.run_shell(key.like(text[1:]))
        return True
    if kind.startswith("pager."):
        return False if _PAGERS.fullmatch(text) else _hooked(call, key, text, scope)
    if kind.startswith("hook."):
        return _hooked(call, key, text, scope) if kind.endswith(".command") else False
    call.fact(Effect.WRITES, tags=("trust",), at=key.span, detail=str(key))
    return True


def _harmless(kind: str, text: str, *, kept: bool) -> bool:
    if UNKNOWN in text:
        return False
    if kind in ("core.pager", "interactive.difffilter"):
        return bool(_PAGERS.fullmatch(text))
    if kind in _EDITOR_KEYS:
        return text in QUIET_EDITORS or (kept and bool(_EDITORS.fullmatch(text)))
    if kind in ("credential.helper", "credential.*.helper"):
        return bool(_HELPERS.fullmatch(text))
    if kind in ("gpg.program", "gpg.*.program"):
        return bool(_SIGNERS.fullmatch(text))
    if kind == "core.fsmonitor":
        return text.lower() in ("true", "false", "0", "1", "")
    if kind in ("diff.external", "core.askpass", "core.gitproxy"):
        return text in ("", "true", "difft", "delta")
    if kind == "filter.*.clean":
        return text in ("git-lfs clean -- %f", "nbstripout")
    if kind in ("filter.*.smudge", "filter.*.process"):
        return text in ("git-lfs smudge -- %f", "git-lfs filter-process", "cat")
    return False


def _hooked(call: Invocation, key: Arg, text: str, scope: str) -> bool:
    kind = kind_of(key)
    if kind == "core.hookspath" and text in ("/dev/null", ""):
        call.fact(Effect.WRITES, tags=("unverified",), at=key.span, detail=str(key))
        return True
    if scope in ("global", "system"):
        # It runs in every repository of the user from now on, without being called.
        call.fact(Effect.PERSISTS, tags=("settings",), at=key.span, detail=str(key))
    call.fact(Effect.EXECUTES, tags=("hooked",), at=key.span, detail=str(key))
    named = kind.endswith(("path", "templatedir", "directory", "vcs", "variant"))
    if text and UNKNOWN not in text and not named:
        call.run_shell(key.like(text.lstrip("!|")))
    return True


def run_transport(call: Invocation, word: Arg) -> None:
    """`ext::command` makes git run a command as its connection."""
    before, _, command = word.partition("ext::")
    if before.strip(":") or not command:
        return
    call.fact(Effect.EXECUTES, tags=("hooked",), at=word.span, detail="ext::")
    words = [piece.replace("% ", " ") for piece in re.split(r"(?<!%) +", command)]
    call.run_args([word.like(piece.replace("%%", "%")) for piece in words if piece])


_GETTING = (
    "--get",
    "--get-all",
    "--get-regexp",
    "--get-urlmatch",
    "--get-color",
    "--get-colorbool",
)
_MODERN = frozenset("list get set unset rename-section remove-section edit".split())


def config(verb: Verb) -> Stream | None:
    """`git config`: looking is harmless unless it shows secrets; setting depends on the key."""
    call = verb.call
    options = verb.options()
    words = list(options.operands)
    action = ""
    if words and words[0] in _MODERN:
        action = str(words.pop(0))
    file = options.value("-f", "--file")
    scope = (
        "system" if options.has("--system") else "global" if options.has("--global") else "local"
    )
    if file is not None and "/.gitconfig" in f"/{file}":
        scope = "global"
    if options.has("-e", "--edit") or action == "edit":
        call.fact(Effect.WRITES, tags=("settings",), detail="config --edit")
        return NOTHING
    if options.has("--unset", "--unset-all", "--remove-section", "--rename-section") or action in (
        "unset",
        "rename-section",
        "remove-section",
    ):
        _keep(verb, scope, file)
        return NOTHING
    if len(words) == 1 and "=" in words[0] and action != "get":
        # Not git's syntax, but what is meant is a setting.
        key, _, value = words[0].partition("=")
        words = [words[0].like(key), words[0].like(value)]
    looking = options.has("-l", "--list", *_GETTING) or action in ("list", "get") or len(words) < 2
    if looking:
        return _look(verb, words, file)
    judge_setting(call, words[0], str(words[1]), scope)
    _keep(verb, scope, file)
    return NOTHING


def _look(verb: Verb, words: list[Arg], file: Arg | None) -> Stream:
    call = verb.call
    if file is not None:
        return call.reads(file)
    if words and _SECRET_KEY.search(words[0]) and not words[0].lower().endswith("helper"):
        target = Target(text=str(words[0]), place=Place.SECRET)
        call.fact(Effect.SECRETS, target, at=words[0].span)
        return Stream(None, SECRET, "git config")
    verb.looks()
    return Stream(None)


def _keep(verb: Verb, scope: str, file: Arg | None) -> None:
    call = verb.call
    if file is not None:
        call.writes(file)
    elif scope == "system":
        target = Target(text="/etc/gitconfig", place=Place.SYSTEM)
        call.fact(Effect.WRITES, target, tags=("settings",))
    elif scope == "global":
        call.fact(Effect.WRITES, tags=("settings",), detail="config --global")
    else:
        verb.changes()
