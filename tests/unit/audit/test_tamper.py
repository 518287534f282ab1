"""A changed past shows, and is named."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from redoma.audit import ledger
from redoma.audit.chain import GENESIS, Gap, link, row_bytes
from redoma.audit.chain_walk import Fault
from redoma.audit.log import AuditLog
from redoma.audit.verification import verify
from redoma.model.errors import ChainBroken, RecordUnavailable
from tests.unit.audit.story import entries, judged, tamper, written

COLUMNS = "at kind run session caller command digest details link".split()


def named(directory: Path) -> list[tuple[str, int]]:
    """What verifying names, and where."""
    return [(fault.wrong.value, fault.entry) for fault in verify(str(directory)).faults]


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return written(tmp_path / "audit")


def test_an_untouched_record_verifies(record: Path) -> None:
    found = verify(str(record))
    assert (found.rows, found.last, found.let_go, found.faults) == (6, 6, 0, ())
    assert found.head == entries(record)[-1].link


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("entry", [1, 3, 6])
def test_a_changed_column_is_found_in_its_entry(record: Path, column: str, entry: int) -> None:
    change = "at + 1" if column == "at" else f"CAST({column} || 'x' AS TEXT)"
    tamper(record, f"UPDATE audit_log SET {column} = {change} WHERE seq = {entry}")
    assert named(record) == [("changed", entry)]


@pytest.mark.parametrize(
    "change",
    [
        "kind = CAST(kind AS BLOB)",
        "session = NULL",
        "at = CAST(at AS BLOB)",
        "at = at + 0.5",
        "command = command || char(0) || 'hidden'",
        "session = 'ru', run = 'n-3'",  # the same letters in other columns
    ],
)
def test_another_type_or_border_is_a_change(record: Path, change: str) -> None:
    tamper(
        record,
        "CREATE TABLE other AS SELECT * FROM audit_log",
        "DROP TABLE audit_log",
        "ALTER TABLE other RENAME TO audit_log",
        f"UPDATE audit_log SET {change} WHERE seq = 3",
    )
    found = named(record)
    assert ("changed", 3) in found
    assert ("damaged", 0) in found  # the table itself is not ours any more


def test_deleted_entries_are_missed(record: Path) -> None:
    tamper(record, "DELETE FROM audit_log WHERE seq IN (1, 3, 4)")
    assert named(record) == [("deleted", 1), ("deleted", 3)]
    assert "up to 4" in verify(str(record)).faults[1].text


@pytest.mark.parametrize(("one", "other"), [(2, 5), (3, 4), (1, 6)])
def test_entries_that_changed_places_are_named(record: Path, one: int, other: int) -> None:
    tamper(
        record,
        f"UPDATE audit_log SET seq = -1 WHERE seq = {one}",
        f"UPDATE audit_log SET seq = {one} WHERE seq = {other}",
        f"UPDATE audit_log SET seq = {other} WHERE seq = -1",
    )
    found = verify(str(record)).faults
    assert [(fault.wrong.value, fault.entry) for fault in found] == [
        ("reordered", one),
        ("reordered", other),
    ]
    assert f"entry {other}" in found[0].text


def test_a_cut_tail_is_missed(record: Path) -> None:
    tamper(record, "DELETE FROM audit_log WHERE seq > 4")
    assert named(record) == [("truncated", 5)]
    tamper(record, "DELETE FROM audit_log")
    assert named(record) == [("truncated", 1)]


def test_a_head_without_the_key_is_no_head(record: Path) -> None:
    tamper(record, "DELETE FROM audit_log WHERE seq > 4", "UPDATE head SET seq = 4")
    assert named(record) == [("head-replaced", 0)]
    with pytest.raises(ChainBroken):
        AuditLog(str(record)).append(judged(7))
    tamper(record, "DELETE FROM head")
    assert ("head-replaced", 0) in named(record)


def rewrite(directory: Path, start: int) -> None:
    """Changes an entry and makes every later link anew, as who knows the format could."""
    with closing(sqlite3.connect(directory / "audit.db")) as connection, connection:
        before = GENESIS
        for *row, old in connection.execute("SELECT * FROM audit_log ORDER BY seq").fetchall():
            if row[0] == start:
                row[6] = "echo nothing happened"
            made = link(before, row_bytes(tuple(row)))
            assert row[0] >= start or made == old
            connection.execute(
                "UPDATE audit_log SET command = ?, link = ? WHERE seq = ?", (row[6], made, row[0])
            )
            before = made


def test_a_chain_that_was_made_anew_does_not_lead_to_the_head(record: Path) -> None:
    rewrite(record, 3)
    assert ("rewritten", 6) in named(record)
    assert all(wrong == "rewritten" for wrong, _ in named(record))


def test_an_entry_that_we_did_not_write_shows(record: Path) -> None:
    last = entries(record)[-1]
    row = (7, last.at, "answered", "x", "", "", "", "", "{}")
    made = link(bytes.fromhex(last.link), row_bytes(row))
    tamper(record, ("INSERT INTO audit_log VALUES (?,?,?,?,?,?,?,?,?,?)", (*row, made)))
    assert named(record) == [("added", 7)]


def test_deleting_with_a_gap_of_ones_own_shows(record: Path) -> None:
    rows = entries(record)
    gap = Gap(
        first=3, last=4, before=bytes.fromhex(rows[1].link), after=bytes.fromhex(rows[3].link)
    )
    tamper(
        record,
        "DELETE FROM audit_log WHERE seq IN (3, 4)",
        ("INSERT INTO gaps VALUES (?,?,?,?,?)", (3, 4, gap.before, gap.after, bytes(32))),
    )
    assert named(record) == [("gap-forged", 3), ("deleted", 3)]


def test_an_index_that_hides_an_entry_is_found(record: Path) -> None:
    root = _root_page(record, "audit_log_by_session")
    path = record / "audit.db"
    data = bytearray(path.read_bytes())
    data[(root - 1) * 4096 + 4] -= 1  # one cell less
    path.write_bytes(data)
    assert named(record)[0][0] == "damaged"


def test_a_trigger_or_a_view_is_found(record: Path) -> None:
    tamper(
        record,
        "CREATE TRIGGER quiet AFTER INSERT ON audit_log BEGIN DELETE FROM audit_log; END",
    )
    assert named(record) == [("damaged", 0)]


def _root_page(directory: Path, name: str) -> int:
    with closing(sqlite3.connect(directory / "audit.db")) as connection:
        found: int = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = ?", (name,)
        ).fetchone()[0]
    return found


@pytest.mark.parametrize("flip", [0x01, 0xFF])
def test_every_byte_of_every_row_counts(tmp_path: Path, flip: int) -> None:
    directory = written(tmp_path / "audit", rows=3)
    page = _root_page(directory, "audit_log")
    path = directory / "audit.db"
    whole = path.read_bytes()
    at = (page - 1) * 4096
    assert whole[at] == 0x0D, "three rows are on one leaf"
    content = int.from_bytes(whole[at + 5 : at + 7], "big")
    cells = [*range(at + 8, at + 8 + 2 * 3), *range(at + content, at + 4096)]
    assert len(cells) > 300
    unseen = []
    for offset in cells:
        changed = bytearray(whole)
        changed[offset] ^= flip
        path.write_bytes(changed)
        if verify(str(directory)).ok:
            unseen.append(offset - at)
    assert unseen == []
    path.write_bytes(whole)
    assert verify(str(directory)).ok


def test_a_file_that_is_no_database_any_more_is_damaged(record: Path) -> None:
    (record / "audit.db").write_bytes(b"not a database, only as long as one" * 500)
    assert named(record) == [("damaged", 0)]
    with pytest.raises(RecordUnavailable) as caught:
        AuditLog(str(record)).append(judged(7))
    assert caught.value.hint == "redoma audit verify"


def with_log(directory: Path, log: bytes) -> Path:
    """A copy of an audit log whose log is an earlier one."""
    copy = directory.with_name("copy")
    copy.mkdir(mode=0o700)
    for name in ("audit.db", "audit.key", "audit.head"):
        shutil.copy(directory / name, copy / name)
    (copy / "audit.db-wal").touch(mode=0o600)
    (copy / "audit.db-wal").write_bytes(log)
    return copy


def test_a_log_that_was_cut_is_a_cut_tail(tmp_path: Path) -> None:
    directory = tmp_path / "audit"
    record = AuditLog(str(directory))
    record.append(judged(1))
    kept = (directory / "audit.db-wal").read_bytes()
    record.append(judged(2))
    record.note(judged(3))
    copy = with_log(directory, kept)
    assert named(copy) == [("truncated", 2)]
    with pytest.raises(ChainBroken, match="had reached entry 3"):
        AuditLog(str(copy)).append(judged(4))
    assert named(copy) == [("truncated", 2)], "what was refused wrote nothing over the traces"


def test_an_older_copy_of_the_database_is_a_cut_tail(record: Path) -> None:
    old = (record / "audit.db").read_bytes()
    with AuditLog(str(record)) as later:
        later.append(judged(7), judged(8))
    (record / "audit.db").write_bytes(old)
    assert named(record) == [("truncated", 7)]


def test_an_older_copy_of_everything_shows_against_a_head_that_was_noted(
    record: Path, tmp_path: Path
) -> None:
    shutil.copytree(record, tmp_path / "old")
    with AuditLog(str(record)) as later:
        later.append(judged(7))
    noted = verify(str(record))
    head = (noted.last, noted.head)
    assert verify(str(record), expected=head).ok
    assert verify(str(tmp_path / "old")).ok, "the copy is whole in itself"
    shown = verify(str(tmp_path / "old"), expected=head)
    assert [(fault.wrong.value, fault.entry) for fault in shown.faults] == [("truncated", 7)]
    other = verify(str(record), expected=(7, "0" * 64))
    assert [(fault.wrong.value, fault.entry) for fault in other.faults] == [("rewritten", 7)]
    gone = verify(str(tmp_path / "nothing"), expected=head)
    assert [fault.wrong.value for fault in gone.faults] == ["gone"]


@pytest.mark.parametrize("content", [b"", b"1 x 0 00 0 00 y 00", b"\xff" * 512])
def test_a_head_file_that_is_not_ours_stops_everything(record: Path, content: bytes) -> None:
    (record / "audit.head").write_bytes(content)
    assert named(record) == [("head-file-replaced", 0)]
    with pytest.raises(ChainBroken):
        AuditLog(str(record)).append(judged(7))


def test_a_record_that_is_gone_is_not_begun_anew_in_silence(record: Path) -> None:
    (record / "audit.db").unlink()
    assert verify(str(record)).faults == (
        Fault(
            wrong=verify(str(record)).faults[0].wrong,
            text="the database is gone; its head file is not",
        ),
    )
    with pytest.raises(ChainBroken, match="is gone"):
        AuditLog(str(record)).append(judged(7))


def test_who_was_killed_while_beginning_has_begun_nothing(tmp_path: Path) -> None:
    directory = tmp_path / "audit"
    AuditLog(str(directory)).digest_of("make")  # makes everything and writes nothing
    tamper(directory, "UPDATE head SET mac = x''")
    (directory / "audit.head").write_bytes(b"")
    AuditLog(str(directory)).append(judged(1))
    assert verify(str(directory)).ok


def test_after_a_reboot_only_what_was_forced_to_disk_is_demanded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / "audit"
    record = AuditLog(str(directory))
    record.append(judged(1))
    record.append(judged(2))
    forced = (directory / "audit.db-wal").read_bytes()
    record.note(judged(3))
    copy = with_log(directory, forced)
    assert named(copy) == [("truncated", 3)]
    monkeypatch.setattr(ledger, "boot_id", lambda: "another-boot")
    assert named(copy) == [], "a power cut may take what was only noted"
    AuditLog(str(copy)).append(judged(4))
    assert named(copy) == []


def test_another_key_fits_nothing(record: Path) -> None:
    (record / "audit.key").write_bytes(bytes(32))
    assert [wrong for wrong, _ in named(record)] == ["head-replaced", "head-file-replaced"]
    (record / "audit.key").unlink()
    with pytest.raises(RecordUnavailable, match=r"audit\.key is gone"):
        verify(str(record))
    with pytest.raises(RecordUnavailable, match=r"audit\.key is gone"):
        AuditLog(str(record)).append(judged(7))
