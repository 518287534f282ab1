"""Rooms know only the rooms that the architecture lets them know."""

from __future__ import annotations

import ast

import pytest

from tests.house.tree import ROOT, folder_of, imports_of, modules, room_of, tree_of

PUBLIC = ""  # the package's own public names
BELOW_PIPELINE = {"model", "base", "judge", "ask", "jail", "egress", "audit", "vault", "login"}
MAY_IMPORT = {
    PUBLIC: {"model", "judge", "jail", "pipeline", "i18n"},
    "__main__": {"base", "cli", "hook", "i18n"},
    "model": set(),
    "base": {"model"},
    "judge": {"model", "base"},
    "ask": {"model", "base", "i18n"},
    "jail": {"model", "base", "egress"},
    "egress": {"model", "base", "jail"},
    "audit": {"model", "base"},
    "vault": {"model", "base"},
    "login": {"model", "base"},
    "i18n": {"model", "base", PUBLIC},
    "pipeline": BELOW_PIPELINE,
    "cli": {"pipeline", "model", "base", "i18n", PUBLIC},
    "hook": {"cli", "pipeline", "model", "base", "i18n", PUBLIC},
    "mcp": {"hook", "cli", "pipeline", "model", "base", "i18n", PUBLIC},
    "sessions": {"pipeline", "audit", "model", "base"},
    "server": {"sessions", "cli", "pipeline", "jail", "model", "base", "i18n", PUBLIC},
    "fleet": {"cli", "pipeline", "audit", "jail", "model", "base", "i18n", PUBLIC},
    "integrations": {PUBLIC, "model", "base"},
    "subprocess": {PUBLIC, "model"},
    "dialects": {PUBLIC, "model", "base"},
    "testing": {PUBLIC, "model"},
}
# The folders of a package in their order: each may import only what stands left of it. Modules at
# the package's top assemble the folders, so no folder imports them.
ORDER = {
    "jail": (
        *("kernel", "probe", "protect", "overlay", "engines", "profiles"),
        *("supervisor", "forkserver", "cells", "containers", "calls"),
    ),
    "judge": ("text", "shell", "interpret", "languages", "programs", "rules", "policy", "intent"),
}
STARTS_PROCESSES = {"subprocess", "multiprocessing", "pty", "concurrent.futures"}
PROCESS_CALLS = ("system", "popen", "fork", "forkpty", "posix_spawn", "exec", "spawn")
WORLD = {
    *("os", "pathlib", "io", "glob", "shutil", "tempfile", "fileinput", "mmap"),
    *("time", "datetime", "random", "secrets", "uuid"),
    *("socket", "ssl", "urllib", "http", "asyncio", "select", "threading", "signal"),
    *STARTS_PROCESSES,
}

MODULES = modules()


@pytest.mark.parametrize("module", MODULES)
def test_a_room_imports_only_what_stands_below_it(module: str) -> None:
    room = room_of(module)
    allowed = MAY_IMPORT[room] | {room}
    strays = [
        f"line {line}: {imported}"
        for imported, line in imports_of(MODULES[module])
        if imported.split(".")[0] == "redoma" and room_of(imported) not in allowed
    ]
    assert strays == []


@pytest.mark.parametrize("module", [m for m in MODULES if room_of(m) in ORDER])
def test_a_folder_imports_only_what_stands_left_of_it(module: str) -> None:
    room, folder = room_of(module), folder_of(module)
    order = ORDER[room]
    left = order[: order.index(folder)] if folder else order
    strays = [
        f"line {line}: {imported}"
        for imported, line in imports_of(MODULES[module])
        if imported.startswith(f"redoma.{room}.") and folder_of(imported) not in {folder, *left}
    ]
    assert strays == []


@pytest.mark.parametrize("module", [m for m in MODULES if room_of(m) == "egress"])
def test_the_egress_gate_knows_only_the_kernel_folder_of_the_jail(module: str) -> None:
    strays = [
        f"line {line}: {imported}"
        for imported, line in imports_of(MODULES[module])
        if imported.startswith("redoma.jail") and not imported.startswith("redoma.jail.kernel")
    ]
    assert strays == []


@pytest.mark.parametrize("module", MODULES)
def test_a_module_uses_no_private_name_of_another(module: str) -> None:
    strays = [
        f"line {node.lineno}: {node.module}.{name.name}"
        for node in ast.walk(tree_of(MODULES[module]))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("redoma")
        for name in node.names
        if name.name.startswith("_") and not name.name.startswith("__")
    ]
    assert strays == []


@pytest.mark.parametrize("module", [m for m in MODULES if room_of(m) == "judge"])
def test_the_judge_touches_no_file_no_clock_and_no_process(module: str) -> None:
    path = MODULES[module]
    strays = [
        f"line {line}: {imported}"
        for imported, line in imports_of(path)
        if imported in WORLD or imported.split(".")[0] in WORLD
    ]
    strays += [
        f"line {node.lineno}: open()"
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in {"open", "input", "print"}
    ]
    assert strays == []


@pytest.mark.parametrize("module", MODULES)
def test_only_the_jails_kernel_files_import_ctypes(module: str) -> None:
    if module.startswith("redoma.jail.kernel"):
        return
    imported = {name.split(".")[0] for name, _ in imports_of(MODULES[module])}
    assert imported & {"ctypes", "_ctypes", "cffi"} == set()


ABOUT_PYTHON = {"cores", "import_cache", "pattern_cache", "signals"}
PUBLIC_ALL_THE_SAME = {"__future__", "_thread"}  # both have a page in the library's reference


@pytest.mark.parametrize("module", MODULES)
def test_private_modules_of_python_are_imported_in_four_places_alone(module: str) -> None:
    if module in {f"redoma.base.{name}" for name in ABOUT_PYTHON}:
        return
    imported = {name.split(".")[0] for name, _ in imports_of(MODULES[module])}
    private = {name for name in imported if name.startswith("_")} - PUBLIC_ALL_THE_SAME
    kernel = {"_ctypes"} if module.startswith("redoma.jail.kernel") else set()
    assert private - kernel == set()


@pytest.mark.parametrize("module", MODULES)
def test_only_the_jails_runner_starts_processes(module: str) -> None:
    # jail/forkserver runs inside a sandbox, between the supervisor and the command.
    starters = ("supervisor", "forkserver", "cells", "calls")
    starters += ("kernel.netns_sockets", "kernel.cgroups")
    if module.startswith(tuple(f"redoma.jail.{name}" for name in starters)):
        return
    path = MODULES[module]
    # The drop-in has the library's classes and constants, and starts its commands by `Sandbox`.
    starting = STARTS_PROCESSES - ({"subprocess"} if room_of(module) == "subprocess" else set())
    strays = [f"line {line}: {name}" for name, line in imports_of(path) if name in starting]
    strays += [
        f"line {node.lineno}: os.{node.attr}"
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in {"os", "posix"}
        and node.attr.startswith(PROCESS_CALLS)
    ]
    assert strays == []


def test_every_room_has_a_row_in_the_architecture() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rooms = {room_of(m) for m in MODULES} - {PUBLIC, "__main__"}
    rows = {line.split("`")[1] for line in text.splitlines() if line.startswith("| `")}
    assert {room for room in rooms if not rows & {f"{room}/", f"{room}.py"}} == set()
