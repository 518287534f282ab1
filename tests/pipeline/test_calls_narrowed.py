"""What is taken away from a call: hidden paths, and the right to start processes."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

import pytest

from redoma import Access, Call, Sandbox, SandboxViolation
from redoma.model.errors import UsageError
from redoma.model.grant import Guarantee
from tests.pipeline.called import (
    makes_by_hand,
    opens_by_hand,
    reads,
    starts_many,
    writes,
)
from tests.pipeline.place import Place

pytestmark = pytest.mark.both_users
ENGINES = ("bubblewrap", "forkserver")


@pytest.fixture
def home(place: Place) -> Path:
    """A home with a key, a document, and a link from one to the other."""
    home = Path(os.environ["HOME"])
    for name in (".ssh", "docs"):
        (home / name).mkdir(parents=True)
    (home / ".ssh/id").write_text("the key")
    (home / "docs/plan").write_text("the plan")
    (home / "docs/link").symlink_to(home / ".ssh/id")
    return home


def violated(sandbox: Sandbox, *call: object) -> tuple[str, str]:
    with pytest.raises(SandboxViolation) as caught:
        sandbox.call(*call)  # type: ignore[arg-type]
    return caught.value.kind, caught.value.what


@pytest.mark.requirement("X2")
@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_hidden_below_what_is_given_stays_hidden(
    place: Place, home: Path, engine: str
) -> None:
    sandbox = place.sandbox(engine=engine, access=Access(write=["~"], hide=["~/.ssh", "~/.aws"]))
    assert sandbox.call(reads, str(home / "docs/plan")) == "the plan"
    assert sandbox.call(writes, str(home / "docs/new"), fails=False) == 11
    assert (home / "docs/new").read_text() == "made inside"
    assert violated(sandbox, reads, str(home / ".ssh/id")) == ("read", str(home / ".ssh/id"))
    assert violated(sandbox, reads, str(home / "docs/link")) == ("read", str(home / "docs/link"))
    refused, why = sandbox.call(opens_by_hand, str(home / ".ssh/id"))
    assert (refused, why) == (-1, errno.EROFS)
    assert (home / ".ssh/id").read_text() == "the key"


@pytest.mark.requirement("X4")
def test_what_is_made_where_nothing_was_and_is_hidden_is_taken_away(
    place: Place, home: Path
) -> None:
    sandbox = place.sandbox(access=Access(write=["~"], hide=["~/.ssh", "~/.aws"]))
    assert violated(sandbox, makes_by_hand, str(home / ".aws")) == ("write", str(home / ".aws"))
    assert not (home / ".aws").exists()


def test_redomas_own_places_are_hidden_in_a_home_that_is_given(
    place: Place, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    own = home / "state/redoma"
    sandbox = place.sandbox(access=Access(write=["~"], hide=[]))
    assert violated(sandbox, os.listdir, str(own)) == ("read", str(own))


def test_everything_can_be_read_but_what_is_hidden(place: Place, home: Path) -> None:
    place.workspace.parent.chmod(0o755)
    sandbox = place.sandbox(access=Access(read=["/"], hide=["~/.ssh", "/etc", "/sys"]))
    assert sandbox.call(os.listdir, str(home)) == os.listdir(home)
    assert sandbox.call(os.listdir, "/var") == os.listdir("/var")
    assert violated(sandbox, reads, "/etc/passwd") == ("read", "/etc/passwd")
    assert sandbox.call(opens_by_hand, "/etc/passwd")[0] == -1
    assert violated(sandbox, os.mkdir, str(home / "new")) == ("write", str(home / "new"))


def test_a_workspace_below_a_closed_directory_is_there_where_everything_is(place: Place) -> None:
    (place.workspace / "a").touch()
    sandbox = place.sandbox(access=Access(read=["/"]))
    assert sandbox.call(os.listdir, str(place.workspace)) == ["a"]


def test_a_directory_of_everybodys_can_be_given_and_then_no_path_is_said_to_be_protected(
    place: Place,
) -> None:
    sandbox = place.sandbox(access=Access(write=["/var/tmp"], hide=[]))
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        os.chmod(directory, 0o777)
        result = sandbox.perform(Call(writes, (f"{directory}/new",), {"fails": False}))
        assert (result.value, os.listdir(directory)) == (11, ["new"])
    assert result.enforcement is not None
    assert Guarantee.PROTECTED_PATHS not in result.enforcement.held


@pytest.mark.requirement("X1")
def test_a_call_starts_as_many_as_it_may_and_no_more(place: Place) -> None:
    sandbox = place.sandbox(access=Access(subprocesses=2))
    assert sandbox.call(starts_many, 2) == 2
    assert violated(sandbox, starts_many, 4) == ("subprocess", "another process")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (Access(hide=["/"]), "hide: without / there is nothing left to run"),
        (Access(subprocesses=-1), "access.subprocesses: a whole number of at least 0"),
        (Access(write=["~"]), "is too much to give to one command"),
    ],
)
def test_what_makes_no_sense_is_said_at_once(
    place: Place, home: Path, given: Access, said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        place.sandbox(access=given)


def test_the_workspace_itself_cannot_be_hidden(place: Place) -> None:
    sandbox = place.sandbox(access=Access(hide=[str(place.workspace.parent)]))
    with pytest.raises(UsageError, match="holds the workspace"):
        sandbox.call(len, "x")
