"""Asks in which of some directories a path lies, at the same cost however deep it lies there."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def in_order(path: str) -> str:
    """What to sort paths by, so that a directory is followed by what is in it."""
    return "" if path == "." else path.replace("/", "\0")


class Roots:
    """Some directories; of those in each other only the outermost, which has the others in it."""

    def __init__(self, paths: Iterable[str], *, ordered: bool = False) -> None:
        """`ordered` says that the paths come in order; they need not all be there at once then."""
        self._keys: list[str] = []
        keys: Iterable[str] = map(in_order, paths)
        for key in keys if ordered else sorted(keys):
            if not self._keys or not f"{key}\0".startswith(f"{self._keys[-1]}\0"):
                self._keys.append(key)

    def __bool__(self) -> bool:
        return bool(self._keys)

    def over(self, path: str) -> str:
        """The directory of these that a path lies in, or that it is; empty where in none."""
        if not self._keys:
            return ""
        key = in_order(path)
        at = bisect_right(self._keys, key) - 1
        if at < 0:
            return ""
        found = self._keys[at]
        if key == found or key.startswith(f"{found}\0"):
            return path[: len(found)]
        return ""

    def below(self, path: str) -> bool:
        """Whether any of these lies below a path, or is it."""
        key = in_order(path)
        at = bisect_left(self._keys, key)
        if at == len(self._keys):
            return False
        return self._keys[at] == key or self._keys[at].startswith(f"{key}\0")

    def around(self, path: str) -> str:
        """The same, but a directory does not lie in itself."""
        found = self.over(path)
        return "" if found == path else found
