"""Says of each fact what holds it in an enclosed run: pure, from the fact and the plan alone.

Only what stands here is held. An effect, a mark or a place that nobody thought of is asked about,
as it is without a sandbox. What acts elsewhere for good (a push, a publish, a deploy, another
machine's files, a database), what a person's own tools would obey later, and what deceives a
reader is never held: a closed network may stop it, and a person still has to want it.

Who judges for an enclosed run makes a `Containment` from its plan, and gives it to the judgement:

    plan = …                                       # how it would be run, engine and grant
    known = Circumstances(containment=containment_of_plan(plan))
    decision = check(text, cwd=…, policy=…, circumstances=known)
    decision.verdict, decision.held                # LOG, and what holds each finding

`check` reads the text anew. Whoever has a decision that is no CONFIRM needs none of this: a
containment never makes a decision stricter, and FORBIDDEN is refused with it and without it.
"""

from __future__ import annotations

from redoma.base.paths import is_within
from redoma.judge.interpret.arg import UNKNOWN
from redoma.judge.policy.subject import hosts_of
from redoma.model.containment import Holder
from redoma.model.decision import Effect, HeldFinding, Place, Risk, Verdict
from redoma.model.grant import Guarantee, NetworkMode, Writes
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from redoma.judge.rules.pack import Pack
    from redoma.model.containment import Containment
    from redoma.model.decision import Fact, Target

# It happens on another machine or in a container, whatever its targets are called.
_ELSEWHERE = frozenset(("elsewhere", "contained"))
# Settings that a later command obeys, and rights for everybody: undone too late.
_STAYS = frozenset(("trust", "clients", "settings", "unverified", "hooked", "redirected", "world"))
_STAYS_BY_RIGHT = frozenset(("grant", "setuid", "administrator"))
# What is said is out: it stands in the text itself.
_SAID = frozenset(("literal", "user-secret"))
# Where sockets of services and key agents lie: who may read there can speak to them.
_SOCKETS = ("/run", "/var/run", "/tmp", "/var/tmp", "/dev", "/proc", "/var/lib")
# Of these a sandbox has its own: nothing of the machine's can be read by their names.
_OWN_TREES = ("/root", "/home", "/etc", "/proc", "/run", "/var", "/boot", "/dev", "/sys", "/Users")
_SANDBOX = frozenset(
    (
        Guarantee.WRITES_CONFINED,
        Guarantee.READS_CONFINED,
        Guarantee.PROCESSES_HIDDEN,
        Guarantee.NO_NEW_PRIVILEGES,
        Guarantee.SYSCALLS_FILTERED,
        Guarantee.TREE_KILLED,
    )
)


def held_findings(
    facts: Sequence[Fact], pack: Pack, containment: Containment
) -> tuple[HeldFinding, ...]:
    """Every finding that a person would be asked about and that this containment holds.

    A finding is held when each fact behind it is, at each of its targets. Findings that the pack
    refuses are none of them: what is forbidden stays refused. The same facts and the same plan
    give the same answer; no file and no clock is looked at.
    """
    found: dict[object, HeldFinding | None] = {}
    for fact in facts:
        finding = pack.judge(fact)
        if finding is None or pack.verdict(finding.risk) is not Verdict.CONFIRM:
            continue
        by = holder(fact, pack, containment)
        if by is None:
            found[finding.key] = None
        elif finding.key not in found:
            found[finding.key] = HeldFinding(finding=finding, by=by)
    return tuple(each for each in found.values() if each is not None)


def holder(
    fact: Fact, pack: Pack, containment: Containment, *, least: Risk = Risk.DANGEROUS
) -> Holder | None:
    """What holds all of a fact; None where one of its targets is held by nothing.

    Targets at which it is milder than `least` are not looked at.
    """
    # What was read in a script file counts as what the command itself does.
    weigh = _WEIGHED.get(fact.effect)
    if weigh is None or not fact.tags.isdisjoint(_ELSEWHERE):
        return None
    by: Holder | None = None
    for target in fact.targets or (None,):
        alone = fact if target is None else replace(fact, targets=(target,))
        finding = pack.judge(alone)
        if target is not None and (finding is None or finding.risk < least):
            continue
        by = weigh(fact, target, containment)
        if by is None:
            return None
    return by


