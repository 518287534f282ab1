"""`grep`, `rg` and their like: what they look for, and where."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import NAMES, SECRET, Arg, Stream, arg
from redoma.judge.interpret.paths import place_of
from redoma.judge.programs.cards import options_of
from redoma.judge.programs.options import split
from redoma.model.risk import Effect, Place, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.call import Call

_GREP_TAKES = frozenset(
    "-A -B -C -D -d -e -f -m --after-context --before-context --context --max-count "
    "--regexp --file --include --exclude --exclude-from --exclude-dir --label "
    "--binary-files --devices --directories --group-separator --include-dir".split()
)
_RG_TAKES = frozenset(
    "-A -B -C -E -M -T -d -e -f -g -j -m -r -t --after-context --before-context --color --colors "
    "--context --context-separator --dfa-size-limit --encoding --engine --field-context-separator "
    "--field-match-separator --file --generate --glob --hostname-bin --hyperlink-format --iglob "
    "--ignore-file --max-columns --max-count --max-depth --max-filesize --path-separator --pre "
    "--pre-glob --regex-size-limit --regexp --replace --sort --sortr --threads --type --type-add "
    "--type-clear --type-not".split()
)
_AG_TAKES = frozenset(
    "-A -B -C -G -g -m -p -W --after --before --context --ignore --ignore-dir --depth "
    "--file-search-regex --pager --path-to-ignore --max-count --width --workers "
    "--color-line-number --color-match --color-path --type --type-add --type-set "
    "--type-del --output --match".split()
)
_UGREP_TAKES = _GREP_TAKES | frozenset(
    "-g -G -J -K -N -O -o -t -M --glob --iglob --ignore-files --filter --filter-magic-label "
    "--format --pager --view --config --save-config --jobs --max-files --range --file-type "
    "--file-extension --file-magic --min-depth --depth --sort --tabs --replace --encoding --width "
    "--fuzzy --zmax --separator --split --hexdump --colors --colours --delay --not --and --andnot "
    "--neg-regexp --max-line --min-line --from".split()
) - {"-o"}
_TREES = (Place.ROOT, Place.HOME_ROOT, Place.SYSTEM_TREE)
_OURS = (Place.WORKSPACE, Place.TEMP, Place.REPOSITORY, Place.NOWHERE)
_SECRET_LIKE = re.compile(
    r"AKIA|ASIA|ghp_|github_pat|glpat|xox[bp]|sk_live|PRIVATE.KEY"
    r"|BEGIN[ .\\s]*(?:RSA|OPENSSH|EC|DSA|PRIVATE)"
    r"|passw|secret|token|api.?key|credential|aws_",
    re.IGNORECASE,
)


_TAKES = {
    "rg": _RG_TAKES,
    "ag": _AG_TAKES,
    "ack": _AG_TAKES,
    "ugrep": _UGREP_TAKES,
    "ug": _UGREP_TAKES,
}
_INTERACTIVE = ("-Q", "--query", "--save-config", "--create-ignore", "--create-ackrc", "--edit")


def grep(call: Call) -> Stream:
    """`grep`, `rg`, `ag`, `ack`: the files are read; rg and ag may run helpers on the way."""
    name = call.name
    takes = _TAKES.get(name, _GREP_TAKES)
    options = split(call.args, takes, frozenset(("--recursive", "--dereference-recursive")))
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


def _search(call: Call, patterns: list[Arg], places: list[Arg], *, walks: bool) -> Stream:
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


def locate(call: Call) -> Stream:
    """`locate`: names from an index; asking it for keys is a search for secrets."""
    from redoma.judge.interpret.sensitive import is_secret

    for word in options_of(call).operands:
        plain = word.replace("*", "")
        if plain and is_secret(f"/{plain}"):
            target = Target(text=word, place=Place.SECRET)
            call.fact(Effect.SECRETS, target, tags=("search",), at=word.span)
    return Stream(None)
