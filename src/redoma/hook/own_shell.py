"""The program that an agent starts in place of its shell: a short script in our state directory.

It is one path, since an agent starts it as one word, and it stands where no command can write.
What it cannot find or start, it refuses: no line of an agent ever runs bare by it.
"""

from __future__ import annotations

import os
import shlex

from redoma.base import own_directories, private_file
from redoma.hook import entry
from redoma.hook.enclosed_calls import shell_of
from redoma.model.errors import RedomaError, UsageError

# Claude Code starts hooks and MCP servers through the same program. They are the person's own and
# run as without us; a line of the model never counts as one of them. Attack: settings that set
# AI_AGENT for every process; so the form of the line and two other variables have to agree.
_CLAUDE = """\
case "$1" in
{hook}) exec /bin/sh -c "$1" ;;
*' && pwd -P >| '*) ;;
*)
    if [ -n "${{CLAUDE_PROJECT_DIR-}}" ] && [ -z "${{CLAUDE_CODE_EXECPATH-}}" ]; then
        case "${{AI_AGENT-}}" in
        claude-code_*_harness) exec /bin/sh -c "$1" ;;
        esac
    fi
    ;;
esac
"""
_SCRIPT = """\
#!/bin/sh
# Written by `redoma hook install {agent}`. {title} starts its commands through this.
{kinds}for file in {files}; do
    if [ ! -e "$file" ]; then
        echo "redoma: $file is not there any more, so this command is refused" >&2
        echo "hint: redoma hook install {agent}, or redoma hook uninstall {agent}" >&2
        exit 126
    fi
done
exec {start}
"""


def script(agent: str, title: str, options: list[str], hook: str) -> str:
    """The text of the program; `hook` is the command of our own hook, `options` are of a run."""
    start = entry.launcher()
    named = [word for word in start if word.startswith("/")]
    words = [*start, "hook", "enclose", agent, *options]
    rest = '--for "$1" -- "$2"' if agent == "gemini" else '-- "$1"'
    return _SCRIPT.format(
        agent=agent,
        title=title,
        kinds="" if agent == "gemini" else _CLAUDE.format(hook=shlex.quote(hook)),
        files=shlex.join(named),
        start=f"{shlex.join(words)} {rest}",
    )


def checked_place(agent: str) -> str:
    """Where the program stands; an error where the agent could not start it from there.

    Claude Code takes what follows the last ` -` of its prefix for options.
    """
    place = shell_of(agent)
    if " -" in place:
        raise UsageError(
            "{place} cannot be a shell prefix, since ` -` stands in it",
            place=place,
            hint="set XDG_STATE_HOME to another directory, or use --judge-only",
        )
    return place


def write(agent: str, text: str) -> None:
    """Puts the program in its place, whole or not at all."""
    place = checked_place(agent)
    try:
        own_directories.made_state()
        private_file.make_directory(os.path.dirname(place), RedomaError)
        private_file.write(place, text, mode=0o700)
    except OSError as error:
        raise RedomaError("cannot write {path}: {why}", path=place, why=error.strerror) from error


def is_written(agent: str, text: str) -> bool:
    """Whether the program is there, and says this."""
    place = shell_of(agent)
    try:
        with open(place, encoding="utf-8") as stream:
            return stream.read() == text and os.access(place, os.X_OK)
    except (OSError, UnicodeDecodeError):
        return False
