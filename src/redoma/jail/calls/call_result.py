"""Turns what came back from a call into its value, or into a failure that says what happened."""

from __future__ import annotations

import os

from redoma.base.text import harmless
from redoma.jail.calls import wire
from redoma.jail.calls.answer_reader import AnswerReader, Malformed
from redoma.model.call import LARGEST, Failing, Failure
from redoma.model.grant import SHARED
from redoma.model.message import Message
from redoma.model.network import GRANTABLE
from redoma.model.remedies import Help, Remedy
from redoma.model.result import LIMIT_OUTCOMES, Outcome
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from redoma.model.result import Result

_KINDS = frozenset(("read", "write", "network", "subprocess"))
_LONGEST = 64 << 10
_GRANTS = {
    "read": Remedy(help=Help.READ),
    "write": Remedy(help=Help.WRITE),
    "network": Remedy(help=Help.HOST),
}
_LOADING = "the call"
_MOST_ABOUT = 5
_MISSING = ("FileNotFoundError", "PermissionError")
_VERBS = {
    "read": "may not read",
    "write": "may not write",
    "network": "may not reach",
    "subprocess": "may not start",
}


def answered(result: Result, declared: tuple[type, ...], given: tuple[str, ...] = ()) -> Result:
    """The result of a run with what its call returned, or with how it failed.

    `given` are the paths that it could use.

    Attack: a name or a message made inside has escapes in it, and a program that lets the error
    through prints it to a terminal. What is shown is harmless; the facts are as they are.
    """
    read = _read(result, declared, given)
    if read.failure is None:
        return read
    return replace(read, failure=replace(read.failure, message=harmless(read.failure.message)))


def _read(result: Result, declared: tuple[type, ...], given: tuple[str, ...]) -> Result:
    if result.exit is None:
        return result
    if result.outcome is Outcome.TIMED_OUT:
        return replace(
            result,
            failure=Failure(
                how=Failing.TIMED_OUT,
                message="the call ran longer than it may, and was ended",
                hint=Remedy(help=Help.CALL_TIME),
            ),
        )
    data = result.exit.answer
    # Where there were too many processes, the call may still have said that it was for that.
    counted = result.outcome is Outcome.TOO_MANY_PROCESSES and bool(data)
    if result.outcome is Outcome.CANCELLED or (result.outcome in LIMIT_OUTCOMES and not counted):
        return result
    if not data:
        return replace(result, failure=_no_answer(result))
    if len(data) > LARGEST:
        message = Message(
            "the answer is larger than the {size} MiB that can come back", size=LARGEST >> 20
        )
        return replace(result, failure=_unfit("result", message))
    try:
        ended, value = AnswerReader(data, declared).whole()
    except Malformed as error:
        return replace(result, failure=_unfit("result", f"what came back is no answer: {error}"))
    except Exception as error:  # a declared class that does not take what came back
        message = Message(
            "a declared type did not take what came back: {kind}", kind=type(error).__name__
        )
        return replace(result, failure=_unfit("result", message))
    if counted and ended != wire.REFUSED:
        return result
    if ended == wire.RETURNED and result.outcome is Outcome.EXITED and result.exit.code == 0:
        return replace(result, value=value)
    if ended == wire.RETURNED:
        return replace(result, failure=_no_answer(result))
    return replace(result, failure=_failure(ended, value, result, given))


def made_hidden(path: str) -> Failure:
    """That a call made what is hidden from it; it was taken away again."""
    constraint = "this path is hidden from the call"
    return Failure(
        how=Failing.VIOLATION,
        message=harmless(
            Message("may not write {path}: {why}", path=path, why=Message(constraint))
        ),
        kind="write",
        what=path,
        constraint=constraint,
    )


