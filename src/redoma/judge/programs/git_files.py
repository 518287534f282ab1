"""git's subcommands that change files and the index: which lose work that is nowhere else."""

from __future__ import annotations

from redoma.judge.interpret.arg import NOTHING, SECRET, Arg, Stream
from redoma.judge.interpret.sensitive import is_secret
from redoma.model.decision import Effect, Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.invocation import Invocation
    from redoma.judge.programs.git import Verb
    from redoma.judge.programs.options import ProgramOptions

STAGED = "git staged"
"""Where a walk keeps what the script itself put into the index."""
_FILE_ENDS = frozenset(
    "py pyi js jsx ts tsx mjs cjs json yaml yml toml ini cfg conf txt md rst html htm "
    "css scss less xml svg png jpg gif c h cc cpp cxx hpp hh cs go rs rb java kt kts "
    "scala swift m mm php pl pm sh bash zsh fish ps1 bat lua r jl sql proto graphql tf "
    "tfvars hcl vue svelte lock mod sum gradle properties env csv tsv ipynb cmake mk "
    "dockerfile el ex exs erl hs ml clj zig nim dart patch diff log bak".split()
)


def _asks_help(options: ProgramOptions) -> bool:
    return options.has("--help", "-h")


def checkout(verb: Verb) -> Stream:
    """Changes branch, or overwrites files with what was committed."""
    options = verb.options()
    if _asks_help(options):
        verb.looks()
        return NOTHING
    after = options.rest or []
    named = options.operands[: len(options.operands) - len(after)]
    makes = options.has("-b", "-B", "--orphan", "--detach", "-d", "-t", "--track")
    picks = options.has("-p", "--patch", "--ours", "--theirs", "-2", "-3")
    if options.has("-f", "--force"):
        verb.discards("--force")
    elif options.has("--pathspec-from-file") or (after and not picks):
        verb.discards("-- " + " ".join(after[:3]))
    elif not makes and not picks and (len(named) > 1 or any(_is_path(w) for w in named)):
        verb.discards(" ".join(named[:3]))
    if options.has("-B"):
        verb.rewrites("-B", "local")
    if not verb.words:
        verb.looks()
    else:
        verb.changes()
    return NOTHING


def _is_path(word: Arg) -> bool:
    """Whether a lone word after `checkout` is a file, not a branch."""
    if word in (".", "..", "*", ":/") or word.startswith(("./", "../", "/", ":/", ":(")):
        return True
    if "*" in word or "?" in word or word.endswith("/"):
        return True
    name = word.rpartition("/")[2]
    return name.rpartition(".")[2].lower() in _FILE_ENDS and "." in name


def restore(verb: Verb) -> Stream:
    """Overwrites files, unless only the index is meant."""
    options = verb.options()
    if _asks_help(options):
        verb.looks()
        return NOTHING
    staged, worktree = options.has("-S", "--staged"), options.has("-W", "--worktree")
    names = bool(options.operands) or options.has("--pathspec-from-file")
    touches = worktree or not staged
    took_back = options.has("--no-worktree") and not worktree
    if touches and names and not took_back and not options.has("-p", "--patch"):
        verb.discards(" ".join(options.operands[:3]))
    else:
        verb.changes()
    return NOTHING


def switch(verb: Verb) -> Stream:
    """Changes branch; by force it drops what was changed."""
    options = verb.options()
    if options.has("-f", "--force", "--discard-changes"):
        verb.discards("--discard-changes")
    if options.has("-C", "--force-create"):
        verb.rewrites("-C", "local")
    verb.changes()
    return NOTHING


def reset(verb: Verb) -> Stream:
    """Moves the branch; `--hard` and its like also overwrite files."""
    options = verb.options()
    if _asks_help(options):
        verb.looks()
    elif _hard(verb, options):
        verb.discards("--hard" if options.has("--hard") else "")
    else:
        verb.changes()
    return NOTHING


def _hard(verb: Verb, options: ProgramOptions) -> bool:
    if options.has("--hard", "--merge", "--keep"):
        return True
    # `--h`, `--m`: git takes any beginning; where it is not clear, the worse is meant.
    return any(
        len(w) >= 3 and any(full.startswith(w) for full in ("--hard", "--merge", "--keep"))
        for w in verb.words
        if w.startswith("--") and w not in ("--help", "--mixed")
    )


_TREES = (Place.ROOT, Place.SYSTEM_TREE, Place.HOME_ROOT)


def clean(verb: Verb) -> Stream:
    """Deletes what git does not know, by force or by a setting that asks for none."""
    options = verb.options()
    forced = options.has("-f", "--force")
    unasked = verb.settings.get("clean.requireforce", "true").lower() in ("false", "0", "no", "off")
    if options.has("-n", "--dry-run") or _asks_help(options):
        verb.looks()
    elif forced or unasked:
        verb.discards("--force")
        here = verb.call.word.like(".")
        if verb.call.written_target(here)[0].place in _TREES:
            verb.call.deletes(here, "recursive")
    else:
        verb.changes()
    return NOTHING


