"""Rules and cards of a user, a project or a caller: read with care; the stricter decides."""

from __future__ import annotations

import marshal
from hashlib import sha256

from redoma.judge.judgement import examine
from redoma.judge.policy.conditions import ConditionError, parse
from redoma.judge.policy.shipped import named
from redoma.judge.policy.tree import tree
from redoma.judge.programs.compiler import CardError, compile_own_cards, examples
from redoma.model.errors import PolicySyntax, UsageError
from redoma.model.message import Message
from redoma.model.policy import BUILT_IN, DEFAULT, Action, Clause, Policy, Rule
from redoma.model.value import replace
from redoma.pipeline.decisions.check import ground
from redoma.pipeline.decisions.knowledge import knowledge, pack, shipped_cards
from redoma.pipeline.decisions.knowledge import pack as pack_named
from redoma.pipeline.decisions.policies import FIX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from redoma.model.decision import Decision


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


CALLER = "the caller's own rules"


def own(pack: str, rules: Iterable[tuple[str, str, str]]) -> Policy:
    """The verdicts of a pack, with rules (name, condition, action) that can only tighten them."""
    added = tuple(_rule(*rule) for rule in rules)
    base = named(DEFAULT, pack_named(pack or DEFAULT).name)
    told = "\n".join(f"{rule.name}\t{rule.when.text}\t{rule.action.value}" for rule in added)
    digest = f"{base.digest} {sha256(told.encode()).hexdigest()}"
    return replace(base, rules=(*base.rules, *added), digest=digest)


def over(files: Policy, mine: Policy) -> Policy:
    """What both say; where there are no files, the caller's own stands alone.

    The files are also asked about the levels of the caller's pack: `policy: strict` blocks what is
    elevated there, whatever the pack of the files calls it.
    """
    if files is BUILT_IN:
        return mine
    digest = f"{files.digest} {mine.digest}"
    if files.pack != mine.pack:
        same = replace(files, pack=mine.pack, beside=mine, digest=digest)
        return replace(files, beside=same, digest=digest)
    return replace(files, beside=mine, digest=digest)


def stricter(one: Decision, other: Decision) -> Decision:
    """The decision with the stricter verdict, the first one of two that are alike.

    Only files ask for isolation or a preview, and what they ask for stays.
    """
    chosen, left = (one, other) if one.verdict >= other.verdict else (other, one)
    return replace(
        chosen,
        isolation=chosen.isolation or left.isolation,
        preview=chosen.preview or left.preview,
        multiple_files=chosen.multiple_files or left.multiple_files,
    )


def _rule(name: str, condition: str, action: str) -> Rule:
    try:
        when = Clause(text=condition, tree=parse(condition))
    except ConditionError as error:
        raise UsageError("rule {name}: {error}", name=name, error=error) from None
    try:
        return Rule(name=name, when=when, action=Action(action), source=CALLER)
    except ValueError:
        known = ", ".join(each.value for each in Action)
        raise UsageError(
            "rule {name}: {action} is no action",
            name=name,
            action=repr(action),
            hint=Message("one of: {known}", known=known),
        ) from None
