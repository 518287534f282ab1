"""`find`, `grep` and their like: what they search, and what they do to what they find."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import ANYTHING, NAMES, SECRET, UNKNOWN, UNSET, Arg, Stream, arg
from redoma.judge.interpret.places import place_of
from redoma.judge.interpret.sensitive import is_secret
from redoma.judge.programs.cards import options_of
from redoma.judge.programs.files import removes
from redoma.model.decision import Effect, Place, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.invocation import Invocation

_NAMING = frozenset(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname "
    "-inum -samefile".split()
)
_VALUED = frozenset(
    "-amin -anewer -atime -cmin -cnewer -context -ctime -fstype -gid -group -links -maxdepth "
    "-mindepth -mmin -mtime -newer -perm -printf -regextype -size -type -uid -used -user -xtype "
    "-files0-from -Bmin -Btime -Bnewer -flags -mnewer -acl -depth -since".split()
)
_RUNNING = frozenset(("-exec", "-execdir", "-ok", "-okdir"))
_ALL_NAMES = frozenset(("*", "*.*", ".*", "**", "?*", ".*/.*", "./*", "*/*", "-"))
_HISTORIES = frozenset((".git", ".hg", ".svn", ".jj", ".bzr"))
MOST_WORDS = 12
MOST_ROOTS = 64


class Search:
    """One `find` command line, read from left to right as `find` itself does."""

    def __init__(self, call: Invocation) -> None:
        self.call = call
        self.roots: list[Arg] = []
        self.names: list[Arg] = []
        self.narrowed = False
        self.outer: list[tuple[bool, bool]] = []
        self.every_branch = True
        self.negated = False

    def found(self) -> list[Arg]:
        """Words for what the search has come to: all below its roots, or names somewhere there."""
        if not self.narrowed:
            # With `$X` empty, `find $X` begins where it stands, not at the root.
            return [
                root.like(f"{root.rstrip('/')}/*" if root.strip(UNKNOWN) else UNKNOWN)
                for root in self.roots
            ]
        out: list[Arg] = []
        for root in self.roots[:MOST_WORDS]:
            unset = not root or (root == UNKNOWN and root.taint & UNSET)
            base = "." if unset else root.rstrip("/")
            for name in self.names[:MOST_WORDS] or [arg("", root.span)]:
                last = name.rpartition("/")[2]
                if last in _HISTORIES:
                    out.append(arg(f"{base}/{last}", root.span, root.taint))
                    continue
                tail = f"{UNKNOWN}/{last}" if last.strip("*?.") else UNKNOWN
                out.append(arg(f"{base}/{tail}", root.span, root.taint))
        return out

    def predicate(self, *, narrows: bool, name: Arg | None = None) -> None:
        if self.negated:
            self.negated = False
            return
        if narrows:
            self.narrowed = True
            if name is not None:
                self.names.append(name)

    def branch(self) -> None:
        """`-o`: what comes next holds without what came before."""
        self.every_branch = self.every_branch and self.narrowed
        self.narrowed = self.outer[-1][0] if self.outer else False
        self.negated = False

    def opens(self) -> None:
        self.outer.append((self.narrowed and not self.negated, self.every_branch))
        self.every_branch = True
        self.negated = False

    def closes(self) -> None:
        if self.outer:
            before, every = self.outer.pop()
            self.narrowed = before or (self.narrowed and self.every_branch)
            self.every_branch = every


def find(call: Invocation) -> Stream:
    """`find`: its actions happen to all that its tests have left over."""
    search = Search(call)
    words = list(call.args)
    index = _roots(search, words)
    last: Stream = ANYTHING
    while index < len(words):
        word = words[index]
        index += 1
        if word in _RUNNING:
            index, inner = _command(words, index)
            last = _run(search, inner)
            if word.startswith("-ok"):
                call.fact(Effect.UNKNOWN, tags=("subcommand",), at=word.span, detail=str(word))
        elif word == "-delete":
            for target in search.found():
                removes(call, target, *(() if search.narrowed else ("recursive",)))
        elif word in ("-fprint", "-fprint0", "-fls", "-fprintf"):
            if index < len(words):
                call.writes(words[index], "overwrite")
            index += 2 if word == "-fprintf" else 1
        elif word in _NAMING and index < len(words):
            name = words[index]
            search.predicate(narrows=str(name) not in _ALL_NAMES, name=name)
            index += 1
        elif word == "-empty":
            search.predicate(narrows=True)
        elif word in ("-o", "-or", ","):
            search.branch()
        elif word in ("!", "-not"):
            search.negated = not search.negated
        elif word in ("(", "\\("):
            search.opens()
        elif word in (")", "\\)"):
            search.closes()
        elif word in _VALUED or word.startswith("-newer"):
            if word == "-files0-from" and index < len(words):
                call.reads(words[index])
            search.predicate(narrows=False)
            index += 0 if word == "-depth" and not _number(words, index) else 1
        elif not word.startswith("-") and word.known:
            search.roots.append(word)
    _looks_for_secrets(search)
    return _listing(search, last)


def _number(words: list[Arg], index: int) -> bool:
    return index < len(words) and words[index].lstrip("+-").isdigit()


def _roots(search: Search, words: list[Arg]) -> int:
    """Where the search begins; without a word that is the directory it stands in."""
    index = 0
    while index < len(words):
        word = words[index]
        if word in ("-D", "-f") and index + 1 < len(words):
            if word == "-f":
                search.roots.append(words[index + 1])
            index += 2
        elif word in ("-H", "-L", "-P", "-E", "-X", "-d", "-s", "-x") or word.startswith("-O"):
            index += 1
        elif word[:1] in ("-", "(", "!", ")") and word != "-":
            break
        else:
            search.roots.append(word)
            index += 1
    if not search.roots:
        search.roots.append(arg(".", search.call.word.span))
    search.roots = list(dict.fromkeys(search.roots))
    if len(search.roots) > MOST_ROOTS:
        unknown = search.roots[0].like(UNKNOWN)
        search.roots = [*search.roots[: MOST_ROOTS - 1], unknown]
    return index


def _command(words: list[Arg], index: int) -> tuple[int, list[Arg]]:
    start = index
    while index < len(words):
        if words[index] in (";", "\\;") or (words[index] == "+" and words[index - 1] == "{}"):
            return index + 1, words[start:index]
        index += 1
    return index, words[start:]


_SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ksh", "fish", "ash"))


def _run(search: Search, inner: list[Arg]) -> Stream:
    last: Stream = ANYTHING
    if not inner:
        return last
    marked = any("{}" in word for word in inner)
    if inner[0].rpartition("/")[2] in _SHELLS:
        search.call.fact(Effect.EXECUTES, tags=("flag",), at=inner[0].span)
    for found in search.found() if marked else search.found()[:1]:
        filled = [
            arg(word.replace("{}", found), word.span, word.taint | found.taint)
            if "{}" in word
            else word
            for word in inner
        ]
        last = search.call.run_args(filled)
    return last


def _looks_for_secrets(search: Search) -> None:
    """Looking for keys all over the machine is the step before taking them."""
    call = search.call
    for name in search.names:
        plain = name.replace("*", "").replace("?", "")
        if not plain or not is_secret(f"/{plain}"):
            continue
        for root in search.roots:
            place = place_of(call.path(root), call.walker.ground)
            if place not in (Place.WORKSPACE, Place.TEMP, Place.REPOSITORY):
                target = Target(text=name, place=Place.SECRET)
                call.fact(Effect.SECRETS, target, tags=("search",), at=name.span)
                return


def _listing(search: Search, last: Stream) -> Stream:
    found = search.found()
    if last is ANYTHING and len(found) <= MOST_WORDS:
        return Stream("".join(f"{each}\n" for each in found), NAMES)
    return Stream(None, last.taint, last.source)


_FD_TAKES = frozenset(
    "-e --extension -t --type -d --max-depth --min-depth --exact-depth -E --exclude -S --size "
    "--changed-within --changed-before --newer --older -o --owner --format -c --color -j --threads "
    "--search-path --base-directory --path-separator --batch-size --ignore-file --max-results "
    "--and -C".split()
)
# Letters before it are switches: `-HIxrm` is `-H -I -x rm`.
_FD_RUNS = re.compile(r"--exec(?:-batch)?(?:=|$)|-[HIiusagFLl0p1q]*[xX]=?")


def fd(call: Invocation) -> Stream:
    """`fd`: `-x` and `-X` run the rest of the line on what is found."""
    words = list(call.args)
    inner: list[Arg] = []
    for index, word in enumerate(words):
        carried = _FD_RUNS.match(word)
        if carried is not None and not (index and words[index - 1] in _FD_TAKES):
            attached = [word.like(word[carried.end() :])] if word[carried.end() :] else []
            inner = [*attached, *words[index + 1 :]]
            words = words[:index]
            break
    if ";" in inner:
        inner = inner[: inner.index(";")]  # type: ignore[arg-type]
    options = options_of(call, words)
    search = Search(call)
    search.roots = [*options.operands[1:], *options.values("--search-path", "--base-directory")]
    if not search.roots:
        search.roots = [arg(".", call.word.span)]
    extensions = options.values("-e", "--extension")
    pattern = options.operands[0] if options.operands else None
    if extensions or (pattern is not None and str(pattern) not in (".", "", "*", ".*")):
        search.narrowed = True
        search.names = [e.like(f"*.{e}") for e in extensions] or ([pattern] if pattern else [])
    _looks_for_secrets(search)
    if not inner:
        return _listing(search, ANYTHING)
    # Several commands may follow each other, each after its own -x.
    commands: list[list[Arg]] = [[]]
    for word in inner:
        if word in ("-x", "-X", "--exec", "--exec-batch"):
            commands.append([])
        else:
            commands[-1].append(word)
    for command in commands:
        if command:
            holds = any(
                mark in word for word in command for mark in ("{}", "{/}", "{//}", "{.}", "{/.}")
            )
            _run(search, command if holds else [*command, command[0].like("{}")])
    return ANYTHING


_TREES = (Place.ROOT, Place.HOME_ROOT, Place.SYSTEM_TREE)
_OURS = (Place.WORKSPACE, Place.TEMP, Place.REPOSITORY, Place.NOWHERE)
_SECRET_LIKE = re.compile(
    r"AKIA|ASIA|ghp_|github_pat|glpat|xox[bp]|sk_live|PRIVATE.KEY"
    r"|BEGIN[ .\\s]*(?:RSA|OPENSSH|EC|DSA|PRIVATE)"
    r"|passw|secret|token|api.?key|credential|aws_",
    re.IGNORECASE,
)
_INTERACTIVE = ("-Q", "--query", "--save-config", "--create-ignore", "--create-ackrc", "--edit")


def grep(call: Invocation) -> Stream:
    """`grep`, `rg`, `ag`, `ack`: the files are read; rg and ag may run helpers on the way."""
    name = call.name
    options = options_of(call)
    operands = list(options.operands)
    patterns = options.values("-e", "--regexp", "--match")
    for word in options.values(
        "-f", "--file", "--exclude-from", "--ignore-file", "-p", "--path-to-ignore"
    ):
        call.reads(word)
    lists = options.has("--files", "--type-list", "--pcre2-version", "--help-types") or (
        name == "ag" and options.has("-g")
    )
    if not patterns and not options.has("-f", "--file") and not lists and operands:
        patterns = [operands.pop(0)]
    if name not in ("rg", "grep") and options.has(*_INTERACTIVE):
        call.fact(Effect.UNKNOWN, tags=("subcommand",), detail=f"{name} asks or saves")
    for text in options.values("--filter", "--view"):
        call.fact(Effect.EXECUTES, tags=("flag", "arbitrary"), at=text.span)
        call.run_shell(text.like(text.partition(":")[2] or text))
    for program in options.values("--pre", "--hostname-bin", "--pager"):
        call.fact(Effect.EXECUTES, tags=("flag", "arbitrary"), at=program.span)
        call.run_shell(program)
    if name == "rg" and options.has("-z", "--search-zip"):
        call.fact(Effect.EXECUTES, tags=("flag",))
    walks = name in ("rg", "ag", "ack", "rgrep", "ugrep", "zgrep-r") or options.has(
        "-r", "-R", "--recursive", "--dereference-recursive"
    )
    if not operands and walks and (call.stdin.text is None and not call.stdin.source):
        operands = [arg(".", call.word.span)]
    if options.has("--files") and operands:
        return Stream("".join(f"{word.rstrip('/')}/*\n" for word in operands[:16]), NAMES)
    return _search(call, patterns, operands, walks=walks and not lists)


def _search(call: Invocation, patterns: list[Arg], places: list[Arg], *, walks: bool) -> Stream:
    if not places:
        return call.passes_on(call.stdin)
    streams: list[Stream] = []
    for word in places:
        streams.append(call.stdin if word == "-" else call.reads(word))
        place = place_of(call.path(word), call.walker.ground)
        if not walks or place in _OURS:
            continue
        if place in _TREES:
            streams.append(Stream(None, SECRET, str(word)))
        hunted = next((p for p in patterns if _SECRET_LIKE.search(p)), None)
        if hunted is not None:
            target = Target(text=hunted, place=Place.SECRET)
            call.fact(Effect.SECRETS, target, tags=("search",), at=hunted.span)
            streams.append(Stream(None, SECRET, str(word)))
    return call.passes_on(*streams)


def locate(call: Invocation) -> Stream:
    """`locate`: names from an index; asking it for keys is a search for secrets."""
    from redoma.judge.interpret.sensitive import is_secret

    for word in options_of(call).operands:
        plain = word.replace("*", "")
        if plain and is_secret(f"/{plain}"):
            target = Target(text=word, place=Place.SECRET)
            call.fact(Effect.SECRETS, target, tags=("search",), at=word.span)
    return Stream(None)
