"""The command of a run: its command line inside, and its environment where no root is built."""

from __future__ import annotations

import os

from redoma.jail.engines import view
from redoma.jail.protect import installation
from redoma.model.errors import EngineFailed
from redoma.model.request import Program, PythonCall, ShellCommand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.grant import RunPlan
    from redoma.model.request import Workload

# 127 for a missing program and 126 for one that may not be run, as every shell says.
_EXEC = 'exec "$0" "$@"'
# Nothing of the caller's is in the interpreter but what it reads from its standard input.
_CALL = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from redoma.jail.calls.harness import main; main(sys.argv[2:])"
)


def command_of(workload: Workload, path: str, visible: tuple[str, ...]) -> tuple[str, ...]:
    """What to execute for a workload."""
    if isinstance(workload, ShellCommand):
        # A line that begins with a dash would be read as the shell's own options.
        text = f" {workload.text}" if workload.text.startswith(("-", "+")) else workload.text
        return (workload.shell, "-c", text)
    if isinstance(workload, PythonCall):
        python = (installation.INTERPRETER, "-I", "-S", "-B", "-X", "utf8")
        return (*python, "-c", _CALL, installation.LIBRARY, *workload.entry)
    assert isinstance(workload, Program)
    name, *rest = workload.argv
    found = _found(name, path, visible)
    if found:
        return (found, *rest)
    return ("/bin/sh", "-c", _EXEC, name, *rest)


def shown_as_it_is(plan: RunPlan) -> tuple[view.View, dict[str, str]]:
    """The view and the environment for engines that show the machine's own paths."""
    grant = plan.grant
    if any(each.path for each in grant.secrets):
        raise EngineFailed(
            f"the engine {plan.engine} has no place of its own for a secret's file",
            hint="give the secret in a variable, or take an engine with a root of its own",
        )
    home = view.home_directory()
    roots = (grant.workspace, *grant.writable, *grant.readable)
    seen = view.build(grant.home, home=home, path=os.environ.get("PATH", ""), keep=roots)
    env = view.clean(
        view.passing(grant.variables),
        home=home,
        path=seen.path,
        user=view.user_name(os.geteuid()),
        given=(*grant.env, *secret_variables(plan)),
        visible=tuple(place for _, place in seen.binds) + roots,
    )
    return seen, env


def secret_variables(plan: RunPlan) -> list[tuple[str, str]]:
    """The variables that a command gets a secret in; none at a trial, which has no secrets."""
    pairs = zip(plan.grant.secrets, plan.secrets, strict=False)
    return [(grant.variable, secret.reveal()) for grant, secret in pairs if grant.variable]


def _found(name: str, path: str, visible: tuple[str, ...]) -> str:
    """The program's full path if it can surely be executed inside."""
    if "/" in name:
        candidates = [name] if name.startswith("/") else []
    else:
        candidates = [f"{entry}/{name}" for entry in path.split(":")]
    for candidate in candidates:
        if os.access(candidate, os.X_OK) and os.path.isfile(candidate):
            real = os.path.realpath(candidate)
            return candidate if real.startswith(tuple(f"{v}/" for v in visible)) else ""
    return ""
