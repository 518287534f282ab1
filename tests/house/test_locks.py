"""What is installed is exactly what was locked: every version pinned, every file by its hash."""

from __future__ import annotations

import hashlib
import re
import tomllib

import pytest

from tests.house.tree import ROOT

USERS = ("run.lock", "mcp.lock", "serve.lock", "fleet.lock")
LOCKS = (*USERS, "test.lock")
PIN = re.compile(r"^(?P<name>[a-z0-9-]+)==(?P<version>[0-9][^ ;]*)( ; (?P<marker>[^\\]+?))? \\$")
HASH = re.compile(r"^    --hash=sha256:[0-9a-f]{64}( \\)?$")
RANGE = re.compile(r"^([A-Za-z0-9-]+)(.*?)(;.*)?$")

# What our own dependencies bring along.
BROUGHT = (
    *("cffi", "hpack", "hyperframe", "msgpack", "pycparser", "typing-extensions"),
    *("anyio", "certifi", "httpcore", "idna", "joserfc", "lazy-importer"),
    *("backports-tarfile", "importlib-metadata", "jaraco-classes", "jaraco-context"),
    *("jaraco-functools", "jeepney", "more-itertools", "pywin32-ctypes", "secretstorage", "zipp"),
)


def pins(lock: str) -> dict[str, tuple[str, int]]:
    """The version and the number of hashes of each package in a lock."""
    found: dict[str, tuple[str, int]] = {}
    name = ""
    for line in (ROOT / "requirements" / lock).read_text().splitlines()[1:]:
        if pin := PIN.match(line):
            name = pin["name"]
            found[name] = (pin["version"], 0)
        else:
            assert HASH.match(line), f"neither a pin nor a hash: {line}"
            version, hashes = found[name]
            found[name] = (version, hashes + 1)
    return found


@pytest.mark.parametrize("lock", LOCKS)
def test_the_first_line_of_a_lock_is_the_digest_of_the_rest(lock: str) -> None:
    first, _, rest = (ROOT / "requirements" / lock).read_text().partition("\n")
    assert first == f"# sha256:{hashlib.sha256(rest.encode()).hexdigest()} of the lines below"


@pytest.mark.parametrize("lock", LOCKS)
def test_every_package_is_pinned_with_hashes_and_from_nowhere_in_particular(lock: str) -> None:
    assert {name for name, (_, hashes) in pins(lock).items() if hashes == 0} == set()
    assert "://" not in (ROOT / "requirements" / lock).read_text()


def test_the_tests_run_with_the_very_versions_that_users_get() -> None:
    tested = pins("test.lock")
    for lock in USERS:
        assert {name: tested.get(name) for name in pins(lock)} == pins(lock)


def test_every_dependency_has_a_range_a_pin_and_a_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    reasons = (ROOT / "docs" / "adr" / "0003-dependencies.md").read_text()
    extras = project["optional-dependencies"]

    def names(*wanted: list[str]) -> list[str]:
        found = []
        for dependency in dict.fromkeys(d for one in wanted for d in one):
            match = RANGE.match(dependency)
            assert match
            name, limits = match[1], match[2]
            found.append(name.lower())
            assert ">=" in limits, f"{name} has no lower end"
            assert "<" in limits, f"{name} has no upper end"
            assert f"`{name}`" in reasons, f"{name} has no reason written down"
        return found

    usual = names(project["dependencies"], extras["inspect"], extras["login"])
    assert sorted(pins("run.lock")) == sorted([*usual, *BROUGHT])
    # What only one command needs has a lock and an environment of its own.
    for lock, wanted in (("mcp", ["mcp"]), ("serve", ["serve", "webrtc"]), ("fleet", ["fleet"])):
        missing = {*names(*(extras[extra] for extra in wanted))} - {*pins(f"{lock}.lock")}
        assert missing == set()
    assert names(extras["evals"]) == ["inspect-ai"]
    assert [name for name in BROUGHT if f"`{name}`" not in reasons] == []
