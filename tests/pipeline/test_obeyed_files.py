"""Files that a person's tools obey and that work makes are shown and asked about."""

from __future__ import annotations

from pathlib import Path

import pytest

from redoma import Access, Sandbox
from redoma.model.request import Question
from redoma.pipeline import stored_changes
from tests.pipeline.place import Place

pytestmark = pytest.mark.both_users

WORK = "mkdir -p .vscode src; echo '{}' > .vscode/settings.json; echo x > src/a; echo y > .bashrc"


class Asked:
    """Somebody who answers always the same, and remembers what was asked."""

    def __init__(self, *, says: bool) -> None:
        self.says = says
        self.questions: list[Question] = []

    def __call__(self, question: Question) -> bool:
        self.questions.append(question)
        return self.says


@pytest.fixture
def work(place: Place) -> Path:
    return place.workspace


def test_what_work_makes_is_asked_about_and_applied(work: Path) -> None:
    person = Asked(says=True)
    result = Sandbox(str(work), policy="isolation-only", ask=person).run(WORK)
    (question,) = person.questions
    assert question.because == (
        ".vscode: Visual Studio Code would obey it",
        ".vscode/settings.json: Visual Studio Code would obey it",
    )
    assert (work / ".vscode/settings.json").read_text() == "{}\n"
    assert (work / "src/a").exists()
    # What no work makes is not asked about.
    assert not (work / ".bashrc").exists()
    assert [Path(each.path).name for each in result.held_back] == [".bashrc"]
    assert result.exit_code == 0


@pytest.mark.parametrize("ask", [None, Asked(says=False)], ids=["nobody", "a no"])
def test_without_a_yes_it_is_held_and_the_rest_is_applied(work: Path, ask: Asked | None) -> None:
    result = Sandbox(str(work), policy="isolation-only", ask=ask).run(WORK)
    assert not (work / ".vscode").exists()
    assert (work / "src/a").exists()
    assert result.changes is not None and result.exit_code == 0
    name = result.changes.id
    way = f"redoma apply {name} .vscode --allow-write .vscode"
    assert any(way in note for note in result.notes), result.notes
    stored_changes.apply(name, [".vscode"], allow_write=[str(work / ".vscode")])
    assert (work / ".vscode/settings.json").read_text() == "{}\n"
    stored_changes.undo(name)
    assert not (work / ".vscode").exists()


def test_what_was_given_by_name_is_not_asked_about(work: Path) -> None:
    person = Asked(says=False)
    given = str(work / ".vscode")
    Sandbox(str(work), ask=person, access=Access(write=[given]), policy="isolation-only").run(WORK)
    assert (person.questions, (work / ".vscode/settings.json").exists()) == ([], True)


def test_ordinary_work_asks_nobody(work: Path) -> None:
    person = Asked(says=False)
    box = Sandbox(str(work), policy="isolation-only", ask=person)
    box.run("git init -q . && echo x > a && git add a && mkdir -p src/bin && echo y > src/bin/tool")
    box.run("git -c user.name=a -c user.email=a@b.c commit -qm one && git config user.name someone")
    assert person.questions == []
    assert (work / ".git/HEAD").exists() and (work / "src/bin/tool").exists()


@pytest.mark.parametrize("direct", [False, True], ids=["layer", "direct"])
def test_a_project_can_protect_names_of_its_own(place: Place, *, direct: bool) -> None:
    place.user_policy("policy: isolation-only\n")
    place.policy("filesystem:\n  protected_names: ['*.tf', deploy/]\n")
    (place.workspace / "deploy").mkdir()
    (place.workspace / "deploy/run").write_text("as it was\n")
    box = place.sandbox(ask=Asked(says=True), access=Access(direct=direct))
    result = box.run("echo x > main.tf; echo x > deploy/run; mkdir a; echo x > a/B.TF; echo y > b")
    assert (place.workspace / "b").exists()
    assert [path for path in place.workspace.rglob("*") if path.suffix.lower() == ".tf"] == []
    assert (place.workspace / "deploy/run").read_text() == "as it was\n"
    assert {Path(each.path).name for each in result.held_back} >= {"main.tf", "B.TF"}
