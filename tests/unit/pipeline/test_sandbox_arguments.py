"""What programs give to public constructors: a wrong type is an error everywhere."""

from __future__ import annotations

from inspect import signature
from pathlib import Path

import pytest

from redoma import (
    Access,
    AsyncSandbox,
    Call,
    Caller,
    Limits,
    Network,
    Plan,
    PolicyChoice,
    Sandbox,
    SecretSanitizer,
    check,
    facts,
    validate_component,
)
from redoma.dialects.actions import ActionSandbox
from redoma.dialects.components import AutopoieticSandbox, SandboxError
from redoma.dialects.terminal import TerminalSandbox
from redoma.dialects.tools import SandboxedTool, SandboxExecutor
from redoma.model.arguments import WrongType, WrongValue
from redoma.model.errors import UsageError

WRONG: list[tuple[str, object]] = [
    ("level", 3),
    ("engine", None),
    ("limits", {"memory": 1 << 30}),
    ("limits", Limits(memory="1G")),  # type: ignore[arg-type]
    ("limits", Limits(memory=True)),
    ("limits", Limits(memory=-1)),
    ("limits", Limits(memory=1e9)),  # type: ignore[arg-type]
    ("limits", Limits(wall_seconds=float("nan"))),
    ("limits", Limits(wall_seconds="30")),  # type: ignore[arg-type]
    ("at_most", 1 << 30),
    ("access", {"write": ()}),
    ("access.write", Access(write="/srv")),
    ("access.read", Access(read=Path("/srv"))),  # type: ignore[arg-type]
    ("access.read", Access(read=[3])),  # type: ignore[list-item]
    ("access.hide", Access(hide="/etc")),
    ("access.subprocesses", Access(subprocesses=True)),
    ("access.subprocesses", Access(subprocesses=-1)),
    ("access.subprocesses", Access(subprocesses="2")),  # type: ignore[arg-type]
    ("access.env", Access(env=["A=1"])),  # type: ignore[arg-type]
    ("access.env", Access(env={"A": 1})),  # type: ignore[dict-item]
    ("access.env", Access(env={"A=B": "1"})),
    ("access.direct", Access(direct="no")),  # type: ignore[arg-type]
    ("access.temporary", Access(temporary=0)),  # type: ignore[arg-type]
    ("access.apply", Access(apply=True)),  # type: ignore[arg-type]
    ("access.undo", Access(undo="no")),  # type: ignore[arg-type]
    ("network", "example.com"),
    ("network.hosts", Network(hosts="example.com")),
    ("network.any_host", Network(any_host="no")),  # type: ignore[arg-type]
    ("network.publish", Network(publish="8080")),  # type: ignore[arg-type]
    ("network.publish", Network(publish=[True])),
    ("network.publish", Network(publish=[0])),
    ("network.publish", Network(publish=["8080"])),  # type: ignore[list-item]
    ("network.inspect", Network(inspect="false")),  # type: ignore[arg-type]
    ("network.cache", Network(cache="example.com")),
    ("network.credentials", Network(credentials="example.com=TOKEN")),
    ("network.mock", Network(mock=1)),
    ("policy", 3),
    ("policy.project", PolicyChoice(project=3)),  # type: ignore[arg-type]
    ("policy.pack", PolicyChoice(pack=None)),  # type: ignore[arg-type]
    ("policy.rules", PolicyChoice(rules="block")),  # type: ignore[arg-type]
    ("policy.rules", PolicyChoice(rules=[("name", "safety_level == safe")])),  # type: ignore[list-item]
    ("ask", "yes"),
    ("audit", 3),
    ("caller", 3),
    ("caller.session", Caller(session=1)),  # type: ignore[arg-type]
    ("caller.phase", Caller(phase=b"x")),  # type: ignore[arg-type]
]
MOVED = {
    "allow_write": "Access(write=",
    "hide": "Access(hide=",
    "no_undo": "Access(undo=False)",
    "allow_hosts": "Network(hosts=",
    "cache_hosts": "Network(cache=",
    "pack": "PolicyChoice(pack=",
    "record": "audit=",
    "session": "Caller(session=",
}


@pytest.mark.parametrize(("name", "given"), WRONG, ids=[f"{n}={v!r}"[:60] for n, v in WRONG])
def test_a_sandbox_takes_no_argument_of_another_type(
    name: str, given: object, tmp_path: Path
) -> None:
    for kind in (Sandbox, AsyncSandbox):
        with pytest.raises(UsageError) as raised:
            kind(str(tmp_path), **{name.partition(".")[0]: given})
        assert isinstance(raised.value, WrongType | WrongValue)
        assert str(raised.value).startswith(name)


def test_every_argument_of_a_sandbox_is_checked() -> None:
    from redoma.pipeline import settings

    named = set(signature(Sandbox).parameters) - {"workspace"}
    assert named == set(settings.CHECKS)
    for kind, checks in (
        (Access, settings._ACCESS),
        (Network, settings._NETWORK),
        (PolicyChoice, settings._POLICY),
    ):
        assert set(kind._fields) == set(checks)


