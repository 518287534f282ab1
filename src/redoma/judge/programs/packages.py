"""Package managers: where they install from, and the commands that they run for their caller."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import ANYTHING, NETWORK, UNKNOWN, Arg, Stream
from redoma.judge.programs.cards import action_of, card_of, card_words, follow, options_of
from redoma.judge.programs.carried import judge_carried, judge_telling
from redoma.judge.programs.options import split
from redoma.model.decision import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from redoma.judge.interpret.invocation import Invocation
    from redoma.judge.programs.options import ProgramOptions

# Lists on a card of subcommands that run an inner command: as it is (`local`), out of a package
# that is fetched for it (`fetched`, `node`), as a script of the project, after a word, by name.
_RUNNERS = ("local", "fetched", "node", "script", "second", "named")
_RUN_TAKES = frozenset(
    "-n --name -p --prefix --cwd --package --spec --python --from --with --with-editable "
    "--with-requirements -c --call --registry --cache --userconfig --using --node -e "
    "--env -t --tool -C --cd -w --workspace".split()
)
_CARGO_PROGRAMS = re.compile(
    r"rustc|rustdoc|runner|linker|credential|alias|registr|source|\.toml$|http\.|net\.|env\."
)


def manage(call: Invocation) -> Stream:
    """What a package manager does, with what it installs from and runs inside."""
    card = card_of(call)
    if call.name == "cargo" and call.args and call.args[0].startswith("+"):
        call.args = call.args[1:]
    options = options_of(call)
    if call.name == "bun" and not options.operands and flows_in(call):
        return call.executes_stream(call.stdin, "javascript")
    judge_settings(call, options)
    if call.name == "cargo" and options.operands[:1] == ["watch"]:
        return call.run_args([call.word.like("cargo-watch"), *_after(call.args, "watch")])
    if call.name == "bun" and options.operands[:1] == ["exec"]:
        return call.run_shell(call.word.like(" ".join(options.operands[1:])))
    inner = _inner(call, card)
    if inner is not None:
        return inner
    action = action_of(card, options) if card.get("actions") else ""
    if action == "uninstall" and "redoma" in options.operands:
        call.fact(Effect.TAMPERS, detail="redoma")
    if action in ("install", "sync", "write", "run", "fetch", "build", "system", "config"):
        judge_sources(call, options)
    if call.name in ("mvn", "mvnw", "gradle", "gradlew"):
        judge_coordinates(call, options)
    if call.name == "cargo":
        for setting in options.values("--config"):
            if _CARGO_PROGRAMS.search(setting):
                call.fact(Effect.EXECUTES, tags=("hooked",), at=setting.span, detail="--config")
    if call.name == "cargo" and options.operands[:1] == ["fmt"] and "--check" in call.args:
        call.fact(Effect.READS, tags=("project",))
        return ANYTHING
    if action in ("build", "sync", "run") or (action == "install" and _installs_here(options)):
        runs_project(call)
    if call.name in ("pnpm", "yarn") and action == "build" and options.operands:
        name = options.operands[0]
        if name in card_words(call, "tools", "npx") and not _listed(card, name):
            return call.run_args(list(options.operands[:1]) + _after(call.args, name))
    return follow(call)


def flows_in(call: Invocation) -> bool:
    """Whether something is piped or redirected into a program that would run it."""
    stdin = call.stdin
    return stdin.text is not None or bool(stdin.taint) or bool(stdin.source)


def runs_project(call: Invocation, word: Arg | None = None) -> None:
    """Code of the directory runs; if the script itself fetched it, nobody has seen it."""
    where = call.path(word) if word is not None else call.state.cwd
    held = call.walker.files.get(f"{where}/any")
    if held is not None and held.taint & NETWORK:
        call.fact(Effect.DOWNLOADS_AND_EXECUTES, detail=held.source)


def _installs_here(options: ProgramOptions) -> bool:
    named = [*options.operands[1:], *options.values("-e", "--editable", "--path")]
    return any(word.startswith((".", "/", "~")) for word in named)


def _listed(card: dict[str, Any], name: str) -> bool:
    return any(words and words[0] == name for words, _, _ in card.get("actions", ()))


def _after(words: list[Arg], name: str) -> list[Arg]:
    for index, word in enumerate(words):
        if word == name:
            return list(words[index + 1 :])
    return []


# Inner commands -----------------------------------------------------------------------------------


def _inner(call: Invocation, card: dict[str, Any]) -> Stream | None:
    """Runs the inner command of `uv run …`, `npx …` and their like; None if this is not one."""
    named_so = card.get("words", {})
    kinds = {each: kind for kind in _RUNNERS for each in named_so.get(kind, ())}
    if not kinds:
        return None
    takes = card.get("takes", frozenset())
    words = list(call.args)
    kind = kinds.get("*")
    if kind is None:
        first = split(words, takes, card.get("known", frozenset()), stops=True)
        named = first.operands
        for subcommand, its in kinds.items():
            steps = subcommand.split()
            if [str(w) for w in named[: len(steps)]] == steps:
                kind, words = its, named[0 if its == "named" else len(steps) :]
                break
    if kind is None or not words:
        return None
    options = split(words, takes | _RUN_TAKES, card.get("known", frozenset()), stops=True)
    for text in options.values("-c", "--call"):
        if kind == "node" or call.name == "npm":
            call.fact(Effect.EXECUTES, tags=("flag",), at=text.span)
            call.run_shell(text)
    _judge_extras(call, options, kind)
    inner = list(options.operands)
    if options.has("-m", "--module") and call.name == "uv":
        module = options.value("-m", "--module")
        return (
            call.run_args([call.word.like("python"), call.word.like("-m"), module, *inner])
            if module
            else ANYTHING
        )
    if kind == "second":
        inner = inner[1:]
    if not inner:
        return ANYTHING if options.has("-c", "--call") else None
    return _run_inner(call, kind, inner)


def _judge_extras(call: Invocation, options: ProgramOptions, kind: str) -> None:
    given = options.values("--with", "--with-editable", "--with-requirements")
    if call.name in ("uv", "uvx") and given:
        call.fact(Effect.INSTALLS, at=given[0].span)
    packages = options.values("-p", "--package", "--spec", "--from")
    if kind == "node" and packages:
        call.fact(Effect.EXECUTES, tags=("package", "named"), at=packages[0].span)
    elif kind == "fetched":
        call.fact(Effect.EXECUTES, tags=("package",))
        packages = options.values("--spec", "--from")
    for word in packages if kind in ("node", "fetched") else ():
        if is_address(word):
            call.fact(Effect.INSTALLS, tags=("url",), at=word.span)


def _run_inner(call: Invocation, kind: str, inner: list[Arg]) -> Stream:
    word = inner[0]
    if len(inner) > 1 and inner[1] == "--":
        del inner[1]
    if kind in ("local", "script", "named", "second"):
        if word.startswith(("http://", "https://")):
            call.fact(Effect.DOWNLOADS_AND_EXECUTES, at=word.span, detail=str(word))
            return ANYTHING
        if word.endswith((".py", ".pyw")) and "python" in call.walker.knowledge:
            return call.run_args([word.like("python"), *inner])
        if kind == "script" and word not in card_words(call, "tools", "npx"):
            call.fact(Effect.EXECUTES, tags=("project",), detail=str(word))
            runs_project(call)
            return ANYTHING
        return call.run_args(inner)
    if is_address(word) or (kind == "node" and is_repository(word)):
        call.fact(Effect.DOWNLOADS_AND_EXECUTES, at=word.span, detail=str(word))
        return ANYTHING
    name = _bare(word)
    if kind == "node" and name in card_words(call, "tools", "npx"):
        if name in call.walker.knowledge:
            return call.run_args([word.like(name), *inner[1:]])
        call.fact(Effect.EXECUTES, tags=("project",), at=word.span, detail=name)
    else:
        call.fact(Effect.EXECUTES, tags=("package",), at=word.span, detail=name)
        if name in call.walker.knowledge:
            return call.run_args([word.like(name), *inner[1:]])
    judge_carried(call, inner[1:])
    judge_telling(call, inner[1:])
    return ANYTHING


def _bare(word: Arg) -> str:
    """A package's name without its version: `eslint@9` is eslint, `@scope/x@1` is @scope/x."""
    if word.startswith("@"):
        return "@" + word[1:].partition("@")[0]
    return re.split(r"[@=<>~!\[]", word, maxsplit=1)[0]


