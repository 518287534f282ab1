"""Where packages come from: by name from the usual registry, or from an address of its own."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import NETWORK, UNKNOWN
from redoma.model.risk import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.call import Call
    from redoma.judge.programs.options import Options

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
_NAMING = ("-e", "--editable", "-r", "--requirement", "--requirements", "-c", "--constraint")
_NODE_MANAGERS = frozenset("npm pnpm yarn bun".split())


def is_address(word: str) -> bool:
    """Whether a package is named by where it lies instead of by its name."""
    return bool(_ADDRESS.match(word)) and not word.startswith(_USUAL)


def is_repository(word: str) -> bool:
    """npm reads `owner/name` as a repository on a forge."""
    return word.count("/") == 1 and word[:1].isalnum() and not word.endswith((".tgz", ".js"))


def judge_sources(call: Call, options: Options) -> None:
    """Notes packages and indexes that are named by an address, by option, word or variable."""
    for name, value, word in options.order:
        if name in _SOURCE_OPTIONS and value is not None:
            if name in ("--source", "--repository", "--index", "-i") and not _ADDRESS.match(value):
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


def _adds(options: Options) -> bool:
    return bool(options.operands) and options.operands[0] in ("install", "i", "add", "in", "a")


_KNOWN_PLUGINS = ("org.apache.maven.", "org.codehaus.mojo:", "org.springframework.boot:")


def judge_coordinates(call: Call, options: Options) -> None:
    """`group:artifact:version:goal` fetches a plugin by its coordinates and runs it."""
    for word in options.operands:
        if word.count(":") >= 2 and not word.startswith(_KNOWN_PLUGINS):
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


def judge_settings(call: Call, options: Options) -> None:
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
