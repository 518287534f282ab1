"""`redoma hook install|uninstall|status`: our place in an agent's settings, for people."""

from __future__ import annotations

import os
import sys

from redoma.base.text import harmless
from redoma.cli import complain
from redoma.cli.options import Argument, CommandTable, Heading, Option, Sample, nearest
from redoma.hook import entry
from redoma.hook.agents import AGENTS
from redoma.hook.answer import read_options
from redoma.hook.settings_change import (
    ENCLOSING,
    SettingsChange,
    carry_out,
    handler,
    install,
    installed,
    uninstall,
)
from redoma.hook.settings_file import SCOPES, places, scopes
from redoma.i18n import phrased
from redoma.model.errors import RedomaError, UsageError
from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.cli.options import CommandLine


SCOPE_FLAGS = tuple(f"--{scope}" for scope in SCOPES)
_PLACED = "install uninstall"
CALL_OPTIONS = (
    Option(
        "--pack PACK",
        "the rule pack: default, terminal or skill",
        choices="default terminal skill",
        of="claude-code codex gemini install",
    ),
    Option(
        "--no-ask",
        "refuses what a person would have to confirm, for runs that nobody watches",
        of="claude-code codex gemini install",
    ),
    Option("--enclosed", "an enclosing hook: see install", shown=False),
    # What every hook does; settings that name it keep working.
    Option("--tighten-only", "says nothing where it has nothing against a call", shown=False),
)
CALL = CommandTable("hook", options=CALL_OPTIONS)
HOOK = CommandTable(
    "hook",
    "Reads a tool call from standard input as the agent gives it to a hook, judges shell commands"
    " and the paths of file-writing tools, and asks or refuses on standard output in the agent's"
    " protocol. It never answers allow: what it has nothing against, and every other tool, gets no"
    " answer, so the agent's own rules and prompts apply. What cannot be read is refused.",
    usage=("claude-code|codex|gemini [--pack PACK] [--no-ask]",),
    arguments=(Argument("claude-code|codex|gemini", "answers one tool call of this agent"),),
    options=(
        Heading("of the hook itself, and of install, which writes them down"),
        *CALL_OPTIONS,
        Heading("of install and uninstall"),
        Option("--user", "the settings of this user, for every project (default)", of=_PLACED),
        Option("--project", "the settings of the project in this directory", of=_PLACED),
        Option(
            "--local",
            "as --project, in the file that stays out of version control (claude-code)",
            of=_PLACED,
        ),
        Option(
            "--judge-only",
            "only judges: commands that pass run where the agent runs them, not in the jail",
            of="install",
        ),
        Option("--dry-run", "shows the change and writes nothing", of=_PLACED),
        Option("--json", "one JSON object instead of prose", of="install uninstall status"),
    ),
    status=(
        "0 with an answer, or with nothing where there is no opinion; 2 with a refusal where the"
        " call cannot be read or Redoma failed"
    ),
    samples=(
        Sample("redoma hook install claude-code --project --dry-run", "what would be written"),
        Sample("redoma hook status", "where the hook stands, and whether it can start"),
    ),
)


def manage(argv: list[str]) -> int:
    """Runs one of the three, or shows the help; errors become prose and an exit status."""
    try:
        return HOOK(argv)
    except RedomaError as error:
        return complain(error)


def _scope(line: CommandLine) -> str:
    chosen = [flag for flag in SCOPE_FLAGS if flag in line.flags]
    if len(chosen) > 1:
        raise UsageError("{chosen} exclude each other", chosen=", ".join(chosen), hint=HOOK.hint)
    return chosen[0][2:] if chosen else "user"


def _agent(line: CommandLine) -> str:
    words = line.words
    if len(words) != 1:
        raise UsageError("name one agent", hint=f"redoma hook {line.verb} AGENT")
    if words[0] not in AGENTS:
        meant = nearest(words[0], list(AGENTS))
        hint = Message("agents: {agents}", agents=", ".join(AGENTS))
        if meant:
            hint = Message("did you mean {meant}?", meant=meant)
        raise UsageError("there is no agent {name}", name=repr(words[0]), hint=hint)
    return words[0]


@HOOK.subcommand(
    "install",
    "AGENT [--user|--project|--local] [OPTION]... [-- RUN-OPTION...]",
    "writes the hook into the agent's settings, has its commands run enclosed where it can, and"
    " keeps everything that is there; what follows -- are options of redoma run for them",
    most=None,
)
def _install(given: CommandLine) -> int:
    run = given.words[1:]
    del given.words[1:]
    scope, agent = _scope(given), _agent(given)
    own: list[str] = ["--no-ask"] if "--no-ask" in given.flags else []
    if "--pack" in given.values:
        own += ["--pack", given.values["--pack"]]
    _try_pack(own)
    encloses = agent in ENCLOSING and "--judge-only" not in given.flags
    if run and not encloses:
        raise UsageError("options of redoma run are for commands that run enclosed", hint=HOOK.hint)
    if encloses:
        from redoma.hook.enclosed_shell import checked_options

        checked_options(agent, run)
    change = install(agent, scope, own, run=run if encloses else None)
    if "--dry-run" not in given.flags:
        carry_out(change)
    done = report_change(change, given.flags, notes=_notes(agent, scope, encloses=encloses))
    if given.json:
        _write_json({"agent": agent, "scope": scope, **done})
    elif not change.changed:
        sys.stdout.write(
            phrased(
                "{title}: already installed in {real}\n",
                title=AGENTS[agent].title,
                real=change.kept.real,
            )
        )
    return 0


