"""Below which names anybody may have one of their own: the Public Suffix List, private part too.

The list lies beside this file as its authors publish it (MPL-2.0). A name is looked for in its text
and nothing is parsed, so that a question costs a read of the file and some tens of microseconds.
"""

from __future__ import annotations

from pathlib import Path

_LIST = Path(__file__).with_name("public_suffix_list.dat")
_lines: list[bytes] = []


def _text() -> bytes:
    """The list, each rule between two ends of lines."""
    if not _lines:
        _lines.append(b"\n" + _LIST.read_bytes().replace(b"\r", b"") + b"\n")
    return _lines[0]


def is_public_suffix(name: str) -> bool:
    """Whether names directly below this one belong to anybody who asks for one."""
    labels = _unicode(name).split(".")
    text, plain = _text(), ".".join(labels)
    if f"\n!{plain}\n".encode() in text:
        return False  # an exception to a star
    if f"\n{plain}\n".encode() in text or len(labels) == 1:
        return True
    return f"\n*.{'.'.join(labels[1:])}\n".encode() in text


def has_public_suffix_below(name: str) -> bool:
    """Whether some name below this one is a public suffix, or every one is."""
    return f".{_unicode(name)}\n".encode() in _rules()


def registrable_domain(name: str) -> str:
    """The part of a name that one owner has: a label, and the longest public suffix behind it."""
    labels = name.split(".")
    for at in range(1, len(labels)):
        behind = ".".join(labels[at:])
        if f"\n!{_unicode(behind)}\n".encode() in _text():
            return behind
        if is_public_suffix(behind):
            return ".".join(labels[at - 1 :])
    return name


def _rules() -> bytes:
    """The list without its comments, which name hosts as well."""
    if len(_lines) < 2:
        kept = [line for line in _text().split(b"\n") if not line.startswith((b"//", b"!"))]
        _lines.append(b"\n".join(kept) + b"\n")
    return _lines[1]


def _unicode(name: str) -> str:
    """A name as the list writes it, where names in other scripts stand in those."""
    if "xn--" not in name:
        return name
    try:
        return name.encode("ascii").decode("idna")
    except UnicodeError:
        return name
