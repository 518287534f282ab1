"""Makes a call ready to be sent: bytes, a name to show, and what has to be seen to run it.

Where a part of it cannot be sent, the error names that part.
"""

from __future__ import annotations

import functools
import os
import sys
from _thread import allocate_lock

from redoma.base.paths import is_below, is_within
from redoma.jail.engines.view import home_directory
from redoma.jail.protect import installation
from redoma.jail.protect.untrusted_paths import led_out
from redoma.model.call import NotSendable
from redoma.model.message import Message
from redoma.model.request import PythonCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType
    from typing import Any

    from redoma.model.call import Call

LARGEST_SENT = 256 << 20
_LONGEST_SHOWN = 60
_MOST_SHOWN = 8
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store")
# Attack: a program that was started in such a place has it in its search path; shown as a whole
# it would show what nobody meant to.
_TOO_WIDE = frozenset(
    "/ /boot /dev /etc /home /media /mnt /proc /root /run /srv /sys /tmp /var /var/tmp".split()
)
_lock = allocate_lock()
_known: dict[tuple[object, ...], tuple[tuple[str, ...], tuple[str, ...]]] = {}
_DEEPEST = 8
_MOST = 200


def sent(call: Call, written: tuple[str, ...] = ()) -> PythonCall:
    """The workload of a call; NotSendable, with the part that is to blame, where it is none.

    `written` is what commands may have changed.
    """
    path, places = search_path(written)
    return PythonCall(
        name=name_of(call.target),
        arguments=_arguments(call),
        payload=_payload(call, path),
        places=places,
        path=path,
        collects=call.collects,
    )


def search_path(written: tuple[str, ...] = ()) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Where modules are looked for inside, and the directories to show for that."""
    here = _here()
    key = (tuple(sys.path), here, os.environ.get("HOME"), written)
    known = _known.get(key)
    if known is None:
        home = home_directory()
        wanted = [installation.LIBRARY, *(os.path.join(here, entry) for entry in sys.path)]
        path = tuple(
            p
            for p in dict.fromkeys(wanted[1:])
            if os.path.exists(p) and not _too_wide(p, home) and not led_out(p, written)
        )
        base = os.path.dirname(os.path.dirname(installation.INTERPRETER))
        shown = [base, *(p for p in (sys.base_prefix, wanted[0]) if not led_out(p, written)), *path]
        known = (*path, *([wanted[0]] if wanted[0] not in path else [])), _outermost(shown, home)
        if len(_known) > 64:
            _known.clear()
        _known[key] = known
    return known


def _in_a_child() -> None:
    # Attack on our own patience: a thread that pickled when its process forked never lets go.
    global _lock  # noqa: PLW0603
    _lock = allocate_lock()


os.register_at_fork(after_in_child=_in_a_child)


def name_of(target: Any) -> str:
    """`module.qualname` of whatever is called: a function, a method, a partial, an object."""
    while isinstance(target, functools.partial):
        target = target.func
    if not hasattr(target, "__qualname__"):
        target = type(target)
    module = getattr(target, "__module__", None) or "builtins"
    return f"{module}.{target.__qualname__}"


def _payload(call: Call, path: tuple[str, ...]) -> bytes:
    try:
        import cloudpickle  # type: ignore[import-untyped]
    except ImportError:
        raise NotSendable(
            "functions are sent with cloudpickle, which is not installed here",
            hint="pip install cloudpickle",
        ) from None
    parts = (call.target, call.args, call.kwargs, call.returns)
    strays = _strays(call, path)
    try:
        with _lock:
            for module in strays:
                cloudpickle.register_pickle_by_value(module)
            try:
                data: bytes = cloudpickle.dumps(parts)
            finally:
                for module in strays:
                    cloudpickle.unregister_pickle_by_value(module)
    except Exception as error:  # whatever an object's own reduction raises
        raise explain(call, error, cloudpickle.dumps) from error
    if len(data) > LARGEST_SENT:
        raise NotSendable(
            Message(
                "the call has {size} MiB, and at most {most} are sent",
                size=len(data) >> 20,
                most=LARGEST_SENT >> 20,
            ),
            hint="let the function read a file that it may read",
        )
    return data


def _strays(call: Call, path: tuple[str, ...]) -> list[ModuleType]:
    """Modules of the call's own parts that cannot be imported inside: these go by value."""
    target = call.target
    while isinstance(target, functools.partial):
        target = target.func
    concerned = [target, getattr(target, "__self__", None), *call.args, *call.kwargs.values()]
    names = {getattr(part, "__module__", None) for part in (target, *call.returns)}
    names |= {type(part).__module__ for part in concerned}
    found = []
    for name in names:
        module = sys.modules.get(name) if isinstance(name, str) else None
        if module is not None and name != "__main__" and not _importable(module, path):
            found.append(module)
    return found


