"""One tool call in, one answer out."""

from __future__ import annotations

import sys

from redoma.cli.display import harmless, shortened
from redoma.cli.intake import read_all
from redoma.hook.agents import ASK, DENY
from redoma.hook.answer import LONGEST_REASON, answer
from redoma.hook.calls import Unreadable, read_call
from redoma.i18n import phrased

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.hook.agents import Agent

ANSWERED, STOP = 0, 2
# `--tighten-only` is what every hook does; settings that name it keep working.
FLAGS = ("--tighten-only", "--no-ask")


def respond(agent: Agent, arguments: list[str]) -> int:
    """Answers the call on standard input; 0 for a judgement, 2 where there can be none."""
    try:
        pack, flags = read_options(arguments)
        found = answer(read_call(read_all(sys.stdin.buffer), agent), pack, agent.name)
    except Unreadable as error:
        what = harmless(phrased(str(error)))
        why = phrased("Redoma cannot read this call, so it is refused: {0}", what)
        return refuse(agent, shortened(why, LONGEST_REASON))
    if found is None:
        return ANSWERED
    word, reason = found
    if word == ASK and "--no-ask" in flags:
        word = DENY
        reason += phrased(" Nobody is here to ask, so this is refused.")
    sys.stdout.write(agent.says(word, reason))
    sys.stdout.flush()
    return ANSWERED


def refuse(agent: Agent, why: str) -> int:
    """Says no in every way that the agent listens to."""
    sys.stdout.write(agent.says(DENY, why))
    sys.stdout.flush()
    sys.stderr.write(f"{why}\n")
    return STOP


def read_options(arguments: list[str]) -> tuple[str, set[str]]:
    """The pack and the flags given to a hook; anything else is refused."""
    pack = ""  # the policy's own
    flags = set()
    rest = iter(arguments)
    for argument in rest:
        if argument in FLAGS:
            flags.add(argument)
        elif argument == "--pack":
            pack = next(rest, "")
        elif argument.startswith("--pack="):
            pack = argument.partition("=")[2]
        else:
            raise Unreadable(f"unknown option {argument}")
        if argument.startswith("--pack") and not pack:
            raise Unreadable("--pack needs a name")
    return pack, flags