@pytest.mark.parametrize("name", MOVED)
def test_a_keyword_that_has_another_place_now_says_which(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as raised:
        Sandbox(str(tmp_path), **{name: ()})
    assert isinstance(raised.value, TypeError)
    assert str(raised.value).startswith(f"{name} is given as ")
    assert MOVED[name] in str(raised.value)


def test_an_async_sandbox_has_everything_that_a_sandbox_has() -> None:
    names = [name for name in vars(Sandbox) if not name.startswith("_")]
    missing = [name for name in names if not hasattr(AsyncSandbox, name)]
    assert missing == []
    assert signature(AsyncSandbox) == signature(Sandbox)
    for name in names:
        method, awaited = getattr(Sandbox, name), getattr(AsyncSandbox, name)
        if callable(method):
            assert list(signature(method).parameters) == list(signature(awaited).parameters), name


def test_a_workspace_may_be_a_path_and_nothing_else(tmp_path: Path) -> None:
    assert Sandbox(tmp_path).workspace == str(tmp_path.resolve())  # type: ignore[arg-type]
    assert Sandbox(workspace=str(tmp_path)).workspace == str(tmp_path.resolve())
    with pytest.raises(WrongType):
        Sandbox(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given",
    [
        {"command": 3},
        {"command": b"ls"},
        {"command": ["ls", 3]},
        {"command": {"ls": 1}},
        {"command": "ls", "timeout": "30"},
        {"command": "ls", "timeout": True},
        {"command": "ls", "timeout": -1},
        {"command": "ls", "timeout": float("nan")},
        {"command": "ls", "timeout": float("inf")},
        {"command": "ls", "cwd": 3},
        {"command": "ls", "stdin": "text"},
        {"command": "ls", "stdin": True},
        {"command": "ls", "terminal": "no"},
        {"command": "ls", "trace_files": "no"},
    ],
    ids=str,
)
def test_a_run_takes_no_argument_of_another_type(given: dict[str, object], tmp_path: Path) -> None:
    with pytest.raises((WrongType, WrongValue)):
        Sandbox(str(tmp_path)).run(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given",
    [
        {"target": "len"},
        {"target": len, "args": "abc"},
        {"target": len, "kwargs": ["a"]},
        {"target": len, "timeout": "3"},
        {"target": len, "timeout": float("nan")},
        {"target": len, "collects": True},
        {"target": len, "collects": -1},
        {"target": len, "returns": "Point"},
        {"target": len, "returns": ["Point"]},
    ],
    ids=str,
)
def test_a_call_takes_no_argument_of_another_type(given: dict[str, object]) -> None:
    with pytest.raises((WrongType, WrongValue)):
        Call(**given)  # type: ignore[arg-type]


def test_functions_take_no_argument_of_another_type() -> None:
    for function in (check, facts):
        with pytest.raises(WrongType):
            function(["ls"])  # type: ignore[arg-type]
    with pytest.raises(WrongType):
        SecretSanitizer("secret")  # each letter would be one
    with pytest.raises(WrongType):
        SecretSanitizer(environ=["A=1"])  # type: ignore[arg-type]
    with pytest.raises(WrongType):
        validate_component("x = 1", modules="numpy")  # type: ignore[arg-type]
    with pytest.raises(WrongType):
        validate_component(b"x = 1")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "constraints",
    [
        {"allow_network": "no"},
        {"allow_network": 0},
        {"max_memory_mb": "512"},
        {"max_memory_mb": True},
        {"max_memory_mb": -1},
        {"allowed_write_paths": "out"},
        {"max_execution_time": "5"},
    ],
    ids=str,
)
def test_a_plan_takes_no_value_of_another_type(constraints: dict[str, object]) -> None:
    from json import dumps

    step = {"id": "a", "operation": "shell", "command": "true"}
    plan = {"version": 1, "name": "p", "steps": [step], "constraints": constraints}
    with pytest.raises(UsageError):
        Plan(dumps(plan))


@pytest.mark.parametrize(
    "given",
    [
        {"max_memory_mb": "100"},
        {"max_memory_mb": True},
        {"max_memory_mb": None},
        {"max_cpu_time_seconds": 0.5},
        {"max_file_size_kb": -1},
        {"temp_dir": 3},
    ],
    ids=str,
)
@pytest.mark.requirement("C1")
def test_a_component_sandbox_takes_no_argument_of_another_type(given: dict[str, object]) -> None:
    with pytest.raises(SandboxError):
        AutopoieticSandbox(**given)  # type: ignore[arg-type]


@pytest.mark.requirement("C5")
@pytest.mark.parametrize("name", ["use_systemd_run", "use_namespaces", "use_direct"])
def test_a_step_of_the_cascade_is_not_switched_on_by_the_word_no(name: str, tmp_path: Path) -> None:
    with AutopoieticSandbox(temp_dir=tmp_path) as sandbox:
        with pytest.raises(SandboxError, match=name):
            setattr(sandbox, name, "no")
        assert getattr(sandbox, name) is True
        with pytest.raises(SandboxError):
            sandbox.allowed_modules = "numpy"
        with pytest.raises(SandboxError):
            sandbox.execute_component(b"", "name")  # type: ignore[arg-type]
        with pytest.raises(SandboxError):
            sandbox.execute_component("", 3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given",
    [
        {"allow_hosts": "example.com"},
        {"strict_mode": "no"},
        {"execution_mode": "autonomous"},
        {"cwd": 3},
        {"level": 3},
        {"record": 3},
        {"confirm_callback": "yes"},
    ],
    ids=str,
)
@pytest.mark.requirement("T3")
def test_a_terminal_sandbox_takes_no_argument_of_another_type(given: dict[str, object]) -> None:
    with pytest.raises(TypeError):
        TerminalSandbox(**given)  # type: ignore[arg-type]


def test_executors_and_action_sandboxes_take_no_argument_of_another_type(tmp_path: Path) -> None:
    for kind in (SandboxExecutor, SandboxedTool):
        with pytest.raises(WrongType):
            kind({"allow_network": False})  # type: ignore[arg-type]
    with pytest.raises(WrongType):
        SandboxExecutor(ask="yes")  # type: ignore[arg-type]
    for given in ({"confirm": "yes"}, {"caller": 3}, {"workspace": 3}, {"record": 3}):
        with pytest.raises(WrongType):
            ActionSandbox(**given)  # type: ignore[arg-type]
