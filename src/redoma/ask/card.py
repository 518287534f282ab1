"""The card that a person decides by: what would run, why that is asked, and what it would touch."""

from __future__ import annotations

from redoma.ask.hidden import safely, without_secrets
from redoma.ask.marked import Layout, command_rows, fold, middle_cut
from redoma.ask.prefixes import prefix_of
from redoma.ask.remembered import can_remember
from redoma.i18n import phrased
from redoma.model.question import Choice, Remember
from redoma.model.risk import Risk
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from redoma.model.question import Question

LABEL = 9
NARROWEST, WIDEST = 30, 100
MOST_REASONS = 6
MOST_FILES = 8
MOST_BEFORE = 3
LONGEST_TEXT = 400
_PAINT = {Risk.DANGEROUS: "\x1b[1;31m", Risk.ELEVATED: "\x1b[1;33m"}


class Look(Value):
    """What the screen can do."""

    columns: int = 80
    rows: int = 24
    colour: bool = False


class Key(Value):
    """One key, and what it says."""

    key: str
    choice: Choice
    words: str
    remember: Remember = Remember.ONCE


def keys_for(question: Question) -> tuple[Key, ...]:
    """The answers that this question can have."""
    possible = can_remember(question)
    found = [
        Key(key="a", choice=Choice.APPROVE, words="approve, once"),
        Key(key="d", choice=Choice.DENY, words="deny"),
        Key(key="p", choice=Choice.DRY_RUN, words="preview: a dry run"),
        Key(key="m", choice=Choice.MODIFY, words="modify the command"),
    ]
    lasting = (
        ("s", Remember.SESSION, "approve for this session"),
        ("e", Remember.EXACT, "always approve exactly this"),
        ("x", Remember.PREFIX, phrased("always approve: {0} ...", " ".join(prefix_of(question)))),
    )
    found += [
        Key(key=key, choice=Choice.APPROVE, words=words, remember=remember)
        for key, remember, words in lasting
        if remember in possible
    ]
    return tuple(found)


def card(question: Question, look: Look, redact: Callable[[str], str]) -> list[str]:
    """The whole card, as lines that fit the screen and on which nothing but us acts."""
    width = max(NARROWEST, min(look.columns - 1, WIDEST))
    level = phrased(question.safety_level or question.risk.label).upper()
    title = phrased("redoma: may this run?  {0}", middle_cut(level, 24))
    lines = [_rule(width), *fold(title, width), ""]
    if look.colour:
        lines[1] = f"{_PAINT.get(question.risk, chr(27) + '[1m')}{lines[1]}\x1b[0m"
    lines += description(question, look, redact)
    lines += ["", *_choices(question, width), _rule(width)]
    return lines


def description(question: Question, look: Look, redact: Callable[[str], str]) -> list[str]:
    """What would run and what is known of it, without the answers to choose from."""
    width = max(NARROWEST, min(look.columns - 1, WIDEST))
    text, spans = without_secrets(question.command, question.spans, redact)
    layout = Layout(width=width, most_rows=max(8, look.rows - 14), underline=look.colour)
    lines = [*command_rows(text, spans, layout), ""]
    for label, said in _said(question):
        lines += _labelled(label, safely(redact, said), width)
    return lines


def _rule(width: int) -> str:
    return "-" * width


def _said(question: Question) -> list[tuple[str, str]]:
    """What there is to say, each with its label; the order is that of a person's own questions."""
    said = [
        ("why" if not at else "", phrased(why))
        for at, why in enumerate(question.because[:MOST_REASONS])
    ]
    if len(question.because) > MOST_REASONS:
        said.append(("", phrased("and {0} more reasons", len(question.because) - MOST_REASONS)))
    said += _touches(question)
    if question.alternative:
        said.append(("instead", phrased(question.alternative)))
    where = question.cwd or question.workspace
    if where:
        said.append(("in", where))
    context = question.context
    asker = [context.triggered_by and phrased("by {0}", context.triggered_by)]
    asker += [context.workflow_phase and phrased("in phase {0}", context.workflow_phase)]
    asker += [question.session and phrased("session {0}", question.session)]
    if any(asker):
        said.append(("asked", ", ".join(part for part in asker if part)))
    for at, before in enumerate(context.previous_commands[-MOST_BEFORE:]):
        said.append(("before" if not at else "", before))
    if question.policy:
        said.append(("policy", question.policy))
    return said


def _touches(question: Question) -> list[tuple[str, str]]:
    impact = question.impact
    said = []
    if impact.estimated_scope:
        said.append(("touches", phrased(impact.estimated_scope)))
    shown = impact.files_affected[:MOST_FILES]
    said += [("files" if not at else "", path) for at, path in enumerate(shown)]
    if len(impact.files_affected) > len(shown):
        said.append(("", phrased("and {0} more", len(impact.files_affected) - len(shown))))
    network = "reaches the network" if impact.network_access else "no network that we know of"
    undo = "can be undone" if impact.reversible else "CANNOT be undone"
    return [*said, ("effect", f"{phrased(undo)}; {phrased(network)}")]


def _labelled(label: str, text: str, width: int) -> list[str]:
    rows = fold(middle_cut(text, LONGEST_TEXT), width - LABEL)
    named = phrased(label) if label else ""
    return [f"{named if not at else '':<{LABEL}}{row}" for at, row in enumerate(rows)]


def _choices(question: Question, width: int) -> list[str]:
    lines: list[str] = []
    for key in keys_for(question):
        rows = fold(phrased(key.words), width - 4)
        lines += [f"  {key.key} {row}" if not at else f"    {row}" for at, row in enumerate(rows)]
    if width < 70:
        return lines
    half = (len(lines) + 1) // 2
    left, right = lines[:half], [*lines[half:], ""][:half]
    return [f"{one:<32}{other}".rstrip() for one, other in zip(left, right, strict=True)]


HELP = (
    "a   run it now, this once",
    "d   do not run it; so do Ctrl-C, Ctrl-D and waiting",
    "p   run it where its changes are held back, and look at them first",
    "m   change the command; what you write is judged anew",
    "s   the same words run without a question until this session ends",
    "e   the same words always run without a question, in this place and under these rights",
    "x   commands that begin so always run, if nothing new is found in them",
    "    redoma approvals lists what you approved for longer, and takes it back",
)
