"""git's subcommands on commits and their names: which of them rewrite or drop history."""

from __future__ import annotations

from redoma.judge.interpret.arg import NOTHING, Arg, Stream
from redoma.model.decision import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.programs.git import Verb
    from redoma.judge.programs.options import ProgramOptions

_BRANCH_CHANGES = (
    *("-m", "--move", "-c", "--copy", "-u"),
    *("--set-upstream-to", "--unset-upstream", "--edit-description"),
)
_NOW = frozenset("now all 0 never".split())


def _shows(verb: Verb, options: ProgramOptions) -> bool:
    if options.has("--help"):
        verb.looks()
        return True
    return False


def branch(verb: Verb) -> Stream:
    """Lists, makes, moves and deletes branches."""
    options = verb.options()
    if _shows(verb, options):
        return NOTHING
    forced = options.has("-f", "--force")
    lists = options.has(
        "-l", "--list", "-a", "--all", "-r", "--remotes", "--show-current", "--contains"
    )
    lists = lists or options.has(
        "--merged", "--no-merged", "--no-contains", "--points-at", "--format"
    )
    if options.has("-D", "-M", "-C") or forced:
        verb.rewrites("-D" if options.has("-D", "-d", "--delete") else "--force")
    elif options.has("-d", "--delete"):
        verb.call.fact(Effect.DELETES, tags=("project",), detail=verb.told("-d"))
    elif options.has(*_BRANCH_CHANGES) or (options.operands and not lists):
        verb.changes()
    else:
        verb.looks()
    return NOTHING


def tag(verb: Verb) -> Stream:
    options = verb.options()
    if _shows(verb, options):
        return NOTHING
    for name in options.values("-F", "--file"):
        if name != "-":
            verb.call.reads(name)
    lists = options.has(
        "-l", "--list", "-n", "-v", "--verify", "--contains", "--no-contains", "--merged"
    )
    if options.has("-d", "--delete"):
        verb.rewrites("-d", "local")
    elif options.has("-f", "--force"):
        verb.rewrites("--force", "local")
    elif (
        lists
        or options.has("--no-merged", "--points-at", "--sort", "--format")
        or not options.operands
    ):
        verb.looks()
    else:
        verb.changes()
    return NOTHING


def rebase(verb: Verb) -> Stream:
    """Writes commits anew; `--exec` runs a command after each."""
    options = verb.options()
    if _shows(verb, options):
        return NOTHING
    for command in options.values("-x", "--exec"):
        verb.call.fact(Effect.EXECUTES, tags=("flag",), at=command.span)
        verb.call.run_shell(command)
    if options.has("--show-current-patch"):
        verb.looks()
    elif options.has("--continue", "--edit-todo"):
        verb.changes("--continue")
    else:
        # One's own branch, which the reflog keeps; others see it only after a forced push.
        marks = () if options.has("--root") else ("local",)
        verb.rewrites("--abort" if options.has("--abort") else "", *marks)
    return NOTHING


def joins(verb: Verb) -> Stream:
    """`merge`, `cherry-pick`, `revert` add commits; `--abort` gives up what was resolved."""
    options = verb.options()
    if _shows(verb, options):
        return NOTHING
    if options.has("--no-verify"):
        verb.call.fact(Effect.WRITES, tags=("unverified",), detail=f"{verb.name} --no-verify")
    if options.has("--abort", "--quit", "--skip"):
        verb.rewrites("--abort", "local")
    else:
        verb.changes()
    return NOTHING


def bisect(verb: Verb) -> Stream:
    words = list(verb.words)
    action = str(words[0]) if words else "help"
    if action == "run":
        return verb.call.run_args(words[1:]) if len(words) > 1 else NOTHING
    if action in ("log", "view", "visualize", "terms", "help"):
        verb.looks()
    else:
        verb.changes(action)
    return NOTHING


