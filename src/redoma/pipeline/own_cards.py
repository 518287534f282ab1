"""Cards that a user or a project wrote: read with the care that a policy gets, and packed."""

from __future__ import annotations

import marshal

from redoma.judge.policy.tree import tree
from redoma.judge.programs.compiler import CardError, compile_own_cards
from redoma.model.errors import PolicySyntax
from redoma.pipeline.knowledge import shipped_cards
from redoma.pipeline.policies import FIX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def packed(files: list[tuple[str, str, bytes]], origin: str) -> tuple[tuple[str, bytes], ...]:
    """The cards of one origin's files (path, origin, content); PolicySyntax where one is wrong."""
    documents = {path: _cards(content, path) for path, of, content in files if of == origin}
    if not documents:
        return ()
    try:
        cards = compile_own_cards(documents, shipped_cards())
    except CardError as error:
        path, _, told = str(error).partition(": ")
        raise PolicySyntax(
            f"{told}; nothing runs until it is right", location=path, hint=FIX
        ) from None
    return tuple((name, marshal.dumps(card)) for name, card in sorted(cards.items()))


def _cards(content: bytes, path: str) -> dict[str, Any]:
    """The programs of a file; anchors, tags and more than a policy may hold are refused."""
    import yaml

    top = tree(content, path)
    # The tree is bounded: what is built of it is no larger than the file.
    maker = yaml.SafeLoader("")
    return {name: maker.construct_document(value.node) for name, (_, value) in top.pairs().items()}
