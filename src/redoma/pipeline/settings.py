"""What a program gives a sandbox beside its level, as values: access, network, policy.

Each is checked when a sandbox is made from it: an argument of another type is an error that names
it, and so is a keyword that has its place in one of these.
"""

from __future__ import annotations

from functools import wraps

from redoma.jail.profiles.profile import checked_limit
from redoma.model import arguments
from redoma.model.arguments import WrongType, WrongValue, shown
from redoma.model.grant import Limits
from redoma.model.message import Message
from redoma.model.value import Value, fields_of, replace
from redoma.pipeline.requests import Caller

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypeVar

    V = TypeVar("V", bound=Value)
    F = TypeVar("F", bound=Callable[..., None])

NO_LIMIT: Any = float("inf")  # fits every limit, whatever its unit
"""Takes a limit of the level off: `Limits(memory=NO_LIMIT)`."""
_LAST_PORT = 65535


class Access(Value):
    """What commands may read, write and start, and when what they wrote becomes real.

    `write` and `read` are paths beside the workspace. `hide` are paths that are not there for a
    command, whatever else is given; who says what is hidden may give a whole home. `env` are
    environment variables by name. `secrets` are secrets of the vault that a command gets in
    plaintext, confirmed and written down: `NAME` or `NAME=VARIABLE` in a variable, and
    `NAME=/run/secrets/FILE` in a file that is never on a disk. `subprocesses` is how many processes
    a Python call may start.

    `direct` writes straight into the workspace where the level would hold what is written.
    `temporary` lets commands work on the machine's own /tmp, held in the workspace's place.
    `apply` says when what was held becomes real: `always`, `on_end` (the command came to an end of
    its own), `on_success`, `ask` or `never`; without `undo` nothing is kept to take it back.

    >>> import redoma
    >>> redoma.Access(write=("/srv/out",), env={"CI": "1"}).write
    ('/srv/out',)
    """

    __module__ = "redoma"

    write: Sequence[str] = ()
    read: Sequence[str] = ()
    hide: Sequence[str] | None = None
    env: Mapping[str, str] | None = None
    secrets: Sequence[str] = ()
    subprocesses: int | None = None
    direct: bool = False
    temporary: bool = False
    apply: str = ""
    undo: bool = True


class Network(Value):
    """Whom commands may reach, through the egress gate; nobody by default.

    `hosts` are names, with a port where it is not usual; `any_host` lets every public host be
    reached, and nothing of this machine. `publish` are ports that are reached from outside.
    `inspect` reads requests one by one, in TLS as well, and `credentials` has the gate add secrets
    to them: `api.example.com=TOKEN` or `api.example.com=vault:NAME`. `cache` are hosts whose
    answers are kept. `mock` answers every request itself, so that nothing leaves, as a file of
    mocks says where its path is given.

    >>> import redoma
    >>> redoma.Network(hosts=("pypi.org",)).hosts
    ('pypi.org',)
    """

    __module__ = "redoma"

    hosts: Sequence[str] = ()
    any_host: bool = False
    publish: Sequence[int] = ()
    inspect: bool = False
    credentials: Sequence[str] = ()
    cache: Sequence[str] = ()
    mock: bool | str = False


class PolicyChoice(Value):
    """Which policy holds, where it is not just that of the workspace's files.

    `name` is one that ships, in the place of any file; `project` is where `sandbox.yaml` files are
    looked for, where that is not the workspace. `pack` and `rules` (name, condition, action) count
    beside the files, and the stricter decides; where there is no file they stand alone.

    >>> import redoma
    >>> redoma.PolicyChoice(pack="terminal").pack
    'terminal'
    """

    __module__ = "redoma"

    name: str = ""
    project: str = ""
    pack: str = ""
    rules: Sequence[tuple[str, str, str]] = ()


_MOVED = {
    "allow_write": "access=Access(write=…)",
    "allow_read": "access=Access(read=…)",
    "hide": "access=Access(hide=…)",
    "env": "access=Access(env=…)",
    "subprocesses": "access=Access(subprocesses=…)",
    "direct": "access=Access(direct=…)",
    "temporary": "access=Access(temporary=…)",
    "apply": "access=Access(apply=…)",
    "no_undo": "access=Access(undo=False)",
    "allow_hosts": "network=Network(hosts=…)",
    "any_host": "network=Network(any_host=…)",
    "publish": "network=Network(publish=…)",
    "inspect": "network=Network(inspect=…)",
    "cache_hosts": "network=Network(cache=…)",
    "credentials": "network=Network(credentials=…)",
    "mock": "network=Network(mock=…)",
    "project": "policy=PolicyChoice(project=…)",
    "pack": "policy=PolicyChoice(pack=…)",
    "rules": "policy=PolicyChoice(rules=…)",
    "record": "audit=…",
    "session": "caller=Caller(session=…)",
    "phase": "caller=Caller(phase=…)",
}


def checked(make: F) -> F:
    """A constructor that is called with arguments of their own types, or not at all."""

    @wraps(make)
    def call(self: object, workspace: object = "", /, **given: Any) -> None:
        if "workspace" in given:
            workspace = given.pop("workspace")
        for name, value in given.items():
            if name in _MOVED:
                raise WrongType(
                    Message("{name} is given as {instead}", name=name, instead=_MOVED[name])
                )
            if name in CHECKS:
                given[name] = CHECKS[name](name, value)
        make(self, arguments.path("workspace", workspace), **given)

    return call  # type: ignore[return-value] # the same, as far as whoever calls it can tell


