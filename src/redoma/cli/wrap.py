"""`redoma wrap`: a whole agent in the jail, with what its preset grants."""

from __future__ import annotations

import os
import sys

from redoma.cli.options import Argument, CommandTable, Heading, Option, Sample
from redoma.cli.run_options import RUN_OPTIONS
from redoma.i18n import phrased
from redoma.model.errors import RedomaError, UsageError
from redoma.model.message import Message
from redoma.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.cli.options import CommandLine

_PRESETS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "presets")
_SYSTEM = ("/usr/", "/bin/", "/sbin/", "/lib", "/opt/", "/nix/", "/snap/")
WRAP = CommandTable(
    "wrap",
    "Runs a whole agent, or any program, in the jail. The workspace is the current directory, which"
    " it writes directly; a preset of the program's name grants its own state, its login and the"
    " hosts that it needs; everything else is as policy says. What the agent starts runs in the"
    " same jail, so its own prompts can be switched off.",
    usage=("[OPTION]... -- PROGRAM [ARGUMENT]...", "--list [--json]", "--show NAME"),
    arguments=(Argument("PROGRAM", "the agent, found as a shell finds it"),),
    options=(
        Heading("of wrap"),
        Option("--preset NAME", "another preset than the one of the program's name; none for none"),
        Option("--held", "holds what is written until the program ends; redoma undo takes it back"),
        Option("--list", "the presets that there are"),
        Option("--show NAME", "a preset as it is written"),
    ),
    borrowed=RUN_OPTIONS,
    without="--direct",
    samples=(
        Sample("redoma wrap --list", "the presets that there are"),
        Sample("redoma wrap --show claude", "what a preset grants"),
    ),
    runs=True,
)


class Preset(Value):
    """What an agent needs of the machine, as its file says."""

    name: str
    about: str = ""
    programs: tuple[str, ...] = ()
    state: tuple[str, ...] = ()  # written, and made where it is missing: a directory ends in `/`
    read: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    prompts_off: tuple[str, ...] = ()  # flags that switch its own prompts off, fine in the jail
    set: dict[str, str]


def presets() -> tuple[str, ...]:
    """The names of all presets."""
    files = (name for name in os.listdir(_PRESETS) if name.endswith(".yaml"))
    return tuple(sorted(name.removesuffix(".yaml") for name in files))


def preset(name: str) -> Preset:
    """One preset, read and checked."""
    import yaml

    if name not in presets():
        raise UsageError(
            "there is no preset {name}",
            name=repr(name),
            hint=Message("presets: {known}", known=", ".join(presets())),
        )
    with open(f"{_PRESETS}/{name}.yaml", encoding="utf-8") as stream:
        found = yaml.safe_load(stream)
    lists = ("programs", "state", "read", "hosts", "variables", "prompts_off")
    if not isinstance(found, dict) or set(found) - {*lists, "about", "set"}:
        raise RedomaError("the preset {name} has a key that is not known", name=name)
    many = {key: tuple(found.get(key, ())) for key in lists}
    return Preset(name=name, about=found["about"], set=found.get("set", {}), **many)


@WRAP.main
def main(line: CommandLine) -> int:
    """Starts the agent in the jail; its status is the agent's own."""
    if "--list" in line.flags:
        return _list(line)
    if "--show" in line.values:
        name = preset(line.values["--show"]).name
        with open(f"{_PRESETS}/{name}.yaml", encoding="utf-8") as stream:
            sys.stdout.write(stream.read())
        return 0
    if isinstance(line.command, str):
        line.command = [line.command] if line.command else []
    if not line.command:
        raise UsageError("no program given", hint="redoma wrap -- claude")
    chosen = _chosen(line)
    program = _program(line.command[0])
    _grant(line, chosen, program)
    if "--held" not in line.flags:
        line.flags.add("--direct")
    if os.isatty(0) and os.isatty(1) and not line.json:
        line.flags.add("--tty")
    for limit in ("--timeout", "--output-total"):
        line.values.setdefault(limit, "none")
    return _run(line, program, chosen.prompts_off if chosen is not None else ())


