"""Scripts that a project's files give a name to: package.json, makefiles, justfiles, tox, tasks.

`npm test` runs what package.json says, `make clean` what the makefile says. Where the workspace can
be read, that is read as if the command had brought it, and reasons name the file and its line.
"""

from __future__ import annotations

import re
from itertools import pairwise

from redoma.judge.interpret.places import normal
from redoma.judge.interpret.script_files import run_lines
from redoma.judge.text.budget import spend

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from redoma.judge.interpret.invocation import Invocation

    Lines = list[tuple[int, str]]

MOST_TASKS = 32
MOST_FOLDERS = 8
_LIFE = {
    "npm": "test start stop restart",
    "pnpm": "test start stop restart",
    "yarn": "",
    "bun": "",
}
_RUN = frozenset(("run", "run-script", "rum", "urn"))
_INSTALL = frozenset("install i ci add in ins isntall rebuild".split())
_INSTALLING = ("preinstall", "install", "postinstall", "prepare")
_CHANGES_FOLDER = ("--prefix", "-C", "--cwd", "--dir")
_TARGET = re.compile(r"([^\s:#=][^:#=\n]*+)(::?)(?!=)([^\n]*+)")
_VARIABLE = re.compile(r"(?:export\s++|override\s++)?([\w.]++)\s*+(?::{0,3}|\?|\+)=\s*+(.*+)")
_USED = re.compile(r"\$[({]([\w.]+)[)}]")
_RECIPE = re.compile(r"@?([\w-]++)([^:=\n]*+):(?!=)([^\n]*+)")


def read_named(call: Invocation) -> None:
    """Walks what the files of the project say that this call runs."""
    reading = _READERS.get(call.name)
    if reading is not None and call.walker.ground.reader is not None:
        reading(call)


def _found(call: Invocation, *names: str) -> tuple[str, str] | None:
    """The nearest file of one of these names, from where the call stands up to the workspace."""
    workspace = call.walker.ground.workspace
    folder = call.state.cwd
    words = call.args
    for option, value in pairwise(words):
        if option in _CHANGES_FOLDER:
            folder = normal(value, folder)
    for _ in range(MOST_FOLDERS):
        for name in names:
            path = f"{folder}/{name}"
            text = call.walker.scripts.text(path)
            if text is not None:
                return path, text
        if not folder.startswith(f"{workspace}/"):
            break
        folder = folder.rpartition("/")[0]
    return None


def _line(text: str, name: str) -> int:
    """The line that gives a name its commands."""
    at = text.find(f'"{name}"')
    at = text.find(name) if at < 0 else at
    return text.count("\n", 0, at) + 1 if at >= 0 else 1


def _operands(call: Invocation) -> list[str]:
    words: list[str] = []
    skips = False
    for word in call.args:
        if word == "--":
            break
        if not skips and word[:1] != "-":
            words.append(str(word))
        skips = word in _CHANGES_FOLDER or word in ("-w", "--workspace", "--filter", "-F")
    return words


def _package(call: Invocation) -> None:
    words = _operands(call)
    verb = words[0] if words else ("install" if call.name == "yarn" else "")
    names: list[str] = []
    if verb in _RUN and len(words) > 1:
        names = [words[1]]
    elif verb in ("t", "tst"):
        names = ["test"]
    elif verb in _INSTALL:
        names = list(_INSTALLING)
    elif verb == "publish":
        names = ["prepublishOnly", "prepublish", "prepack", "prepare", "publish"]
    elif verb and (verb in _LIFE[call.name].split() or call.name != "npm"):
        names = [verb]
    found = _found(call, "package.json") if names else None
    held = _json(found[1]) if found is not None else None
    scripts = held.get("scripts") if isinstance(held, dict) else None
    if found is None or not isinstance(scripts, dict):
        return
    _run(call, found, _with_around(scripts, names))


def _json(text: str) -> Any:
    from json import loads

    try:
        return loads(text)
    except (ValueError, RecursionError):
        return None


def _with_around(scripts: dict[str, Any], names: list[str]) -> list[tuple[str, str]]:
    """The scripts of these names, with what runs before and after each, and those that they run."""
    found: dict[str, str] = {}
    waiting = list(names)
    while waiting and len(found) < MOST_TASKS:
        name = waiting.pop(0)
        for each in (f"pre{name}", name, f"post{name}"):
            script = scripts.get(each)
            if isinstance(script, str) and each not in found:
                found[each] = script
                spend(64 + len(script))
    return list(found.items())


