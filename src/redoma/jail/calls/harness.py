"""Runs one Python call inside a sandbox: reads it, makes it, answers with data, and is gone.

The call comes on descriptor 0 and is read to its end before anything of it runs; the answer goes
to descriptor 3, also where the call failed, whatever its exception does when it is asked about
itself. The harness only answers well: the sandbox around it is the boundary.
"""

from __future__ import annotations

import os
import sys
from pickle import dumps, loads  # now: a process that is kept ready has it then

from redoma.jail.calls import wire
from redoma.jail.calls.answer_writer import AnswerWriter, NoForm, type_name
from redoma.jail.calls.refusal_watch import RefusalWatch
from redoma.jail.calls.wire import CallOrders
from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, NoReturn

_ANSWER = 3
_CHUNK = 1 << 20
_MOST_DESCRIPTORS = 1 << 20
_NOTHING = dumps((len, ("",), {}, ()))
running: list[bool] = []
"""Whether this process is one that runs a call: a call inside a call is refused."""
_LONGEST_MESSAGE = 16 << 10
_LONGEST_TRACEBACK = 64 << 10
_LONGEST_ARGUMENTS = 256 << 10
_OWN = ("/tmp/", "/var/tmp/")
_MOST_ABOUT = 5


def rehearse() -> None:
    """Does once what every call does, for nothing: what is touched now is not copied later."""
    orders = CallOrders.read(
        CallOrders(payload=b"", path=("",), seen=("/",), writable=("/",)).written()
    )
    RefusalWatch(orders)
    AnswerWriter((), largest=orders.largest, deepest=orders.deepest).put(
        {"": [1, 1.5, b"", None, True]}
    )
    loads(_NOTHING)  # noqa: S301


def main(_: Sequence[str]) -> NoReturn:
    """Makes the call that comes on descriptor 0; never returns."""
    perform(taken())


def taken() -> CallOrders:
    """The orders, read to their end; nothing that a caller wrote has run yet."""
    os.set_inheritable(_ANSWER, False)  # noqa: FBT003
    orders = CallOrders.read(_everything(0))
    running.append(True)
    sys.path[:] = orders.path
    sys.argv[:] = [""]
    sys.dont_write_bytecode = True
    return orders


def perform(orders: CallOrders, over: Callable[[], None] | None = None) -> NoReturn:
    """Makes the call and answers; never returns.

    `over` is called when the answer is on its way, and nothing else will happen.
    """
    os.closerange(_ANSWER + 1, _MOST_DESCRIPTORS)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    own = os.getpid()
    code = 1
    watch = RefusalWatch(orders)
    try:
        if not orders.subprocesses:
            stay_alone()
        answer, code = _answered(orders, watch), 0
    except BaseException as error:
        answer = described(error, watch)
    _flush()
    _write(answer)
    if over is not None and code == 0 and os.getpid() == own:  # and not a fork of the function's
        over()
    os._exit(code)


def _answered(orders: CallOrders, watch: RefusalWatch) -> bytearray:
    try:
        # From the caller, who may run anything here anyway; never the other way round.
        target, args, kwargs, declared = loads(orders.payload)  # noqa: S301
    except Exception as error:
        raise NotLoaded(
            Message("the call cannot be loaded inside: {error}", error=error)
        ) from error
    watch.begin()
    value = _value(target(*args, **kwargs), orders.collects)
    to = AnswerWriter(declared, largest=orders.largest, deepest=orders.deepest)
    to.data += wire.MAGIC + wire.RETURNED
    try:
        to.put(value)
    except RecursionError:
        raise NoForm("holds itself, or is nested too deeply") from None
    return to.data


def _value(value: Any, collects: int) -> Any:
    """What a call comes to: a coroutine is awaited, and a generator's items are taken."""
    kind = type(value)
    if kind.__name__ == "coroutine" or hasattr(kind, "__await__"):
        import asyncio

        async def awaited() -> Any:
            return await value

        return _value(asyncio.run(awaited()), collects)
    if not collects:
        return value
    if hasattr(kind, "__anext__"):
        import asyncio

        return asyncio.run(_collected(value, collects))
    if hasattr(kind, "__next__"):
        items: list[Any] = []
        for item in value:
            if len(items) >= collects:
                raise TooManyItems(
                    Message("the generator has more than {collects} items", collects=collects)
                )
            items.append(item)
        return items
    return value


