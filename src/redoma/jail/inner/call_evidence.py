"""Finds the paths behind an error that names none, as libraries written in C raise them.

SQLite, OpenSSL, readline and their like open files by themselves: no audit event tells which, and
their errors have at best an errno. What they were called with does: the message of the error, and
the values in the frame that called them. It is a report and not a boundary.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MOST_VALUES = 200
_MOST_PATHS = 20
_LONGEST = 4096
_RAISES = ("RAISE_VARARGS", "RERAISE")
_QUOTES = "'\"`‘’“”"
_ENDS = _QUOTES + "<>|,;)]}\n"


def paths_behind(error: BaseException) -> list[str]:
    """Absolute paths that the error may be about, the likeliest first; none for one of Python's."""
    if getattr(error, "filename", None) is not None or not _of_a_library(error):
        return []
    found = dict.fromkeys(paths_in(str(error)))
    for value in _strings(_values(error)):
        path = as_path(value)
        if path:
            found[path] = None
        if len(found) >= _MOST_PATHS:
            break
    return list(found)


def paths_in(text: str) -> list[str]:
    """The absolute paths that a message mentions."""
    return list(_in_text(text[:_LONGEST]))[:_MOST_PATHS]


def as_path(value: str) -> str:
    """The absolute path that a text is, also as a `file:` address; empty where it is none."""
    if value.startswith("file:"):
        value = value[5:].partition("?")[0].partition("#")[0]
        value = value[2:] if value.startswith("///") else value
    value = os.path.expanduser(value) if value.startswith("~/") else value
    if not value.startswith(("/", "../")) or "\0" in value or "\n" in value:
        return ""
    return os.path.abspath(value) if len(value) <= _LONGEST else ""


def _of_a_library(error: BaseException) -> bool:
    """Whether this was raised by a call into C, as an error of the system or of a library."""
    if not isinstance(error, OSError) and type(error).__module__ == "builtins":
        return False
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None:
        return True  # nobody raised it in Python
    from opcode import opname

    code = last.tb_frame.f_code.co_code
    return opname[code[last.tb_lasti]] not in _RAISES


def _values(error: BaseException) -> Iterable[object]:
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None:
        return ()
    frame = last.tb_frame
    return (*frame.f_locals.values(), *frame.f_code.co_consts)


def _strings(values: Iterable[object], *, deeper: bool = True) -> Iterator[str]:
    for value, _ in zip(values, range(_MOST_VALUES), strict=False):
        kind = type(value)
        if kind is str:
            yield value  # type: ignore[misc]
        elif kind is bytes:
            yield os.fsdecode(value)  # type: ignore[arg-type]
        elif kind.__module__.startswith("pathlib") and isinstance(value, os.PathLike):
            yield os.fspath(value)
        elif deeper and kind in (tuple, list):
            yield from _strings(value, deeper=False)  # type: ignore[arg-type]
        elif deeper and kind is dict:
            yield from _strings(value.values(), deeper=False)  # type: ignore[attr-defined]


def _in_text(text: str) -> Iterator[str]:
    """In quotes as they are, else up to a blank."""
    at = text.find("/")
    while at >= 0:
        quote = text[at - 1] if at and text[at - 1] in _QUOTES else ""
        end = next(
            (
                place
                for place in range(at, len(text))
                if text[place] in _ENDS or (not quote and text[place] in " \t")
            ),
            len(text),
        )
        path = text[at:end].rstrip(".:")
        if not at or not (text[at - 1].isalnum() or text[at - 1] in ":/."):
            found = as_path(path)
            if found and found != "/":
                yield found
        at = text.find("/", end)
