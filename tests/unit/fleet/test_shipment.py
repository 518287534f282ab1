"""A workspace arrives as it was sent, and nothing in its archive leads out of it."""

from __future__ import annotations

import io
import os
import tarfile
from contextlib import suppress
from pathlib import Path

import pytest

from redoma import RedomaError
from redoma.fleet.replay import replayed
from redoma.fleet.shipment import Shipment, unpack


def test_a_directory_has_one_name_for_one_content_and_arrives_whole(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    (source / "below").mkdir(parents=True)
    (source / "below" / "run").write_text("#!/bin/sh\n")
    (source / "below" / "run").chmod(0o755)
    os.link(source / "below" / "run", source / "twice")
    (source / "link").symlink_to("/usr/bin/env")
    os.mkfifo(source / "pipe")
    target.mkdir()
    first, second = Shipment(str(source)), Shipment(str(source))
    assert first.digest == second.digest and first.skipped == ("pipe",)
    sent = b"".join(first.pieces())
    (tmp_path / "part").write_bytes(sent)
    unpack(str(tmp_path / "part"), str(target))
    assert sorted(os.listdir(target)) == ["below", "link", "twice"]
    assert os.readlink(target / "link") == "/usr/bin/env"
    assert (target / "below" / "run").stat().st_mode & 0o777 == 0o755
    first.close()
    second.close()
    assert not os.path.exists(first.path)


@pytest.mark.parametrize(
    "members",
    [
        [("../out", None)],
        [("/abs/out", None)],
        [("way", ".."), ("way/out", None)],
        [("way", "/var"), ("way/tmp", "/etc")],
    ],
)
def test_an_archive_that_leads_out_writes_nothing_there(
    tmp_path: Path, members: list[tuple[str, str | None]]
) -> None:
    made, target = tmp_path / "evil.tar", tmp_path / "target"
    target.mkdir()
    with tarfile.open(made, "w") as tar:
        for name, link in members:
            header = tarfile.TarInfo(name)
            if link is None:
                header.size = 1
                tar.addfile(header, io.BytesIO(b"x"))
            else:
                header.type, header.linkname = tarfile.SYMTYPE, link
                tar.addfile(header)
    with suppress(RedomaError):
        unpack(str(made), str(target))
    assert sorted(os.listdir(tmp_path)) == ["evil.tar", "target"]
    assert not os.path.lexists("/var/tmp/out") and not os.path.islink("/var/tmp")


def test_what_is_done_again_is_compared_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("mine")
    for row in (
        {"path": "../x", "did": "created", "kind": "directory", "mode": 0o755},
        {"path": "there", "did": "deleted", "before": "file 00"},
    ):
        with pytest.raises(ValueError, match="CONFLICT"):
            replayed(_archive(row), str(tmp_path))
    assert (tmp_path / "there").read_text() == "mine"


def _archive(row: dict[str, object]) -> bytes:
    import json

    made = io.BytesIO()
    data = json.dumps({"changes": [row]}).encode()
    with tarfile.open(fileobj=made, mode="w:gz") as tar:
        header = tarfile.TarInfo("changes.json")
        header.size = len(data)
        tar.addfile(header, io.BytesIO(data))
    return made.getvalue()