def contains_code(containment: Containment) -> bool:
    """Whether any code at all may run there: nothing leaves, and everything is taken back."""
    if not containment.held >= _SANDBOX or not containment.nothing_leaves:
        return False
    given = bool(containment.writable or containment.carries or containment.reach.publish)
    return containment.takes_back and not given and not _speaks_to_services(containment)


def _speaks_to_services(containment: Containment) -> bool:
    """Whether a path that may be read can hold the socket of something outside.

    Attack: a socket under a directory that is only read can be spoken to all the same.
    """
    for path in containment.readable:
        parts = path.split("/")
        if any(is_within(path, each) or is_within(each, path) for each in _SOCKETS):
            return True
        # A home, and what programs keep in it: ~/.docker/run, ~/.gnupg, ~/.ssh.
        if path in ("/", "/home", "/Users", "/root") or (len(parts) == 3 and parts[1] == "home"):
            return True
        if any(part.startswith(".") for part in parts):
            return True
    return False


def _changes(fact: Fact, target: Target | None, plan: Containment) -> Holder | None:
    """Writes and deletions: undo takes back the workspace's, all others reach nothing."""
    if not fact.tags.isdisjoint(_STAYS):
        inside = target is None or not _outside(target, plan)
        if inside:
            return None
    if "shadows" in fact.tags:
        return _code(fact, target, plan)  # a name of the running shell's, and of nothing else
    if target is None:
        if "uncommitted" in fact.tags or "anywhere" in fact.tags:
            return _anywhere(plan)
        return None
    if target.place in (Place.HOST, Place.LOOPBACK):
        return None
    if _outside(target, plan):
        return Holder.WRITES if _confined(target, plan) else None
    if target.place is Place.REPOSITORY and fact.effect is not Effect.DELETES:
        return None  # a person's own git would obey it
    if target.place in (Place.STARTUP, Place.GUARD):
        return None
    if _inside(target, plan):
        return Holder.UNDO if plan.takes_back else None
    return _anywhere(plan)


def _anywhere(plan: Containment) -> Holder | None:
    """What a change that may be anywhere is held by: inside it is taken back, outside confined."""
    if plan.writable or Guarantee.WRITES_CONFINED not in plan.held:
        return None
    return Holder.CHANGES if plan.takes_back else None


def _confined(target: Target, plan: Containment) -> bool:
    return Guarantee.WRITES_CONFINED in plan.held and not _overlaps(target, plan.writable)


def _names(target: Target) -> tuple[str, ...]:
    """The absolute paths that a target is, with what links make of it; none where it is unknown."""
    names = tuple(name for name in (target.path, target.real) if name)
    if not names and target.text.startswith("/"):
        names = (target.text,)
    return names


def _is_known(name: str) -> bool:
    return name.startswith("/") and UNKNOWN not in name


def _outside(target: Target, plan: Containment) -> bool:
    """Whether every name of it certainly lies outside of the workspace, and not around it."""
    names = _names(target)
    workspace = plan.workspace
    return bool(names) and all(
        _is_known(n) and not is_within(n, workspace) and not is_within(workspace, n) for n in names
    )


def _inside(target: Target, plan: Containment) -> bool:
    names = _names(target)
    if not names:
        # A name in the workspace whose whole path is not known: `build` after a `cd` to somewhere.
        return False
    return all(_is_known(name) and is_within(name, plan.workspace) for name in names)


def _overlaps(target: Target, given: tuple[str, ...]) -> bool:
    names = _names(target)
    return any(
        not _is_known(name) or is_within(name, each) or is_within(each, name)
        for each in given
        for name in names or ("",)
    )


def _code(fact: Fact, target: Target | None, plan: Containment) -> Holder | None:
    """Code of any kind, and what is not known: held where everything is."""
    if not fact.tags.isdisjoint(_STAYS) or "destroys" in fact.tags:
        return None
    return Holder.SANDBOX if contains_code(plan) else None


