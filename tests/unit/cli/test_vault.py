"""`redoma vault` keeps secrets that it never shows again, and takes none from a command line."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from redoma.cli import main
from redoma.pipeline.user_vault import vault

VALUE = "tok-5f2c81d09b7e"


@pytest.fixture(autouse=True)
def own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("REDOMA_VAULT_KEY", raising=False)


class Said(io.StringIO):
    """Standard input with these bytes."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self.buffer = io.BytesIO(data)


def give(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", Said(data))
    monkeypatch.setattr("os.isatty", lambda _fd: False)


def test_a_secret_is_read_from_standard_input_and_only_its_name_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    give(monkeypatch, f"{VALUE}\n".encode())
    assert main(["vault", "set", "api"]) == 0
    assert main(["vault", "list"]) == 0
    assert main(["vault", "list", "--json"]) == 0
    said = capsys.readouterr()
    assert (said.out, said.err) == ('kept api\napi\n{"secrets": ["api"]}\n', "")
    assert vault().get("api").reveal() == VALUE


def test_a_secret_on_the_command_line_is_refused_and_not_repeated(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["vault", "set", "api", VALUE]) == 2
    said = capsys.readouterr()
    assert VALUE not in said.out + said.err
    assert "hint: redoma vault set api" in said.err


def test_who_ends_the_input_keeps_nothing_and_is_told_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def ended(_prompt: str) -> str:
        raise EOFError

    monkeypatch.setattr("os.isatty", lambda _fd: True)
    monkeypatch.setattr("getpass.getpass", ended)
    assert main(["vault", "set", "api"]) == 2
    said = capsys.readouterr().err
    assert said == (
        "\nredoma: no secret was given, and nothing was kept\nhint: redoma vault set api\n"
    )
    assert vault().names() == ()


def test_a_secret_is_forgotten(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    give(monkeypatch, VALUE.encode())
    main(["vault", "set", "api"])
    capsys.readouterr()
    assert main(["vault", "remove", "api", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"removed": "api"}
    assert main(["vault", "remove", "api"]) == 125
    assert "the vault has no secret 'api'" in capsys.readouterr().err


@pytest.mark.parametrize("data", [b"\xff\xfe", b"x" * (1 << 17) + b"y", b""])
def test_what_is_no_secret_is_refused_and_nothing_of_it_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], data: bytes
) -> None:
    give(monkeypatch, data)
    assert main(["vault", "set", "api"]) == 2
    assert (capsys.readouterr().out, vault().names()) == ("", ())


def test_a_vault_whose_key_is_lost_says_so_and_is_begun_anew_by_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    give(monkeypatch, VALUE.encode())
    main(["vault", "set", "api"])
    place = tmp_path / "redoma/vault"
    (key,) = place.glob("vault-*.key")
    key.unlink()
    capsys.readouterr()
    give(monkeypatch, b"another")
    assert main(["vault", "set", "other"]) == 125
    said = capsys.readouterr()
    assert (said.out, said.err) == (
        "",
        f"redoma: the key {key} is gone\n"
        "hint: put it back, or keep what it sealed aside and begin anew: redoma vault reset\n",
    )
    assert main(["vault", "reset"]) == 0
    assert capsys.readouterr().out == (
        f"the vault is empty; what it kept lies in {place}/old-1\nredoma vault set api\n"
    )
    give(monkeypatch, b"another")
    assert main(["vault", "set", "other"]) == 0
    assert vault().get("other").reveal() == "another"
