"""`redoma shell`: an interactive shell inside an enclosure."""

from __future__ import annotations

import os
import sys

from redoma.cli.run import start
from redoma.cli.run_options import read
from redoma.i18n import phrased
from redoma.model.errors import UsageError

_PROMPT = "PS1=(redoma) \\w \\$ "


def main(arguments: list[str]) -> int:
    """Opens the shell and returns its status."""
    options = read(arguments)
    if "help" in options.flags:
        from redoma.cli.run_help import OPTIONS, SHELL

        sys.stdout.write(phrased(SHELL) + phrased(OPTIONS))
        return 0
    if options.command:
        raise UsageError("redoma shell takes no command", hint="redoma run -t 'COMMAND'")
    bash = os.path.exists("/bin/bash")
    options.command = ["/bin/bash", "--norc", "-i"] if bash else ["/bin/sh", "-i"]
    options.flags.add("tty")
    options.limits.setdefault("wall_seconds", None)
    options.limits.setdefault("output_total", None)
    options.many["--env"].append(_PROMPT)
    from redoma.pipeline.answerers import BY_HAND

    options.one["--ask"] = BY_HAND
    return start(options)