def filter_branch(verb: Verb) -> Stream:
    """Rewrites every commit, with commands of the caller for each."""
    options = verb.options()
    for name, value, _ in options.order:
        if value is not None and (name.endswith("-filter") or name == "--setup"):
            verb.call.run_shell(value)
    verb.rewrites()
    return NOTHING


def filter_repo(verb: Verb) -> Stream:
    options = verb.options()
    for name, value, _ in options.order:
        if value is not None and name.endswith("-callback"):
            from redoma.judge.programs.knowledge import read_code

            read_code(verb.call, "python", value)
    if options.has("--analyze", "--dry-run", "--help", "-h"):
        verb.changes("--analyze")
    else:
        verb.rewrites()
    return NOTHING


def gc(verb: Verb) -> Stream:
    """Tidies up; pruning at once drops what only the reflog could bring back."""
    options = verb.options()
    expiry = options.value("--prune")
    until = str(expiry).lower() if expiry is not None else verb.settings.get("gc.pruneexpire", "")
    if until in _NOW or until.startswith(("0", "now", "all")):
        verb.rewrites("--prune=now")
    else:
        verb.changes()
    return NOTHING


def prune(verb: Verb) -> Stream:
    options = verb.options()
    if options.has("-n", "--dry-run"):
        verb.looks()
    else:
        verb.rewrites()
    return NOTHING


def reflog(verb: Verb) -> Stream:
    options = verb.options()
    action = str(options.operands[0]) if options.operands else "show"
    if action in ("expire", "delete", "drop") and not options.has("-n", "--dry-run"):
        verb.rewrites(action)
    else:
        verb.looks()
    return NOTHING


def update_ref(verb: Verb) -> Stream:
    """Moves or deletes a name of a commit without any of git's checks."""
    verb.rewrites("-d" if verb.options().has("-d") else "")
    return NOTHING


def symbolic_ref(verb: Verb) -> Stream:
    options = verb.options()
    if options.has("-d", "--delete"):
        verb.rewrites("--delete")
    elif len(options.operands) > 1:
        verb.rewrites("", "local")
    else:
        verb.looks()
    return NOTHING


def replace(verb: Verb) -> Stream:
    options = verb.options()
    changing = options.has("-d", "--delete", "-e", "--edit", "--graft", "--convert-graft-file")
    if changing or (len(options.operands) > 1 and not options.has("-l", "--list")):
        verb.rewrites()
    else:
        verb.looks()
    return NOTHING


def notes(verb: Verb) -> Stream:
    action = _first(verb.options().operands, "list")
    if action in ("list", "show", "get-ref"):
        verb.looks()
    elif action in ("remove", "prune"):
        verb.rewrites(action, "local")
    else:
        verb.changes(action)
    return NOTHING


def maintenance(verb: Verb) -> Stream:
    """`start` asks the system's scheduler to run it from now on."""
    action = _first(verb.words, "run")
    if action == "start":
        verb.call.fact(Effect.SYSTEM, tags=("schedule",), detail="maintenance start")
    elif action in ("register", "unregister", "stop"):
        verb.call.fact(Effect.WRITES, tags=("settings",), detail=f"maintenance {action}")
    else:
        verb.changes()
    return NOTHING


def rerere(verb: Verb) -> Stream:
    action = _first(verb.words, "")
    if action in ("", "status", "diff", "remaining"):
        verb.looks()
    elif action == "clear":
        verb.discards(action)
    else:
        verb.changes(action)
    return NOTHING


def fast_import(verb: Verb) -> Stream:
    if verb.options().has("--force"):
        verb.rewrites("--force")
    else:
        verb.changes()
    return NOTHING


def changes(verb: Verb) -> Stream:
    verb.changes()
    return NOTHING


def rewrites(verb: Verb) -> Stream:
    verb.rewrites()
    return NOTHING


def _first(words: list[Arg], otherwise: str) -> str:
    plain = [w for w in words if w[:1] != "-"]
    return str(plain[0]) if plain else otherwise
