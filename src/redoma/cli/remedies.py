"""What would help against an error, as a command line says it.

Whoever raises an error names the thing that would help (`redoma.model.remedies`); the options that
do it are named here and nowhere below.
"""

from __future__ import annotations

from redoma.model.remedies import Help, Interface

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.network import Connection
    from redoma.model.remedies import Remedy

_FLAGS = {
    Help.WRITE: "--allow-write DIR gives a path to be written",
    Help.READ: "--allow-read DIR gives a path to be read",
    Help.HOST: "--allow-host {0}",
    Help.TIME: "--timeout SECONDS",
    Help.WORKSPACE: "cd into a project, or --workspace DIR",
    Help.OWN_WORKSPACE: "run as its owner, or choose another --workspace DIR",
    Help.SMALLER_WORKSPACE: "run in a smaller workspace: --workspace DIR",
    Help.BUBBLEWRAP: "--engine bubblewrap",
    Help.NO_TRACE: "run it without --trace-files",
    Help.TRACING_ENGINE: "--engine bubblewrap, or run it without --trace-files",
    Help.LEVEL_WITH_NETWORK: "--level standard",
    Help.INSPECT: "--inspect, or network.inspect: true in your sandbox.yaml",
    Help.HOSTS_INSTEAD: (
        "--allow-host HOST for each host, or network.allowed_hosts in your sandbox.yaml"
    ),
    Help.CACHED_HOST: "--cache-host api.example.com",
    Help.FROM_THE_BEGINNING: "run it from its beginning, without --resume",
    Help.REDO: "look at what it did; --resume --redo runs it once more",
    Help.NO_UNDO: "redoma apply {0} --no-undo applies it all the same, for good",
}


def in_options(remedy: Remedy) -> str:
    """What to do, as it is typed; empty where no option helps."""
    if remedy.help is Help.NAME_THE_TARGET:
        return remedy.said(Interface.PYTHON)
    return _FLAGS.get(remedy.help, "").replace("{0}", remedy.about or "HOST")


def granting(call: Connection) -> str:
    """The option, or the policy's line, that lets a connection through; empty where none does."""
    rule = f"'{call.grant}'" if " " in call.grant else call.grant
    if not rule:
        return ""
    return f"network.allowed_hosts: [{rule}]" if call.listed else f"--allow-host {rule}"
