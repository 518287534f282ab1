"""Our server in clients' settings: what is there stays, twice is once, and out is as before."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from redoma.hook.settings_change import carry_out
from redoma.mcp.client_settings import CLIENTS, entry, install, place_of, uninstall
from redoma.model.errors import UsageError

JSON_CLIENTS = [name for name, client in CLIENTS.items() if not client.is_toml]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for client in CLIENTS.values():
        if client.variable:
            monkeypatch.delenv(client.variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def put(name: str, text: str) -> Path:
    path = Path(place_of(name, "user").path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", CLIENTS)
def test_in_and_out_of_no_file_leaves_no_file(name: str, home: Path) -> None:
    carry_out(install(name, "user", []))
    path = Path(place_of(name, "user").path)
    assert path.exists()
    carry_out(uninstall(name, "user"))
    assert not path.exists()


@pytest.mark.parametrize("name", JSON_CLIENTS)
def test_what_is_there_stays_to_the_last_blank(name: str) -> None:
    client = CLIENTS[name]
    other = '{\n    "theme": "dark",\n    "KEY": {"mine": {"command": "x"}}\n}\n'.replace(
        "KEY", client.key
    )
    path = put(name, other)
    carry_out(install(name, "user", ["--level", "strict"]))
    found = json.loads(path.read_text())
    assert found["theme"] == "dark"
    assert found[client.key] == {
        "mine": {"command": "x"},
        "redoma": entry(client, ["--level", "strict"]),
    }
    carry_out(uninstall(name, "user"))
    assert path.read_text() == other


def test_comments_of_codex_settings_stay() -> None:
    other = '# mine\nmodel = "x"\n\n[mcp_servers.mine]\ncommand = "y" # keep\n'
    path = put("codex", other)
    carry_out(install("codex", "user", []))
    found = tomllib.loads(path.read_text())
    assert found["mcp_servers"]["redoma"] == entry(CLIENTS["codex"], [])
    assert found["mcp_servers"]["mine"] == {"command": "y"}
    assert path.read_text().startswith(other)
    carry_out(uninstall("codex", "user"))
    assert path.read_text() == other


@pytest.mark.parametrize("name", CLIENTS)
def test_a_second_install_brings_it_up_to_date_and_a_third_changes_nothing(name: str) -> None:
    carry_out(install(name, "user", []))
    carry_out(install(name, "user", ["--level", "strict"]))
    assert not install(name, "user", ["--level", "strict"]).changed
    carry_out(uninstall(name, "user"))
    assert not uninstall(name, "user").changed


@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize("text", ["[1", "[]", '{"mcpServers": 7, "servers": 7}', "mcp_servers = 7"])
def test_a_file_of_another_shape_is_left_alone(name: str, text: str) -> None:
    path = put(name, text)
    with pytest.raises(UsageError) as refused:
        carry_out(install(name, "user", []))
    assert path.read_text() == text
    assert "by hand" in refused.value.hint


@pytest.mark.parametrize("name", [n for n, client in CLIENTS.items() if client.project])
def test_a_link_out_of_the_project_is_not_followed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    target = project / CLIENTS[name].project
    target.parent.mkdir(parents=True)
    monkeypatch.chdir(project)
    precious = tmp_path / "precious.json"
    precious.write_text("{}")
    target.symlink_to(precious)
    with pytest.raises(UsageError):
        carry_out(install(name, "project", []))
    assert precious.read_text() == "{}"
