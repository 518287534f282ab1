"""Variables that make other programs run code, and what assigning or dropping them means."""

from __future__ import annotations

import re

from redoma.judge.interpret.arg import UNKNOWN, Arg
from redoma.judge.interpret.places import normal, place_of
from redoma.model.decision import Effect, Place, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from redoma.judge.interpret.invocation import Invocation
    from redoma.judge.interpret.state import State
    from redoma.judge.interpret.walker import Walker

MOST_WORDS = 64
_SSH_SETTINGS = (
    "StrictHostKeyChecking|IdentitiesOnly|BatchMode|ConnectTimeout|UserKnownHostsFile|LogLevel"
    "|IdentityFile"
)
_HARMLESS_COMMANDS = re.compile(
    r"(?:/(?:usr/)?(?:local/)?bin/)?(?:cat|less(?: -[-A-Za-z]+)*|more|most|true|false|:|none|never"
    r"|echo|head|delta|bat(?:cat)?(?: -[-a-z=]+)*|n?vim?(?: -\w+)*|nano(?: -\w+)?|pico|micro|hx"
    r"|helix|kak|joe|mg|emacs(?:client)?(?: -\w+)*|code(?:-insiders)?(?: (?:--wait|-w))?"
    r"|cursor(?: --wait)?|subl(?: -w)?|zed(?: --wait)?|gedit|kate|xdg-open|open|firefox|chromium"
    r"|google-chrome|wslview|ssh(?: -(?:[1246AaCfgKkMNnqsTtVvXxYy]+|i \S+|p \d+|l \S+|o (?:"
    + _SSH_SETTINGS
    + r")=\S+))*|(?:fd|fdfind|rg|find|git)(?: [\w.*=/' -]+)?|gcc(?:-\d+)?|g\+\+(?:-\d+)?"
    r"|clang(?:\+\+)?(?:-\d+)?|cc|c\+\+|ccache (?:gcc|clang|g\+\+)|ld|lld|ar|musl-gcc"
    r"|(?:\w+-){2,3}(?:gcc|g\+\+|ld|ar|clang))?"
)
_SHELLS = frozenset("bash sh zsh ksh dash fish".split())
_USUAL_SHELL = re.compile(r"/(?:usr/)?(?:local/)?bin/(?:ba|z|da|k|fi)?sh|(?:ba|z|da|k|fi)?sh")
_ENVIRONMENT_BIN = re.compile(r"(?:\./)?(?:\.?v?env|node_modules|vendor)/\.?bin/?")
_PROMPTS = ("PS0", "PS1", "PS2", "PS4", "PROMPT", "RPROMPT")
_HISTORY = frozenset(("HISTFILE", "HISTSIZE", "HISTFILESIZE", "SAVEHIST", "HISTIGNORE", "HISTCMD"))
_SECRET_VALUE = re.compile(
    r"(?:ghp_|gho_|ghs_|ghu_|github_pat_|glpat-|sk-[A-Za-z0-9]|sk_live_|rk_live_|xox[abpr]-"
    r"|AKIA[0-9A-Z]{8}|ASIA[0-9A-Z]{8}|AIza[0-9A-Za-z_-]{10}|npm_[A-Za-z0-9]{8}"
    r"|pypi-[A-Za-z0-9]{8}|hf_[A-Za-z0-9]{8}|dop_v1_|eyJ[A-Za-z0-9_-]{10}|-----BEGIN )"
)
_CODE_VALUE = re.compile(
    r"\s*(?:/\S*/)?(?:(?:ba|z|da|k|fi)?sh\s+-\w*c\b|python3?\s+-c\b|(?:node|perl|ruby)\s+-e\b)"
)
_GIT_KEYS = (
    "command",
    "pager",
    "editor",
    "sshcommand",
    "fsmonitor",
    "hookspath",
    "proxy",
    "askpass",
    "helper",
    "textconv",
    "driver",
    "alias.",
    "cmd",
    "program",
)
_USUAL = (
    "/bin",
    "/.bin",
    "/.cargo/",
    "/.local/",
    "/go/",
    "/.nvm/",
    "/.pyenv/",
    "/.rbenv/",
    "/.bun/",
    "/.deno/",
    "/.asdf/",
    "/.volta/",
)


