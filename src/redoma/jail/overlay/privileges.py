"""Takes from a file in a layer the rights that its old content had, and that its new one has not.

The kernel clears the set-id bits and the capabilities of a file that is written; but not where it
is written through a shared mapping. No command can set such a bit in a layer, so one that is there
was copied from the workspace, and is good for the content that was there too.
"""

from __future__ import annotations

from redoma.model.change import Did, FileKind
from redoma.model.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.jail.overlay.tree import Tree
    from redoma.model.change import Change, FileState

_SET_ID = 0o6000
_CAPABILITY = "security.capability"


def grants_more(state: FileState | None) -> bool:
    """Whether who executes a file gets rights that are not their own."""
    if state is None or state.kind is not FileKind.FILE:
        return False
    return bool(state.mode & _SET_ID) or any(name == _CAPABILITY for name, _ in state.xattrs)


def without_privileges(item: Change, upper: Tree) -> Change:
    """The same change, its file in the layer without what its content was not given.

    Attack: a program that is set-user-id is changed through a mapping, and moved to another name.
    """
    after = item.after
    if after is None or not grants_more(after) or _earned(item):
        return item
    upper.revoke(item.path)
    xattrs = tuple(pair for pair in after.xattrs if pair[0] != _CAPABILITY)
    return replace(item, after=replace(after, mode=after.mode & ~_SET_ID, xattrs=xattrs))


def _earned(item: Change) -> bool:
    """Whether the content is the one that had these rights before."""
    before, after = item.before, item.after
    if before is None or after is None or item.did not in (Did.RENAMED, Did.ATTRIBUTES):
        return False
    return not after.mode & _SET_ID & ~before.mode and before.kind is FileKind.FILE