async def _collected(value: Any, collects: int) -> list[Any]:
    items: list[Any] = []
    async for item in value:
        if len(items) >= collects:
            raise TooManyItems(
                Message("the generator has more than {collects} items", collects=collects)
            )
        items.append(item)
    return items


def _everything(fd: int) -> bytes:
    parts = []
    while part := os.read(fd, _CHUNK):
        parts.append(part)
    return b"".join(parts)


def _flush() -> None:
    """What was printed is on its way before the answer is; whatever stands for the streams now."""
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        try:
            if stream is not None:
                stream.flush()
        except BaseException:  # noqa: S110 — the function may have put anything there
            pass


def _write(answer: bytearray) -> None:
    left = memoryview(answer)
    try:
        while left:
            left = left[os.write(_ANSWER, left) :]
    except OSError:
        os._exit(1)  # the function closed it: there is no answer


def stay_alone() -> None:
    """No new process and no other program from here on, by any route; threads it may still make."""
    from redoma.jail.kernel import privileges, seccomp

    privileges.no_new_privileges()
    privileges.load_filter(seccomp.alone())


class TooManyItems(Exception):
    """A generator has more items than are collected."""


class NotLoaded(Exception):
    """The call cannot be made into objects here: a module of it is missing, as it may be."""


def described(error: BaseException, watch: RefusalWatch) -> bytearray:
    """The answer of a call that ended with this exception."""
    try:
        return _described(error, watch)
    except BaseException:  # an exception that breaks whoever looks at it
        return _answer(wire.RAISED, {"type": "Exception", "message": "it cannot be described"})


def _described(error: BaseException, watch: RefusalWatch) -> bytearray:
    kind = type(error)
    if isinstance(error, NoForm):
        told_unfit: dict[str, object] = {"where": f"result{error.where}", "message": error.why}
        told_unfit |= {"remedy": error.remedy, "about": error.about[:100]}
        return _answer(wire.UNFIT, told_unfit)
    if isinstance(error, TooManyItems):
        return _answer(wire.UNFIT, {"where": "", "message": str(error)})
    if isinstance(error, NotLoaded):
        told = {"where": "the call", "message": str(error), "traceback": _traceback(error)}
        return _answer(wire.UNFIT, dict(told))
    refusal = watch.refusal(error)
    trace = _safely(lambda: _traceback(error), "")
    if refusal is not None:
        return _answer(
            wire.REFUSED,
            {
                "kind": refusal.kind,
                "what": refusal.what[:_LONGEST_MESSAGE],
                "constraint": refusal.constraint,
                "traceback": trace,
            },
        )
    raised: dict[str, object] = {
        "type": _safely(lambda: type_name(kind), "Exception"),
        "message": _safely(lambda: _text(error), ""),
        "traceback": trace,
        "cause": _safely(lambda: _cause(error), ""),
        "args": _safely(lambda: _arguments(error), None),
    }
    filename = getattr(error, "filename", None) if isinstance(error, OSError) else None
    if isinstance(filename, str):
        raised["filename"] = filename[:_LONGEST_MESSAGE]
        raised["tried"] = watch.tried(filename)
    else:
        raised["about"] = _safely(lambda: _about(error, watch), [])
    return _answer(wire.RAISED, raised)


def _answer(ended: bytes, told: dict[str, object]) -> bytearray:
    to = AnswerWriter()
    to.data += wire.MAGIC + ended
    to.put(told)
    return to.data


def _safely(ask: Callable[[], Any], otherwise: Any) -> Any:
    try:
        return ask()
    except BaseException:
        return otherwise


def _text(error: BaseException) -> str:
    return str(error)[:_LONGEST_MESSAGE]


def _traceback(error: BaseException) -> str:
    from traceback import format_exception

    text = "".join(format_exception(error))
    return text if len(text) <= _LONGEST_TRACEBACK else "…" + text[-_LONGEST_TRACEBACK:]


def _cause(error: BaseException) -> str:
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return f"{type_name(type(cause))}: {_text(cause)}" if cause is not None else ""


def _about(error: BaseException, watch: RefusalWatch) -> list[str]:
    """Paths in the call's own temporary directories: whether they are there, others know."""
    return [path for path in watch.about(error) if path.startswith(_OWN)][:_MOST_ABOUT]


def _arguments(error: BaseException) -> tuple[object, ...] | None:
    """The exception's arguments, where all of them are data."""
    given = BaseException.args.__get__(error)  # type: ignore[attr-defined]
    AnswerWriter(largest=_LONGEST_ARGUMENTS).put(given)
    return tuple(given)
