"""Where a package manager or git fetches from, as the caller's own settings say it.

No registry's host stands here: a client that was told nothing is asked for its own default.
"""

from __future__ import annotations

import os
import re
from glob import glob

from redoma.egress import client_settings as settings
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

FETCH = ("GET",)
_URL = re.compile(r"(?:sparse\+|git\+|registry\+)?((?:https?|ssh|git)://[^\s\"'<>,;]+)", re.ASCII)
_HOST = re.compile(r"[\w.-]+\Z", re.ASCII)


class Sources(Value):
    """What a client fetches from: addresses, and variables that say the same inside."""

    urls: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    # Whether the client's own default is fetched from as well.
    default: bool = True


def pip() -> Sources:
    """pip's indexes and links."""
    known = settings.pip_settings()
    index = _one("PIP_INDEX_URL") or "".join(known.get("index-url", [])[-1:])
    more = [*_words("PIP_EXTRA_INDEX_URL"), *known.get("extra-index-url", ())]
    more += [*_words("PIP_FIND_LINKS"), *known.get("find-links", ())]
    env = {"PIP_INDEX_URL": index, "PIP_EXTRA_INDEX_URL": " ".join(_web(more))}
    env["PIP_TRUSTED_HOST"] = " ".join(known.get("trusted-host", ()))
    only = bool(index) or _one("PIP_NO_INDEX") not in ("", "0", "false", "no")
    return _sources([index, *more], env, default=not only)


def uv() -> Sources:
    """uv's indexes; it reads none of pip's settings."""
    place = settings.config_home()
    told = settings.toml_settings("/etc/uv/uv.toml", f"{place}/uv/uv.toml")
    main, more = _uv_indexes(told)
    main = _one("UV_DEFAULT_INDEX", "UV_INDEX_URL") or main
    more += [*_words("UV_INDEX"), *_words("UV_EXTRA_INDEX_URL")]
    more = [
        each.partition("=")[2] or each if "=" in each.partition("://")[0] else each for each in more
    ]
    env = {"UV_DEFAULT_INDEX": main, "UV_INDEX": " ".join(_web(more))}
    return _sources([main, *more], env, default=not main)


def _uv_indexes(told: dict[str, object]) -> tuple[str, list[str]]:
    main, more = "", list[str]()
    for place in (told.get("pip"), told):
        if not isinstance(place, dict):
            continue
        main = str(place.get("index-url") or main)
        found = place.get("extra-index-url")
        more += [str(each) for each in found] if isinstance(found, list) else []
        listed = place.get("index")
        for each in listed if isinstance(listed, list) else []:
            if isinstance(each, dict) and each.get("default"):
                main = str(each.get("url") or main)
            elif isinstance(each, dict):
                more.append(str(each.get("url") or ""))
    return main, more


def npm() -> Sources:
    """npm's registry, and those of scopes; pnpm reads the same."""
    known = settings.npm_settings()
    main = _one("NPM_CONFIG_REGISTRY", "npm_config_registry")
    main = main or "".join(known.get("registry", [])[-1:])
    scopes = {name: each[-1] for name, each in known.items() if name.endswith(":registry")}
    env = {"npm_config_registry": main}
    env |= {f"npm_config_{name}": url for name, url in scopes.items()}
    return _sources([main, *scopes.values()], env, default=not main)


def yarn() -> Sources:
    """yarn's registry: the first yarn reads npm's settings, later ones have their own."""
    own = settings.text_of(f"{settings.home()}/.yarnrc.yml")
    found = re.findall(r"^\s*npmRegistryServer:\s*[\"']?([^\s\"']+)", own, re.M)
    old = re.findall(
        r'^registry\s+"?([^\s"]+)', settings.text_of(f"{settings.home()}/.yarnrc"), re.M
    )
    main = _one("YARN_NPM_REGISTRY_SERVER", "YARN_REGISTRY") or "".join((found or old)[-1:])
    if not main:
        return npm()
    env = {"YARN_NPM_REGISTRY_SERVER": main, "YARN_REGISTRY": main, "npm_config_registry": main}
    return _sources([main, *npm().urls], env, default=False)


def cargo() -> Sources:
    """Cargo's registries, and the source that stands in for its usual one."""
    known = settings.cargo_settings()
    places = [_table(known, "source"), _table(known, "registries")]
    urls = [url for each in places for row in each.values() for url in _values(row)]
    urls += [v for n, v in os.environ.items() if re.fullmatch(r"CARGO_REGISTRIES_\w+_INDEX", n)]
    replaced = any(
        isinstance(row, dict) and "replace-with" in row for row in _table(known, "source").values()
    )
    return _sources(urls, {}, default=not replaced)


def go() -> Sources:
    """Go's proxies, and the database of sums."""
    text = settings.text_of(os.environ.get("GOENV") or f"{settings.config_home()}/go/env")
    told = dict(line.partition("=")[::2] for line in text.splitlines())
    proxy = _one("GOPROXY") or told.get("GOPROXY", "")
    sums = _one("GOSUMDB") or told.get("GOSUMDB", "")
    env = {"GOPROXY": proxy, "GOSUMDB": sums}
    urls = re.split(r"[,|]", proxy) + [
        f"https://{each}" for each in sums.split()[:1] if "." in each
    ]
    return _sources(urls, env, default=not proxy)


def apt() -> Sources:
    """What apt's lists of sources name, in both of their forms."""
    urls: list[str] = []
    lists = ["/etc/apt/sources.list", *sorted(glob("/etc/apt/sources.list.d/*"))]
    for path in lists:
        read = deb822 if path.endswith(".sources") else one_line
        if path.endswith((".list", ".sources")):
            urls += read(settings.text_of(path))
    return _sources(urls, {}, default=False)


