"""`redoma hook`: stands before each tool call of an agent, and says no to what it cannot read.

An agent starts this process, cold, for every call, and waits for it: only what judging needs is
imported. What goes wrong in here must end as a refusal in the agent's own protocol, since every
agent takes a hook that merely failed as leave to go on.
"""

from __future__ import annotations

import sys

from redoma.i18n import phrased
from redoma.i18n.choice import for_a_person, for_an_agent

USAGE = "redoma hook claude-code|codex|gemini [--pack PACK] [--no-ask]"
HELP = f"""usage: {USAGE}
       redoma hook install AGENT [--user|--project|--local] [--dry-run] [--json] [OPTION]...
       redoma hook uninstall AGENT [--user|--project|--local] [--dry-run] [--json]
       redoma hook status [AGENT] [--json]

Reads a tool call from standard input as the agent gives it to a hook, judges shell commands and
the paths of file-writing tools, and asks or refuses on standard output in the agent's protocol.
It never answers allow: what it has nothing against, and every other tool, gets no answer, so the
agent's own rules and prompts apply. What cannot be read is refused.

  --pack PACK     the rule pack: default, terminal or skill
  --no-ask        refuses what a person would have to confirm, for runs that nobody watches

install writes the hook into the agent's settings and keeps everything that is there; uninstall
takes exactly that out again.

  --user          the settings of this user, for every project (default)
  --project       the settings of the project in this directory
  --local         as --project, in the file that stays out of version control (claude-code)
  --dry-run       shows the change and writes nothing
  --json          one JSON object instead of prose
"""

STOP = 2


def main(argv: list[str], language: str | None = None) -> int:
    """Answers one tool call, or manages the hook's place in an agent's settings."""
    name = argv[0] if argv else ""
    if name in ("install", "uninstall", "status"):
        from redoma.hook.install import main as manage

        for_a_person(language)
        return manage(argv)
    if name in ("-h", "--help") or set(argv[1:]) & {"-h", "--help"}:
        for_a_person(language)
        sys.stdout.write(phrased(HELP))
        return 0
    for_an_agent(language)
    from redoma.hook.agents import AGENTS

    agent = AGENTS.get(name)
    if agent is None:
        known = ", ".join(AGENTS)
        told = "redoma: no agent {0}; agents: {1}\nhint: {2}\n"
        sys.stderr.write(phrased(told, repr(name), known, USAGE))
        return STOP
    try:
        from redoma.hook.answer import respond

        return respond(agent, argv[1:])
    except Exception as error:
        # Whatever broke, the call must not pass. Only our own errors are sure to be fit to read.
        what = phrased(str(error)) if hasattr(error, "as_dict") else type(error).__name__
        why = phrased("Redoma could not judge this call, so it is refused: {0}", what)
        sys.stdout.write(agent.says("deny", why))
        sys.stderr.write(f"{why}\n")
        return STOP
