"""What is not the workspace's own: said before, refused whole, or applied; never in part."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.unit.jail.overlay.places import own_places

pytestmark = pytest.mark.root
_ = own_places

OTHERS = 12345
COPIED = "the whole workspace was copied, since "


def foreign(scenario: str, base: Path, user: int, script: str) -> dict[str, Any]:
    """What came of a script in this scenario."""
    program = str(Path(__file__).with_name("foreign.py"))
    words = ["unshare", "-m", sys.executable, program, scenario, str(base), str(user), script]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


@pytest.mark.parametrize("user", [0, OTHERS])
@pytest.mark.parametrize(("scenario", "point"), [("mounted", "m"), ("mounted-file", "notes")])
def test_a_mount_inside_the_workspace_is_read_only_and_the_rest_applies(
    own_places: Path, user: int, scenario: str, point: str
) -> None:
    script = "cat m/inside notes; echo x > m/new; echo y >> m/inside; echo z >> notes; rm -r src"
    found = foreign(scenario, own_places, user, script)
    assert found["notes"] == [
        f"{COPIED}BASE/work/{point} is mounted inside the workspace",
        f"BASE/work/{point} is another file system: it cannot be written in this run",
    ]
    assert "Read-only file system" in found["said"] or "Permission denied" in found["said"]
    changed = {"notes"} if point == "m" else set()
    assert {path for path in found["changes"] if not path.startswith("src")} == changed
    assert "src" not in found["applied"]
    assert found["as_before"]


@pytest.mark.parametrize("user", [0, OTHERS])
def test_the_kernels_own_file_systems_are_not_shown(own_places: Path, user: int) -> None:
    found = foreign("mounted-proc", own_places, user, "ls m; echo x > new")
    assert found["notes"][1:] == ["BASE/work/m is another file system: it is not shown in this run"]
    assert (found["output"], found["changes"]) == ("", {"new": "created"})
    assert found["as_before"]


@pytest.mark.parametrize("user", [0, OTHERS])
def test_a_directory_in_which_something_is_mounted_is_not_moved(
    own_places: Path, user: int
) -> None:
    found = foreign("mounted-deep", own_places, user, "mv p q")
    assert "which is mounted inside the workspace" in found["refused"]
    assert found["as_before"]


@pytest.mark.parametrize("script", ["echo 1 > new; mkdir -p a/b; echo 1 > a/b/c", "rm notes", "rm -r src"])  # fmt: skip
def test_what_a_directory_of_another_user_lets_us_do_is_applied(
    own_places: Path, script: str
) -> None:
    found = foreign("others-open", own_places, OTHERS, script)
    assert "refused" not in found, found["refused"]
    assert found["applied"]
    assert found["as_before"]


@pytest.mark.parametrize(
    ("scenario", "script", "refused"),
    [
        ("others-open", "echo 1 > new; echo x >> notes", "notes belongs to another user, and would become yours"),
        ("others-open", "echo 1 > new; mv notes n2", "n2 belongs to another user, and would become yours"),
        ("others-open", "echo 1 > new; chmod 700 src", "src belongs to another user, who alone may change its attributes"),
        ("others-sticky", "echo 1 > new; rm notes", "notes belongs to another user, and in its directory only they may remove it"),
        ("others-closed", "rm notes", "notes lies in a directory of another user in which you may not write"),
        ("others-closed", "echo 1 > new", "new lies in a directory of another user in which you may not write"),
    ],
)  # fmt: skip
def test_what_another_user_alone_may_do_is_refused_whole(
    own_places: Path, scenario: str, script: str, refused: str
) -> None:
    found = foreign(scenario, own_places, OTHERS, script)
    assert found["refused"] == f"{refused}\nnothing was applied"
    assert "PATH… for the others, or run it as" in found["hint"]
    assert found["as_before"]
