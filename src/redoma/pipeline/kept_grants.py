"""What runs of a place are given for good: by the user's own file, by trust, and by `redoma allow`.

A project's file grants nothing. What it asks for counts once a person has said yes to exactly this
content of it (`redoma trust`).
"""

from __future__ import annotations

import os

from redoma.base.log import logger
from redoma.base.paths import is_below
from redoma.model.errors import PolicyError, RedomaError
from redoma.model.grant import NetworkMode, Syscalls
from redoma.model.policy import BUILT_IN, NO_GRANTS, KeptGrants
from redoma.model.value import fields_of, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.jail.profiles.profile import Profile
    from redoma.model.policy import Policy, RequestedGrants
    from redoma.pipeline.settings import Access, Network
    from redoma.pipeline.trusted_requests import TrustedRequests

log = logger(__name__)


def kept_grants(policy: Policy, project: str) -> KeptGrants:
    """Everything that is granted to runs in a project, the user's own file first."""
    found = policy.grants
    store = _store()
    if store is None:
        return found
    try:
        for request in policy.requests:
            if store.is_trusted(request):
                found = found.beside(rooted(request))
        return found.beside(store.allowed(project_of(project)))
    except RedomaError as error:
        # What cannot be read grants nothing; whatever runs, runs with less.
        log.warning("no kept grants: %s", error)
        return policy.grants


def untrusted(policy: Policy) -> tuple[RequestedGrants, ...]:
    """What files of the project ask for and nobody has said yes to."""
    store = _store()
    return tuple(each for each in policy.requests if store is None or not store.is_trusted(each))


def project_of(place: str) -> str:
    """The top of the project that a place lies in."""
    from redoma.pipeline.decisions.policies import project_folders

    return project_folders(place)[0]


def _store() -> TrustedRequests | None:
    from redoma.pipeline.trusted_requests import quietly

    return quietly()


def rooted(request: RequestedGrants) -> KeptGrants:
    """What a project's file asks for, with its paths where the file means them."""
    folder = os.path.dirname(os.path.realpath(request.path)).removesuffix("/.redoma")

    def placed(path: str) -> str:
        path = path.replace("${PROJECT_ROOT}", folder)
        return path if path.startswith(("/", "~")) else os.path.normpath(f"{folder}/{path}")

    asked = request.grants
    return replace(
        asked, read=tuple(map(placed, asked.read)), write=tuple(map(placed, asked.write))
    )


def policy_here(project: str) -> Policy:
    """The policy of the files, or none where it cannot be used: the run itself says why."""
    from redoma.pipeline.decisions.policies import load_policy

    try:
        return load_policy(project)
    except PolicyError:
        return BUILT_IN


def with_kept(
    access: Access, network: Network, kept: KeptGrants, *, level: Profile, policy: Policy, root: str
) -> tuple[Access, Network]:
    """What was asked for by name, and what is kept beside it, as far as the level has room for it.

    What is not there now (a path, a variable) is left out: a grant is no requirement.
    """
    if kept == NO_GRANTS:
        return access, network
    if access.hide is None:
        write = [each for each in map(os.path.expanduser, kept.write) if os.path.exists(each)]
        read = [each for each in map(os.path.expanduser, kept.read) if os.path.exists(each)]
        write = [each for each in write if not is_below(os.path.realpath(each), root)]
        access = replace(access, write=(*access.write, *write), read=(*access.read, *read))
    env = {**dict(_variables(kept.env)), **dict(access.env or {})}
    access = replace(access, env=env)
    closed = not level.network_grants or level.syscalls is Syscalls.STRICTEST
    if closed or level.network is NetworkMode.OPEN or network.any_host or network.mock:
        return access, network
    hosts = _permitted(kept.hosts, policy)
    named = {_host_of(each) for each in (*hosts, *network.hosts)}
    credentials = [
        each for each in kept.credentials if each.partition("=")[0].partition(":")[0] in named
    ]
    return access, replace(
        network,
        hosts=tuple(dict.fromkeys((*network.hosts, *hosts))),
        credentials=tuple(dict.fromkeys((*network.credentials, *credentials))),
        inspect=network.inspect or any(" " in each for each in hosts),
    )


def _variables(kept: tuple[str, ...]) -> list[tuple[str, str]]:
    found = []
    for each in kept:
        name, equals, value = each.partition("=")
        if equals or name in os.environ:
            found.append((name, value if equals else os.environ[name]))
    return found


def _host_of(rule: str) -> str:
    return rule.rpartition(" ")[2].partition("/")[0].partition("=")[0].partition(":")[0]


def _permitted(hosts: tuple[str, ...], policy: Policy) -> tuple[str, ...]:
    """The hosts that no list of the policy leaves out: a list is stricter than what is kept."""
    allowed = policy.network.allowed_hosts
    if allowed is None or not hosts:
        return hosts
    from redoma.judge.policy.patterns import host_fits

    return tuple(each for each in hosts if any(host_fits(_host_of(each), one) for one in allowed))


def kept_limits(
    kept: KeptGrants, given: dict[str, int | float | None]
) -> dict[str, int | float | None]:
    """Limits by name: those that were asked for now, and of the others what is kept."""
    from redoma.jail.profiles.profile import read_limit

    found = {name: read_limit(name, text) for name, text in kept.limits if name not in given}
    return {**found, **given}


def as_rows(grants: KeptGrants) -> list[tuple[str, str]]:
    """Each grant with its kind, for a person to read."""
    rows: list[tuple[str, str]] = []
    for kind, values in fields_of(grants).items():
        rows += [
            (kind, each if isinstance(each, str) else f"{each[0]}: {each[1]}") for each in values
        ]
    return rows


def spend_once(project: str) -> None:
    """Takes away what was granted to one run, which begins now."""
    from contextlib import suppress

    with suppress(RedomaError):
        store = _store()
        if store is not None:
            store.spent(project_of(project))