def _try_pack(own: list[str]) -> None:
    """A hook with a pack that does not exist would refuse everything: better said now."""
    from redoma.pipeline.decisions.check import check

    check(":", pack=read_options(own)[0])


@HOOK.subcommand(
    "uninstall",
    "AGENT [--user|--project|--local] [--dry-run] [--json]",
    "takes exactly that out again",
    most=None,
)
def _uninstall(given: CommandLine) -> int:
    scope, agent = _scope(given), _agent(given)
    found = uninstall(agent, scope)
    results = []
    for change in found:
        if "--dry-run" not in given.flags:
            carry_out(change)
        results.append(report_change(change, given.flags, notes=[]))
    if given.json:
        _write_json({"agent": agent, "scope": scope, "changes": results})
    elif not found:
        path = places(agent, scope)[0].path
        sys.stdout.write(
            phrased("{title}: not installed in {path}\n", title=AGENTS[agent].title, path=path)
        )
    return 0


def report_change(change: SettingsChange, flags: set[str], notes: list[str]) -> dict[str, object]:
    """Says what was or would be done, and returns it as data."""
    kept = change.kept
    dry = "--dry-run" in flags
    backup = kept.backup if os.path.exists(kept.backup) else None
    if kept.is_link and change.changed:
        told = "{path} is a link; the file changed is {real}"
        notes = [Message(told, path=kept.place.path, real=kept.real), *notes]
    if "--json" not in flags and change.changed:
        if dry:
            sys.stdout.write(_difference(change))
        else:
            told = "removed {name}\n" if change.after is None else "changed {name}\n"
            sys.stdout.write(phrased(told, name=harmless(kept.real)))
            if backup:
                sys.stdout.write(phrased("as it was before: {backup}\n", backup=harmless(backup)))
        sys.stdout.flush()  # on a shared screen, what was done comes before what to know about it
        for note in notes:
            sys.stderr.write(phrased("note: {note}\n", note=harmless(phrased(note))))
    return {
        "path": kept.real,
        "changed": change.changed,
        "dry_run": dry,
        "backup": backup,
        "notes": notes,
    }


def _difference(change: SettingsChange) -> str:
    import difflib

    before = (change.kept.text or "").splitlines(keepends=True)
    after = (change.after or "").splitlines(keepends=True)
    lines = difflib.unified_diff(before, after, change.kept.real, change.kept.real)
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def _notes(agent: str, scope: str, *, encloses: bool) -> list[str]:
    """What a person still has to know or do before the hook guards anything."""
    notes = {
        "claude-code": ["sessions that are running keep their hooks; /hooks shows what is active"],
        "codex": ["Codex skips a new hook without a word until you trust it: open /hooks in Codex"],
        "gemini": [
            "Gemini CLI cannot ask before 0.36, and waits for ever where nobody can answer"
            " (gemini -p): for both, install with --no-ask"
        ],
    }[agent]
    if encloses:
        notes.append("shell commands of new sessions run in the jail; redoma undo --session ID")
    elif agent not in ENCLOSING:
        notes.append("its commands are judged and not enclosed; redoma wrap -- codex encloses it")
    if scope == "project":
        notes.append("this file is often shared, and the hook names a path of this machine")
        if agent != "claude-code":
            notes.append("the agent runs a project's hooks only where you trust the project")
    return notes + _switched_off(agent, scope)


def _switched_off(agent: str, scope: str) -> list[str]:
    """Settings beside ours by which the agent runs no hooks at all."""
    keys = {
        "claude-code": (("disableAllHooks", True),),
        "codex": (("features.hooks", False), ("features.codex_hooks", False)),
        "gemini": (("hooksConfig.enabled", False),),
    }[agent]
    found: list[str] = []
    for kept, _ in installed(agent, scope):
        settings = handler(kept.place).parse(kept.text) if kept.text else {}
        for name, off in keys:
            value: object = settings
            for part in name.split("."):
                value = value.get(part) if isinstance(value, dict) else None
            if value is off:
                told = "{real} switches hooks off: {name} is {off}"
                found.append(Message(told, real=kept.real, name=name, off=str(off).lower()))
    return found


@HOOK.subcommand(
    "status",
    "[AGENT] [--json]",
    "every place that an agent reads hooks from, and whether ours is there",
    most=None,
)
def _status(given: CommandLine) -> int:
    agents = [_agent(given)] if given.words else list(AGENTS)
    rows = [row for agent in agents for scope in scopes(agent) for row in _rows(agent, scope)]
    if given.json:
        _write_json({"hooks": rows})
        return 0
    for row in rows:
        state = phrased(str(row["state"]))
        sys.stdout.write(f"{row['agent']:<12} {row['scope']:<8} {state:<14} {row['path']}\n")
    return 0


def _rows(agent: str, scope: str) -> list[dict[str, object]]:
    """One row for each file with our hook; where there is none, one that says so."""
    rows: list[dict[str, object]] = []
    try:
        for kept, ours in installed(agent, scope):
            for group in ours:
                command = str(group["hooks"][0]["command"])  # type: ignore[index]
                state = "installed" if entry.starts(command) else "cannot start"
                rows.append(_row(agent, scope, state, kept.real, command))
    except RedomaError as error:
        rows.append(_row(agent, scope, "unreadable", str(error), None))
    return rows or [_row(agent, scope, "not installed", places(agent, scope)[0].path, None)]


def _row(agent: str, scope: str, state: str, path: str, command: str | None) -> dict[str, object]:
    return {"agent": agent, "scope": scope, "state": state, "path": path, "command": command}


def _write_json(content: dict[str, object]) -> None:
    import json

    sys.stdout.write(json.dumps(content) + "\n")
