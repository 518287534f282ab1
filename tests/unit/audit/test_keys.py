"""The key is made once, kept where it was asked for, and never replaced in silence."""

from __future__ import annotations

from pathlib import Path

import pytest

from redoma.audit.log import AuditLog
from redoma.audit.verification import verify
from redoma.base.private_file import KeyPlace
from redoma.model.errors import RecordUnavailable
from tests.unit.audit.story import judged, written

CHAIN = KeyPlace.KEYCHAIN


def test_the_keychain_keeps_the_key_and_no_file_does(
    tmp_path: Path, keychain: dict[tuple[str, str], str]
) -> None:
    directory = tmp_path / "audit"
    with AuditLog(str(directory), keyed_by=CHAIN) as record:
        record.append(judged(1))
    assert list(keychain) == [("redoma audit", str(directory))]
    assert not (directory / "audit.key").exists()
    assert verify(str(directory), keyed_by=CHAIN).ok
    AuditLog(str(directory), keyed_by=CHAIN).append(judged(2))


def test_a_record_of_the_keychain_is_not_verified_by_a_file_that_was_put_there(
    tmp_path: Path, keychain: dict[tuple[str, str], str]
) -> None:
    forged = written(tmp_path / "audit")
    keychain["redoma audit", str(forged)] = "5a" * 32
    assert [fault.wrong.value for fault in verify(str(forged), keyed_by=CHAIN).faults] == [
        "head-replaced",
        "head-file-replaced",
    ]
    with pytest.raises(RecordUnavailable, match="key is in the file"):
        AuditLog(str(forged), keyed_by=CHAIN).append(judged(7))


def test_a_keychain_without_the_key_is_an_error(
    tmp_path: Path, keychain: dict[tuple[str, str], str]
) -> None:
    with AuditLog(str(tmp_path / "audit"), keyed_by=CHAIN) as record:
        record.append(judged(1))
    keychain.clear()
    with pytest.raises(RecordUnavailable, match="gone from the keychain"):
        AuditLog(str(tmp_path / "audit"), keyed_by=CHAIN).append(judged(2))


def test_a_key_of_the_wrong_length_is_no_key(tmp_path: Path) -> None:
    directory = written(tmp_path / "audit")
    (directory / "audit.key").write_bytes(b"short")
    with pytest.raises(RecordUnavailable, match="not a key"):
        AuditLog(str(directory)).append(judged(7))


def test_two_records_have_two_keys(tmp_path: Path) -> None:
    one, two = (written(tmp_path / name) / "audit.key" for name in ("one", "two"))
    assert len(one.read_bytes()) == 32
    assert one.read_bytes() != two.read_bytes()
