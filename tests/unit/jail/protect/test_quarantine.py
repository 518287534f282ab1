"""What a person's tools obey is found at any depth, and what is new is taken away."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from redoma.jail.protect import git_repository, quarantine, untrusted_paths
from redoma.jail.protect.protected_paths import ProtectedPaths
from redoma.jail.protect.quarantine import Sweep
from redoma.jail.protect.run_journal import ProtectedState
from redoma.jail.protect.survey import Survey
from redoma.model.errors import GuaranteeLost


@pytest.fixture(autouse=True)
def _own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def git(place: Path, *words: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=place, check=True,
        capture_output=True,
    )  # fmt: skip


@pytest.fixture
def project(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    (place / "deep/er").mkdir(parents=True)
    git(place, "init", "-q")
    git(place / "deep", "init", "-q")
    (place / "deep/er/.vscode").mkdir()
    (place / "a").write_text("a")
    return place


def settle(protected: ProtectedPaths, tmp_path: Path, made: object) -> list[str]:
    begun = protected.begin()
    assert callable(made)
    made()
    taken = begun.settle(str(tmp_path / "kept"))
    return sorted(os.path.relpath(held.path, protected.root) for held in taken)


def test_protected_paths_are_found_at_any_depth(project: Path) -> None:
    survey = Survey(str(project))
    survey.look()
    found = {os.path.relpath(path, project) for path, _ in survey.protected()}
    assert found == {
        ".git/config", ".git/hooks", "deep/.git/config", "deep/.git/hooks", "deep/er/.vscode",
    }  # fmt: skip


def test_a_second_look_sees_what_changed_however_soon_it_comes(project: Path) -> None:
    survey = Survey(str(project))
    for number in range(20):
        survey.look()
        (project / f"deep/er/{number}").mkdir()
        (project / f"deep/er/{number}/.bashrc").write_text("x")
        survey.look()
        assert f"{project}/deep/er/{number}/.bashrc" in dict(survey.protected())


def test_a_quiet_run_has_nothing_taken_away(project: Path, tmp_path: Path) -> None:
    assert (
        settle(ProtectedPaths(str(project), ()), tmp_path, lambda: (project / "b").write_text("b"))
        == []
    )


def test_new_protected_things_are_taken_away_and_kept(project: Path, tmp_path: Path) -> None:
    def made() -> None:
        (project / "x/.claude").mkdir(parents=True)
        (project / "x/.claude/settings.json").write_text("{}")
        (project / "sandbox.yaml").write_text("level: none")

    protected = ProtectedPaths(str(project), ())
    assert settle(protected, tmp_path, made) == ["sandbox.yaml", "x/.claude"]
    assert sorted(p.name for p in (tmp_path / "kept").iterdir()) == ["0-sandbox.yaml", "1-.claude"]


def test_what_was_allowed_by_name_stays(project: Path, tmp_path: Path) -> None:
    protected = ProtectedPaths(str(project), (f"{project}/.mcp.json",))
    assert settle(protected, tmp_path, lambda: (project / ".mcp.json").write_text("{}")) == []


def test_a_new_repository_stays_without_what_runs(project: Path, tmp_path: Path) -> None:
    def made() -> None:
        (project / "new").mkdir()
        git(project / "new", "init", "-q")
        git(project / "new", "config", "core.fsmonitor", "./evil")
        (project / "new/.git/hooks").mkdir(exist_ok=True)
        (project / "new/.git/hooks/pre-commit").write_text("evil")

    taken = settle(ProtectedPaths(str(project), ()), tmp_path, made)
    assert taken == ["new/.git/config", "new/.git/hooks/pre-commit"]
    assert "fsmonitor" not in (project / "new/.git/config").read_text()
    (project / "new/f").write_text("f")
    git(project / "new", "add", "f")
    git(project / "new", "commit", "-qm", "f")


def test_a_run_does_not_know_what_another_run_planted(project: Path, tmp_path: Path) -> None:
    protected = ProtectedPaths(str(project), ())
    first = protected.begin()
    (project / ".mcp.json").write_text("{}")
    second = protected.begin()
    assert f"{project}/.mcp.json" not in second.known
    assert first.settle(str(tmp_path / "kept"))
    (project / ".mcp.json").write_text("{}")
    assert [h.path for h in second.settle(str(tmp_path / "more"))] == [f"{project}/.mcp.json"]


def test_only_a_repository_that_names_the_worktree_back_is_opened(tmp_path: Path) -> None:
    main = tmp_path / "main"
    main.mkdir()
    git(main, "init", "-q")
    (main / "a").write_text("a")
    git(main, "add", "a")
    git(main, "commit", "-qm", "a")
    git(main, "worktree", "add", "-q", str(tmp_path / "linked"))
    assert git_repository.repository_outside(str(tmp_path / "linked")) == (f"{main}/.git",)
    forged = tmp_path / "forged"
    forged.mkdir()
    (forged / ".git").write_text(f"gitdir: {main}/.git/worktrees/linked\n")
    assert git_repository.repository_outside(str(forged)) == ()
    (forged / ".git").write_text(f"gitdir: {main}/.git\n")
    assert git_repository.repository_outside(str(forged)) == ()


def sweep(project: Path, keep_in: Path) -> Sweep:
    """A sweep that knows nothing of what is there."""
    survey = Survey(str(project))
    survey.look()
    return Sweep(survey, ProtectedState(root=str(project)), keep_in=str(keep_in))


def test_a_directory_that_was_swapped_since_the_look_is_looked_at_again(tmp_path: Path) -> None:
    place = tmp_path / "project"
    (place / "d").mkdir(parents=True)
    (place / "d/.mcp.json").write_text("{}")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / ".mcp.json").write_text("the person's")
    late = sweep(place, tmp_path / "kept")
    (place / "d").rename(place / "e")
    (place / "d").symlink_to(outside)
    assert [held.path for held in late.run()] == [f"{place}/e/.mcp.json"]
    assert (outside / ".mcp.json").read_text() == "the person's"


def test_what_is_gone_since_the_look_needs_no_taking(tmp_path: Path) -> None:
    place = tmp_path / "project"
    place.mkdir()
    (place / ".mcp.json").write_text("{}")
    late = sweep(place, tmp_path / "kept")
    (place / ".mcp.json").unlink()
    assert late.run() == ()


def test_what_cannot_be_taken_away_is_an_error_of_ours(tmp_path: Path) -> None:
    place = tmp_path / "project"
    place.mkdir()
    (place / ".mcp.json").write_text("{}")
    (tmp_path / "file").write_text("")
    with pytest.raises(GuaranteeLost, match=r"\.mcp\.json could not be taken away"):
        sweep(place, tmp_path / "file/kept").run()


def test_hooks_that_are_reached_by_a_new_link_are_taken_where_they_are(
    project: Path, tmp_path: Path
) -> None:
    git(project, "config", "core.hooksPath", "tools/hooks")

    def made() -> None:
        (project / "other/hooks").mkdir(parents=True)
        (project / "other/hooks/pre-commit").write_text("evil")
        (project / "tools").symlink_to("other")

    assert settle(ProtectedPaths(str(project), ()), tmp_path, made) == ["other/hooks"]


def nested(place: Path, depth: int) -> None:
    """A directory in a directory, deeper than any path can say."""
    place.mkdir(parents=True)
    fd = os.open(place, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=fd)
        lower = os.open("d", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = lower
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
    os.fchmod(fd, 0)
    os.close(fd)


def test_any_directory_can_be_removed_and_nothing_beside_it(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/kept").write_text("kept")
    nested(tmp_path / "made", 3000)
    (tmp_path / "made/link").symlink_to(tmp_path / "outside")
    (tmp_path / "made/closed").mkdir(mode=0)
    untrusted_paths.remove(str(tmp_path / "made"))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["outside"]
    assert (tmp_path / "outside/kept").read_text() == "kept"


def test_of_what_was_taken_away_the_oldest_goes_first(tmp_path: Path) -> None:
    kept = tmp_path / "held-back"
    for number in range(6):
        (kept / f"{number}").mkdir(parents=True)
        (kept / f"{number}/file").write_bytes(b"x" * 100_000)
        os.utime(kept / f"{number}", (number, number))
    quarantine.trim(str(kept), runs=4, size=1 << 30)
    assert sorted(p.name for p in kept.iterdir()) == ["2", "3", "4", "5"]
    quarantine.trim(str(kept), runs=4, size=250_000)
    assert sorted(p.name for p in kept.iterdir()) == ["4", "5"]
    quarantine.trim(str(tmp_path / "nowhere"), runs=1, size=1)


def test_no_two_runs_are_kept_in_one_place(tmp_path: Path) -> None:
    assert len({quarantine.quarantine_directory() for _ in range(20)}) == 20


@pytest.mark.parametrize("name", [".git", ".GIT"])
def test_what_is_planted_before_a_repository_is_made_is_taken_away(
    tmp_path: Path, name: str
) -> None:
    root = tmp_path / "work"
    (root / "new").mkdir(parents=True)
    survey = Survey(str(root))
    survey.look()
    known, repositories = dict(survey.protected()), survey.git_directories()
    (root / "new" / name / "hooks").mkdir(parents=True)
    (root / "new" / name / "hooks/pre-commit").write_text("evil")
    (root / "new" / name / "config").write_text("[core]\n\tbare = false\n\tfsmonitor = evil\n")
    survey.look()
    before = ProtectedState(root=str(root), known=known, repositories=repositories)
    taken = Sweep(survey, before, keep_in=str(tmp_path / "kept")).run()
    assert {Path(each.path).name for each in taken} == {"pre-commit", "config"}
    assert (root / "new" / name / "config").read_text() == "[core]\n\tbare = false\n"
