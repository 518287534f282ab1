"""What an approved push or publish needs beyond its sandbox, offered together with the approval.

An approval of `git push` that then fails for want of a network helps nobody, and a network for
every run helps whoever attacks. So the question offers exactly what this command needs, for this
one run: the host of the one remote that it names, the key agent where that is reached by ssh, and
what the gate adds for that host where the person keeps a credential for it.
"""

from __future__ import annotations

import os
import stat
from urllib.parse import urlsplit

from redoma.base.log import logger
from redoma.egress import client_settings as settings
from redoma.model.decision import Effect
from redoma.model.errors import RedomaError
from redoma.model.grant import NetworkMode, Syscalls
from redoma.model.message import Message
from redoma.model.value import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from redoma.model.decision import Decision, Fact
    from redoma.model.grant import Grant
    from redoma.model.policy import Policy
    from redoma.model.request import Question

log = logger(__name__)
_TOOLS = {"npm": "npm", "pnpm": "pnpm", "yarn": "yarn", "cargo": "cargo"}
# Options of `git push` that take the next word as their value.
_VALUED = frozenset(("-o", "--push-option", "--receive-pack", "--exec", "--repo"))
_OF_GIT = frozenset(("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"))


class Offer(Value):
    """A grant for one run, made wider by what its command needs, and that in words."""

    grant: Grant
    words: tuple[str, ...]


def publishes(decision: Decision) -> bool:
    """Whether a command sends work where others get it."""
    return any(
        finding.effect in (Effect.PUBLISHES, Effect.REWRITES_HISTORY)
        for finding in decision.assessment.findings
    )


def offer_for(facts: Iterable[Fact], grant: Grant, policy: Policy, cwd: str) -> Offer | None:
    """What to offer with an approval; None where nothing is missing, or nothing may be given."""
    closed = grant.network is NetworkMode.CLOSED
    if not closed or not grant.network_grants or grant.syscalls is Syscalls.STRICTEST:
        return None
    known = tuple(facts)
    try:
        places = dict.fromkeys(place for fact in known for place in _places(fact, known, cwd))
        return _offer(tuple(places), grant, policy) if places else None
    except RedomaError as error:
        log.info("nothing is offered: %s", error)
        return None


def with_offer(asked: Question, words: tuple[str, ...]) -> Question:
    """The same question, saying what an approval gives this one run beside it."""
    said = Message("approved, it gets for this run: {what}", what=Message.joined("; ", words))
    # What is approved is this one run: nothing is remembered of it.
    return replace(asked, because=(*asked.because, said), argvs=(), joins=())


def published_facts(text: str, cwd: str) -> tuple[Fact, ...]:
    """Everything that a command does, with what it calls; nothing where that takes too long."""
    from redoma.judge.judgement import examine
    from redoma.judge.text.budget import Exhausted
    from redoma.model.policy import BUILT_IN
    from redoma.pipeline.decisions.check import ground, judging
    from redoma.pipeline.decisions.knowledge import knowledge, pack

    try:
        with judging(BUILT_IN):
            return examine(text, pack("default"), knowledge(), ground(cwd))[1]
    except Exhausted:
        return ()


class Destination(Value):
    """A host as it is granted, and whether it is spoken to by ssh."""

    rule: str
    by_ssh: bool = False

    @property
    def name(self) -> str:
        return self.rule.partition("=")[0].partition(":")[0]


def _places(fact: Fact, facts: tuple[Fact, ...], cwd: str) -> list[Destination]:
    """Where a fact that publishes goes; nothing where that cannot be told for certain."""
    remote = fact.effect is Effect.REWRITES_HISTORY and "remote" in fact.tags
    if fact.where or not (fact.effect is Effect.PUBLISHES or remote):
        return []
    if fact.program == "git" and "new-remote" not in fact.tags:
        calls = [each.detail.split("\x1f") for each in facts if each.effect is Effect.CALLS]
        pushes = {tuple(each) for each in calls if each[0] == "git" and "push" in each}
        # Attack: a `cd` before it, or two pushes in a line, and the host of one is offered for
        # the other.
        moved = any(each[0] in ("cd", "pushd") for each in calls)
        return _remote_of(list(*pushes), cwd) if len(pushes) == 1 and not moved else []
    if fact.program in _TOOLS:
        from redoma.pipeline.tool_grants import expanded

        hosts = expanded([f"tool:{_TOOLS[fact.program]}:*"], cwd).hosts
        return [Destination(rule=host) for host in hosts]
    return []