def _run(call: Invocation, found: tuple[str, str], tasks: list[tuple[str, str]]) -> None:
    path, text = found
    state = call.state.copy()
    state.cwd = path.rpartition("/")[0]
    run_lines(call, path, [(_line(text, name), script) for name, script in tasks], state)


def _composer(call: Invocation) -> None:
    words = _operands(call)
    names = words[1:2] if words[:1] in (["run-script"], ["run"]) else words[:1]
    found = _found(call, "composer.json")
    held = _json(found[1]) if found is not None else None
    scripts = held.get("scripts") if isinstance(held, dict) else None
    if found is None or not isinstance(scripts, dict):
        return
    wanted = [*names, *(f"{when}-{name}-cmd" for name in names for when in ("pre", "post"))]
    _run(call, found, [each for name in wanted for each in _listed(name, scripts.get(name))])


def _deno(call: Invocation) -> None:
    words = _operands(call)
    found = _found(call, "deno.json") if words[:1] == ["task"] else None
    held = _json(found[1]) if found is not None else None
    tasks = held.get("tasks") if isinstance(held, dict) else None
    if found is not None and isinstance(tasks, dict):
        named = [each for name in words[1:2] for each in _listed(name, tasks.get(name))]
        _run(call, found, named)


def _listed(name: str, given: object) -> list[tuple[str, str]]:
    """Commands as text, or as a list of texts or of lists of words."""
    if isinstance(given, dict):
        given = given.get("cmd") or given.get("shell") or given.get("command")
    items = given if isinstance(given, list) else [given]
    texts = [" ".join(map(str, each)) if isinstance(each, list) else each for each in items]
    return [(name, each) for each in texts if isinstance(each, str)][:MOST_TASKS]


def _make(call: Invocation) -> None:
    """A makefile's recipes for the targets that are named, or its first; what they need before."""
    given = [v for o, v in pairwise(call.args) if o in ("-f", "--file")]
    names = [str(word) for word in given] or ["GNUmakefile", "makefile", "Makefile"]
    found = _found(call, *names)
    if found is None or not {"-n", "--dry-run", "--just-print", "-q"}.isdisjoint(call.args):
        return
    path, text = found
    variables, rules, always = _makefile(text)
    wanted = [word for word in _operands(call) if "=" not in word and word not in names]
    for word in call.args:
        name, equals, value = word.partition("=")
        if equals and name.isidentifier():
            variables[name] = value
    first = next((each for each in rules if not each.startswith(".") and "%" not in each), "")
    lines: Lines = [(line, _filled(each, variables, "", "")) for line, each in always]
    done: set[str] = set()
    waiting = wanted or [first]
    while waiting and len(done) < MOST_TASKS:
        target = waiting.pop(0)
        if target in done or target not in rules:
            continue
        done.add(target)
        needs, recipe = rules[target]
        waiting += needs
        lines += [
            (line, _filled(each, variables, target, " ".join(needs))) for line, each in recipe
        ]
    state = call.state.copy()
    state.cwd = path.rpartition("/")[0]
    run_lines(call, path, lines, state)


