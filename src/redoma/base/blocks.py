"""`suppress` and `contextmanager` of `contextlib`, without what else that loads.

A cold start pays for `contextlib`, `functools` and `collections` as much as for forty modules of
ours. Type checkers read these as the originals.
"""

from __future__ import annotations

__all__ = ["contextmanager", "suppress"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import contextmanager, suppress
else:

    class suppress:
        """Goes on behind the block where one of these errors was raised in it."""

        __slots__ = ("_errors",)

        def __init__(self, *errors):
            self._errors = errors

        def __enter__(self):
            return None

        def __exit__(self, kind, _error, _trace):
            return kind is not None and issubclass(kind, self._errors)

    class _Block:
        """The block around a generator's one `yield`."""

        __slots__ = ("_steps",)

        def __init__(self, steps):
            self._steps = steps

        def __enter__(self):
            try:
                return next(self._steps)
            except StopIteration:
                raise RuntimeError("generator didn't yield") from None

        def __exit__(self, kind, error, trace):
            if kind is None:
                try:
                    next(self._steps)
                except StopIteration:
                    return False
                self._steps.close()
                raise RuntimeError("generator didn't stop")
            try:
                self._steps.throw(error)
            except StopIteration as stopped:
                # One that went through the generator as it was is not the generator's own end.
                return stopped is not error
            except BaseException as raised:
                # Python makes a RuntimeError of a StopIteration that leaves a generator.
                same = raised is error or (
                    isinstance(raised, RuntimeError)
                    and isinstance(error, StopIteration)
                    and raised.__cause__ is error
                )
                if not same:
                    raise
                error.__traceback__ = trace
                return False
            self._steps.close()
            raise RuntimeError("generator didn't stop after throw()")

    def contextmanager(function):
        """Makes a block of a generator: before its `yield`, and behind it."""

        def block(*given, **named):
            return _Block(function(*given, **named))

        block.__name__ = function.__name__
        block.__qualname__ = function.__qualname__
        block.__module__ = function.__module__
        block.__doc__ = function.__doc__
        block.__wrapped__ = function
        return block