def limits_by_name(given: Limits | None) -> dict[str, int | float | None]:
    """The limits that are said, None for one that is taken off."""
    if given is None:
        return {}
    said = {name: value for name, value in fields_of(given).items() if value is not None}
    return {name: None if value == NO_LIMIT else value for name, value in said.items()}


def _of(kind: type[V], checks: dict[str, Callable[[str, object], Any]]) -> Any:
    """A check of a value of this kind, field by field; None for one that is all usual."""

    def check(name: str, given: object) -> V:
        if given is None:
            return kind()
        if not isinstance(given, kind):
            raise WrongType(
                Message(
                    "{name}: {kind}(…) is needed, not {given}",
                    name=name,
                    kind=kind.__name__,
                    given=shown(given),
                )
            )
        fields = fields_of(given)
        return replace(
            given, **{field: checks[field](f"{name}.{field}", fields[field]) for field in checks}
        )

    return check


def _or_none(check: Callable[[str, object], Any]) -> Callable[[str, object], Any]:
    return lambda name, given: None if given is None else check(name, given)


def _hosts(name: str, given: object) -> tuple[str, ...]:
    return arguments.texts(name, given, "hosts")


def _flag_or_text(name: str, given: object) -> bool | str:
    return arguments.text(name, given) if isinstance(given, str) else arguments.flag(name, given)


def _ports(name: str, given: object) -> tuple[int, ...]:
    def port(name: str, item: object) -> int:
        return arguments.whole(name, item, least=1, most=_LAST_PORT)

    return arguments.many(name, given, port, "ports")


def _limits(name: str, given: object) -> Limits | None:
    if given is None:
        return None
    if not isinstance(given, Limits):
        raise WrongType(
            Message("{name}: Limits(…) is needed, not {given}", name=name, given=shown(given))
        )
    for limit, value in limits_by_name(given).items():
        checked_limit(limit, value)
    return given


def variables(name: str, given: object) -> dict[str, str]:
    """Environment variables by name, each checked."""
    found = arguments.named(name, given, arguments.text)
    for variable in found:
        if not variable or "=" in variable:
            raise WrongValue(
                Message(
                    "{name}: {variable} is no name of a variable",
                    name=name,
                    variable=shown(variable),
                )
            )
    return found


def _rules(name: str, given: object) -> tuple[tuple[str, ...], ...]:
    def rule(name: str, item: object) -> tuple[str, ...]:
        parts = arguments.texts(name, item, "three texts: a name, a condition and an action")
        if len(parts) != 3:
            raise WrongValue(
                Message("{name}: a rule is a name, a condition and an action", name=name)
            )
        return parts

    return arguments.many(name, given, rule, "rules")


def _policy(name: str, given: object) -> object:
    if isinstance(given, PolicyChoice):
        return _of(PolicyChoice, _POLICY)(name, given)
    if given is None or hasattr(given, "rules"):
        return given
    if isinstance(given, str):
        return PolicyChoice(name=arguments.text(name, given))
    raise WrongType(
        Message(
            "{name}: a name, a PolicyChoice or a Policy is needed, not {given}",
            name=name,
            given=shown(given),
        )
    )


def _audit(name: str, given: object) -> object:
    if isinstance(given, str):
        return arguments.text(name, given)
    if given is None or hasattr(given, "digest_of"):
        return given
    raise WrongType(
        Message(
            "{name}: a directory or an AuditLog is needed, not {given}",
            name=name,
            given=shown(given),
        )
    )


def _caller(name: str, given: object) -> Caller:
    if isinstance(given, str):
        return Caller(name=arguments.text(name, given))
    found: Caller = _of(Caller, dict.fromkeys(Caller._fields, arguments.text))(name, given)
    return found


def _asked(name: str, given: object) -> object:
    if given is None or callable(given) or hasattr(given, "ask"):
        return given
    raise WrongType(
        Message(
            "{name}: a function or an answerer is needed, not {given}",
            name=name,
            given=shown(given),
        )
    )


_ACCESS: dict[str, Callable[[str, object], Any]] = {
    "write": arguments.paths,
    "read": arguments.paths,
    "hide": _or_none(arguments.paths),
    "env": _or_none(variables),
    "secrets": arguments.texts,
    "subprocesses": _or_none(arguments.whole),
    "direct": arguments.flag,
    "temporary": arguments.flag,
    "apply": arguments.text,
    "undo": arguments.flag,
}
_NETWORK: dict[str, Callable[[str, object], Any]] = {
    "hosts": _hosts,
    "any_host": arguments.flag,
    "publish": _ports,
    "inspect": arguments.flag,
    "credentials": arguments.texts,
    "cache": _hosts,
    "mock": _flag_or_text,
}
_POLICY: dict[str, Callable[[str, object], Any]] = {
    "name": arguments.text,
    "project": arguments.path,
    "pack": arguments.text,
    "rules": _rules,
}
CHECKS: dict[str, Callable[[str, object], Any]] = {
    "level": arguments.path,
    "engine": arguments.text,
    "access": _of(Access, _ACCESS),
    "network": _of(Network, _NETWORK),
    "limits": _limits,
    "at_most": _limits,
    "policy": _policy,
    "ask": _asked,
    "audit": _audit,
    "caller": _caller,
}