_ADDRESS = re.compile(
    r"(?:git\+|hg\+|svn\+|bzr\+)?(?:https?|ftp|ssh|git|file)://|git@|(?:github|gitlab|bitbucket|gist):"
    r"|.* @ (?:git\+|https?:)",
    re.IGNORECASE,
)
_USUAL = (
    "https://pypi.org",
    "https://files.pythonhosted.org",
    "https://test.pypi.org",
    "https://download.pytorch.org",
    "https://registry.npmjs.org",
    "https://registry.yarnpkg.com",
    "https://rubygems.org",
    "https://crates.io",
    "https://index.crates.io",
    "https://proxy.golang.org",
    "https://repo.packagist.org",
    "https://repo1.maven.org",
    "https://repo.maven.apache.org",
    "https://api.nuget.org",
    "https://conda.anaconda.org",
)
_SOURCE_OPTIONS = frozenset(
    "-i --index-url --extra-index-url --index --default-index --find-links "
    "--trusted-host --allow-insecure-host --registry --source --git --repository "
    "--repository-url --server --only-server --mirror --repofrompath --publish-url".split()
)
_SOURCE_VARIABLES = frozenset(
    "PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_TRUSTED_HOST PIP_FIND_LINKS UV_INDEX "
    "UV_DEFAULT_INDEX UV_INDEX_URL UV_EXTRA_INDEX_URL UV_INSECURE_HOST "
    "NPM_CONFIG_REGISTRY npm_config_registry YARN_REGISTRY YARN_NPM_REGISTRY_SERVER "
    "GOPROXY GONOSUMDB GONOSUMCHECK GOINSECURE GOFLAGS GOSUMDB GOPRIVATE "
    "CARGO_REGISTRIES_CRATES_IO_INDEX BUNDLE_MIRROR__ALL HOMEBREW_BOTTLE_DOMAIN "
    "HOMEBREW_CORE_GIT_REMOTE".split()
)
_MAY_BE_HERE = frozenset("--source --repository --index -i --find-links".split())
"""Options that may name a directory of this machine."""
_NAMING = ("-e", "--editable", "-r", "--requirement", "--requirements", "-c", "--constraint")
_NODE_MANAGERS = frozenset("npm pnpm yarn bun".split())


