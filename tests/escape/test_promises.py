"""One test a promise: every attack on it, against every engine that claims to hold it.

`REDOMA_REQUIRE=writes-confined,network-closed` (guarantees) makes a promise that no engine here
claims a failure instead of a skip.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from tests.escape.attack import Attack, Unsupported, attacks_on
from tests.escape.inside import Redoma, claims
from tests.escape.promises import P

pytestmark = pytest.mark.both_users

REQUIRED = frozenset(os.environ.get("REDOMA_REQUIRE", "").replace(",", " ").split())
# The default level on the engine that is chosen by itself, and what else is to be held to it.
ENCLOSURES = {"standard": Redoma(), "strict": Redoma("strict"), "maximum": Redoma("maximum")}


def held(promise: P) -> Callable[[Callable[[Attack, str], None]], object]:
    """A test of one promise, run once for each attack on it and each level."""

    def mark(test: Callable[[Attack, str], None]) -> object:
        made = pytest.mark.parametrize("level", ENCLOSURES)(test)
        return pytest.mark.parametrize("attack", attacks_on(promise), ids=str)(made)

    return mark


def survives(attack: Attack, level: str) -> None:
    """Fails with the evidence if an attack succeeds."""
    enclosure = ENCLOSURES[level]
    missing = claims(enclosure.level, enclosure.engine, attack.promise.guarantee)
    if missing:
        if attack.promise.guarantee in REQUIRED:
            pytest.fail(f"required, and not held here: {missing}", pytrace=False)
        pytest.skip(f"not claimed here: {missing}")
    try:
        evidence = attack.against(enclosure)
    except Unsupported as reason:
        pytest.skip(str(reason))
    if evidence:
        pytest.fail(f"{attack.promise.number} is broken by {attack}: {evidence}", pytrace=False)


@held(P.WRITES)
def test_nothing_outside_the_workspace_is_changed(attack: Attack, level: str) -> None:
    survives(attack, level)


@held(P.SECRETS)
def test_nothing_secret_can_be_read(attack: Attack, level: str) -> None:
    survives(attack, level)


@held(P.ENVIRONMENT)
def test_no_variable_of_the_caller_is_seen(attack: Attack, level: str) -> None:
    survives(attack, level)


@held(P.DESCRIPTORS)
def test_no_descriptor_of_the_caller_comes_along(attack: Attack, level: str) -> None:
    survives(attack, level)


@held(P.PROCESSES)
def test_no_process_of_the_machine_is_seen_or_touched(attack: Attack, level: str) -> None:
    survives(attack, level)


@held(P.NETWORK)
def test_nothing_is_reached_by_network(attack: Attack, level: str) -> None:
    survives(attack, level)


@held(P.SOCKETS)
def test_no_socket_or_pipe_is_reached_by_path(attack: Attack, level: str) -> None:
    survives(attack, level)


@held(P.MOUNTS)
def test_no_mount_is_changed_or_uncovered(attack: Attack, level: str) -> None:
    survives(attack, level)


@held(P.NAMESPACES)
def test_no_namespace_is_made_or_entered(attack: Attack, level: str) -> None:
    survives(attack, level)


@held(P.PRIVILEGES)
def test_no_privilege_is_kept_or_gained(attack: Attack, level: str) -> None:
    survives(attack, level)


@held(P.SETTINGS)
def test_no_setting_of_the_kernel_is_written(attack: Attack, level: str) -> None:
    survives(attack, level)


@held(P.CALLS)
def test_rare_system_calls_are_refused(attack: Attack, level: str) -> None:
    survives(attack, level)


@held(P.DEVICES)
def test_no_device_is_reached_or_made(attack: Attack, level: str) -> None:
    survives(attack, level)


@held(P.TERMINAL)
def test_nothing_is_typed_into_the_callers_terminal(attack: Attack, level: str) -> None:
    survives(attack, level)


@held(P.LEFTOVERS)
def test_no_process_outlives_its_command(attack: Attack, level: str) -> None:
    survives(attack, level)


@held(P.FORKS)
def test_processes_are_capped(attack: Attack, level: str) -> None:
    survives(attack, level)


@held(P.MEMORY)
def test_memory_is_capped(attack: Attack, level: str) -> None:
    survives(attack, level)


@held(P.DISK)
def test_disk_is_capped(attack: Attack, level: str) -> None:
    survives(attack, level)


@held(P.OUTPUT)
def test_open_files_output_and_time_are_capped(attack: Attack, level: str) -> None:
    survives(attack, level)


@held(P.PLANTING)
def test_nothing_is_planted_that_your_own_tools_obey(attack: Attack, level: str) -> None:
    survives(attack, level)


@held(P.OWNER)
def test_what_is_made_belongs_to_the_workspaces_owner(attack: Attack, level: str) -> None:
    survives(attack, level)
