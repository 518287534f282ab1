"""A preview shows what a command would ask of other machines, since a mock answers it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from redoma import Network, Sandbox
from redoma.audit.entries import AuditReader
from redoma.model.policy import BUILT_IN, NetworkRules
from redoma.model.value import replace
from redoma.pipeline.foresight.forecast import MOCKED
from tests.escape.gated import PYTHON, Server, workspace
from tests.unit.cli.previewing import Project

pytestmark = pytest.mark.requirement("K5")

ORDER = """
import json, urllib.request
with urllib.request.urlopen("https://api.test/orders?key=s3cret", b"item=7") as got:
    made = json.load(got)
open("order.json", "w").write(json.dumps(made))
"""
MOCKS = """
- {method: POST, host: api.test, path: /orders, status: 201, body: {id: 42}}
"""


@pytest.fixture
def place() -> Iterator[Path]:
    with workspace() as made:
        (made / "order.py").write_text(ORDER)
        yield made


def test_a_script_goes_on_with_a_mocks_answer_and_every_request_is_listed(
    place: Path, tmp_path: Path
) -> None:
    (tmp_path / "mocks.yaml").write_text(MOCKS)
    sandbox = Sandbox(
        str(place),
        audit=str(tmp_path / "record"),
        network=Network(mock=str(tmp_path / "mocks.yaml")),
        policy=BUILT_IN,
    )
    found = sandbox.preview([PYTHON, "order.py"])
    assert found.found.network_calls == ("POST https://api.test/orders?key=… (6 bytes)",)
    assert found.found.warnings == (MOCKED,)
    assert [change.path for change in found.changes.items] == ["order.json"]
    assert not (place / "order.json").exists()
    found.apply()
    assert json.loads((place / "order.json").read_text()) == {"id": 42}
    rows = [e for e in AuditReader(str(tmp_path / "record")).all() if e.kind == "network"]
    (row,) = [json.loads(each.details) for each in rows]
    told = {key: row[key] for key in ("target", "method", "status", "by", "body_size")}
    assert told == {
        "target": "api.test:443",
        "method": "POST",
        "status": 201,
        "by": "mock",
        "body_size": 6,
    }
    assert "s3cret" not in rows[0].details


def test_nothing_is_dialled_whatever_is_granted_and_listed(place: Path, tmp_path: Path) -> None:
    server = Server()
    rules = NetworkRules(allowed_hosts=(f"api.test=127.0.0.1:{server.port}",), max_connections=3)
    sandbox = Sandbox(
        str(place),
        level="minimal",
        audit=str(tmp_path / "record"),
        policy=replace(BUILT_IN, network=rules),
    )
    found = sandbox.preview([PYTHON, "order.py"])
    server.close()
    assert (server.accepted, len(found.found.network_calls)) == (0, 1)


def test_a_level_without_a_network_has_none_in_a_preview_either(
    place: Path, tmp_path: Path
) -> None:
    sandbox = Sandbox(str(place), level="strict", audit=str(tmp_path / "record"), policy=BUILT_IN)
    found = sandbox.preview([PYTHON, "order.py"])
    assert found.result.network_calls is None
    assert MOCKED not in found.found.warnings


def test_a_person_is_shown_the_requests_and_not_their_secrets(tmp_path: Path) -> None:
    project = Project(tmp_path)
    (project.root / "order.py").write_text(ORDER)
    (project.root / "mocks.yaml").write_text(MOCKS)
    out, err = project.call("preview", "--mock=mocks.yaml", "--discard", "python3 order.py")
    assert "would call: POST https://api.test/orders?key=… (6 bytes)\n" in out
    assert '+{"id": 42}' in out
    assert f"warning: {MOCKED}\n" in err
    assert "s3cret" not in out + err
