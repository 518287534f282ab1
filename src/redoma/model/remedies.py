"""What would help against an error, as a thing; each interface says it in its own words.

An error that says `--allow-write` to a program, or `allow_write=` at a terminal, helps nobody. So
whoever raises one says what would help, and whoever shows it how that is done there.
"""

from __future__ import annotations

from enum import Enum

from redoma.model.message import Message
from redoma.model.value import Value


class Interface(Enum):
    """Who speaks to the user; the command line has words of its own, in `redoma.cli`."""

    PYTHON = "python"
    TOOLS = "tools"
    TERMINAL = "terminal"
    ACTIONS = "actions"
    COMPONENTS = "components"


class Help(Enum):
    """What would help."""

    WRITE = "write"  # a path to be written
    READ = "read"
    HOST = "host"
    TIME = "time"
    CALL_TIME = "call-time"
    WORKSPACE = "workspace"
    OWN_WORKSPACE = "own-workspace"
    SMALLER_WORKSPACE = "smaller-workspace"
    NAME_THE_TARGET = "name-the-target"
    BUBBLEWRAP = "bubblewrap"
    NO_TRACE = "no-trace"
    TRACING_ENGINE = "tracing-engine"
    LEVEL_WITH_NETWORK = "level-with-network"
    INSPECT = "inspect"
    HOSTS_INSTEAD = "hosts-instead"
    CACHED_HOST = "cached-host"
    COLLECT = "collect"
    DECLARE = "declare"
    FROM_THE_BEGINNING = "from-the-beginning"
    REDO = "redo"
    NO_UNDO = "no-undo"


_P, _T = Interface.PYTHON, Interface.TOOLS
_S, _A, _O = Interface.TERMINAL, Interface.ACTIONS, Interface.COMPONENTS
# Where an interface has no word for it, there is none: never another's.
_WORDS: dict[Help, dict[Interface, str]] = {
    Help.WRITE: {
        _P: "allow_write=[…] gives a path to be written",
        _T: "allowed_write_paths={…} gives a path to be written",
        _S: "cwd=DIR is where commands write",
        _A: "filesystem.allowed_paths in your sandbox.yaml gives a path to be written",
    },
    Help.READ: {
        _P: "allow_read=[…] gives a path to be read",
        _T: "allowed_read_paths={…} gives a path to be read",
    },
    Help.HOST: {
        _P: "allow_hosts=[…] gives hosts",
        _T: "allow_network=True and allowed_hosts={…} give hosts",
        _S: "allow_hosts=(…,) gives hosts",
        _A: "network.allowed_hosts in your sandbox.yaml",
    },
    Help.TIME: {
        _P: "timeout=SECONDS",
        _T: "max_execution_time=SECONDS",
        _S: "timeout=SECONDS, at most 120",
        _A: "timeout_seconds: SECONDS",
        _O: "max_cpu_time_seconds=SECONDS",
    },
    Help.CALL_TIME: {
        _P: 'Call(…, timeout=SECONDS), or limits={"wall_seconds": SECONDS}',
        _T: "max_execution_time=SECONDS",
    },
    Help.WORKSPACE: {
        _P: "Sandbox(DIR) with the directory of a project",
        _S: "cwd=DIR below home or /tmp",
        _A: "ActionSandbox(DIR) with the directory of a project",
        _O: "temp_dir=DIR",
    },
    Help.OWN_WORKSPACE: {
        _P: "run as its owner, or Sandbox(DIR) with another directory",
        _S: "run as its owner, or cwd=DIR with another directory",
        _A: "run as its owner, or ActionSandbox(DIR) with another directory",
        _O: "run as its owner, or temp_dir=DIR with another directory",
    },
    Help.SMALLER_WORKSPACE: {
        _P: "run in a smaller workspace: Sandbox(DIR)",
        _T: "allow smaller directories in allowed_write_paths",
        _S: "run in a smaller directory: cwd=DIR",
        _A: "run in a smaller workspace: ActionSandbox(DIR)",
    },
    Help.NAME_THE_TARGET: dict.fromkeys(
        Interface, "give {about}, which is that place by its own name"
    ),
    Help.BUBBLEWRAP: {_P: 'engine="bubblewrap"'},
    Help.NO_TRACE: {_P: "trace_files=False"},
    Help.TRACING_ENGINE: {
        _P: 'engine="bubblewrap", or trace_files=False',
    },
    Help.LEVEL_WITH_NETWORK: {
        _P: 'level="standard"',
        _S: 'level="standard"',
        _A: "isolation_level: standard lets hosts be granted",
    },
    Help.INSPECT: {
        **dict.fromkeys(Interface, "network.inspect: true in your sandbox.yaml"),
        _P: "inspect=True, or network.inspect: true in your sandbox.yaml",
    },
    Help.HOSTS_INSTEAD: {
        **dict.fromkeys(Interface, "network.allowed_hosts in your sandbox.yaml"),
        _P: "allow_hosts=[…] with each host, or network.allowed_hosts in your sandbox.yaml",
        _T: "allowed_hosts={…} with each host",
        _S: "allow_hosts=(…,) with each host",
    },
    Help.CACHED_HOST: {
        **dict.fromkeys(Interface, "network.cache_hosts in your sandbox.yaml: api.example.com"),
        _P: 'cache_hosts=["api.example.com"]',
    },
    Help.COLLECT: {
        _P: "Call(…, collects=N) takes its items",
        _T: "return list(…) of it",
    },
    Help.DECLARE: {
        _P: "Call(…, returns=({about},)) lets it come back",
        _T: "return what it holds: dataclasses.asdict(…), or .value of an enum",
    },
    Help.FROM_THE_BEGINNING: {
        _P: "run it from its beginning: resume=False",
    },
    Help.REDO: {
        _P: "look at what it did; run(…, resume=True, redo=True) runs it once more",
    },
    Help.NO_UNDO: {
        _P: "apply(no_undo=True) applies it all the same, for good",
    },
}


class Remedy(Value):
    """One thing that would help, and what it is about."""

    help: Help
    about: str = ""

    def said(self, by: Interface = Interface.PYTHON) -> str:
        """What to do, in the words of an interface; empty where it has none."""
        words = _WORDS[self.help].get(by, "")
        return Message(words, about=self.about or "HOST") if "{about}" in words else words
