"""git: global options, settings and variables first, then the subcommand that they act on."""

from __future__ import annotations

from redoma.judge.interpret.arg import ANYTHING, UNKNOWN, Arg, Stream, arg
from redoma.judge.interpret.places import normal, place_of
from redoma.judge.programs.card_actions import do
from redoma.judge.programs.cards import function_named
from redoma.judge.programs.options import ProgramOptions, split
from redoma.model.decision import Effect, Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.arg import Arg
    from redoma.judge.interpret.invocation import Invocation
    from redoma.judge.programs.options import ProgramOptions

_PLAIN = frozenset(
    "--no-pager -P --bare --no-replace-objects --no-lazy-fetch --no-optional-locks "
    "--no-advice --literal-pathspecs --glob-pathspecs --noglob-pathspecs "
    "--icase-pathspecs --no-pager= --".split()
)
_PRINTS = frozenset("--version -v --help -h --html-path --man-path --info-path --exec-path".split())


def git(call: Invocation) -> Stream:
    """What a whole `git …` does."""
    words = list(call.args)
    settings: dict[str, str] = {}
    _judge_environment(call)
    while words and words[0][:1] == "-":
        word = words.pop(0)
        if word in _PLAIN:
            continue
        if word in _PRINTS:
            call.fact(Effect.READS, tags=("about",))
            return Stream(None)
        if not _global_option(call, word, words, settings):
            call.fact(Effect.UNKNOWN, tags=("subcommand",), at=word.span, detail=f"git {word}")
    if not words:
        if not call.args:
            call.fact(Effect.READS, tags=("about",))
        return ANYTHING
    if place_of(call.state.cwd, call.walker.ground) is not Place.WORKSPACE:
        # Attack: the settings of a foreign repository name programs that even `status` runs.
        call.fact(Effect.EXECUTES, tags=("project",), at=call.word.span, detail="elsewhere")
    return _subcommand(call, words[0], words[1:], settings, 0)


def _global_option(call: Invocation, word: Arg, words: list[Arg], settings: dict[str, str]) -> bool:
    from redoma.judge.programs import git_settings

    name, equals, attached = word.partition("=")
    if word.startswith(("-C", "-c")) and len(word) > 2:
        value: Arg | None = word.like(word[2:])
        name = word[:2]
    elif equals:
        value = word.like(attached)
    elif name in (
        "-C",
        "-c",
        "--git-dir",
        "--work-tree",
        "--namespace",
        "--config-env",
        "--super-prefix",
        "--attr-source",
    ):
        value = words.pop(0) if words else None
    else:
        value = None
    if value is None and name not in ("-p", "--paginate"):
        return False
    if name == "-C" and value is not None:
        call.state = call.state.copy()
        call.state.cwd = normal(value, call.state.cwd)
    elif name == "-c" and value is not None:
        key, given, text = value.partition("=")
        settings[git_settings.kind_of(key)] = text
        settings[f"={key.lower()}"] = text
        git_settings.judge_setting(call, value.like(key), text if given else None)
    elif name == "--config-env" and value is not None:
        key, _, variable = value.rpartition("=")
        held = call.environment.get(variable) or call.state.variables.get(variable)
        text = str(held) if held is not None else UNKNOWN
        settings[git_settings.kind_of(key)] = text
        git_settings.judge_setting(call, value.like(key), text)
    elif name == "--exec-path":
        call.fact(Effect.EXECUTES, tags=("loader",), at=word.span, detail="--exec-path")
    elif (
        name == "--git-dir"
        and value is not None
        and normal(value, call.state.cwd) == (f"{call.walker.ground.workspace}/.git")
    ):
        pass
    elif name in ("--git-dir", "--work-tree", "-p", "--paginate"):
        # Another repository's settings, or the pager of this one, are run.
        call.fact(Effect.EXECUTES, tags=("project",), at=word.span, detail=name)
    elif name == "--namespace":
        pass
    else:
        return False
    return True