def _run(line: CommandLine, program: str, prompts_off: tuple[str, ...]) -> int:
    """Runs the program as it was typed; judged without the flags that switch its prompts off.

    Whoever types them here does so because the jail is there: they turn off a guard that the
    agent has outside. Everything else of the line is judged as it stands.
    """
    import shlex
    from contextlib import nullcontext

    from redoma.cli import say
    from redoma.cli.closing_lines import closing_line
    from redoma.cli.console import attached
    from redoma.cli.run_options import sandbox_for
    from redoma.cli.streams import own_input, pass_signals_on, terminal_writer, writer
    from redoma.pipeline.enclosed_command import run_enclosed
    from redoma.pipeline.this_host import Control

    arguments = line.command[1:]
    judged = [os.path.basename(program), *(one for one in arguments if one not in prompts_off)]
    terminal = "--tty" in line.flags
    control = Control()
    with sandbox_for(line) as sandbox, attached(control) if terminal else nullcontext():
        if not terminal:
            pass_signals_on(control)
        result = run_enclosed(
            sandbox,
            shlex.join(judged),
            f"exec {shlex.join([program, *arguments])}",
            cwd="",
            stdin=0 if terminal else own_input(),
            was_asked=False,
            sink=None if line.json else terminal_writer(obeyed=True) if terminal else writer(),
            control=control,
            terminal=terminal,
        )
    control.close()
    if line.json:
        from redoma.cli.json_report import result_text

        sys.stdout.write(result_text(result))
    elif "--quiet" not in line.flags or not result.ok:
        say(closing_line(result, quiet="--quiet" in line.flags).removesuffix("\n"))
    return result.exit_code


def _program(name: str) -> str:
    from shutil import which

    found = which(name)
    if found is None:
        raise UsageError(
            "there is no program {name} here", name=repr(name), hint="redoma wrap --list"
        )
    return os.path.abspath(found)


def _chosen(line: CommandLine) -> Preset | None:
    named = line.values.get("--preset", "")
    if named == "none":
        return None
    if named:
        return preset(named)
    base = os.path.basename(line.command[0])
    fitting = (each for each in map(preset, presets()) if base in each.programs)
    return next(fitting, None)


def _grant(line: CommandLine, chosen: Preset | None, program: str) -> None:
    """Adds to the line what the preset grants, and the program itself."""
    reads = line.many.setdefault("--allow-read", [])
    reads += _places_of(program)
    if chosen is None:
        return
    writes = line.many.setdefault("--allow-write", [])
    writes += [_made(path) for path in chosen.state]
    reads += [path for path in map(os.path.expanduser, chosen.read) if os.path.exists(path)]
    line.many.setdefault("--allow-host", []).extend(chosen.hosts)
    given = {variable.partition("=")[0] for variable in line.every("--env")}
    variables = line.many.setdefault("--env", [])
    passed = [name for name in chosen.variables if name in os.environ]
    variables += [name for name in passed if name not in given]
    variables += [f"{name}={value}" for name, value in chosen.set.items() if name not in given]


def _made(path: str) -> str:
    """A place of an agent's own state; it is there afterwards, and only its owner opens it."""
    place = os.path.expanduser(path)
    try:
        if path.endswith("/"):
            os.makedirs(place, mode=0o700, exist_ok=True)
            return place.rstrip("/")
        os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
        if not os.path.exists(place):
            empty = "{}" if place.endswith(".json") else ""
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with os.fdopen(os.open(place, flags, 0o600), "w") as stream:
                stream.write(empty)
    except OSError as error:
        raise RedomaError("cannot write {path}: {why}", path=place, why=error.strerror) from error
    return place


def _places_of(program: str) -> list[str]:
    """Where the program lies, as far as a jail would not show it: its link, and what that means."""
    real = os.path.realpath(program)
    head, middle, _ = real.partition("/node_modules/")
    package = f"{head}{middle}".rstrip("/") if middle else os.path.dirname(real)
    places = [os.path.dirname(program), package]
    return [place for place in dict.fromkeys(places) if not f"{place}/".startswith(_SYSTEM)]


def _list(line: CommandLine) -> int:
    found = [preset(name) for name in presets()]
    if line.json:
        import json

        rows = [{"name": each.name, "about": each.about, "hosts": each.hosts} for each in found]
        sys.stdout.write(json.dumps({"presets": rows}) + "\n")
        return 0
    for each in found:
        hosts = phrased("reaches {hosts}", hosts=", ".join(each.hosts))
        sys.stdout.write(f"{each.name:<10} {each.about:<12} {hosts}\n")
    return 0