def one_line(text: str) -> Iterator[str]:
    """The addresses of `deb [options] address suite component…`."""
    for line in text.splitlines():
        words = re.sub(r"\[[^]]*\]", " ", line.partition("#")[0]).split()
        if words[:1] in (["deb"], ["deb-src"]):
            yield from words[1:2]


def deb822(text: str) -> Iterator[str]:
    """The addresses of stanzas that are not switched off."""
    for stanza in re.split(r"\n\s*\n", text):
        lines = [line for line in stanza.splitlines() if not line.startswith("#")]
        folded = re.sub(r"\n[ \t]+", " ", "\n".join(lines))
        fields = dict(line.partition(":")[::2] for line in folded.splitlines())
        fields = {name.strip().lower(): value.strip() for name, value in fields.items()}
        if fields.get("enabled", "yes").lower() not in ("no", "false", "0"):
            yield from fields.get("uris", "").split()


def remotes(root: str) -> Sources:
    """The addresses of a repository's remotes, as git rewrites them by the user's settings."""
    found = []
    for name, values in settings.git_config(settings.text_of(git_config_of(root))).items():
        if name.startswith("remote.") and name.endswith(".url"):
            found += values
    return _sources(addressed(found), {}, default=False)


def addressed(remotes: Iterable[str]) -> list[str]:
    """The addresses of remotes as git rewrites them by the user's settings."""
    instead = {
        told: name.removeprefix("url.").removesuffix(".insteadof")
        for name, values in settings.git_settings().items()
        if name.startswith("url.") and name.endswith(".insteadof")
        for told in values
    }
    return [_as_url(_rewritten(each, instead)) for each in remotes]


def _as_url(address: str) -> str:
    """git's short form `user@host:path` as an address; any other stays as it is."""
    place, colon, path = address.partition(":")
    host = place.rpartition("@")[2]
    short = colon and path and not path.startswith("//") and "." in host and _HOST.match(host)
    return f"ssh://{host}/{path}" if short else address


def _rewritten(url: str, instead: dict[str, str]) -> str:
    told = max((each for each in instead if each and url.startswith(each)), key=len, default="")
    return instead[told] + url.removeprefix(told) if told else url


def git_config_of(root: str) -> str:
    """The configuration of the repository that a directory is part of; nothing where it is none."""
    above = root
    while True:
        place = f"{above}/.git"
        if os.path.isdir(place) and not os.path.islink(place):
            return f"{place}/config"
        if os.path.isfile(place):  # a worktree, or a submodule
            there = settings.text_of(place).partition("gitdir:")[2].strip()
            there = os.path.normpath(os.path.join(above, there))
            common = settings.text_of(f"{there}/commondir").strip()
            return f"{os.path.normpath(os.path.join(there, common))}/config"
        if above in ("/", ""):
            return ""
        above = os.path.dirname(above)


def project_urls(root: str, tool: str) -> Iterator[tuple[str, str]]:
    """(file, address) of what a project's own settings name: whoever wrote it decides there."""
    for name in _OF_PROJECTS.get(tool, ()):
        for path in sorted(glob(f"{glob_escaped(root)}/{name}"))[:20]:
            text = settings.text_of(path)
            lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
            wanted = _NAMING.get(name.rpartition("/")[2].partition("*")[0], "")
            for line in lines:
                if not wanted or re.search(wanted, line):
                    for url in _URL.findall(line):
                        yield os.path.relpath(path, root), url


def glob_escaped(path: str) -> str:
    """A path in which nothing is a pattern."""
    from glob import escape

    return escape(path)


_OF_PROJECTS = {
    "pip": ("requirements*.txt", "pip.conf"),
    "uv": ("uv.toml", "pyproject.toml"),
    "npm": (".npmrc",),
    "pnpm": (".npmrc",),
    "yarn": (".npmrc", ".yarnrc", ".yarnrc.yml"),
    "cargo": (".cargo/config.toml", ".cargo/config"),
    "git": (".gitmodules",),
}
# Of files that say much else, the lines that name a place to fetch from.
_NAMING = {
    "requirements": r"^\s*(-i|--index-url|--extra-index-url|-f|--find-links)\b",
    "pyproject.toml": r"^\s*(url|index-url|extra-index-url|index)\s*=",
    ".npmrc": r"registry\s*=",
}
TOOLS: dict[str, Callable[[], Sources]] = {
    "apt": apt,
    "cargo": cargo,
    "go": go,
    "npm": npm,
    "pip": pip,
    "pnpm": npm,
    "uv": uv,
    "yarn": yarn,
}


def _sources(urls: Iterable[str], env: dict[str, str], *, default: bool) -> Sources:
    found = [url for text in urls for url in _URL.findall(text)]
    kept = tuple((name, without_user(value)) for name, value in env.items() if value)
    return Sources(urls=tuple(dict.fromkeys(found)), env=kept, default=default)


def without_user(text: str) -> str:
    """The same, without names and passwords in its addresses: a command may not see those."""
    return re.sub(r"(://)[^/@\s]*@", r"\1", text)


def _web(values: Iterable[str]) -> list[str]:
    return [value for value in values if value.startswith(("http://", "https://"))]


def _one(*names: str) -> str:
    return next((os.environ[name].strip() for name in names if os.environ.get(name)), "")


def _words(name: str) -> list[str]:
    return os.environ.get(name, "").split()


def _table(known: dict[str, object], name: str) -> dict[str, object]:
    found = known.get(name)
    return found if isinstance(found, dict) else {}


def _values(row: object) -> Iterator[str]:
    for name in ("registry", "index", "git"):
        if isinstance(row, dict) and isinstance(row.get(name), str):
            yield row[name]
