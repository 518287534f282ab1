"""Policies on disk: which files apply, which are refused, and that a change is seen at once."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from redoma.judge.policy.layers import Loosens
from redoma.model.errors import PolicyError, PolicySyntax, UsageError
from redoma.model.policy import BUILT_IN
from redoma.pipeline.decisions import policies
from redoma.pipeline.decisions.check import check
from redoma.pipeline.decisions.policies import found, load_policy, project_folders, user_file
from tests.house.tree import PACKAGE


class Place:
    """A home with a user's configuration, and a project in it."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.project = self.home / "project"
        self.user = self.home / ".config/redoma/sandbox.yaml"
        self.user.parent.mkdir(parents=True)
        self.project.mkdir()

    def load(self, workspace: Path | None = None) -> policies.Policy:
        return load_policy(str(workspace or self.project), home=str(self.home))

    def refused(self) -> PolicyError:
        with pytest.raises(PolicyError) as raised:
            self.load()
        return raised.value


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Place(tmp_path)


def write(path: Path, text: str, *, old: bool = True) -> Path:
    """Writes a file; an old one has times that can be relied on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    if old:
        os.utime(path, (1_700_000_000, 1_700_000_000))
    return path


def test_without_any_file_what_is_built_in_decides(place: Place) -> None:
    assert place.load() is BUILT_IN


def test_the_layers_come_in_their_order(place: Place) -> None:
    (place.project / ".git").mkdir()
    inner = place.project / "web/app"
    files = [
        write(place.user, "logging: {level: verbose}\n"),
        write(place.project / "sandbox.yaml", "policy: strict\n"),
        write(place.project / ".redoma/sandbox.yaml", "environment: production\n"),
        write(inner / "sandbox.yaml", "isolation: {default_level: maximum}\n"),
    ]
    asked = place.load(inner)
    assert asked.sources == ("built-in", *map(str, files))
    assert (asked.name, asked.environment.label, asked.logging.level.label) == (
        *("strict", "production"),
        "verbose",
    )
    assert asked.isolation.default_level == "maximum"
    assert place.load().isolation.default_level == ""


def test_a_directory_that_is_no_repository_stands_alone(place: Place) -> None:
    write(place.project / "sandbox.yaml", "policy: strict\n")
    (place.project / "sub").mkdir()
    assert place.load(place.project / "sub") is BUILT_IN
    (place.project / ".git").write_text("gitdir: elsewhere\n")
    assert place.load(place.project / "sub").name == "strict"


def test_a_repository_made_inside_does_not_get_rid_of_the_policy_around_it(place: Place) -> None:
    write(place.project / "sandbox.yaml", "policy: strict\n")
    (place.project / ".git").mkdir()
    (place.project / "sub/.git").mkdir(parents=True)
    assert place.load(place.project / "sub").name == "strict"


def test_a_directory_that_anyone_may_write_is_nobodys_top(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    (shared / "mine").mkdir(parents=True)
    (shared / ".git").mkdir()
    shared.chmod(0o1777)
    assert project_folders(str(shared / "mine")) == (
        str(shared / "mine"),
        [str(shared / "mine")],
    )


def test_a_link_to_the_workspace_finds_the_same_policy(place: Place) -> None:
    write(place.project / "sandbox.yaml", "policy: strict\n")
    (place.home / "link").symlink_to(place.project)
    assert place.load(place.home / "link").name == "strict"


@pytest.mark.parametrize("config", ["/xdg", "relative", ""])
def test_the_users_file_lies_where_configuration_lies(
    config: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/ana")
    monkeypatch.setenv("XDG_CONFIG_HOME", config)
    base = "/xdg" if config == "/xdg" else "/home/ana/.config"
    assert user_file() == user_file("/home/ana") == f"{base}/redoma/sandbox.yaml"
    assert user_file("/home/bea") == "/home/bea/.config/redoma/sandbox.yaml"


def test_a_missing_home_does_not_lose_the_users_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    from pwd import getpwuid

    home = getpwuid(os.getuid()).pw_dir
    assert user_file() == f"{home}/.config/redoma/sandbox.yaml"


def test_the_users_own_file_is_not_a_projects_too(place: Place) -> None:
    own = write(place.user, "policy: isolation-only\n")
    for workspace in (own.parent, own.parent.parent):
        assert place.load(workspace).sources == ("built-in", str(own))


def test_a_loosening_file_names_its_line_and_the_users(place: Place) -> None:
    write(place.user, "# mine\npolicy: strict\n")
    own = write(place.project / "sandbox.yaml", "version: 1\npolicy: default\n")
    with pytest.raises(Loosens) as raised:
        place.load()
    assert raised.value.location == f"{own}:2:1"
    assert str(raised.value).endswith(f"policy is set at {place.user}:2:1")


# What cannot be trusted -------------------------------------------------------------------------


@pytest.mark.parametrize("whose", ["user", "project"])
def test_a_policy_that_everyone_can_write_is_refused(place: Place, whose: str) -> None:
    path = write(place.user if whose == "user" else place.project / "sandbox.yaml", "version: 1\n")
    path.chmod(0o666)
    assert "can be written by everyone" in str(place.refused())
    assert place.refused().hint == f"chmod o-w {path}"
    assert place.refused().exit_status == 125
    path.chmod(0o664)
    place.load()


def test_a_policy_that_everyone_can_replace_is_refused(place: Place) -> None:
    write(place.project / "sandbox.yaml", "version: 1\n")
    place.project.chmod(0o777)
    assert "lies where everyone can replace it" in str(place.refused())


@pytest.mark.root
def test_a_policy_of_another_user_is_refused(place: Place) -> None:
    path = write(place.project / "sandbox.yaml", "version: 1\n")
    os.chown(path, 12345, -1)
    assert "belongs to another user (uid 12345)" in str(place.refused())
    os.chown(place.project, 12345, -1)  # root in someone's checkout
    place.load()
    os.chown(path, 0, -1)
    users = write(place.user, "version: 1\n")
    os.chown(users, 12345, -1)
    os.chown(place.user.parent, 12345, -1)
    assert f"the policy {users} belongs to another user" in str(place.refused())


def test_a_projects_link_stays_inside_of_it(place: Place, tmp_path: Path) -> None:
    outside = write(tmp_path / "elsewhere.yaml", "version: 1\n")
    (place.project / "sandbox.yaml").symlink_to(outside)
    assert f"is a link out of the project, to {outside}" in str(place.refused())
    (place.project / "sandbox.yaml").unlink()
    write(place.project / "config/policy.yaml", "policy: strict\n")
    (place.project / "sandbox.yaml").symlink_to("config/policy.yaml")
    assert place.load().name == "strict"


def test_a_users_file_may_be_a_link(place: Place, tmp_path: Path) -> None:
    place.user.symlink_to(write(tmp_path / "dotfiles/sandbox.yaml", "policy: strict\n"))
    assert place.load().name == "strict"


@pytest.mark.parametrize("target", ["not-there.yaml", "sandbox.yaml", "."])
def test_a_policy_that_is_no_file_is_refused(place: Place, target: str) -> None:
    (place.project / "sandbox.yaml").symlink_to(target)
    place.refused()


def test_a_directory_or_a_pipe_in_its_place_is_refused(place: Place) -> None:
    (place.project / "sandbox.yaml").mkdir()
    assert "is not a file" in str(place.refused())
    (place.project / "sandbox.yaml").rmdir()
    os.mkfifo(place.project / "sandbox.yaml")
    assert "is not a file" in str(place.refused())


@pytest.mark.not_root
@pytest.mark.both_users
def test_an_unreadable_policy_is_refused(place: Place) -> None:
    write(place.project / "sandbox.yaml", "version: 1\n").chmod(0)
    assert "cannot be read: Permission denied" in str(place.refused())
    (place.project / "sandbox.yaml").unlink()
    place.user.parent.chmod(0)
    try:
        assert "cannot be looked at: Permission denied" in str(place.refused())
    finally:
        place.user.parent.chmod(0o700)


def test_a_half_written_policy_is_refused_and_then_read(place: Place) -> None:
    path = place.project / "sandbox.yaml"
    for half in ("", "policy: [str", "polic"):
        write(path, half, old=False)
        assert isinstance(place.refused(), PolicySyntax)
    write(path, "policy: strict\n", old=False)
    assert place.load().name == "strict"


# What is kept -----------------------------------------------------------------------------------


def test_a_change_is_seen_at_the_next_call(place: Place) -> None:
    path = write(place.project / "sandbox.yaml", "environment: staging\n")
    seen = [place.load().environment.label]
    for name in ("production", "testtest"[:4], "staging"):
        write(path, f"environment: {name}\n", old=False)
        seen.append(place.load().environment.label)
    path.unlink()
    assert seen == ["staging", "production", "test", "staging"]
    assert place.load() is BUILT_IN


def test_a_change_of_the_same_length_in_the_same_moment_is_seen(place: Place) -> None:
    path = place.project / "sandbox.yaml"
    for _ in range(20):
        for name in ("quiet: 1", "level: 2"):
            path.write_text(f"# {name}\n{{rate_limits: {{concurrent_runs: {name[-1]}}}}}\n")
            assert place.load().rate_limits.concurrent_runs == int(name[-1])


def settle(path: Path) -> None:
    """Waits until the times of a file can be relied on."""
    while time.time_ns() - path.stat().st_ctime_ns <= policies._SETTLED_NS:
        time.sleep(0.02)


def test_what_was_read_is_kept_for_the_next_process(place: Place) -> None:
    path = write(place.project / "sandbox.yaml", "policy: strict\n")
    settle(path)
    first = place.load()
    code = (
        f"import sys; sys.path[:0] = [{str(PACKAGE.parent)!r}]\n"
        "from redoma.pipeline.decisions.policies import load_policy\n"
        f"policy = load_policy({str(place.project)!r}, home={str(place.home)!r})\n"
        "print(policy.name, policy.digest, 'yaml' in sys.modules, 'hashlib' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"XDG_CACHE_HOME": os.environ["XDG_CACHE_HOME"]},
    )
    assert done.stdout == f"strict {first.digest} False False\n"
    assert len(first.digest) == 64


def test_what_someone_else_could_have_kept_is_not_believed(place: Place) -> None:
    path = write(place.project / "sandbox.yaml", "policy: strict\n")
    settle(path)
    place.load()
    (kept,) = Path(os.environ["XDG_CACHE_HOME"]).rglob("*.compiled")
    assert kept.stat().st_mode & 0o777 == 0o600
    stamp = found(str(place.project), home=str(place.home))
    for spoil in (lambda: kept.write_bytes(b"nonsense"), lambda: kept.chmod(0o666)):
        spoil()
        assert policies.compiled(stamp)[0].name == "strict"


def test_the_digest_tells_policies_apart(place: Place) -> None:
    path = write(place.project / "sandbox.yaml", "policy: strict\n")
    one = place.load().digest
    write(path, "policy: strict # the same, said otherwise\n")
    assert place.load().digest != one != BUILT_IN.digest


def test_a_warm_look_costs_well_below_a_millisecond(place: Place) -> None:
    (place.project / ".git").mkdir()
    path = write(place.project / "sandbox.yaml", "policy: strict\n")
    settle(path)
    place.load()
    best = 1.0
    for _ in range(50):
        start = time.perf_counter()
        place.load()
        best = min(best, time.perf_counter() - start)
    assert best < 0.001


# Where paths start from, and what links make of them ------------------------------------------------


def verdict(place: Place, command: str, cwd: Path) -> str:
    asked = load_policy(str(place.project), home=str(place.home))
    return check(command, cwd=str(cwd), home=str(place.home), policy=asked).verdict.label


@pytest.mark.parametrize("name", ["sandbox.yaml", ".redoma/sandbox.yaml"])
def test_paths_of_a_project_start_at_its_file_wherever_a_command_stands(
    place: Place, name: str
) -> None:
    write(place.project / name, "filesystem: {blocked_paths: [data, '${PROJECT_ROOT}/keys']}\n")
    (place.project / "web").mkdir()
    denied = [
        ("cat data/a", place.project),
        ("cat ../data/a", place.project / "web"),
        ("cat ../keys/a", place.project / "web"),
        (f"cat {place.project}/data/a", Path("/")),
        ("cat project/keys/a", place.home),
        ("cd .. && cat data/a", place.project / "web"),
    ]
    assert [verdict(place, *each) for each in denied] == ["deny"] * len(denied)
    assert verdict(place, "cat data/a", place.project / "web") == "allow"


def test_paths_of_a_user_start_at_the_top_of_the_project(place: Place) -> None:
    write(place.user, "filesystem: {blocked_paths: ['${PROJECT_ROOT}/keys']}\n")
    (place.project / ".git").mkdir()
    (place.project / "web").mkdir()
    assert verdict(place, "cat ../keys/a", place.project / "web") == "deny"
    other = place.home / "other"
    other.mkdir()
    asked = load_policy(str(other), home=str(place.home))
    blocked = check("cat keys/a", cwd=str(other), home=str(place.home), policy=asked)
    assert blocked.verdict.label == "deny"


def test_a_link_gives_a_blocked_path_no_other_name(place: Place) -> None:
    write(place.project / "sandbox.yaml", "filesystem: {blocked_paths: [keys]}\n")
    (place.project / "keys").mkdir()
    (place.project / "innocent").symlink_to("keys")
    (place.home / "link").symlink_to(place.project)
    for command, cwd in [
        ("cat innocent/a", place.project),
        ("cat innocent/*", place.project),
        ("cat innocent/$x", place.project),
        ("cat keys/a", place.home / "link"),
        (f"cat {place.home}/link/keys/a", place.project),
    ]:
        assert verdict(place, command, cwd) == "deny", command


def test_what_may_be_blocked_is_confirmed(place: Place) -> None:
    write(place.project / "sandbox.yaml", "filesystem: {blocked_paths: [keys]}\n")
    for command in ("cat *", "cat ./$x", "cat k*/a"):
        assert verdict(place, command, place.project) == "confirm", command
    assert verdict(place, "cat src/*", place.project) == "allow"
    assert verdict(place, "rm -r *", place.project) == "deny"  # it takes all there is


def test_a_shipped_policy_can_be_had_by_its_name() -> None:
    strict = policies.shipped_policy("strict")
    decided = check("mkdir x", cwd="/home/user/project", home="/home/user", policy=strict)
    assert (decided.verdict.label, decided.policy) == ("confirm", "strict")
    skill = policies.shipped_policy("default", pack="skill")
    assert check("touch a b", cwd="/p", home="/h", policy=skill).rule == "confirmation.required_for"
    assert len({strict.digest, skill.digest, BUILT_IN.digest}) == 3
    with pytest.raises(UsageError, match="there is no policy 'lax'"):
        policies.shipped_policy("lax")