def _subcommand(
    call: Invocation, name: Arg, words: list[Arg], settings: dict[str, str], depth: int
) -> Stream:
    alias = settings.get(f"=alias.{name.lower()}")
    if alias is not None and depth < 4:
        return _aliased(call, name, alias, words, settings, depth)
    if UNKNOWN in name:
        call.fact(Effect.UNKNOWN, tags=("command",), at=name.span)
        return ANYTHING
    if words and words[0] in ("--help", "-h") and (words[0] == "--help" or len(words) == 1):
        call.fact(Effect.READS, tags=("about",))
        return Stream(None)
    verb = Verb(call, str(name), words, settings)
    card = call.walker.knowledge.cards.get(f"git {name}")
    if card is not None and "handler" in card:
        handled = function_named(card["handler"])(verb)
        return handled if handled is not None else Stream(None, call.taint())
    if card is not None:
        do(call, card["otherwise"], detail=verb.name)
    elif name in ("for-each-repo", "hook"):
        return _runs_others(verb)
    elif f"git-{name}" in call.walker.knowledge:
        return call.run_args([name.like(f"git-{name}"), *words])
    else:
        call.fact(Effect.UNKNOWN, tags=("subcommand",), at=name.span, detail=f"git {name}")
    return ANYTHING


def plumbing(verb: Verb) -> Stream:
    """What changes the repository by one of its parts, and prints what that part is called."""
    verb.changes()
    return ANYTHING


def _runs_others(verb: Verb) -> Stream:
    if verb.name == "hook":
        verb.builds()
        return ANYTHING
    rest = split(verb.words, frozenset(("--config",)), stops=True).operands
    return verb.call.run_args([verb.call.word, *rest]) if rest else ANYTHING


def _aliased(
    call: Invocation, name: Arg, alias: str, words: list[Arg], settings: dict[str, str], depth: int
) -> Stream:
    if alias.startswith("!"):
        return call.run_shell(name.like(alias[1:]), list(words))
    pieces = [name.like(piece) for piece in alias.split()]
    if not pieces:
        return ANYTHING
    return _subcommand(call, pieces[0], [*pieces[1:], *words], settings, depth + 1)


