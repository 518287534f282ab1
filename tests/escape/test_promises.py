"""One test a promise: every attack on it, against every engine and level that claims to hold it.

`REDOMA_REQUIRE=writes-confined,bubblewrap` (guarantees and engines) makes what is not claimed here a
failure instead of a skip. Every attack meets `standard`; of the other levels and engines each
promise meets a sample, and with `--full` every attack too.
"""

from __future__ import annotations

import atexit
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.escape.attack import Attack, Unsupported, attacks_on
from tests.escape.inside import ROOT, Redoma, claims
from tests.escape.promises import P
from tests.tidy import remove

pytestmark = pytest.mark.both_users

REQUIRED = frozenset(os.environ.get("REDOMA_REQUIRE", "").replace(",", " ").split())


def standard_that_requires_nothing() -> str:
    """The level `standard` for an engine that holds less than it requires: what it claims counts."""
    text = (ROOT / "src/redoma/base/levels/standard.yaml").read_text(encoding="utf-8")
    place = Path(tempfile.mkdtemp(prefix="rdm-profile-", dir="/var/tmp"))
    atexit.register(remove, place)
    profile = place / "standard.yaml"
    profile.write_text(text[: text.index("require:")], encoding="utf-8")
    return str(profile)


# The default level on the engine that is chosen by itself; then other levels and other engines.
ENCLOSURES = {
    "standard": Redoma(),
    "strict": Redoma("strict"),
    "maximum": Redoma("maximum"),
    "bubblewrap": Redoma("standard", "bubblewrap"),
    "forkserver": Redoma("standard", "forkserver"),
}
if os.path.isdir("/run/systemd/system"):
    ENCLOSURES["systemd"] = Redoma("standard", "systemd")
if os.geteuid() != 0:  # run by root it claims nothing, and says why
    ENCLOSURES["landlock"] = Redoma(standard_that_requires_nothing(), "landlock")
# Attacks on these take seconds each, and are held by what all levels and engines share.
ONLY_BY_DEFAULT = {P.LEFTOVERS, P.FORKS, P.MEMORY, P.DISK, P.OUTPUT, P.PLANTING, P.TERMINAL}


# One attack in so many meets the other levels and engines in a run that is not full.
SAMPLE = 6


def held(promise: P) -> Callable[[Callable[[Attack, str], None]], object]:
    """A test of one promise, run once for each attack on it and each sandbox."""
    cases = []
    for number, attack in enumerate(attacks_on(promise)):
        for name in ["standard"] if promise in ONLY_BY_DEFAULT else ENCLOSURES:
            sampled = name == "standard" or number % SAMPLE == 0
            marks = () if sampled else (pytest.mark.full,)
            cases.append(pytest.param(attack, name, id=f"{name}-{attack}", marks=marks))
    return pytest.mark.parametrize(("attack", "enclosure"), cases)


def survives(attack: Attack, name: str) -> None:
    """Fails with the evidence if an attack succeeds."""
    enclosure = ENCLOSURES[name]
    missing = claims(enclosure.level, enclosure.engine, attack.promise.guarantee)
    if missing:
        if {attack.promise.guarantee, name} & REQUIRED:
            pytest.fail(f"required, and not held here: {missing}", pytrace=False)
        pytest.skip(f"not claimed here: {missing}")
    try:
        evidence = attack.against(enclosure)
    except Unsupported as reason:
        pytest.skip(str(reason))
    if evidence:
        pytest.fail(f"{attack.promise.number} is broken by {attack}: {evidence}", pytrace=False)


@held(P.WRITES)
def test_nothing_outside_the_workspace_is_changed(attack: Attack, enclosure: str) -> None:
    survives(attack, enclosure)


@held(P.SECRETS)
def test_nothing_secret_can_be_read(attack: Attack, enclosure: str) -> None:
    survives(attack, enclosure)


@held(P.ENVIRONMENT)
def test_no_variable_of_the_caller_is_seen(attack: Attack, enclosure: str) -> None:
    survives(attack, enclosure)


@held(P.DESCRIPTORS)
def test_no_descriptor_of_the_caller_comes_along(attack: Attack, enclosure: str) -> None:
    survives(attack, enclosure)


@held(P.PROCESSES)
def test_no_process_of_the_machine_is_seen_or_touched(attack: Attack, enclosure: str) -> None:
    survives(attack, enclosure)


@held(P.NETWORK)
def test_nothing_is_reached_by_network(attack: Attack, enclosure: str) -> None:
    survives(attack, enclosure)


@held(P.SOCKETS)
def test_no_socket_or_pipe_is_reached_by_path(attack: Attack, enclosure: str) -> None:
    survives(attack, enclosure)


@held(P.MOUNTS)
def test_no_mount_is_changed_or_uncovered(attack: Attack, enclosure: str) -> None:
    survives(attack, enclosure)


@held(P.NAMESPACES)
def test_no_namespace_is_made_or_entered(attack: Attack, enclosure: str) -> None:
    survives(attack, enclosure)


@held(P.PRIVILEGES)
def test_no_privilege_is_kept_or_gained(attack: Attack, enclosure: str) -> None:
    survives(attack, enclosure)


@held(P.SETTINGS)
def test_no_setting_of_the_kernel_is_written(attack: Attack, enclosure: str) -> None:
    survives(attack, enclosure)


@held(P.CALLS)
def test_rare_system_calls_are_refused(attack: Attack, enclosure: str) -> None:
    survives(attack, enclosure)


@held(P.DEVICES)
def test_no_device_is_reached_or_made(attack: Attack, enclosure: str) -> None:
    survives(attack, enclosure)


@held(P.TERMINAL)
def test_nothing_is_typed_into_the_callers_terminal(attack: Attack, enclosure: str) -> None:
    survives(attack, enclosure)


@held(P.LEFTOVERS)
def test_no_process_outlives_its_command(attack: Attack, enclosure: str) -> None:
    survives(attack, enclosure)


@held(P.FORKS)
def test_processes_are_capped(attack: Attack, enclosure: str) -> None:
    survives(attack, enclosure)


@held(P.MEMORY)
def test_memory_is_capped(attack: Attack, enclosure: str) -> None:
    survives(attack, enclosure)


@held(P.DISK)
def test_disk_is_capped(attack: Attack, enclosure: str) -> None:
    survives(attack, enclosure)


@held(P.OUTPUT)
def test_open_files_output_and_time_are_capped(attack: Attack, enclosure: str) -> None:
    survives(attack, enclosure)


@held(P.PLANTING)
def test_nothing_is_planted_that_your_own_tools_obey(attack: Attack, enclosure: str) -> None:
    survives(attack, enclosure)


@held(P.OWNER)
def test_what_is_made_belongs_to_the_workspaces_owner(attack: Attack, enclosure: str) -> None:
    survives(attack, enclosure)
