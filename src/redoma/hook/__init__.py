"""`redoma hook`: stands before each tool call of an agent, and says no to what it cannot read.

An agent starts this process, cold, for every call, and waits for it: only what judging needs is
imported. What goes wrong in here must end as a refusal in the agent's own protocol, since every
agent takes a hook that merely failed as leave to go on.
"""

from __future__ import annotations

import sys

from redoma.i18n import phrased
from redoma.i18n.choice import for_a_person, for_an_agent

STOP = 2


def main(argv: list[str], language: str | None = None) -> int:
    """Answers one tool call, or manages the hook's place in an agent's settings."""
    name = argv[0] if argv else ""
    if name == "enclose":
        for_an_agent(language)
        from redoma.hook.enclosed_shell import enclose

        return enclose(argv[1:])
    asks = name in ("", "-h", "--help") or "-h" in argv or "--help" in argv
    if asks or name in ("install", "uninstall", "status"):
        from redoma.hook.install import manage

        for_a_person(language)
        return manage(argv)
    for_an_agent(language)
    from redoma.hook.agents import AGENTS

    agent = AGENTS.get(name)
    if agent is None:
        known = ", ".join(AGENTS)
        told = phrased("redoma: no agent {name}; agents: {known}", name=repr(name), known=known)
        sys.stderr.write(f"{told}\n{phrased('hint: {hint}', hint='redoma hook --help')}\n")
        return STOP
    try:
        from redoma.hook.answer import respond

        return respond(agent, argv[1:])
    except Exception as error:
        # Whatever broke, the call must not pass. Only our own errors are sure to be fit to read.
        what = phrased(str(error)) if hasattr(error, "as_dict") else type(error).__name__
        why = phrased("Redoma could not judge this call, so it is refused: {what}", what=what)
        sys.stdout.write(agent.says("deny", why))
        sys.stderr.write(f"{why}\n")
        return STOP


def __getattr__(name: str) -> object:
    """The table of this command, which a hook that answers a call never needs."""
    if name != "HOOK":
        raise AttributeError(name)
    from redoma.hook.install import HOOK

    return HOOK
