"""The paths that a Codex patch would touch, read as generously as Codex itself reads them."""

from __future__ import annotations

MARKERS = ("*** Add File:", "*** Delete File:", "*** Update File:", "*** Move to:")


def paths_of(patch: str) -> tuple[str, ...]:
    """Every path named in a patch, in order, each once.

    Codex forgives blanks around a header and a here-document around the patch, so any line that
    could be a header counts as one. Attack: a header hidden in an added line (`+*** Add File:`)
    is content, but a line that only looks like content and is read as a header must be judged.
    """
    found: dict[str, None] = {}
    for line in patch.splitlines():
        header = line.strip()
        for marker in MARKERS:
            if header.startswith(marker):
                path = header[len(marker) :].strip()
                if path:
                    found[path] = None
    return tuple(found)
