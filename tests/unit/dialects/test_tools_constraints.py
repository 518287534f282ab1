"""Constraints: what they take, which paths and hosts they let through, what they propose instead."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from redoma.dialects import tools
from redoma.dialects.tools import (
    Alternative,
    SandboxConstraints,
    SandboxViolation,
    adapt_on_sandbox_violation,
    get_filesystem_only,
    get_permissive,
    get_restricted,
    get_safe_defaults,
)

HOME = os.path.realpath(os.path.expanduser("~"))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    real = tmp_path.resolve() / "home"
    (real / "projects").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(real))
    return real


@pytest.mark.requirement("X1")
def test_every_constraint_of_the_document_is_there_with_a_default_that_gives_least() -> None:
    found = SandboxConstraints()
    assert (found.allowed_read_paths, found.allowed_write_paths) == (None, frozenset())
    assert {"/etc", "/sys", "/proc", f"{HOME}/.ssh"} <= found.forbidden_paths
    assert (found.max_execution_time, found.max_memory_mb, found.max_file_size_mb) == (
        30,
        1024,
        100,
    )
    assert (found.allow_network, found.allowed_hosts) == (False, frozenset())
    assert (found.allow_subprocess, found.max_subprocesses) == (False, 5)


@pytest.mark.requirement("X1")
def test_the_constraints_of_the_documents_examples_are_taken_as_written() -> None:
    files = SandboxConstraints(
        allowed_read_paths={"/home/user"},
        allowed_write_paths={"/home/user/projects"},
        forbidden_paths={"/etc", "/sys", "/proc"},
    )
    assert files.forbidden_paths == {"/etc", "/sys", "/proc"}
    assert SandboxConstraints(max_execution_time=30).max_execution_time == 30
    sizes = SandboxConstraints(max_memory_mb=512, max_file_size_mb=100)
    assert (sizes.max_memory_mb, sizes.max_file_size_mb) == (512, 100)
    network = SandboxConstraints(
        allow_network=True, allowed_hosts={"api.openai.com", "api.deepseek.com"}
    )
    assert network.allowed_hosts == {"api.openai.com", "api.deepseek.com"}
    processes = SandboxConstraints(allow_subprocess=True, max_subprocesses=5)
    assert (processes.allow_subprocess, processes.max_subprocesses) == (True, 5)


@pytest.mark.requirement("X1")
@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        ({"allowed_write_paths": "/srv"}, TypeError),
        ({"allowed_write_paths": [3]}, TypeError),
        ({"forbidden_paths": ["a\0b"]}, ValueError),
        ({"allowed_hosts": "example.com"}, TypeError),
        ({"allowed_hosts": [1]}, TypeError),
        ({"max_memory_mb": 0}, ValueError),
        ({"max_memory_mb": "1G"}, TypeError),
        ({"max_memory_mb": 512.5}, TypeError),
        ({"max_memory_mb": -512}, ValueError),
        ({"max_file_size_mb": float("nan")}, TypeError),
        ({"max_subprocesses": -1}, ValueError),
        ({"max_subprocesses": True}, TypeError),
        ({"max_subprocesses": None}, TypeError),
        ({"max_execution_time": "30"}, TypeError),
        ({"max_execution_time": True}, TypeError),
        ({"allow_network": "no"}, TypeError),
        ({"allow_network": "false"}, TypeError),
        ({"allow_network": 1}, TypeError),
        ({"allow_network": None}, TypeError),
        ({"allow_subprocess": "no"}, TypeError),
        ({"allowed_read_paths": "/tmp"}, TypeError),
        ({"allowed_read_paths": Path("/tmp")}, TypeError),
        ({"allowed_write_paths": None}, TypeError),
        ({"forbidden_paths": None}, TypeError),
        ({"forbidden_paths": "/etc"}, TypeError),
        ({"allowed_hosts": None}, TypeError),
        ({"allow_everything": True}, TypeError),
    ],
)
def test_a_wrong_constraint_is_an_error_and_not_a_guess(
    wrong: dict[str, object], kind: type[Exception]
) -> None:
    with pytest.raises(kind):
        SandboxConstraints(**wrong)  # type: ignore[arg-type]


@pytest.mark.requirement("X10")
@pytest.mark.parametrize("unclear", [None, 0, -1, float("nan"), float("inf")])
def test_a_time_limit_that_is_not_clear_is_the_default(unclear: object) -> None:
    held_to = SandboxConstraints(max_execution_time=unclear)  # type: ignore[arg-type]
    assert held_to.max_execution_time == 30


@pytest.mark.requirement("X5")
def test_the_profiles_are_those_of_the_document(home: Path) -> None:
    def said(held_to: SandboxConstraints) -> tuple[object, ...]:
        return (
            held_to.allowed_read_paths,
            held_to.allowed_write_paths,
            held_to.allow_network,
            held_to.max_execution_time,
            held_to.allow_subprocess,
        )

    own = str(home)
    assert said(get_safe_defaults()) == (None, {own, "/tmp"}, False, 30, True)
    assert said(get_restricted()) == ({own}, {f"{own}/.zenus/tmp"}, False, 10, False)
    assert said(get_permissive()) == (None, {own, "/tmp"}, True, 300, True)
    assert said(get_filesystem_only()) == ({own}, {own}, False, 30, False)


@pytest.mark.requirement("X2")
def test_paths_are_absolute_and_resolved_and_forbidden_overrides_all(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / ".ssh").mkdir()
    (home / "way").symlink_to(home / ".ssh")
    (home / "out").symlink_to("/usr")
    held_to = SandboxConstraints(
        allowed_read_paths={home},
        allowed_write_paths={home / "projects"},  # type: ignore[arg-type]
    )
    monkeypatch.chdir(home / "projects")
    cases: list[tuple[str, bool, str]] = [
        ("new.txt", True, ""),
        ("~/projects/new.txt", True, ""),
        ("../elsewhere", True, "allowed_write_paths"),
        ("../elsewhere", False, ""),
        (f"{home}/projects/../.ssh/id", False, "forbidden_paths"),
        ("../way/id", False, "forbidden_paths"),
        ("../way/id", True, "forbidden_paths"),
        ("../out/x", False, "allowed_read_paths"),
        ("/etc/passwd", False, "forbidden_paths"),
        (f"{home}/projects-of-others", True, "allowed_write_paths"),
        ("/", False, "allowed_read_paths"),
    ]
    for path, writing, constraint in cases:
        assert (path, held_to.why_not(path, writing=writing)) == (path, constraint)
    assert held_to.can_read(Path("new.txt")) and held_to.can_write(b"new.txt")


@pytest.mark.requirement("X2", "X10")
def test_what_cannot_be_resolved_is_a_no(home: Path) -> None:
    (home / "a").symlink_to(home / "b")
    (home / "b").symlink_to(home / "a")
    held_to = SandboxConstraints(allowed_write_paths={str(home)})
    for path in (f"{home}/a/x", "a\0b", "", 7, None, f"{home}/" + "x" * 5000):
        assert not held_to.can_read(path)
        assert not held_to.can_write(path)


@pytest.mark.requirement("X1")
@pytest.mark.parametrize(
    ("hosts", "asked", "constraint"),
    [
        (set(), "anything.example", ""),
        ({"api.example.com"}, "API.example.com.", ""),
        ({"api.example.com"}, "example.com", "allowed_hosts"),
        ({"*.example.com"}, "a.b.example.com", ""),
        ({"*.example.com"}, "example.com", "allowed_hosts"),
        ({"example.com:8443"}, "example.com", ""),
        ({"example.com"}, "notexample.com", "allowed_hosts"),
    ],
)
def test_hosts_are_compared_by_name(hosts: set[str], asked: str, constraint: str) -> None:
    held_to = SandboxConstraints(allow_network=True, allowed_hosts=hosts)
    assert held_to.why_not_host(asked) == constraint
    assert SandboxConstraints(allowed_hosts=hosts).why_not_host(asked) == "allow_network"


@pytest.mark.requirement("X8")
def test_relaxing_adds_to_sets_and_keeps_what_is_forbidden(home: Path) -> None:
    base = get_restricted()
    more = base.relaxed(allowed_write_paths={home / "projects"}, max_execution_time=60)
    assert more.allowed_write_paths == base.allowed_write_paths | {str(home / "projects")}
    assert (more.max_execution_time, more.forbidden_paths) == (60, base.forbidden_paths)
    assert not base.relaxed(allowed_write_paths={"/etc"}).can_write("/etc/config")
    with pytest.raises(TypeError):
        base.relaxed(everything=True)


def written(path: str, **more: str) -> SandboxViolation:
    return SandboxViolation("no", kind="write", path=path, **more)


@pytest.mark.requirement("X9")
def test_a_path_is_answered_with_the_nearest_allowed_one_of_the_same_name(home: Path) -> None:
    (home / "projects/app").mkdir()
    held_to = SandboxConstraints(
        allowed_write_paths={"/var/tmp", str(home / "projects"), str(home / "projects/app")}
    )
    cases = {
        f"{home}/projects-old/config": f"{home}/projects/config",
        f"{home}/x/config.toml": f"{home}/projects/config.toml",
        "/etc/config": f"{home}/projects/config",
        "/srv/log/": f"{home}/projects/log",
    }
    for path, instead in cases.items():
        found = adapt_on_sandbox_violation(path, held_to)
        assert (path, found) == (path, instead)
        assert found == adapt_on_sandbox_violation(written(path), held_to)
        assert held_to.can_write(found)
        assert found.reason == (
            f"{home}/projects is the nearest directory to {path} that may be written"
        )


@pytest.mark.requirement("X9")
def test_an_alternative_overwrites_nothing_and_is_the_same_each_time(home: Path) -> None:
    (home / "config.toml").touch()
    (home / "config-2.toml").symlink_to("nowhere")
    first = adapt_on_sandbox_violation("/etc/config.toml", get_filesystem_only())
    assert first == adapt_on_sandbox_violation("/etc/config.toml", get_filesystem_only())
    assert first == f"{home}/config-3.toml"


@pytest.mark.requirement("X9")
def test_an_alternative_is_never_forbidden(home: Path) -> None:
    assert adapt_on_sandbox_violation("/srv/.ssh", get_filesystem_only()) == f"{home}/.ssh-2"


NONE: list[tuple[Callable[[], Alternative], str]] = [
    (
        lambda: adapt_on_sandbox_violation("/etc/config", SandboxConstraints()),
        "there is no directory in which config may be written",
    ),
    (
        lambda: adapt_on_sandbox_violation(
            SandboxViolation("no", kind="read", path="/etc/shadow"),
            SandboxConstraints(allowed_read_paths={"/usr/share"}),
        ),
        "there is no shadow in any directory that may be read",
    ),
    (
        lambda: adapt_on_sandbox_violation(
            SandboxViolation("no", kind="network", host="example.com"), SandboxConstraints()
        ),
        "the network is disabled, so no host can be reached",
    ),
    (
        lambda: adapt_on_sandbox_violation(
            SandboxViolation("no", kind="network", host="evil.example"),
            SandboxConstraints(allow_network=True, allowed_hosts={"example.com"}),
        ),
        "no allowed host belongs to evil.example",
    ),
    (
        lambda: adapt_on_sandbox_violation(SandboxViolation("no", kind="subprocess", program="ls")),
        "only a path or a host has another in its place",
    ),
]


@pytest.mark.requirement("X9")
@pytest.mark.parametrize(("asked", "reason"), NONE)
def test_where_there_is_no_alternative_the_reason_says_so(
    asked: Callable[[], Alternative], reason: str
) -> None:
    found = asked()
    assert (found, bool(found), found.reason) == ("", False, reason)


@pytest.mark.requirement("X9")
def test_a_host_is_answered_with_the_nearest_of_its_domain() -> None:
    held_to = SandboxConstraints(
        allow_network=True, allowed_hosts={"api.example.com", "cdn.example.com:443", "example.org"}
    )
    asked = SandboxViolation("no", kind="network", host="apis.example.com")
    found = adapt_on_sandbox_violation(asked, held_to)
    assert (found.value, found.reason) == (
        "api.example.com",
        "api.example.com is the nearest allowed host of the same domain",
    )


@pytest.mark.requirement("X9")
def test_an_alternative_travels_as_plain_text() -> None:
    found = Alternative("/srv/x", "why")
    assert repr(found) == "Alternative('/srv/x', reason='why')"
    assert type(pickle.loads(pickle.dumps(found))) is str


def test_every_name_of_the_dialect_is_there_and_no_other() -> None:
    assert dir(tools) == sorted(tools.__all__)
    assert all(getattr(tools, name) is not None for name in tools.__all__)
    with pytest.raises(AttributeError):
        _ = tools.SandboxManager
