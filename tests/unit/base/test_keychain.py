"""Only keychains that are known to encrypt are given anything; tried against a real one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from redoma.base.keychain import Keychain
from redoma.model.errors import NoKeychain
from tests.unit.conftest import install_keyring

pytestmark = pytest.mark.requirement("S10")
SOURCES = str(Path(__file__).resolve().parents[3] / "src")
# A keychain of its own on a bus of its own, unlocked by a password from its standard input.
UNLOCKED = (
    "printf keychain-password | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1;"
    ' exec "$@"'
)


@pytest.mark.parametrize(
    "module", ["keyrings.alt.file", "keyring.backends", "somebody.elses", "keyring.testing.backend"]
)
def test_a_backend_that_is_not_known_to_encrypt_is_given_nothing(
    monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    given: list[object] = []
    methods: dict[str, object] = {
        name: lambda *words: given.append(words) for name in ("set_password", "get_password")
    }
    install_keyring(monkeypatch, module, methods)
    with pytest.raises(NoKeychain, match="not known to encrypt") as caught:
        Keychain("redoma test").put("name", "value")
    assert (given, module in str(caught.value)) == ([], True)


class Member:
    """A member of a chain, which notes what it is given."""

    def __init__(self, module: str, given: list[str]) -> None:
        self.made = type("Keyring", (), {"__module__": module, "set_password": self.keep})()
        self._module = module
        self._given = given

    def keep(self, *_words: str) -> None:
        self._given.append(self._module)
        raise OSError("not here")  # a chain goes on to its next member then


def chain(monkeypatch: pytest.MonkeyPatch, *modules: str) -> list[str]:
    given: list[str] = []
    members = [Member(module, given).made for module in modules]
    install_keyring(monkeypatch, "keyring.backends.chainer", {"backends": members})
    backend = sys.modules["keyring"].get_keyring()
    type(backend).__qualname__ = "ChainerBackend"
    return given


def test_of_a_chain_only_members_that_encrypt_are_spoken_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    good = "keyring.backends.SecretService"
    given = chain(monkeypatch, "keyrings.alt.file", good, "keyrings.alt.Gnome")
    with pytest.raises(NoKeychain, match="does not answer"):
        Keychain("redoma test").put("name", "value")
    assert given == [good]


def test_a_chain_of_plain_text_is_given_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    given = chain(monkeypatch, "keyrings.alt.file", "keyring.backends.null")
    with pytest.raises(NoKeychain, match=r"keyrings\.alt\.file"):
        Keychain("redoma test").put("name", "value")
    assert given == []


def run(script: str, *around: str, **env: str) -> subprocess.CompletedProcess[str]:
    """A program of ours in a home of its own, under what stands around it."""
    usual = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join((SOURCES, *sys.path))}
    return subprocess.run(
        [*around, sys.executable, "-c", script],
        env={**usual, **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_plain_text_backend_of_keyrings_alt_is_refused(tmp_path: Path) -> None:
    script = """
from redoma.base.keychain import Keychain
from redoma.model.errors import NoKeychain
import keyring
print(type(keyring.get_keyring()).__name__)
try:
    Keychain("redoma test").put("name", "kept-5f2c81d0")
except NoKeychain as error:
    print(error)
"""
    env = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
    plain = {"PYTHON_KEYRING_BACKEND": "keyrings.alt.file.PlaintextKeyring"}
    for more in ({}, plain):
        ended = run(script, **env, **more)
        assert "not known to encrypt what it keeps" in ended.stdout, ended.stderr
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


@pytest.mark.both_users
def test_a_real_keychain_keeps_the_key_and_a_locked_one_is_an_error(tmp_path: Path) -> None:
    if not shutil.which("gnome-keyring-daemon") or not shutil.which("dbus-run-session"):
        pytest.skip("SKIPPED: gnome-keyring or dbus is not installed")
    script = """
import sys
from pathlib import Path
from redoma.base.private_file import KeyPlace
from redoma.model.errors import RedomaError
from redoma.model.grant import Secret
from redoma.vault.secret_store import SecretStore
place = sys.argv[1] if len(sys.argv) > 1 else sys.stdin.readline().strip()
store = SecretStore(place, keyed_by=KeyPlace.KEYCHAIN)
try:
    store.put("api", Secret("kept-5f2c81d0"))
    store.rotate()
    assert SecretStore(place).get("api").reveal() == "kept-5f2c81d0"
    print(sorted(path.name for path in Path(place).iterdir()), store.place().value)
    print(store.rotate(KeyPlace.FILE)[0].value, store.rotate(KeyPlace.KEYCHAIN)[0].value)
    import keyring
    backend = keyring.get_keyring()
    backend = next((b for b in getattr(backend, "backends", [backend]) if "SecretService" in type(b).__module__))
    print(len(list(backend.get_preferred_collection().search_items({"service": "redoma vault"}))))
except RedomaError as error:
    print(type(error).__name__, error.code)
"""
    home = {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}
    vault = str(tmp_path / "vault")
    script = script.replace("sys.stdin.readline().strip()", repr(vault))
    tmp_path.chmod(0o700)
    around = ("dbus-run-session", "--", "sh", "-c", UNLOCKED, "sh")
    ended = run(script, *around, **home)
    assert ended.stdout.splitlines() == [
        "['secrets.db'] keychain",
        "file keychain",
        "1",
    ], ended.stderr
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert [data for data in files if b"kept-5f2c81d0" in data] == []
    # Without its password, and without a bus.
    locked = run(script, "dbus-run-session", "--", **{**home, "HOME": str(tmp_path / "elsewhere")})
    assert locked.stdout.splitlines() == ["NoKeychain no-keychain"], locked.stderr
    no_bus = run(script, **home, DBUS_SESSION_BUS_ADDRESS="unix:path=/nonexistent")
    assert no_bus.stdout.splitlines() == ["NoKeychain no-keychain"], no_bus.stderr