def _remote_of(argv: list[str], cwd: str) -> list[Destination]:
    """The address of the remote that a `git push` goes to, as the repository's settings say it."""
    from redoma.pipeline import tool_sources
    from redoma.pipeline.tool_grants import host_rules

    before, after = argv[1 : argv.index("push")], argv[argv.index("push") + 1 :]
    if any(word in _OF_GIT or word.startswith("-") for word in before):
        return []  # another repository, or other settings
    words = [
        word
        for before, word in zip(("", *after), after, strict=False)
        if not word.startswith("-") and before not in _VALUED
    ]
    if any(word == "--repo" or word.startswith("--repo=") for word in after):
        return []
    told = settings.git_config(settings.text_of(tool_sources.git_config_of(cwd)))
    remotes = {name.split(".")[1] for name in told if name.startswith("remote.")}
    name = words[0] if words else ("origin" if "origin" in remotes else "")
    if not words and any(each.endswith((".pushremote", ".pushdefault")) for each in told):
        return []
    if name not in remotes:
        return []
    if f"remote.{name}.pushurl" in told:
        return []  # more than one address may be meant
    found = told.get(f"remote.{name}.url", [])
    if len(found) != 1:
        return []
    urls = tool_sources.addressed(found)
    return [
        Destination(rule=rule, by_ssh=urlsplit(url).scheme == "ssh")
        for url in urls
        for rule in host_rules("git", url, "", read=False)
    ]


def _offer(places: tuple[Destination, ...], grant: Grant, policy: Policy) -> Offer | None:
    from redoma.egress.grants import covers, gated
    from redoma.egress.host_rules import read
    from redoma.pipeline.secrets import reach_of

    hosts = tuple(dict.fromkeys(each.rule for each in places))
    allowed = policy.network.allowed_hosts
    if allowed is not None:
        listed = read(allowed).hosts
        if not all(any(covers(one, rule) for one in listed) for rule in read(hosts).hosts):
            return None
    names = {each.name for each in places}
    kept = [
        each
        for each in policy.grants.credentials
        if each.partition("=")[0].partition(":")[0] in names
    ]
    reach = reach_of(hosts, (), kept, inspect=False)
    if reach is None:
        return None
    made = gated(grant, reach)
    words: list[str] = [Message("the network to {host}", host=", ".join(hosts))]
    for each in kept:
        host = each.partition("=")[0]
        words.append(Message("your credential for {host}, added at the gate", host=host))
    if any(each.by_ssh for each in places):
        made, said = _with_key_agent(made)
        words += said
    return Offer(grant=made, words=tuple(words))


def _with_key_agent(grant: Grant) -> tuple[Grant, list[str]]:
    """The grant with the person's key agent, and the hosts that they know already."""
    readable, words = list(grant.readable), list[str]()
    known = os.path.expanduser("~/.ssh/known_hosts")
    if os.path.isfile(known):
        readable.append(os.path.realpath(known))
    socket = os.environ.get("SSH_AUTH_SOCK", "")
    env = grant.env
    # What root runs is nobody inside, to whom an agent does not speak.
    if os.geteuid() and _is_own_socket(socket):
        readable.append(os.path.realpath(socket))
        env = (
            *(pair for pair in env if pair[0] != "SSH_AUTH_SOCK"),
            ("SSH_AUTH_SOCK", os.path.realpath(socket)),
        )
        words.append(Message("your ssh agent"))
    return replace(grant, readable=tuple(dict.fromkeys(readable)), env=env), words


def _is_own_socket(path: str) -> bool:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return False
    return path.startswith("/") and stat.S_ISSOCK(found.st_mode) and found.st_uid == os.geteuid()