def judge_variable(walker: Walker, name: str, value: Arg, state: State, *, kept: bool) -> None:
    """Notes what setting a variable would make others do."""
    entry = walker.knowledge.variable(name)
    if entry is not None and entry["of"]:
        # What only some programs obey is judged where one of them is called.
        if kept:
            state.exported.add(name)
    elif entry is not None:
        _judge_entry(walker, name, value, state, entry, kept=kept)
    elif value.startswith("() {"):
        _judge_loader(walker, name, value, state)
    elif name.startswith("GIT_CONFIG"):
        _judge_git(walker, name, value)
    elif name in _PROMPTS:
        if "$(" in value or "`" in value:
            walker.note(Effect.EXECUTES, value.span, tags=("loader",), detail=name)
            walker.hidden_text(value, state)
    elif name == "PATH":
        walker.note(Effect.WRITES, value.span, tags=("shell-state",), detail=name)
        _judge_path(walker, value, state, kept=kept)
    elif name in _HISTORY and value in ("", "0", "/dev/null", "*"):
        target = Target(text=name, place=Place.SECRET)
        walker.note(Effect.DELETES, value.span, target, tags=("history",))
    elif _CODE_VALUE.match(value):
        walker.note(Effect.EXECUTES, value.span, tags=("prepared",), detail=name)
    if value and holds_secret(value):
        target = Target(text=name, place=Place.SECRET)
        walker.note(Effect.SECRETS, value.span, target, tags=("literal",))


def _judge_entry(
    walker: Walker, name: str, value: Arg, state: State, entry: Any, *, kept: bool
) -> None:
    """What `variables.yaml` says of a variable, for this value of it."""
    kind = entry["kind"]
    if kind == "loads":
        _judge_loader(walker, name, value, state)
    elif kind == "folders":
        _judge_folders(walker, name, value, state)
    elif kind == "settings":
        _judge_settings(walker, name, value, state)
    elif kind == "clients":
        walker.note(Effect.WRITES, value.span, tags=("clients",), detail=name)
    elif kind == "options":
        rest = str(value)
        for harmless in entry["unless"]:
            rest = rest.replace(harmless, "")
        if UNKNOWN not in value and any(mark in rest for mark in entry["marks"]):
            walker.note(Effect.EXECUTES, value.span, tags=("loader",), detail=name)
            if "$(" in value or "`" in value:
                walker.hidden_text(value, state)
    elif kind == "commands":
        if kept and value not in ("", "true", ":", "cat"):
            walker.note(Effect.WRITES, value.span, tags=("shell-state",), detail=name)
        _judge_command(walker, name, value, state)


def steer(call: Invocation) -> None:
    """Judges what is set for a program that obeys it; options by variable become words."""
    for name, value in list(call.environment.items()):
        entry = call.walker.knowledge.variable(name)
        if entry is None or call.name not in entry["of"]:
            continue
        if entry["kind"] == "words":
            call.args = [*call.args, *(value.like(word) for word in value.split()[:MOST_WORDS])]
        elif name == "SHELL" and _USUAL_SHELL.fullmatch(value):
            continue
        elif call.name not in _SHELLS or _reads_settings(call):
            _judge_entry(call.walker, name, value, call.state, entry, kept=False)


def _reads_settings(call: Invocation) -> bool:
    """Whether a shell looks for its own files: as a login shell, or an interactive one."""
    short = "".join(word[1:] for word in call.args if word[:1] == "-" and word[1:2] != "-")
    return not call.args or "--login" in call.args or not set("il").isdisjoint(short)


def judge_steering(walker: Walker, name: str, value: Arg, state: State) -> None:
    """The same for what sets a variable without an assignment, where others are steered by it.

    Attack: `for GIT_PAGER in 'rm -rf ~'`, `${LD_PRELOAD:=x.so}`, `((PATH=3))`, `mapfile PATH`.
    """
    if (
        name in _HISTORY
        or name in ("PATH", "PS4")
        or name.startswith("GIT_CONFIG")
        or walker.knowledge.variable(name) is not None
    ):
        judge_variable(walker, name, value, state, kept=True)


