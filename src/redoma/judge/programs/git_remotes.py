"""git's subcommands that talk to other machines: what comes from there and what goes there."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import ANYTHING, NETWORK, NOTHING, SECRET, UNKNOWN, Arg, Stream
from redoma.judge.programs.git_files import STAGED
from redoma.judge.programs.git_settings import judge_setting, run_transport
from redoma.model.decision import Effect, Place, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.programs.git import Verb
    from redoma.judge.programs.options import ProgramOptions

_SCP = re.compile(r"[\w.-]+@[\w.-]+:|[\w-]+(?:\.[\w-]+)+:(?!\\)")
_FORCES = ("--force", "--force-with-lease", "--force-if-includes", "--follow-tags")
_REMEMBERED = "git remote "
"""Where a walk keeps the addresses that the script itself gave to names."""


def _is_address(word: str) -> bool:
    return "://" in word or "::" in word or bool(_SCP.match(word))


def _contact(verb: Verb, word: Arg, *tags: str) -> None:
    """Talks to an address; secrets inside it would be sent along."""
    call = verb.call
    if "ext::" in word:
        run_transport(call, word)
    elif word.taint & SECRET:
        call.sends(word.taint, word, *tags)
    elif _is_address(word):
        call.host(word, *tags)


def _programs(verb: Verb, options: ProgramOptions) -> None:
    """The other end's program is the caller's choice; for a local path it runs here."""
    for name in ("--upload-pack", "-u", "--receive-pack", "--exec"):
        if name == "-u" and verb.name != "clone":
            continue
        if options.has(name):
            value = options.value(name)
            verb.call.fact(Effect.EXECUTES, tags=("hooked",), detail=verb.told(name))
            if value is not None and UNKNOWN not in value:
                verb.call.run_shell(value)


def clone(verb: Verb) -> Stream:
    """Brings a repository here; what lies in it is another's from then on."""
    call = verb.call
    options = verb.options()
    _programs(verb, options)
    for setting in options.values("-c", "--config"):
        key, given, text = setting.partition("=")
        judge_setting(call, setting.like(key), text if given else None)
    for template in options.values("--template"):
        if template:
            call.fact(
                Effect.EXECUTES, tags=("hooked",), at=template.span, detail="clone --template"
            )
    words = options.operands
    if not words:
        return NOTHING
    source = words[0]
    _contact(verb, source, "download")
    name = str(source).rstrip("/").removesuffix("/.git").removesuffix(".git")
    target = words[1] if len(words) > 1 else source.like(re.split(r"[/:]", name)[-1] or ".")
    call.writes(target, "fetched")
    if not source.startswith(("/", "./", "../", "file://", "~")):
        call.walker.files.put(call.path(target) + "/", Stream(None, NETWORK, str(source)))
    return NOTHING


def fetch(verb: Verb) -> Stream:
    """Updates what is known of another repository; nothing of ours changes."""
    options = verb.options()
    _programs(verb, options)
    for word in options.operands[:1]:
        _contact(verb, word, "download")
    updates = any(":" in w and not _is_address(w) for w in options.operands[1:])
    if updates or options.has(
        "-f", "--force", "-p", "--prune", "-P", "--prune-tags", "--refetch", "-u"
    ):
        verb.changes()
    else:
        verb.call.fact(Effect.NETWORK, tags=("download",), detail=verb.name)
    return NOTHING


def pull(verb: Verb) -> Stream:
    options = verb.options()
    _programs(verb, options)
    for word in options.operands[:1]:
        _contact(verb, word, "download")
    verb.changes()
    return NOTHING


def push(verb: Verb) -> Stream:
    """Makes commits visible to others; by force or by deletion it takes from them."""
    call = verb.call
    options = verb.options()
    _programs(verb, options)
    if options.has("-n", "--dry-run", "--help"):
        call.fact(Effect.NETWORK, tags=("query",), detail="push --dry-run")
        return NOTHING
    where = options.value("--repo") or (options.operands[0] if options.operands else None)
    refs = options.operands[1:] if options.operands else []
    strange = _unfamiliar(verb, where)
    everything = options.has("--all", "--mirror", "--branches")
    if strange and everything:
        target = Target(text=strange, place=Place.HOST)
        call.fact(Effect.EXFILTRATES, target, tags=("source",))
    staged = call.walker.files.get(STAGED)
    if staged is not None and staged.taint & SECRET:
        target = Target(text=str(where or "origin"), place=Place.HOST)
        call.fact(Effect.EXFILTRATES, target, tags=("upload",))
    lease = options.has("--force-with-lease")
    # `--forc` and names that git does not know: the worst of what they may mean.
    doubtful = any(n.startswith("--fo") and n not in _FORCES for n in options.given)
    forced = options.has("-f", "--force") or doubtful
    forced = forced or any(w.startswith("+") or ":+" in w for w in options.operands)
    if forced:
        verb.rewrites("--force", "remote")
    elif lease:
        verb.rewrites("--force-with-lease", "local")
    mirrored = verb.settings.get("remote.*.mirror", "").lower() in ("true", "1", "yes", "on")
    removes = options.has("-d", "--delete", "--mirror", "--prune") or mirrored
    if removes or any(w.startswith(":") and len(w) > 1 for w in refs):
        call.fact(Effect.REMOTE, tags=("destroy",), detail="push --delete")
    if options.has("--no-verify"):
        call.fact(Effect.WRITES, tags=("unverified",), detail="push --no-verify")
    tags = ("branch", "new-remote") if strange else ("branch",)
    trunk = next((w for w in options.operands if _branch_of(w) in _TRUNKS), None)
    if trunk is not None:
        call.fact(Effect.PUBLISHES, tags=(*tags, "trunk"), detail="push", at=trunk.span)
    else:
        call.fact(Effect.PUBLISHES, tags=tags, detail="push")
    return NOTHING


