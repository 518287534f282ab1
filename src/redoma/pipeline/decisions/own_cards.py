"""Cards that a user or a project wrote: read with the care that a policy gets, and packed."""

from __future__ import annotations

import marshal

from redoma.judge.judgement import examine
from redoma.judge.policy.tree import tree
from redoma.judge.programs.compiler import CardError, compile_own_cards, examples
from redoma.model.errors import PolicySyntax
from redoma.model.message import Message
from redoma.pipeline.decisions.check import ground
from redoma.pipeline.decisions.knowledge import knowledge, pack, shipped_cards
from redoma.pipeline.decisions.policies import FIX

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
            Message("{what}; nothing runs until it is right", what=told), location=path, hint=FIX
        ) from None
    return tuple((name, marshal.dumps(card)) for name, card in sorted(cards.items()))


def linted(path: str, content: bytes, *, cwd: str, home: str | None) -> list[PolicySyntax]:
    """What is wrong with a card file: it cannot be followed, or an example on it does not hold."""
    own = packed([(path, "", content)], "")
    where = ground(cwd, home)
    wrong = []
    for example in examples({path: _cards(content, path)}):
        found = examine(example.command, pack("default"), knowledge(own), where)[1]
        if not example.holds(found):
            told = Message(
                "{command} is not as `match` and `not_match` say: {does}",
                command=repr(example.command),
                does=example.does,
            )
            wrong.append(PolicySyntax(told, location=path))
    return wrong


def _cards(content: bytes, path: str) -> dict[str, Any]:
    """The programs of a file; anchors, tags and more than a policy may hold are refused."""
    import yaml

    top = tree(content, path)
    # The tree is bounded: what is built of it is no larger than the file.
    maker = yaml.SafeLoader("")
    return {name: maker.construct_document(value.node) for name, (_, value) in top.pairs().items()}