def _judge_loader(walker: Walker, name: str, value: Arg, state: State) -> None:
    """Code by variable: the prompt's command, and a file that this script wrote, are read."""
    if value:
        walker.note(Effect.EXECUTES, value.span, tags=("loader",), detail=name)
    if name == "PROMPT_COMMAND" and UNKNOWN not in value:
        walker.nested(value, state.copy())
    elif name == "BASH_ENV":
        held = walker.files.get(state.behind(normal(value, state.cwd)))
        if held is not None and held.text is not None:
            walker.nested(value.like(held.text), state.copy())
    elif "$(" in value or "`" in value:
        walker.hidden_text(value, state)


def _judge_command(walker: Walker, name: str, value: Arg, state: State) -> None:
    """A pager, an editor, a transport: the usual ones pass, others are read as what they run."""
    if _HARMLESS_COMMANDS.fullmatch(value.strip()):
        return
    walker.note(Effect.EXECUTES, value.span, tags=("hooked",), detail=name)
    if UNKNOWN not in value:
        walker.nested(value.like(value.lstrip("|")), state.copy())


def _judge_git(walker: Walker, name: str, value: Arg) -> None:
    """Git's settings by variables: keys that name programs, or whole files of settings."""
    lowered = value.lower()
    if name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG"):
        if value not in ("", "/dev/null"):
            walker.note(Effect.EXECUTES, value.span, tags=("loader",), detail=name)
    elif name == "GIT_CONFIG_PARAMETERS" or (
        name.startswith("GIT_CONFIG_KEY")
        and (UNKNOWN in value or any(key in lowered for key in _GIT_KEYS))
    ):
        walker.note(Effect.EXECUTES, value.span, tags=("loader",), detail=f"{name}={value}")


def _judge_folders(walker: Walker, name: str, value: Arg, state: State) -> None:
    """Folders that code is loaded from: the project's own and the system's are what is usual."""
    for entry in value.replace(";", ":").split(":"):
        if not entry or UNKNOWN in entry:
            continue
        place = place_of(normal(entry, state.cwd), walker.ground)
        if place in (Place.TEMP, Place.OUTSIDE, Place.DEVICE) and not entry.startswith(
            ("/opt/", "/srv/")
        ):
            walker.note(Effect.EXECUTES, value.span, tags=("loader",), detail=f"{name}={entry}")
            return


def _judge_settings(walker: Walker, name: str, value: Arg, state: State) -> None:
    """Settings: the user's own, the system's and none at all are what is usual."""
    if not value or UNKNOWN in value or value in ("/dev/null", "none", "off"):
        return
    path = normal(value, state.cwd)
    place = place_of(path, walker.ground)
    usual = (Place.HOME, Place.HOME_ROOT, Place.SYSTEM, Place.SYSTEM_TREE, Place.NOWHERE)
    if place not in usual:
        walker.note(Effect.EXECUTES, value.span, tags=("loader",), detail=f"{name}={value}")


def _judge_path(walker: Walker, value: Arg, state: State, *, kept: bool) -> None:
    first, colon, _ = value.partition(":")
    if value == UNKNOWN and kept:
        walker.note(Effect.EXECUTES, value.span, tags=("prepared",), detail="PATH")
    if first.startswith(("/usr/", "/bin", "/sbin", "/opt/", "/snap/", UNKNOWN)):
        return
    if not first and not colon:
        return
    if first[:1] == "/" or _ENVIRONMENT_BIN.fullmatch(first):
        first = normal(first, state.cwd)
    home, workspace = walker.ground.home, walker.ground.workspace
    if first.startswith((home + "/", workspace + "/")) and any(usual in first for usual in _USUAL):
        return
    # An empty entry is the directory that the shell is in.
    walker.note(Effect.EXECUTES, value.span, tags=("path",), detail=first or ".")


def holds_secret(text: str) -> bool:
    """Whether a text holds what looks like a real token or key."""
    return _SECRET_VALUE.search(text) is not None


def judge_unset(call: Invocation, name: Arg) -> None:
    """Dropping the history's variables hides what was done."""
    if name in _HISTORY:
        target = Target(text=str(name), place=Place.SECRET)
        call.fact(Effect.DELETES, target, tags=("history",))
