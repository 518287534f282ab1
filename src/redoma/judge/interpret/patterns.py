"""Shell patterns as regular expressions, for `${x#…}`, `${x//…}` and `case`."""

from __future__ import annotations

from redoma.model.pattern import lazy
from redoma.model.remembered import remembered

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re


@remembered(256)
def translate(pattern: str, *, greedy: bool = True) -> re.Pattern[str] | None:
    """The regular expression of a glob, or None for one that is too long or broken."""
    if len(pattern) > 512:
        return None
    import re

    star = "[\\s\\S]*" if greedy else "[\\s\\S]*?"
    out: list[str] = []
    index = 0
    while index < len(pattern):
        char = pattern[index]
        if char == "*":
            # Attack: a row of stars makes the regular expression exponential.
            if not out or out[-1] != star:
                out.append(star)
        elif char == "?":
            out.append("[\\s\\S]")
        elif char == "[":
            end = pattern.find("]", index + 2)
            if end == -1:
                out.append("\\[")
            else:
                inside = pattern[index + 1 : end].replace("\\", "\\\\")
                if inside[:1] in "!^":
                    inside = "^" + inside[1:]
                inside = _CLASSES.sub(lambda m: _CLASS_TEXT.get(m[1], ""), inside)
                out.append(f"[{_SET_MARKS.sub(_escaped, inside)}]")
                index = end
        elif char == "\\" and index + 1 < len(pattern):
            index += 1
            out.append(re.escape(pattern[index]))
        else:
            out.append(re.escape(char))
        index += 1
    if out.count(star) > 4:
        return None
    try:
        return re.compile("".join(out))
    except re.error:
        return None


def _escaped(match: re.Match[str]) -> str:
    return "\\" + match[0]


_SET_MARKS = lazy(r"\[|&(?=&)|~(?=~)|\|(?=\|)|-(?=-)")
_CLASSES = lazy(r"\[:(\w+):\]?")
_CLASS_TEXT = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "space": r"\s",
    "lower": "a-z",
    "upper": "A-Z",
    "punct": "!-/:-@",
}


def has_glob(text: str) -> bool:
    """Whether a path would be completed by the file system."""
    return "*" in text or "?" in text or "[" in text
