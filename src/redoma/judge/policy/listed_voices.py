"""What a policy's own lists say to a command: of paths, of hosts and of ports."""

from __future__ import annotations

from redoma.judge.interpret.arg import UNKNOWN
from redoma.judge.interpret.hosts import host_of
from redoma.judge.policy.patterns import above, expanded, host_fits, within
from redoma.judge.policy.subject import Subject, hosts_of, known_start, names_of
from redoma.model.decision import Effect, Place, Verdict
from redoma.model.policy import Circumstances, Policy, Voice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.decision import Fact

_CHANGES = frozenset((Effect.WRITES, Effect.DELETES, Effect.PERSISTS))
_WHOLE = frozenset(("recursive", "whole"))
_SCHEMES = {"http": 80, "https": 443, "ssh": 22, "ftp": 21, "telnet": 23, "rdp": 3389}
_PROGRAMS = {
    **dict.fromkeys(("ssh", "scp", "sftp", "autossh", "mosh"), 22),
    "telnet": 23,
    **dict.fromkeys(("xfreerdp", "rdesktop"), 3389),
}
_PORT_OPTIONS = {"ssh": "-p", "autossh": "-p", "scp": "-P", "sftp": "-P"}
_LAST_IS_PORT = frozenset("telnet nc ncat netcat".split())


def file_voices(seen: Subject, policy: Policy, circumstances: Circumstances) -> list[Voice]:
    """Paths outside of what may be written, and paths that may not be touched."""
    rules = policy.filesystem
    workspace, home = circumstances.workspace, circumstances.home
    root = policy.root or workspace
    said: list[Voice] = []
    blocked = [(each, expanded(each, root, home)) for each in rules.blocked_paths]
    allowed = None
    if rules.allowed_paths is not None:
        allowed = [expanded(each, root, home) for each in rules.allowed_paths]
    for fact in seen.facts:
        for path in names_of(fact, workspace):
            shown = path.replace(UNKNOWN, "…")
            for written, pattern in blocked:
                taken = not _WHOLE.isdisjoint(fact.tags) and above(path, pattern)
                if within(path, pattern) or taken:
                    reason = f"{shown} is blocked by the policy: {written}"
                    said.append(_voice(Verdict.DENY, "filesystem.blocked_paths", reason))
                elif _may_be(path, pattern):
                    reason = f"{shown} may be blocked by the policy: {written}"
                    said.append(_voice(Verdict.CONFIRM, "filesystem.blocked_paths", reason))
            if allowed is None or fact.effect not in _CHANGES:
                continue
            if path.startswith(UNKNOWN):
                reason = "what is written is not known, and only some paths may be"
                said.append(_voice(Verdict.CONFIRM, "filesystem.allowed_paths", reason))
            elif not any(within(path, pattern) for pattern in allowed):
                reason = f"{shown} lies outside of the paths that may be written"
                said.append(_voice(Verdict.DENY, "filesystem.allowed_paths", reason))
    return said


def _may_be(path: str, pattern: str) -> bool:
    """Whether a path that is known in part could still become one that the pattern names."""
    known = known_start(path)
    return known not in ("", path) and pattern.startswith(known)


def network_voices(seen: Subject, policy: Policy) -> list[Voice]:
    """Hosts that are not on the list, ports that are blocked, and any where none may be reached."""
    rules = policy.network
    if not rules.restricted:
        return []
    said: list[Voice] = []
    named: set[str] = set()
    for fact in seen.facts:
        hosts = hosts_of(fact)
        local = {t.place for t in fact.targets} == {Place.LOOPBACK}
        if rules.allowed_hosts is not None:
            said += _unlisted(hosts, rules.allowed_hosts, local=local)
        if hosts or fact.effect is Effect.CALLS:
            said += [
                _voice(Verdict.DENY, "network.blocked_ports", f"port {port} is blocked")
                for port in _ports(fact)
                if port in rules.blocked_ports
            ]
        named.update(host for host in hosts if not local)
    if rules.max_connections == 0 and named:
        reason = "it names a host, and no connection is allowed"
        said.append(_voice(Verdict.DENY, "network.max_connections", reason))
    return said


def _unlisted(hosts: list[str], allowed: tuple[str, ...], *, local: bool) -> list[Voice]:
    said = []
    for host in hosts:
        if host == UNKNOWN:
            reason = "which host it talks to is not known, and only some are allowed"
            said.append(_voice(Verdict.CONFIRM, "network.allowed_hosts", reason))
        elif not any(host_fits(host, each) for each in allowed) and not (
            local and any(each in ("localhost", "127.0.0.1", "::1") for each in allowed)
        ):
            reason = f"{host or 'this machine'} is not on the list of hosts"
            said.append(_voice(Verdict.DENY, "network.allowed_hosts", reason))
    return said


def _ports(fact: Fact) -> set[int]:
    """The ports that a fact speaks of: as written, or the usual one of the scheme or program."""
    if fact.effect is Effect.CALLS:
        return _called_ports(fact.detail.split("\x1f"))
    found: set[int] = set()
    for target in fact.targets:
        text = str(target.text)
        if target.place not in (Place.HOST, Place.LOOPBACK):
            continue
        if text.startswith(("/dev/tcp/", "/dev/udp/")):
            found.update(int(part) for part in text.split("/")[4:5] if part.isdigit())
            continue
        scheme, double, rest = text.partition("://")
        authority = (rest if double else text).partition("/")[0].rpartition("@")[2]
        port = authority.rpartition("]")[2].rpartition(":")[2]
        if port.isdigit() and port != host_of(text):
            found.add(int(port))
        elif double and scheme.lower() in _SCHEMES:
            found.add(_SCHEMES[scheme.lower()])
        elif not double and "@" in text and ":" in text:
            found.add(22)  # git@host:path goes through ssh
    return found


def _called_ports(argv: list[str]) -> set[int]:
    name = argv[0]
    option = _PORT_OPTIONS.get(name)
    if option:
        for place, word in enumerate(argv[1:], 1):
            given = argv[place + 1] if word == option and place + 1 < len(argv) else word[2:]
            if word.startswith(option) and given.isdigit():
                return {int(given)}
    if name in _LAST_IS_PORT and argv[-1].isdigit():
        return {int(argv[-1])}
    return {_PROGRAMS[name]} if name in _PROGRAMS else set()


def _voice(verdict: Verdict, rule: str, reason: str) -> Voice:
    return Voice(verdict=verdict, rule=rule, reason=reason)