def _network(fact: Fact, target: Target | None, plan: Containment) -> Holder | None:
    """Connections: held where none leaves, and at a gate that knows the host and refuses it."""
    settings = "settings" in fact.tags or not fact.tags.isdisjoint(_STAYS)
    if settings or not fact.tags.isdisjoint(_SAID):
        return None
    if plan.nothing_leaves:
        # A port that is published is reached by others all the same.
        return None if plan.reach.publish and "listen" in fact.tags else Holder.NETWORK
    gated = plan.network is NetworkMode.GATED and Guarantee.NETWORK_ALLOW_LISTED in plan.held
    if not gated or "listen" in fact.tags or target is None or target.place is not Place.HOST:
        return None
    hosts = hosts_of(replace(fact, targets=(target,)))
    unknown = not hosts or any(not host or UNKNOWN in host for host in hosts)
    return None if unknown or any(_granted(host, plan) for host in hosts) else Holder.GATE


def _granted(host: str, plan: Containment) -> bool:
    """Whether a host may be reached, however it is spelled: a rule that might fit counts."""
    reach = plan.reach
    if reach.every_host:
        return True
    name = host.lower().strip("[]").rstrip(".")
    if not name.isascii() or not any(char.isalpha() for char in name):
        return True  # an address: a name that is granted may lie there
    for rule in reach.hosts:
        wanted = rule.host.lower().rstrip(".")
        below = wanted.startswith("*.") and name.endswith(wanted[1:])
        if below or name == wanted or rule.inside:
            return True
    return False


def _secrets(fact: Fact, target: Target | None, plan: Containment) -> Holder | None:
    """Secrets: held where this very plan shows nothing of them."""
    if not fact.tags.isdisjoint(_SAID) or Guarantee.READS_CONFINED not in plan.held:
        return None
    if target is None:
        # Keys of an agent: its socket is not there.
        alone = "removed" in fact.tags and contains_code(plan)
        return Holder.READS if alone else None
    if not _outside(target, plan) or _overlaps(target, (*plan.readable, *plan.writable)):
        return None
    hidden = all(
        any(name != tree and is_within(name, tree) for tree in _OWN_TREES)
        for name in _names(target)
    )
    return Holder.READS if hidden else None


def _privilege(fact: Fact, target: Target | None, plan: Containment) -> Holder | None:
    if not fact.tags.isdisjoint(_STAYS_BY_RIGHT):
        return None
    if "container" in fact.tags:
        return _code(fact, target, plan)  # the engine's socket is not there
    rights = plan.held >= {Guarantee.NO_NEW_PRIVILEGES, Guarantee.WRITES_CONFINED}
    return Holder.PRIVILEGES if rights else None


def _processes(fact: Fact, target: Target | None, plan: Containment) -> Holder | None:
    return Holder.PROCESSES if Guarantee.PROCESSES_HIDDEN in plan.held else None


def _machine(fact: Fact, target: Target | None, plan: Containment) -> Holder | None:
    """What acts on the machine itself: processes of others, its size, its settings."""
    if "attached" in fact.tags:
        return _processes(fact, target, plan)
    if "spawning" in fact.tags:
        return Holder.LIMITS if Guarantee.PROCESSES_CAPPED in plan.held else None
    if "fills" in fact.tags:
        capped = {Guarantee.DISK_CAPPED, Guarantee.DISK_WATCHED} & plan.held
        return Holder.LIMITS if capped and plan.writes is not Writes.DIRECT else None
    return _code(fact, target, plan)


def _history(fact: Fact, target: Target | None, plan: Containment) -> Holder | None:
    """History of the repository here is undone with its files; another's is not."""
    return None if "remote" in fact.tags else _anywhere(plan)


_WEIGHED: dict[Effect, Callable[[Fact, Target | None, Containment], Holder | None]] = {
    Effect.WRITES: _changes,
    Effect.DELETES: _changes,
    Effect.READS: _secrets,
    Effect.SECRETS: _secrets,
    Effect.EXECUTES: _code,
    Effect.UNKNOWN: _code,
    Effect.NETWORK: _network,
    Effect.INSTALLS: _network,
    Effect.DOWNLOADS_AND_EXECUTES: _network,
    Effect.PRIVILEGE: _privilege,
    Effect.KILLS: _processes,
    Effect.SYSTEM: _machine,
    Effect.REWRITES_HISTORY: _history,
}
