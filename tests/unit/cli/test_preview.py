"""`redoma preview`, `apply`, `discard`, `undo`, `history` and `gc` as people and agents call them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.unit.cli.previewing import Project

pytestmark = pytest.mark.both_users


@pytest.fixture
def project(tmp_path: Path) -> Project:
    found = Project(tmp_path)
    (found.root / "a.txt").write_text("one\ntwo\n")
    return found


EDIT = "echo three >> a.txt; mkdir d; echo new > d/b.txt"


def test_a_preview_shows_the_tree_and_the_differences_and_changes_nothing(
    project: Project,
) -> None:
    out, err = project.call("preview", EDIT)
    assert out == (
        "~ a.txt    +1 -0\n"
        "+ d/\n"
        "+   b.txt  +1 -0\n"
        "\n"
        "~ a.txt\n@@ -1,2 +1,3 @@\n one\n two\n+three\n"
        "+ d/b.txt\n@@ -0,0 +1 @@\n+new\n"
        "\n"
        "2 created, 1 modified\n"
    )
    assert "hint: redoma apply " in err
    assert project.tree() == {"a.txt": "one\ntwo\n"}


def test_only_the_numbers_are_shown_on_request(project: Project) -> None:
    out, _ = project.call("preview", "--stat", EDIT)
    assert out == "~ a.txt    +1 -0\n+ d/\n+   b.txt  +1 -0\n\n2 created, 1 modified\n"


def test_what_is_in_a_large_new_directory_is_not_shown_but_counted(project: Project) -> None:
    command = "mkdir big; for n in $(seq 300); do echo $n > big/$n; done; echo x > small"
    out, _ = project.call("preview", command)
    assert out == (
        "+ big/   +300 files, 1.1 kB\n"
        "+ small  +1 -0\n"
        "\n"
        "+ small\n@@ -0,0 +1 @@\n+x\n"
        "(what is in 300 more paths is not shown: --patch has it)\n"
        "\n"
        "302 created\n"
    )


def test_what_the_command_prints_does_not_mix_with_what_it_changed(project: Project) -> None:
    out, err = project.call("preview", "--patch", "echo chatter; echo more >&2; echo x > new")
    assert "chatter" not in out + "more"
    assert err.startswith("chatter\nmore\n")
    assert out.startswith("diff --git a/new b/new\n")


def test_a_quiet_preview_does_not_show_what_the_command_prints(project: Project) -> None:
    assert "chatter" not in "".join(project.call("preview", "-q", "echo chatter"))


def test_the_exit_status_is_the_commands_own(project: Project) -> None:
    _, err = project.call("preview", "echo x > new; exit 7", status=7)
    assert "warning: the command ended with status 7\n" in err


def test_json_has_every_field_of_a_dry_run(project: Project) -> None:
    found = project.json("preview", f"{EDIT}; curl -sd x https://example.org/y || true")
    fields = {
        "command": f"{EDIT}; curl -sd x https://example.org/y || true",
        "would_execute": True,
        "impact": {
            "files_created": ["d", "d/b.txt"],
            "files_modified": ["a.txt"],
            "files_deleted": [],
            "files_renamed": [],
            "attributes_changed": [],
            "network_calls": ["POST https://example.org/y (1 byte)"],
            "database_operations": [],
        },
        "warnings": [
            "nothing was sent: every request was answered by a mock, as if it had been done"
        ],
        "rollback_available": False,
        "ran_instead": [],
        "exit_code": 0,
    }
    assert {key: found[key] for key in fields} == fields
    assert found["estimated_duration"].endswith("s in this preview")
    assert len(found["id"]) == 10
    assert [(c["path"], c["did"]) for c in found["changes"]] == [
        ("a.txt", "modified"),
        ("d", "created"),
        ("d/b.txt", "created"),
    ]
    assert "changes-held" in found["enforcement"]["held"]
    assert "network-allow-listed" in found["enforcement"]["held"]


def test_a_preview_that_changes_nothing_holds_nothing(project: Project) -> None:
    found = project.json("preview", "true")
    assert (found["id"], found["changes"], found["rollback_available"]) == (None, [], True)
    assert project.json("history") == {"history": []}


def test_even_the_level_with_an_open_network_is_closed_in_a_preview(project: Project) -> None:
    found = project.json("preview", "--level", "minimal", "echo x > y")
    assert "network-closed" in found["enforcement"]["held"]


def test_nothing_is_written_where_no_layer_lies_even_if_it_may_be(
    project: Project, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "kept").write_text("precious")
    allowed = ("--allow-write", str(data), "--allow-write", str(project.root / "a.txt"))
    found = project.json("preview", *allowed, f"rm -f {data}/kept; echo x > {data}/new; rm a.txt")
    assert {path.name: path.read_text() for path in data.iterdir()} == {"kept": "precious"}
    assert project.tree() == {"a.txt": "one\ntwo\n"}
    assert found["impact"]["files_deleted"] == ["a.txt"]
    assert found["rollback_available"] is False
    assert any(str(data) in warning for warning in found["warnings"])


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_the_patch_is_one_that_git_applies(project: Project, tmp_path: Path) -> None:
    command = (
        "sed -i s/one/ONE/ a.txt; printf '\\0\\1' > bin; ln -s a.txt 'odd name'; chmod +x a.txt"
    )
    out, _ = project.call("preview", "--patch", command)
    patch = tmp_path / "it.patch"
    patch.write_text(out, encoding="utf-8", errors="surrogateescape")
    for words in (["init", "-q"], ["apply", str(patch)]):
        subprocess.run(["git", *words], cwd=project.root, env=project.env, check=True)
    assert (project.root / "a.txt").read_text() == "ONE\ntwo\n"
    assert (project.root / "bin").read_bytes() == b"\0\1"
    assert (project.root / "odd name").readlink() == Path("a.txt")
    assert (project.root / "a.txt").stat().st_mode & 0o111


def test_a_program_is_previewed_without_a_shell(project: Project) -> None:
    found = project.json("preview", "--", "touch", "--", "$(name)")
    assert found["impact"]["files_created"] == ["$(name)"]


def test_hostile_names_and_contents_do_not_act_on_the_terminal(project: Project) -> None:
    out, err = project.call("preview", r"printf '\033]0;x\007' > $'n\033[2J'")
    assert "\x1b" not in out + err
    assert "n\\x1b[2J" in out
    assert "+\\x1b]0;x\\x07" in out


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_a_push_is_told_and_not_made(project: Project) -> None:
    setup = [
        ["init", "-q", "-b", "main"],
        ["config", "user.email", "ana@example.org"],
        ["config", "user.name", "Ana"],
        ["remote", "add", "origin", "https://example.org/x.git"],
        ["add", "."],
        ["commit", "-q", "-m", "first"],
        ["update-ref", "refs/remotes/origin/main", "HEAD"],
    ]
    for words in setup:
        subprocess.run(["git", *words], cwd=project.root, env=project.env, check=True)
    found = project.json(
        "preview", "echo x > new; git add new; git commit -qm 'a new one' && git push"
    )
    assert found["exit_code"] == 0, found["stderr"]
    (call,) = found["impact"]["network_calls"]
    assert call.startswith("git push: origin (https://example.org/x.git): main: 1 commit: ")
    assert call.endswith(" a new one")
    assert found["rollback_available"] is False
    assert found["ran_instead"] == ["a look at what git push would send"]


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_a_worktree_s_repository_outside_is_left_as_it_is(project: Project, tmp_path: Path) -> None:
    def git(where: Path, *words: str) -> None:
        who = ("-c", "user.name=Ana", "-c", "user.email=ana@example.org")
        subprocess.run(["git", *who, *words], cwd=where, env=project.env, check=True)

    repository, tree = tmp_path / "repository", tmp_path / "tree"
    repository.mkdir()
    git(repository, "init", "-q", "-b", "main")
    git(repository, "commit", "-q", "--allow-empty", "-m", "first")
    git(repository, "worktree", "add", "-q", "-b", "topic", str(tree))
    before = {path: path.read_bytes() for path in repository.rglob("*") if path.is_file()}
    project.root = tree
    commit = "git -c user.name=A -c user.email=a@example.org commit -qm second"
    found = project.json("preview", f"echo x > f; git add f; {commit}; git log --format=%s")
    assert found["stdout"] == "second\nfirst\n"
    assert found["impact"]["files_created"] == ["f"]
    assert found["rollback_available"] is False
    assert {path: path.read_bytes() for path in repository.rglob("*") if path.is_file()} == before


def test_what_was_held_is_applied_and_undone_again(project: Project) -> None:
    before = project.tree()
    name = project.preview(EDIT)
    out, err = project.call("apply", name)
    assert out == f"applied {name}: 2 created, 1 modified\n"
    assert err == f"hint: redoma undo {name}\n"
    assert project.tree() == {"a.txt": "one\ntwo\nthree\n", "d/b.txt": "new\n"}
    out, err = project.call("undo")
    assert out.startswith(f"undid {name}: 3 paths are as they were\n")
    assert project.tree() == before


def test_an_id_may_be_shortened(project: Project) -> None:
    name = project.preview(EDIT)
    assert project.json("apply", name[:6])["id"] == name


def test_only_the_chosen_paths_are_applied(project: Project) -> None:
    name = project.preview(EDIT)
    assert project.json("apply", name, "d/b.txt") == {
        "id": name,
        "applied": [{"path": "d", "did": "created"}, {"path": "d/b.txt", "did": "created"}],
        "brought": ["d"],
        "held_back": [],
        "notes": [],
        "undoable": True,
    }
    assert project.tree() == {"a.txt": "one\ntwo\n", "d/b.txt": "new\n"}


def test_a_path_is_meant_from_where_the_person_stands(project: Project) -> None:
    (project.root / "d").mkdir()
    name = project.preview("echo x > d/b.txt; echo y > b.txt")
    project.root = project.root / "d"
    project.call("apply", name, "b.txt")
    project.root = project.root.parent
    assert project.tree() == {"a.txt": "one\ntwo\n", "d/b.txt": "x\n"}


def test_a_conflict_is_named_and_nothing_is_applied(project: Project) -> None:
    name = project.preview(EDIT)
    (project.root / "a.txt").write_text("someone else\n")
    out, err = project.call("apply", name, status=125)
    assert out == ""
    assert "a.txt" in err
    assert project.tree() == {"a.txt": "someone else\n"}


def test_what_is_protected_is_held_back_and_named(project: Project) -> None:
    (project.root / ".git/hooks").mkdir(parents=True)
    for name, text in (("HEAD", "ref: refs/heads/main\n"), ("config", "[core]\n")):
        (project.root / ".git" / name).write_text(text)
    (project.root / ".git/objects").mkdir()
    (project.root / ".git/refs").mkdir()
    project.policy("policy: isolation-only")  # otherwise it is refused before it runs
    name = project.preview("echo x > ok; echo '#!/bin/sh' > .git/hooks/pre-commit")
    found = project.json("apply", name)
    assert [item["path"] for item in found["applied"]] == ["ok"]
    assert [back["path"] for back in found["held_back"]] == [
        str(project.root / ".git/hooks/pre-commit")
    ]


def test_what_is_discarded_is_gone(project: Project) -> None:
    first, second = project.preview(EDIT), project.preview("echo x > y")
    assert project.call("discard", first) == (f"discarded {first}\n", "")
    _, err = project.call("apply", first, status=125)
    assert "hint: redoma history" in err
    assert project.json("discard", "--all") == {"discarded": [second]}
    assert project.tree() == {"a.txt": "one\ntwo\n"}


def test_a_wrong_name_among_several_discards_none(project: Project) -> None:
    name = project.preview(EDIT)
    project.call("discard", name, "zzzzzz", status=125)
    assert project.json("history")["history"][0]["standing"] == "held"


def test_all_means_all_of_this_workspace(project: Project, tmp_path: Path) -> None:
    mine = project.preview(EDIT)
    other = tmp_path / "other"
    other.mkdir()
    project.root = other
    project.preview("echo x > y")
    project.call("discard", "--all")
    standing = {e["id"]: e["standing"] for e in project.json("history", "--all")["history"]}
    assert standing.pop(mine) == "held"
    assert list(standing.values()) == ["discarded"]


def test_a_preview_that_is_not_wanted_later_is_not_kept(project: Project) -> None:
    _, err = project.call("preview", "--discard", EDIT)
    assert "were let go" in err
    assert [e["standing"] for e in project.json("history")["history"]] == ["discarded"]


def test_undo_without_a_name_stays_in_this_workspace(project: Project, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    home, project.root = project.root, other
    project.call("apply", project.preview("echo x > y"))
    project.root = home
    project.call("undo", status=125)
    assert (other / "y").exists()


def test_history_tells_what_became_of_each(project: Project) -> None:
    held, applied = project.preview(EDIT), project.preview("rm a.txt")
    project.call("apply", applied)
    listed = project.json("history")["history"]
    assert [(e["id"], e["standing"], e["command"]) for e in listed] == [
        (applied, "applied", "rm a.txt"),
        (held, "held", EDIT),
    ]
    out, _ = project.call("history")
    assert [line.split()[0] for line in out.splitlines()] == [applied, held]


def test_history_shows_one_in_full(project: Project) -> None:
    name = project.preview(EDIT)
    out, _ = project.call("history", name)
    assert "+three\n" in out
    out, _ = project.call("history", name, "--patch")
    assert out.startswith("diff --git a/a.txt b/a.txt\n")
    project.call("apply", name)
    out, _ = project.call("history", name)
    assert "~ a.txt" in out
    project.call("history", name, "--patch", status=2)


def test_gc_frees_on_request_and_only_tells_if_asked(project: Project) -> None:
    name = project.preview(EDIT)
    assert project.json("gc")["ids"] == []
    told = project.json("gc", "--dry-run", "--older-than", "0")
    assert (told["ids"], told["dry_run"]) == ([name], True)
    assert project.json("gc", "--older-than", "0")["ids"] == [name]
    project.call("apply", name, status=125)


@pytest.mark.parametrize(
    "arguments",
    [
        ["preview"],
        ["preview", ""],
        ["preview", "--json", "--patch", "true"],
        ["preview", "--keep", "--discard", "true"],
        ["preview", "-t", "true"],
        ["preview", "--nonsense", "true"],
        ["preview", "echo x", "y"],
        ["apply"],
        ["apply", "--nonsense", "x"],
        ["apply", "../../etc"],
        ["apply", "x", "--allow-write"],
        ["discard"],
        ["discard", "--all", "x"],
        ["undo", "a", "b"],
        ["history", "a", "b"],
        ["history", "--patch"],
        ["gc", "x"],
        ["gc", "--older-than", "-1"],
    ],
)
def test_a_command_line_that_makes_no_sense_is_an_error_of_usage(
    project: Project, arguments: list[str]
) -> None:
    out, err = project.call(*arguments, status=2)
    assert out == ""
    assert err.startswith("redoma: ")


@pytest.mark.parametrize("name", ["preview", "apply", "discard", "undo", "history", "gc"])
def test_every_command_explains_itself(project: Project, name: str) -> None:
    out, err = project.call(name, "--help")
    assert out.startswith(f"usage: redoma {name}")
    assert err == ""


def test_choosing_needs_someone_who_can_answer(project: Project) -> None:
    _, err = project.call("apply", "-i", project.preview(EDIT), status=2)
    assert "terminal" in err


HUNKS = "sed -i -e '2s/.*/SECOND/' -e '38s/.*/LAST/' long; echo x > other"


@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_hunks_are_chosen_key_by_key_or_line_by_line(project: Project, term: str) -> None:
    lines = [f"{n}\n" for n in range(1, 41)]
    (project.root / "long").write_text("".join(lines))
    name = project.preview(HUNKS)
    keys = "nyn" if term == "xterm" else ["n\n", "y\n", "n\n"]
    status, said = project.typed(keys, "apply", "-i", name, term=term)  # type: ignore[arg-type]
    assert status == 0, said
    assert said.count("Apply this hunk") == 2
    lines[37] = "LAST\n"
    assert project.tree() == {"a.txt": "one\ntwo\n", "long": "".join(lines)}
    project.call("undo")
    assert (project.root / "long").read_text() == "".join(f"{n}\n" for n in range(1, 41))


def test_going_away_in_the_middle_applies_nothing(project: Project) -> None:
    name = project.preview(EDIT)
    status, said = project.typed("\x04", "apply", "-i", name)
    assert (status, "nothing was applied" in said) == (0, True)
    status, _ = project.typed("\x03", "apply", "-i", name)
    assert status == 130
    assert project.tree() == {"a.txt": "one\ntwo\n"}


def test_a_patch_on_a_terminal_is_for_reading(project: Project) -> None:
    command = r"printf 'ok \033]0;x\007\n' > new"
    status, said = project.typed("", "preview", "--patch", "--no-pager", command)
    assert status == 0
    assert "+ok \\x1b]0;x\\x07\n" in said
    assert "\x1b" not in said


def test_ctrl_c_goes_to_the_command_and_what_it_did_is_shown(project: Project) -> None:
    command = "echo x > new; printf 'now? '; sleep 30"
    status, said = project.typed("\x03", "preview", "--no-pager", command)
    assert status == 130
    assert "+ new  +1 -0\n" in said