def is_address(word: str) -> bool:
    """Whether a package is named by where it lies instead of by its name."""
    return bool(_ADDRESS.match(word)) and not word.startswith(_USUAL)


def is_repository(word: str) -> bool:
    """npm reads `owner/name` as a repository on a forge."""
    return word.count("/") == 1 and word[:1].isalnum() and not word.endswith((".tgz", ".js"))


def judge_sources(call: Invocation, options: ProgramOptions) -> None:
    """Notes packages and indexes that are named by an address, by option, word or variable."""
    for name, value, word in options.order:
        if name in _SOURCE_OPTIONS and value is not None:
            if name in _MAY_BE_HERE and (not _ADDRESS.match(value) or value.startswith("file:///")):
                continue
            if not value.startswith(_USUAL):
                call.fact(Effect.INSTALLS, tags=("url",), at=word.span, detail=str(value))
    for word in [*options.operands[1:], *options.values(*_NAMING)]:
        forge = call.name in _NODE_MANAGERS and is_repository(word) and _adds(options)
        if forge or (is_address(word) and not word.startswith("file://")):
            call.fact(Effect.INSTALLS, tags=("url",), at=word.span, detail=str(word))
        else:
            held = call.walker.files.get(call.path(word)) if "/" in word or "." in word else None
            if held is not None and held.taint & NETWORK:
                call.fact(Effect.DOWNLOADS_AND_EXECUTES, at=word.span, detail=held.source)
    for name, value in call.environment.items():
        if name in _SOURCE_VARIABLES and value and not value.startswith(_USUAL):
            call.fact(Effect.INSTALLS, tags=("url",), at=value.span, detail=name)
    if any(UNKNOWN in word for word in options.operands[1:2]):
        call.fact(Effect.INSTALLS, tags=("unknown",))


def _adds(options: ProgramOptions) -> bool:
    return bool(options.operands) and options.operands[0] in ("install", "i", "add", "in", "a")


_KNOWN_PLUGINS = ("org.apache.maven.", "org.codehaus.mojo:", "org.springframework.boot:")


def judge_coordinates(call: Invocation, options: ProgramOptions) -> None:
    """`group:artifact:version:goal` fetches a plugin by its coordinates and runs it."""
    for word in options.operands:
        # A task of a nested project begins with a colon, `:app:lib:test`, and coordinates do not.
        named = word.count(":") >= 2 and "." in word.partition(":")[0]
        if named and not word.startswith(_KNOWN_PLUGINS):
            call.fact(Effect.EXECUTES, tags=("package", "named"), at=word.span, detail=str(word))


_PROGRAM_SETTINGS = frozenset(
    "script-shell shell git editor viewer node-options init-module onload-script browser yarn-path "
    "yarnpath rustc-wrapper".split()
)
_LOOSE_SETTINGS = frozenset(
    "strict-ssl cafile ca enable-strict-ssl trusted-host https-proxy proxy noproxy".split()
)
_SOURCE_SETTINGS = frozenset(
    "registry index-url extra-index-url npmregistryserver find-links source".split()
)


def judge_settings(call: Invocation, options: ProgramOptions) -> None:
    """`npm config set script-shell x` and its kind: settings that later runs obey by themselves."""
    words = [str(w) for w in options.operands]
    if words[:2] == ["config", "set"] or words[:2] == ["c", "set"]:
        words = words[2:]
    elif words[:1] in (["set"], ["config"]):
        words = words[1:]
    else:
        return
    if not any("=" in word for word in words):
        words = ["=".join(words[:2])]
    for word in words:
        key, _, value = word.partition("=")
        key = key.rpartition(".")[2].rpartition(":")[2].lower()
        if key in _PROGRAM_SETTINGS:
            call.fact(Effect.PERSISTS, tags=("settings",), detail=key)
        elif key in _LOOSE_SETTINGS and value != "true":
            call.fact(Effect.NETWORK, tags=("insecure", "settings"), detail=key)
        elif key in _SOURCE_SETTINGS and value and not value.startswith(_USUAL):
            call.fact(Effect.NETWORK, tags=("redirected",), detail=key)