def stash(verb: Verb) -> Stream:
    """Sets changes aside and brings them back; `drop` and `clear` lose them."""
    options = verb.options()
    action = str(options.operands[0]) if options.operands else "push"
    if action in ("list", "show") or _asks_help(options):
        verb.looks()
    elif action in ("drop", "clear"):
        verb.discards(action)
    else:
        verb.changes()
    return NOTHING


def commit(verb: Verb) -> Stream:
    """Records changes; what it says in its message is never read as commands."""
    options = verb.options()
    for name in options.values("-F", "--file", "-t", "--template"):
        if name != "-":
            verb.call.reads(name)
    if options.has("--dry-run", "--short", "--porcelain", "--long") or options.has("--help"):
        verb.looks()
        return NOTHING
    if options.has("--amend"):
        verb.rewrites("--amend", "local")
    if options.has("-n", "--no-verify"):
        verb.call.fact(Effect.WRITES, tags=("unverified",), detail="commit --no-verify")
    verb.changes()
    return NOTHING


def add(verb: Verb) -> Stream:
    options = verb.options()
    if options.has("-n", "--dry-run") or _asks_help(options):
        verb.looks()
    else:
        verb.changes()
        _stages(verb.call, options.operands)
    return NOTHING


def _stages(call: Invocation, words: list[Arg]) -> None:
    """Attack: `git add -f .env; git push`: what is staged now leaves with the next push."""
    taint = 0
    for word in words:
        path = call.path(word)
        held = call.walker.files.get(path)
        inside = [stream for _, stream in call.walker.files.below(path)]
        for stream in (*inside, *((held,) if held is not None else ())):
            taint |= stream.taint & SECRET
        if is_secret(path):
            taint |= SECRET
    if taint:
        call.walker.files.put(STAGED, Stream(None, taint, "git add"))


def rm(verb: Verb) -> Stream:
    """Deletes files, or with `--cached` only what the index knows of them."""
    options = verb.options()
    if options.has("-n", "--dry-run") or _asks_help(options):
        verb.looks()
    elif options.has("--cached"):
        verb.changes("--cached")
    else:
        tags = ("recursive",) if options.has("-r") else ()
        for word in options.operands:
            verb.call.deletes(word, *tags)
        if options.has("-f", "--force") and options.has("-r"):
            verb.discards("-rf")
        verb.changes()
    return NOTHING


def apply(verb: Verb) -> Stream:
    """Changes files as a patch says; a patch is data, wherever it comes from."""
    options = verb.options()
    for word in options.operands:
        if word != "-":
            verb.call.reads(word)
    shows = options.has("--check", "--stat", "--numstat", "--summary")
    if options.has("--unsafe-paths"):
        verb.call.fact(Effect.WRITES, tags=("trust",), detail="apply --unsafe-paths")
    if (shows and not options.has("--apply")) or _asks_help(options):
        verb.looks()
    else:
        verb.changes()
    return NOTHING


def am(verb: Verb) -> Stream:
    options = verb.options()
    if options.has("--show-current-patch"):
        verb.looks()
    elif options.has("--abort", "--skip"):
        verb.rewrites("--abort", "local")
    else:
        verb.changes()
    return NOTHING


def read_tree(verb: Verb) -> Stream:
    options = verb.options()
    if options.has("--reset") and options.has("-u"):
        verb.discards("--reset -u")
    elif options.has("-n", "--dry-run"):
        verb.looks()
    else:
        verb.changes()
    return NOTHING


def checkout_index(verb: Verb) -> Stream:
    options = verb.options()
    if options.has("-f", "--force") and not options.has("--prefix", "--temp"):
        verb.discards("--force")
    else:
        verb.changes()
    return NOTHING


def init(verb: Verb) -> Stream:
    """Makes a repository; a template brings hooks with it."""
    options = verb.options()
    for template in options.values("--template"):
        if template:
            verb.call.fact(
                Effect.EXECUTES, tags=("hooked",), at=template.span, detail="init --template"
            )
    for word in options.operands:
        verb.call.writes(word)
    verb.changes()
    return NOTHING


def worktree(verb: Verb) -> Stream:
    """More working trees; removing one by force loses what is not committed there."""
    options = verb.options()
    action = str(options.operands[0]) if options.operands else "list"
    names = options.operands[1:]
    if action == "list" or options.has("-n", "--dry-run"):
        verb.looks()
    elif action == "add":
        for word in names[:1]:
            verb.call.writes(word)
        verb.changes(action)
    elif action == "remove" and options.has("-f", "--force"):
        verb.discards("remove --force")
    else:
        verb.changes(action)
    return NOTHING


def sparse_checkout(verb: Verb) -> Stream:
    if verb.words and verb.words[0] in ("list", "check-rules"):
        verb.looks()
    else:
        verb.changes()
    return NOTHING


def changes(verb: Verb) -> Stream:
    verb.changes()
    return NOTHING