_TRUNKS = frozenset(("main", "master", "trunk"))


def _branch_of(ref: str) -> str:
    """The branch on the other side that a refspec names."""
    return ref.rpartition(":")[2].removeprefix("+").removeprefix("refs/heads/")


def _unfamiliar(verb: Verb, where: Arg | None) -> str:
    """The address, if this command or an earlier one in the same script named it itself."""
    if where is not None and _is_address(where):
        _contact(verb, where)
        return str(where)
    held = verb.call.walker.files.get(_REMEMBERED + (where or "origin"))
    return held.source if held is not None else ""


def remote(verb: Verb) -> Stream:
    """Names for other repositories."""
    call = verb.call
    options = verb.options()
    words = options.operands
    action = str(words[0]) if words else ""
    if action in ("", "show", "get-url"):
        verb.looks()
    elif action == "update":
        call.fact(Effect.NETWORK, tags=("download",), detail="remote update")
        if options.has("-p", "--prune"):
            verb.changes(action)
    elif action in ("add", "set-url") and len(words) > 2:
        _contact(verb, words[2])
        place = Stream(None, source=str(words[2]))
        call.walker.files.put(_REMEMBERED + words[1], place)
        if action == "set-url":
            call.fact(Effect.WRITES, tags=("settings",), detail=verb.told(action))
        verb.changes(action)
    else:
        verb.changes(action)
    return NOTHING


def ls_remote(verb: Verb) -> Stream:
    _programs(verb, verb.options())
    for word in verb.words:
        if word[:1] != "-":
            _contact(verb, word, "query")
    verb.call.fact(Effect.NETWORK, tags=("query",), detail=verb.name)
    return Stream(None)


def submodule(verb: Verb) -> Stream:
    """Repositories inside this one; `foreach` runs a command in each."""
    call = verb.call
    options = verb.options(stops=True)
    words = options.operands
    action = str(words[0]) if words else "status"
    if action == "foreach":
        rest = [w for w in words[1:] if w not in ("--recursive", "--quiet", "-q")]
        if rest:
            call.fact(Effect.EXECUTES, tags=("flag",), at=rest[0].span, detail="submodule foreach")
            return call.run_shell(rest[0].like(" ".join(rest)))
    elif action in ("status", "summary"):
        verb.looks()
    elif action == "deinit" and any(w in ("-f", "--force") for w in words):
        verb.discards("deinit --force")
    elif action in ("add", "set-url"):
        for word in words[1:]:
            _contact(verb, word, "download")
        verb.changes(action)
    else:
        verb.changes(action)
    return NOTHING


def archive(verb: Verb) -> Stream:
    """Packs a tree, to a file or to what reads it."""
    options = verb.options()
    _programs(verb, options)
    far = options.value("--remote")
    for word in options.values("-o", "--output"):
        verb.call.writes(word)
    if far is not None:
        _contact(verb, far, "download")
    verb.looks()
    return Stream(None, NETWORK if far is not None and _is_address(far) else 0, str(far or ""))


def bundle(verb: Verb) -> Stream:
    words = [w for w in verb.words if w[:1] != "-" or w == "-"]
    action = str(words[0]) if words else ""
    if action == "create":
        for word in words[1:2]:
            if word != "-":
                verb.call.writes(word)
        verb.looks()
    elif action in ("verify", "list-heads"):
        verb.looks()
    else:
        verb.changes(action)
    return NOTHING


def mails(verb: Verb) -> Stream:
    call = verb.call
    if any(w in ("--dry-run", "--help", "-h") for w in verb.words):
        verb.looks()
        return NOTHING
    for word in verb.words:
        if word.startswith(("--sendmail-cmd=", "--to-cmd=", "--cc-cmd=", "--header-cmd=")):
            verb.runs(word.like(word.partition("=")[2]), word.partition("=")[0])
        elif word[:1] != "-":
            call.reads(word)
    call.fact(Effect.REMOTE, tags=("mail",), detail=verb.name)
    return NOTHING


def bridge(verb: Verb) -> Stream:
    """`svn`, `p4`, `subtree`: another system's repository behind git's commands."""
    words = [w for w in verb.words if w[:1] != "-"]
    action = str(words[0]) if words else ""
    if action in ("dcommit", "commit", "submit", "push", "set-tree"):
        verb.call.fact(Effect.PUBLISHES, tags=("branch",), detail=verb.told(action))
    elif action in (
        "log",
        "info",
        "blame",
        "find-rev",
        "show-ignore",
        "show-externals",
        "branches",
        "proplist",
    ):
        verb.looks()
    else:
        verb.changes(action)
    return NOTHING


def credential(verb: Verb) -> Stream:
    """Passwords for other machines, shown or kept."""
    words = [w for w in verb.words if w[:1] != "-"]
    action = str(words[-1]) if words else ""
    if action in ("fill", "get"):
        target = Target(text="git credentials", place=Place.SECRET)
        verb.call.fact(Effect.SECRETS, target, tags=("outside",))
        return Stream(None, SECRET, "git credentials")
    if action == "capability":
        verb.looks()
    else:
        verb.call.fact(Effect.SECRETS, tags=("credentials",), detail=verb.told(action))
    return ANYTHING