def _makefile(text: str) -> tuple[dict[str, str], dict[str, tuple[list[str], Lines]], Lines]:
    """Its variables, its rules with what they need and do, and what runs while it is read."""
    variables: dict[str, str] = {}
    rules: dict[str, tuple[list[str], Lines]] = {}
    always: Lines = []
    recipe: Lines = []
    joined, begins = "", 0
    for number, each in enumerate(text.split("\n"), 1):
        spend(4 + len(each) // 4)
        begins = begins if joined else number
        joined += each
        if joined.endswith("\\"):
            joined = joined[:-1] + " "
            continue
        line, joined = joined, ""
        if line.startswith("\t"):
            recipe.append((begins, line.strip().lstrip("@-+ ")))
            continue
        always += [(begins, run) for run in re.findall(r"\$[({]shell\s++([^)}\n]*+)", line)]
        assigned, rule = _VARIABLE.match(line), _TARGET.match(line)
        if "!=" in line:
            always.append((begins, line.partition("!=")[2].strip()))
        elif assigned is not None:
            variables[assigned[1]] = assigned[2].partition(" #")[0].strip()
        elif rule is not None:
            needs, semicolon, command = rule[3].partition(";")
            recipe = [(begins, command.strip())] if semicolon else []
            for target in rule[1].split():
                before = rules.get(target, ([], []))
                recipe = before[1] + recipe if rule[2] == "::" or not recipe else recipe
                rules[target] = ([*before[0], *needs.replace("|", " ").split()], recipe)
    return variables, rules, always


def _filled(command: str, variables: dict[str, str], target: str, needs: str) -> str:
    """A recipe's line as the shell gets it; variables that the file does not set stay."""
    for _ in range(4):
        changed = _USED.sub(lambda m: variables.get(m[1], f"$\x01{{{m[1]}}}"), command)
        if changed == command or len(changed) > 4096:
            break
        command = changed
    command = command.replace("$\x01", "\x01").replace("$$", "\x01")
    command = command.replace("$@", target).replace("$<", needs.partition(" ")[0])
    return command.replace("$^", needs).replace("\x01", "$")


def _just(call: Invocation) -> None:
    found = _found(call, "justfile", "Justfile", ".justfile")
    if found is None:
        return
    path, text = found
    recipes: dict[str, tuple[list[str], Lines]] = {}
    lines: Lines = []
    for number, line in enumerate(text.split("\n"), 1):
        spend(4 + len(line) // 4)
        begins = _RECIPE.match(line)
        if line[:1] in (" ", "\t") and line.strip():
            lines.append((number, re.sub(r"\{\{[^}]*+\}\}", "$just", line.strip().lstrip("@-"))))
        elif begins is not None:
            lines = []
            recipes[begins[1]] = (re.findall(r"[\w-]+", begins[3].replace("&&", " ")), lines)
    waiting = [word for word in _operands(call) if word in recipes] or list(recipes)[:1]
    done: dict[str, None] = {}
    while waiting and len(done) < MOST_TASKS:
        name = waiting.pop(0)
        if name in recipes and name not in done:
            done[name] = None
            waiting += recipes[name][0]
    state = call.state.copy()
    state.cwd = path.rpartition("/")[0]
    run_lines(call, path, [each for name in done for each in recipes[name][1]], state)


def _tox(call: Invocation) -> None:
    found = _found(call, "tox.ini")
    if found is None:
        return
    path, text = found
    lines: Lines = []
    inside = False
    for number, line in enumerate(text.split("\n"), 1):
        key, equals, value = line.partition("=")
        if equals and line[:1] not in (" ", "\t"):
            inside = key.strip().startswith("commands")
            lines += [(number, value)] if inside and value.strip() else []
        elif line[:1] in (" ", "\t") and inside:
            lines.append((number, line))
        elif line.startswith("["):
            inside = False
    made = [
        (number, re.sub(r"\{[^}]*+\}", "$tox", line).strip().lstrip("- ")) for number, line in lines
    ]
    state = call.state.copy()
    state.cwd = path.rpartition("/")[0]
    run_lines(call, path, [each for each in made if each[1]], state)


def _python_file(*names: str) -> Any:
    """Runs a file of Python whose name says that a tool loads it."""

    def read(call: Invocation) -> None:
        found = _found(call, *names)
        if found is not None:
            call.executes_file(call.word.like(found[0]), "python")

    return read


_TABLES = {
    "pdm": (("tool", "pdm", "scripts"), 1),
    "poe": (("tool", "poe", "tasks"), 0),
    "task": (("tool", "taskipy", "tasks"), 0),
    "hatch": (("tool", "hatch", "envs", "default", "scripts"), 1),
}


def _pyproject(call: Invocation) -> None:
    """Tasks of `pyproject.toml`: `poe`, `pdm run`, `hatch run`, `task`."""
    keys, at = _TABLES[call.name]
    words = _operands(call)
    if at and words[:1] != ["run"]:
        return
    found = _found(call, "pyproject.toml") if len(words) > at else None
    if found is None:
        return
    from tomllib import TOMLDecodeError, loads

    try:
        table: Any = loads(found[1])
    except (TOMLDecodeError, RecursionError):
        return
    for key in keys:
        table = table.get(key) if isinstance(table, dict) else None
    if isinstance(table, dict):
        name = words[at].rpartition(":")[2]
        _run(call, found, _listed(name, table.get(name)))


_READERS = {
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), _package),
    **dict.fromkeys(("make", "gmake"), _make),
    **dict.fromkeys(("pdm", "poe", "task", "hatch"), _pyproject),
    "composer": _composer,
    "deno": _deno,
    "just": _just,
    "tox": _tox,
    "nox": _python_file("noxfile.py"),
    "pytest": _python_file("conftest.py"),
}