def _failure(ended: bytes, told: Any, result: Result, given: tuple[str, ...]) -> Failure:
    # Attack: these were written by whatever ran inside; each is taken for what it may be.
    said = told if type(told) is dict else {}
    trace, message = _text(said, "traceback"), _text(said, "message")
    if ended == wire.UNFIT:
        where = _text(said, "where")
        if not where:
            return Failure(how=Failing.TOO_MANY_ITEMS, message=message)
        if where == _LOADING:
            return Failure(how=Failing.NOT_LOADABLE, message=message, traceback=trace)
        return _unfit(where, f"{where} {message}", _remedy(said))
    missed = _missed(said, given)
    if ended == wire.RAISED and missed is not None:
        return missed
    refused = _refused_host(result)
    if ended == wire.REFUSED or refused:
        kind = "network" if refused and ended != wire.REFUSED else _text(said, "kind")
        what = refused if refused and ended != wire.REFUSED else _text(said, "what")
        kind = kind if kind in _KINDS else "read"
        constraint = _text(said, "constraint") or "this host is not among those that are given"
        return Failure(
            how=Failing.VIOLATION,
            message=f"{_VERBS[kind]} {what}: {constraint}",
            kind=kind,
            what=what,
            constraint=constraint,
            traceback=trace,
            hint="" if "hidden" in constraint else _GRANTS.get(kind, ""),
        )
    args = said.get("args")
    name = _text(said, "type") or "Exception"
    return Failure(
        how=Failing.RAISED,
        message=f"{name}: {message}" if message else name,
        type_name=name,
        args=args if type(args) is tuple else None,
        filename=_text(said, "filename"),
        traceback=trace,
        cause=_text(said, "cause"),
    )


def _missed(said: dict[Any, Any], given: tuple[str, ...]) -> Failure | None:
    """The violation of a call that looked for what is there, and not in its own /tmp.

    Inside nobody can know that it is: the directory there is another one of the same name.
    """
    path, kind = _text(said, "filename"), _text(said, "tried")
    if not path:
        about = said.get("about")
        named = about[:_MOST_ABOUT] if type(about) is list else []
        paths = [each for each in named if type(each) is str and len(each) <= _LONGEST]
        path, kind = next((each for each in paths if _elsewhere(each, given)), ""), "read"
    elif _text(said, "type") not in _MISSING or kind not in ("read", "write"):
        return None
    there = os.path.dirname(path) if kind == "write" else path
    if not path or not _elsewhere(path, given) or not os.path.lexists(there):
        return None
    constraint = "the call has a directory of its own in this place"
    return Failure(
        how=Failing.VIOLATION,
        message=f"{_VERBS[kind]} {path}: {constraint}",
        kind=kind,
        what=path,
        constraint=constraint,
        traceback=_text(said, "traceback"),
        hint=_GRANTS[kind],
    )


def _elsewhere(path: str, given: tuple[str, ...]) -> bool:
    """Whether a path lies where a call has a directory of its own, and was not given."""
    shared = path.startswith(tuple(f"{place}/" for place in SHARED)) and "\0" not in path
    return shared and not f"{path}/".startswith(tuple(f"{place}/" for place in given))


def _refused_host(result: Result) -> str:
    """A host that the gate refused for not being granted; the gate stands outside."""
    refused = [c for c in result.network_calls or () if not c.allowed and c.why in GRANTABLE]
    return (refused[-1].name or refused[-1].address) if refused else ""


def _unfit(where: str, message: str, hint: Remedy | str = "") -> Failure:
    return Failure(how=Failing.NOT_RETURNABLE, message=message, where=where, hint=hint)


def _remedy(said: dict[Any, Any]) -> Remedy | str:
    """What would let a result come back; the name in it was written inside."""
    name = _text(said, "remedy")
    if name == Help.COLLECT.value:
        return Remedy(help=Help.COLLECT)
    about = _text(said, "about")
    if name != Help.DECLARE.value or not about.isidentifier():
        return ""
    return Remedy(help=Help.DECLARE, about=about)


def _no_answer(result: Result) -> Failure:
    ended = result.exit
    assert ended is not None
    how = (
        Message("status {code}", code=ended.code)
        if ended.signal is None
        else Message("signal {signal}", signal=ended.signal)
    )
    return Failure(
        how=Failing.NO_ANSWER,
        message=Message("the call's process ended without an answer ({how})", how=Message(how)),
        type_name="SystemExit" if ended.signal is None else "",
        traceback=ended.stderr[-_LONGEST:].decode("utf-8", "backslashreplace"),
    )


def _text(said: dict[Any, Any], key: str) -> str:
    found = said.get(key, "")
    return found[:_LONGEST] if type(found) is str else ""
