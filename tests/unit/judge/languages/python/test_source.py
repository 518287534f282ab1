"""Python is read from many threads at once, on interpreters too that count in one place for all."""

from __future__ import annotations

import ast
import sys
import threading

import pytest

from redoma.judge.languages.python.source import parsed

TEXT = "def f(a):\n    return [g(x)[i] for x in a for i in (x.b, (1, (2, (3,))))]\n" * 150


class Garbage:
    """Found by the collector while a tree is being made; others run while it goes."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        for _ in range(50):
            pass


def test_threads_that_read_at_once_do_not_break_each_other() -> None:
    failed: list[BaseException] = []

    def read(parse: object) -> None:
        for _ in range(25):
            for _ in range(50):
                Garbage()
            try:
                parse(TEXT)  # type: ignore[operator]
            except SystemError as error:
                if parse is parsed:
                    failed.append(error)

    # The caller's own threads read as they like, and take no turns with ours.
    threads = [threading.Thread(target=read, args=(p,)) for p in (parsed, parsed, ast.parse)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert failed == []


def test_what_is_no_python_is_said_as_ever() -> None:
    with pytest.raises(SyntaxError):
        parsed("def")