_EDITOR_VARIABLES = ("GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "VISUAL", "EDITOR")
_COMMAND_VARIABLES = frozenset(
    "GIT_SSH_COMMAND GIT_SSH GIT_PROXY_COMMAND GIT_ASKPASS GIT_EXTERNAL_DIFF GIT_PAGER "
    "GIT_EXEC_PATH GIT_TEMPLATE_DIR".split()
)
_LOOSENS = frozenset(
    "GIT_SSL_NO_VERIFY GIT_SSL_VERSION GIT_SSL_CAINFO GIT_SSL_CAPATH GIT_SSL_CIPHER_LIST "
    "GIT_SSL_CERT GIT_SSL_KEY GIT_PROXY_SSL_CAINFO GIT_PROXY_SSL_CERT GIT_PROXY_SSL_KEY "
    "GIT_HTTP_PROXY_AUTHMETHOD".split()
)
_TRUSTS = frozenset(
    "GIT_ALLOW_PROTOCOL GIT_PROTOCOL_FROM_USER GIT_SSH_VARIANT GIT_TRACE2_ENV_VARS "
    "GIT_TRACE2_CONFIG_PARAMS GIT_TRACE_REDACT GIT_DISCOVERY_ACROSS_FILESYSTEM".split()
)
_OTHER_REPOSITORY = frozenset(
    "GIT_DIR GIT_COMMON_DIR GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES "
    "GIT_ATTR_SOURCE".split()
)


def _judge_environment(call: Invocation) -> None:
    given: dict[str, Arg] = {}
    for name in call.state.exported:
        if name in call.state.variables:
            given[name] = call.state.variables[name]
    given.update(call.environment)
    for written, value in given.items():
        # Windows ignores the case of variables.
        name = written.upper() if written.lower().startswith("git_") else written
        if name != written and name in _COMMAND_VARIABLES:
            call.fact(Effect.EXECUTES, tags=("hooked",), at=value.span, detail=written)
        if name in _EDITOR_VARIABLES:
            quiet = value.strip() in QUIET_EDITORS
            tag = "project" if quiet else "hooked"
            call.fact(Effect.EXECUTES, tags=(tag,), at=value.span, detail=name)
        elif not name.startswith("GIT_") or not value:
            continue
        elif name in _LOOSENS:
            call.fact(Effect.NETWORK, tags=("insecure", "settings"), at=value.span, detail=name)
        elif name in _TRUSTS:
            call.fact(Effect.WRITES, tags=("trust",), at=value.span, detail=name)
        elif name in _OTHER_REPOSITORY:
            call.fact(Effect.EXECUTES, tags=("project",), at=value.span, detail=name)
        elif name.startswith("GIT_TRACE") and value.startswith(("/", "~")):
            call.writes(arg(value, value.span, value.taint))


QUIET_EDITORS = frozenset(("true", ":", "false", "cat", "/bin/true", "/usr/bin/true"))
"""Editors that leave what they are given as it is."""


class Verb:
    """A subcommand, its words, and the settings given for this one command by `-c`."""

    __slots__ = ("call", "name", "settings", "words")

    def __init__(
        self, call: Invocation, name: str, words: list[Arg], settings: dict[str, str]
    ) -> None:
        self.call = call
        self.name = name
        self.words = words
        self.settings = settings

    def options(self, *, stops: bool = False) -> ProgramOptions:
        """Its words, read by its own options."""

        return read(self, stops=stops)

    def told(self, detail: str = "") -> str:
        return f"{self.name} {detail}".strip()

    def looks(self) -> None:
        """Nothing is changed."""
        self.call.fact(Effect.READS, tags=("versioned",), detail=self.name)

    def changes(self, detail: str = "") -> None:
        """The repository or its files change in a way that git can take back."""
        self.call.fact(Effect.WRITES, tags=("versioned",), detail=self.told(detail))

    def discards(self, detail: str = "") -> None:
        """Changes go that were never committed."""
        self.call.fact(Effect.DELETES, tags=("uncommitted",), detail=self.told(detail))

    def rewrites(self, detail: str = "", *tags: str) -> None:
        """Commits or names of commits go; `local` where the reflog still has them."""
        self.call.fact(Effect.REWRITES_HISTORY, tags=tags, detail=self.told(detail))

    def runs(self, command: Arg, detail: str) -> None:
        """A command that the caller chose runs as a part of it."""
        self.call.fact(
            Effect.EXECUTES, tags=("flag", "hooked"), at=command.span, detail=self.told(detail)
        )
        self.call.run_shell(command)

    def builds(self, detail: str = "") -> None:
        """What the repository's own settings name is run."""
        self.call.fact(Effect.EXECUTES, tags=("project",), detail=self.told(detail))


_NONE: frozenset[str] = frozenset()


def read(verb: Verb, *, stops: bool = False) -> ProgramOptions:
    """A subcommand's words; `--har` is `--hard`, and `--no-x` takes `--x` back."""
    card = verb.call.walker.knowledge.cards.get(f"git {verb.name}", {})
    takes, attached = card.get("takes", _NONE), card.get("optional", _NONE)
    known = card.get("known", _NONE) | attached
    words = verb.words
    full: list[Arg] = []
    for index, word in enumerate(words):
        if word == "--":
            full.extend(words[index:])
            break
        full.append(word.like(_whole(word, known)) if word.startswith("--") else word)
    options = split(
        full, takes, known | {f"--no-{name[2:]}" for name in known}, optional=attached, stops=stops
    )
    for name in list(options.given):
        if name.startswith("--no-") and name not in known:
            _take_back(options, name)
    return options


def _whole(word: str, known: frozenset[str]) -> str:
    name, equals, value = word.partition("=")
    if name in known or name == "--help" or len(name) < 3:
        return word
    negated = name.startswith("--no-")
    stem = f"--{name[5:]}" if negated else name
    meant = [each for each in known if each.startswith(stem)]
    if stem in meant or len(meant) != 1 or len(stem) < 3:
        return word
    return (f"--no-{meant[0][2:]}" if negated else meant[0]) + equals + value


_SHORT = {
    "--staged": "-S",
    "--worktree": "-W",
    "--force": "-f",
    "--patch": "-p",
    "--dry-run": "-n",
    "--quiet": "-q",
    "--delete": "-d",
    "--interactive": "-i",
    "--detach": "-d",
    "--track": "-t",
}


def _take_back(options: ProgramOptions, negation: str) -> None:
    """`--no-staged` after `--staged` leaves nothing; before it, nothing is taken back."""
    name = f"--{negation[5:]}"
    names = (name, _SHORT.get(name, name))
    last = max((i for i, (n, _, _) in enumerate(options.order) if n == negation), default=-1)
    for each in names:
        later = [i for i, (n, _, _) in enumerate(options.order) if n == each and i > last]
        if each in options.given and not later:
            del options.given[each]
