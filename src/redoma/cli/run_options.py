"""The command line of `redoma run` and `redoma shell`, read strictly."""

from __future__ import annotations

import os

from redoma.model.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from redoma.pipeline.sandbox import Sandbox

_FLAGS = {
    "-t": "tty",
    "--tty": "tty",
    "--json": "json",
    "--direct": "direct",
    "--no-undo": "no-undo",
    "--inspect": "inspect",
    "--mock": "mock",
    "--trace-files": "trace-files",
    "-q": "quiet",
    "--quiet": "quiet",
    "-h": "help",
    "--help": "help",
}
_ONE = (
    "--mock",
    "--workspace",
    "--level",
    "--profile",
    "--engine",
    "--ask",
    "--phase",
    "--session",
)
_MANY = (
    "--allow-write",
    "--allow-read",
    "--allow-host",
    "--cache-host",
    "--credential",
    "--publish",
    "--env",
)
LIMITS = {
    "--timeout": "wall_seconds",
    "--memory": "memory",
    "--cpu": "cpu_percent",
    "--cpu-time": "cpu_seconds",
    "--processes": "processes",
    "--open-files": "open_files",
    "--file-size": "file_size",
    "--total-written": "total_written",
    "--keep-free": "keep_free",
    "--tmp": "temporary",
    "--changes": "changes",
    "--depth": "depth",
    "--output": "output",
    "--output-total": "output_total",
}


class RunOptions:
    """What a command line asked for."""

    def __init__(self) -> None:
        self.flags: set[str] = set()
        self.one: dict[str, str] = {}
        self.many: dict[str, list[str]] = {name: [] for name in _MANY}
        self.limits: dict[str, int | float | None] = {}
        self.command: str | list[str] = ""

    def published(self) -> list[int]:
        """The ports to publish."""
        made = []
        for given in self.many["--publish"]:
            if not (given.isascii() and given.isdigit()):
                raise UsageError(f"--publish: {given!r} is no port", hint="--publish 8000")
            made.append(int(given[:6]))
        return made

    def environment(self) -> dict[str, str]:
        """The variables to pass; a bare name takes the caller's value."""
        made = {}
        for given in self.many["--env"]:
            name, equals, value = given.partition("=")
            if not name:
                raise UsageError(f"--env: {given!r} has no name")
            if not equals:
                if name not in os.environ:
                    raise UsageError(f"--env: {name} is not set here", hint=f"--env {name}=VALUE")
                value = os.environ[name]
            made[name] = value
        return made


def read(arguments: list[str]) -> RunOptions:
    """Options, then one shell command, or `--` and a program."""
    found = RunOptions()
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if argument == "--":
            if not rest:
                raise UsageError("no program after --", hint="redoma run -- PROGRAM ARGUMENT...")
            found.command = rest
            return found
        if argument in _FLAGS:
            found.flags.add(_FLAGS[argument])
        elif argument.startswith("-") and argument != "-":
            _option(found, argument, rest)
        else:
            if rest:
                raise UsageError(
                    f"more than one command: {argument!r} and {rest[0]!r}",
                    hint="quote a shell command, or write -- before a program",
                )
            found.command = argument
    return found


def _option(found: RunOptions, argument: str, rest: list[str]) -> None:
    name, equals, value = argument.partition("=")
    if name not in _ONE and name not in _MANY and name not in LIMITS:
        from redoma.cli.options import nearest

        known = [*_FLAGS, *_ONE, *_MANY, *LIMITS]
        raise UsageError(f"unknown option {name}", hint=nearest(name, known) or "redoma run --help")
    if not equals:
        if not rest:
            raise UsageError(f"{name} needs a value", hint="redoma run --help")
        value = rest.pop(0)
    if name in _MANY:
        found.many[name].append(value)
    elif name in LIMITS:
        from redoma.pipeline.host_services import read_limit

        limit = LIMITS[name]
        try:
            found.limits[limit] = read_limit(limit, value)
        except UsageError as error:
            said = str(error).removeprefix(f"{limit}: ")
            raise UsageError(f"{name}: {said}", hint=error.hint) from None
    elif found.one.get(name, value) != value:
        raise UsageError(f"{name} is given twice")
    else:
        found.one[name] = value


def sandbox_for(options: RunOptions) -> Sandbox:
    """The sandbox that a command line describes."""
    from redoma.model.access import Limits
    from redoma.pipeline.answerers import LocalAnswerer, forget_questions
    from redoma.pipeline.requests import Caller
    from redoma.pipeline.sandbox import Sandbox
    from redoma.pipeline.settings import NO_LIMIT, Access, Network

    if "--level" in options.one and "--profile" in options.one:
        raise UsageError("--level and --profile do not go together")
    forget_questions()
    limits: Any = {n: NO_LIMIT if most is None else most for n, most in options.limits.items()}
    profile = options.one.get("--profile", "")
    if profile and "/" not in profile:
        profile = f"./{profile}"
    return Sandbox(
        options.one.get("--workspace", "."),
        level=profile or options.one.get("--level", ""),
        engine=options.one.get("--engine", ""),
        limits=Limits(**limits),
        ask=LocalAnswerer(options.one.get("--ask", "auto")),
        access=Access(
            write=options.many["--allow-write"],
            read=options.many["--allow-read"],
            env=options.environment(),
            direct="direct" in options.flags,
            undo="no-undo" not in options.flags,
        ),
        network=Network(
            hosts=options.many["--allow-host"],
            publish=options.published(),
            inspect="inspect" in options.flags,
            cache=options.many["--cache-host"],
            credentials=options.many["--credential"],
            mock=options.one.get("--mock", "mock" in options.flags),
        ),
        caller=Caller(
            phase=options.one.get("--phase", ""), session=options.one.get("--session", "")
        ),
    )