def _importable(module: ModuleType, path: tuple[str, ...]) -> bool:
    file = getattr(module, "__file__", None)
    if not isinstance(file, str):
        return True  # built in, or a directory that others share
    below = "/" + module.__name__.replace(".", "/")
    return any(file.startswith((f"{entry}{below}.", f"{entry}{below}/__init__.")) for entry in path)


def _arguments(call: Call) -> str:
    """The arguments as a person sees them, each of them short."""
    shown = [_shown(value) for value in call.args]
    shown += [f"{name}={_shown(value)}" for name, value in call.kwargs.items()]
    more = [f"… {len(shown) - _MOST_SHOWN} more"] if len(shown) > _MOST_SHOWN else []
    return ", ".join([*shown[:_MOST_SHOWN], *more])


def _shown(value: Any) -> str:
    # Only what prints itself as data does: an object's own word for itself may be anything.
    if isinstance(value, str | bytes) and len(value) > _LONGEST_SHOWN:
        value = value[:_LONGEST_SHOWN]
        return f"{value!r}…"
    if value is None or type(value) in (bool, int, float, str, bytes):
        text = repr(value) if not isinstance(value, int) or abs(value) < 1 << 128 else "…"
    elif isinstance(value, os.PathLike):
        text = repr(os.fspath(value))
    else:
        size = f" of {len(value)}" if type(value) in (list, tuple, dict, set, frozenset) else ""
        text = f"<{type(value).__name__}{size}>"
    return text if len(text) <= _LONGEST_SHOWN + 2 else text[:_LONGEST_SHOWN] + "…"


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:
        return "/nonexistent"


def _too_wide(path: str, home: str) -> bool:
    real = os.path.realpath(path)
    return real in _TOO_WIDE or real == home or is_below(home, real)


def _outermost(paths: list[str], home: str) -> tuple[str, ...]:
    """Real directories to show, without what every sandbox shows and what lies in another."""
    real = sorted({os.path.realpath(path) for path in paths})
    kept: list[str] = []
    for path in real:
        covered = any(is_within(path, each) for each in (*_SYSTEM, *kept))
        if not covered and not _too_wide(path, home):
            kept.append(path)
    return tuple(kept)


def explain(call: Call, error: Exception, dumps: Callable[[Any], bytes]) -> NotSendable:
    """The error that says which part it was, as deep as it can be told."""
    parts: list[tuple[str, Any]] = [
        (Message("argument {at}", at=at), v) for at, v in enumerate(call.args, 1)
    ]
    parts += [(Message("argument {at}", at=name), value) for name, value in call.kwargs.items()]
    parts += [("the function", call.target)]
    where, culprit = "", None
    for name, value in parts:
        if not _goes(value, dumps):
            where, culprit = _deepest(name, value, dumps)
            break
    if not where:
        return NotSendable(
            Message("the call cannot be sent: {error}", error=error), where="the call"
        )
    return NotSendable(
        Message(
            "{where} cannot be sent: it is a {kind} ({error})",
            where=Message(where),
            kind=type(culprit).__name__,
            error=error,
        ),
        where=where,
        hint="make it inside the function, or pass what it is made from",
    )


def _goes(value: Any, dumps: Callable[[Any], bytes]) -> bool:
    try:
        dumps(value)
    except Exception:
        return False
    return True


def _deepest(name: str, value: Any, dumps: Callable[[Any], bytes]) -> tuple[str, Any]:
    for _ in range(_DEEPEST):
        below = next(((step, part) for step, part in _parts(value) if not _goes(part, dumps)), None)
        if below is None:
            break
        name, value = name + below[0], below[1]
    return name, value


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """What a value is made of, each with how to get there."""
    if isinstance(value, dict):
        for key, item in list(value.items())[:_MOST]:
            yield f"[{key!r}]", item
    elif isinstance(value, list | tuple):
        for at, item in enumerate(value[:_MOST]):
            yield f"[{at}]", item
    elif isinstance(value, functools.partial):
        yield ".func", value.func
        yield ".args", value.args
        yield ".keywords", value.keywords
    else:
        yield from _inside(value)


def _inside(value: Any) -> Iterator[tuple[str, Any]]:
    code = getattr(value, "__code__", None)
    for name, cell in zip(
        getattr(code, "co_freevars", ()), getattr(value, "__closure__", None) or (), strict=False
    ):
        try:
            yield f"'s variable {name}", cell.cell_contents
        except ValueError:
            continue  # not filled yet
    known = getattr(value, "__globals__", {})
    for name in getattr(code, "co_names", ()):
        if name in known and known[name] is not value:
            yield f"'s global {name}", known[name]
    if getattr(value, "__self__", None) is not None:
        yield ".__self__", value.__self__
    held = getattr(value, "__dict__", None)
    if isinstance(held, dict) and not isinstance(value, type):
        for name, item in list(held.items())[:_MOST]:
            yield f".{name}", item
