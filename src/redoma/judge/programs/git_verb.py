"""One git subcommand about to run, and the few things it can do to a repository."""

from __future__ import annotations

from redoma.model.risk import Effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.judge.interpret.arg import Arg
    from redoma.judge.interpret.call import Call
    from redoma.judge.programs.options import Options

QUIET_EDITORS = frozenset(("true", ":", "false", "cat", "/bin/true", "/usr/bin/true"))
"""Editors that leave what they are given as it is."""


class Verb:
    """A subcommand, its words, and the settings given for this one command by `-c`."""

    __slots__ = ("call", "name", "settings", "words")

    def __init__(self, call: Call, name: str, words: list[Arg], settings: dict[str, str]) -> None:
        self.call = call
        self.name = name
        self.words = words
        self.settings = settings

    def options(self, *, stops: bool = False) -> Options:
        """Its words, read by its own options."""
        from redoma.judge.programs.git_options import read

        return read(self, stops=stops)

    def told(self, detail: str = "") -> str:
        return f"{self.name} {detail}".strip()

    def looks(self) -> None:
        """Nothing is changed."""
        self.call.fact(Effect.READS, tags=("versioned",), detail=self.name)

    def changes(self, detail: str = "") -> None:
        """The repository or its files change in a way that git can take back."""
        self.call.fact(Effect.WRITES, tags=("versioned",), detail=self.told(detail))

    def discards(self, detail: str = "") -> None:
        """Changes go that were never committed."""
        self.call.fact(Effect.DELETES, tags=("uncommitted",), detail=self.told(detail))

    def rewrites(self, detail: str = "", *tags: str) -> None:
        """Commits or names of commits go; `local` where the reflog still has them."""
        self.call.fact(Effect.REWRITES_HISTORY, tags=tags, detail=self.told(detail))

    def runs(self, command: Arg, detail: str) -> None:
        """A command that the caller chose runs as a part of it."""
        self.call.fact(
            Effect.EXECUTES, tags=("flag", "hooked"), at=command.span, detail=self.told(detail)
        )
        self.call.run_shell(command)

    def builds(self, detail: str = "") -> None:
        """What the repository's own settings name is run."""
        self.call.fact(Effect.EXECUTES, tags=("project",), detail=self.told(detail))
