"""`tool:pip` and the like: grants the hosts that a client's own settings name, to fetch from them.

A project's own settings grant nothing: whoever wrote the project decides there. What a client was
not told, it is asked: it runs in a sandbox whose gate lets nobody through, and the names that it
asks for are its own default.
"""

from __future__ import annotations

import os
import re
from urllib.parse import urlsplit

from redoma.egress.hosts import canonical, is_inside, is_public, normal
from redoma.model.errors import UsageError
from redoma.model.message import Message
from redoma.model.network import LAST_PORT, WEB_PORTS
from redoma.model.value import Value
from redoma.pipeline import tool_sources
from redoma.pipeline.tool_sources import FETCH, TOOLS, Sources

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_GRANT = re.compile(r"(?:([A-Z]+(?:,[A-Z]+)*)[ \t]+)?tool:([a-z]+)(:\*)?\Z")
_LOCAL = frozenset(("localhost", "127.0.0.1", "::1"))
_SSH = 22
# This machine, its link, and where clouds hand out credentials.
_NEVER = (
    *("0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "100.100.100.200/32", "168.63.129.16/32"),
    *("192.0.0.0/24", "224.0.0.0/3", "::/96", "fe80::/10", "fd00:ec2::/32", "ff00::/8"),
)
# How each client is made to ask for something; what it asks whom is all that counts.
_ASKS = {
    "cargo": "CARGO_NET_RETRY=0 cargo install -q --root /tmp/x redoma-asks",
    "go": "GOPATH=/tmp/go GOFLAGS=-modcacherw go install redoma.invalid/asks@latest",
    "npm": "npm view redoma-asks --fetch-retries=0",
    "pip": "python3 -m pip download -q --no-deps --no-cache-dir --retries 0 -d /tmp/x redoma-asks",
    "pnpm": "pnpm view redoma-asks",
    "uv": "uv pip install -q --no-cache --dry-run --target /tmp/x redoma-asks",
    "yarn": "yarn info redoma-asks || yarn npm info redoma-asks",
}
_PROGRAMS = {"pip": "python3"}
_PATIENCE = 20.0


class ToolGrants(Value):
    """What tools were granted: host rules, variables for inside, and what a person should know."""

    hosts: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()


def is_tool(text: str) -> bool:
    """Whether a host that was granted is a tool's."""
    return "tool:" in text


def expanded(hosts: Sequence[str], root: str) -> ToolGrants:
    """The same hosts with those of each tool in its place."""
    made: list[str] = []
    env: dict[str, str] = {}
    notes: list[str] = []
    for text in hosts:
        if not is_tool(text):
            made.append(text)
            continue
        found = _GRANT.match(text.strip())
        if found is None or found[2] not in (*TOOLS, "git"):
            known = ", ".join(sorted((*TOOLS, "git")))
            raise UsageError(
                "the tool in {text} is not known",
                text=repr(text),
                hint=Message(
                    "tool:NAME of: {known}; GET,PUT tool:NAME for more than fetching", known=known
                ),
            )
        methods = "" if found[3] else found[1] or ""
        granted = _granted(found[2], root, methods, read=not found[3])
        made += granted.hosts
        env.update(granted.env)
        notes += granted.notes
    return ToolGrants(
        hosts=tuple(dict.fromkeys(made)),
        env=tuple(env.items()),
        notes=tuple(dict.fromkeys(notes)),
    )


def _granted(tool: str, root: str, methods: str, *, read: bool) -> ToolGrants:
    sources = tool_sources.remotes(root) if tool == "git" else TOOLS[tool]()
    urls = list(sources.urls)
    if sources.default and tool in _ASKS:
        urls += [f"https://{name}" for name in _asked(tool)]
    rules = tuple(
        dict.fromkeys(rule for url in urls for rule in host_rules(tool, url, methods, read=read))
    )
    notes = [*_of_the_project(tool, root, urls), *_of_users(tool, sources)]
    if not rules:
        raise UsageError("tool:{tool} names no host", tool=tool, hint=_hint(tool))
    notes.insert(0, Message("tool:{tool} grants {rules}", tool=tool, rules=", ".join(rules)))
    return ToolGrants(hosts=rules, env=sources.env, notes=tuple(notes))


def _hint(tool: str) -> str:
    if tool == "git":
        return "git remote -v says what a repository's remotes are; --allow-host HOST names one"
    return Message(
        "install {tool}, name its registry in its settings, or --allow-host HOST", tool=tool
    )


def host_rules(tool: str, url: str, methods: str, *, read: bool) -> Iterator[str]:
    """The host rules for one address that a client fetches from."""
    parts = urlsplit(url)
    name = (parts.hostname or "").rstrip(".")
    try:
        port = parts.port or {"https": 443, "http": 80, "ssh": _SSH, "git": 9418}[parts.scheme]
    except (ValueError, KeyError):
        return
    if not name or not 0 < port <= LAST_PORT:
        return
    if name in _LOCAL:
        yield f"localhost:{port}"
        return
    address = canonical(name)
    if address:
        yield f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
        return
    if not normal(name):
        return
    place = name if port in WEB_PORTS else f"{name}:{port}"
    place += _near(name)
    if not read or parts.scheme not in ("http", "https"):
        yield place
    elif methods:
        yield f"{methods} {place}"
    elif tool == "git" and "=" not in place:
        path = parts.path.rstrip("/")
        yield f"GET {place}{path}/info/refs"
        yield f"POST {place}{path}/git-upload-pack"
    else:
        yield f"{','.join(FETCH if tool != 'git' else ('GET', 'POST'))} {place}"


def _near(name: str) -> str:
    """Where a name is that leads into a private network: a company's mirror is meant to be there.

    Attack: whoever answers for the name points it at this machine, or at a cloud's metadata.
    """
    import socket

    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return ""
    addresses = {canonical(str(each[4][0]).partition("%")[0]) for each in found}
    private = sorted(each for each in addresses if each and not is_public(each))
    never = any(is_inside(address, each) for address in private for each in _NEVER)
    if not private or never or len(private) < len(addresses):
        return ""
    bits = 128 if ":" in private[0] else 32
    return f"={private[0]}/{bits}"


def _of_the_project(tool: str, root: str, urls: Sequence[str]) -> Iterator[str]:
    """What a project's own settings name beside: said, and not granted."""
    known = {urlsplit(url).hostname for url in urls}
    for file, url in tool_sources.project_urls(root, tool):
        name = urlsplit(url).hostname
        if name and name not in known:
            known.add(name)
            yield (
                Message(
                    "the project's {file} names {name}, which tool:{tool} does not grant: a "
                    "project decides that, not you; --allow-host {name} if you mean it",
                    file=file,
                    name=name,
                    tool=tool,
                )
            )


def _of_users(tool: str, sources: Sources) -> Iterator[str]:
    for url in sources.urls:
        parts = urlsplit(url)
        if parts.password:
            yield (
                Message(
                    "the settings of {tool} have a password for {hostname}, which the command does "
                    "not get: --credential {hostname}=basic:VARIABLE adds it",
                    tool=tool,
                    hostname=parts.hostname,
                )
            )


def _asked(tool: str) -> tuple[str, ...]:
    """The hosts that a client asks for that was told nothing; kept for as long as it stays."""
    from shutil import which

    from redoma.base import cache, own_directories

    program = which(_PROGRAMS.get(tool, tool))
    if program is None:
        return ()
    status = os.stat(program)
    stamp = (os.path.realpath(program), status.st_mtime_ns, status.st_size)
    place = f"{own_directories.cache()}/tool-{tool}"
    known = cache.read(place, stamp)
    if isinstance(known, list) and known:
        return tuple(str(each) for each in known)
    found = _asked_now(tool)
    if found:
        cache.keep(place, stamp, list(found))
    return found


def _asked_now(tool: str) -> tuple[str, ...]:
    """Runs a client once where it reaches nobody, and hears whom it asks for."""
    from tempfile import TemporaryDirectory

    from redoma.egress.grants import gated
    from redoma.egress.host_rules import read
    from redoma.jail.engines.choice import plan
    from redoma.jail.profiles.profile import load
    from redoma.model.network import NOT_GRANTED
    from redoma.model.request import Request, ShellCommand
    from redoma.model.value import replace
    from redoma.pipeline.execute import execute
    from redoma.pipeline.this_host import this_host

    with TemporaryDirectory(prefix="redoma-asks-", dir="/var/tmp") as empty:
        grant = gated(load("standard").grant(empty), read(["nobody.invalid"]))
        grant = replace(grant, limits=replace(grant.limits, wall_seconds=_PATIENCE))
        host = this_host()
        made = plan(Request(workload=ShellCommand(text=_ASKS[tool])), grant, host)
        result = execute(made, host)
    calls = result.network_calls or ()
    names = [call.name for call in calls if not call.allowed and call.why == NOT_GRANTED]
    return tuple(dict.fromkeys(name for name in names if "." in name and ".invalid" not in name))
