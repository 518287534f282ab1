"""A job on the driver's disk: what was sent where, and each result once, whatever is killed when.

Beside the file of results lies a directory with the journal, what items changed, and the gathered
audit log. A result is written whole with its line's end, and forced to disk before its node is told
that it arrived; a line that is cut off is taken back when the job goes on, and its end is asked of
the node, which still has it.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os

from redoma.base.identity import short_id
from redoma.base.private_file import make_directory
from redoma.model.errors import RedomaError, StateUnavailable, UsageError
from redoma.model.message import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from redoma.fleet.items import FleetItem, ItemResult

FORM = 1


class JobFiles:
    """The places of a job's files, by the file of its results."""

    def __init__(self, results: str) -> None:
        self.results = os.path.abspath(results)
        self.directory = f"{self.results}.job"
        self.journal = f"{self.directory}/journal"
        self.changes = f"{self.directory}/changes"
        self.audit = f"{self.directory}/audit"


class JobJournal:
    """The open files of a job; one process at a time has them."""

    def __init__(self, files: JobFiles, jobs: str, settings: str) -> None:
        """`jobs` is the file of items; `settings` is all that must be the same to go on."""
        self.files = files
        for each in (files.directory, files.changes):
            make_directory(each, StateUnavailable)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self._journal: BinaryIO = open(os.open(files.journal, flags, 0o600), "r+b")  # noqa: SIM115
        try:
            fcntl.flock(self._journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._journal.close()
            raise RedomaError(
                "another process is at work on {results}", results=files.results
            ) from None
        try:
            self._begin(jobs, settings)
        except BaseException:
            self._journal.close()
            raise

    def _begin(self, jobs: str, settings: str) -> None:
        """Reads what is there, or begins it."""
        files = self.files
        with open(jobs, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        with open(jobs, "rb") as file:
            self.total = sum(1 for line in file if line.strip())
        self.resumed = os.fstat(self._journal.fileno()).st_size > 0
        # Which items have a result, as one bit each.
        self._done = bytearray(self.total // 8 + 1)
        self.done = self.failed = 0
        # item -> the worker that it was sent to last, of those without a result
        self.sent: dict[int, str] = {}
        head = {"form": FORM, "jobs": digest, "settings": settings}
        if self.resumed:
            self.job = self._read(head)
        else:
            if os.path.lexists(files.results) and os.path.getsize(files.results):
                raise UsageError(
                    "{results} is there, and not of a job that could go on",
                    results=files.results,
                    hint="name another file with -o",
                )
            self.job = short_id()
            self._journal.write(json.dumps({**head, "job": self.job}).encode() + b"\n")
            self._journal.flush()
            os.fsync(self._journal.fileno())
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_APPEND
        self._results: BinaryIO = open(os.open(files.results, flags, 0o666), "a+b")  # noqa: SIM115
        self._read_results()

    def has(self, number: int) -> bool:
        """Whether an item has its result."""
        return bool(self._done[number >> 3] >> (number & 7) & 1)

    def sending(self, number: int, worker: str, *, forced: bool) -> None:
        """Notes where an item goes; `forced` has it on disk before this returns."""
        self._journal.write(f"{number} {worker}\n".encode("ascii"))
        self._journal.flush()
        if forced:
            os.fsync(self._journal.fileno())

    def same_workspace(self, digest: str) -> None:
        """Notes the workspace that is sent; an error where another was sent before."""
        path = f"{self.files.directory}/workspace"
        try:
            with open(path, "x", encoding="ascii") as file:
                file.write(digest)
        except FileExistsError:
            with open(path, encoding="ascii") as file:
                known = file.read()
            if known and known != digest:
                raise UsageError(
                    "the workspace is not the one with which {results} was begun",
                    results=self.files.results,
                    hint="begin a new job with another -o, or give it as it was",
                ) from None

    def write(self, results: list[ItemResult]) -> None:
        """Writes results, what they changed first; all of it is on disk when this returns."""
        lines = b""
        for each in results:
            if self.has(each.number):
                continue
            self._keep_changes(each)
            lines += json.dumps(as_json(each)).encode() + b"\n"
            self._count(each.number, ok=each.ok)
        self._results.write(lines)
        self._results.flush()
        os.fsync(self._results.fileno())

    def close(self) -> None:
        """Lets another process go on."""
        self._results.close()
        self._journal.close()

    def _count(self, number: int, *, ok: bool) -> None:
        self._done[number >> 3] |= 1 << (number & 7)
        self.done += 1
        self.failed += not ok
        self.sent.pop(number, None)

    def _keep_changes(self, result: ItemResult) -> None:
        if result.changes is None:
            return
        for suffix, data in (("patch", result.changes.patch), ("tar.gz", result.changes.archive)):
            if not data:
                continue
            path = f"{self.files.changes}/{result.number}.{suffix}"
            with open(f"{path}.new", "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(f"{path}.new", path)

    def _read(self, head: dict[str, object]) -> str:
        """The job's name, and what was sent; an error where something else is to be run now."""
        self._journal.seek(0)
        lines = iter(self._journal)
        try:
            found = json.loads(next(lines))
            job = str(found.pop("job"))
        except (ValueError, KeyError, StopIteration) as error:
            raise RedomaError(
                "{journal} is no journal", journal=self.files.journal, hint="name another file: -o"
            ) from error
        changed = [name for name in head if head[name] != found.get(name)]
        if changed:
            raise UsageError(
                "{results} was begun with other {what}",
                results=self.files.results,
                what=Message({"jobs": "jobs", "settings": "options"}.get(changed[0], "versions")),
                hint="begin a new job with another -o, or give what was given",
            )
        for line in lines:
            number, _, worker = line.decode("ascii", "replace").strip().partition(" ")
            if line.endswith(b"\n") and number.isdigit() and int(number) < self.total:
                self.sent[int(number)] = worker
        self._journal.seek(0, os.SEEK_END)
        return job

    def _read_results(self) -> None:
        """Counts what is done, and takes a line back that was cut off."""
        self._results.seek(0)
        whole = 0
        for line in self._results:
            if not line.endswith(b"\n"):
                break
            try:
                found = json.loads(line)
                number, ok = int(found["item"]), bool(found["ok"])
            except (ValueError, KeyError, TypeError):
                break
            whole += len(line)
            if 0 <= number < self.total and not self.has(number):
                self._count(number, ok=ok)
        self._results.truncate(whole)


def items(jobs: str) -> Iterator[tuple[int, FleetItem | str]]:
    """The items of a file, line by line; in the place of one that is none, why not."""
    number = 0
    with open(jobs, "rb") as file:
        for line in file:
            if line.strip():
                yield number, read_item(line)
                number += 1


def read_item(line: bytes) -> FleetItem | str:
    """One line: a JSON text or list, or an object with `command` and what goes with it."""
    from redoma.fleet.items import FleetItem

    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return Message("it is no JSON")
    if isinstance(found, str | list):
        found = {"command": found}
    if not isinstance(found, dict) or "command" not in found:
        return Message("it has no command")
    strays = found.keys() - {"id", "command", "cwd", "stdin", "timeout"}
    if strays:
        return Message("it has {key}, which means nothing here", key=repr(min(strays)))
    command = found["command"]
    words = isinstance(command, list) and all(isinstance(word, str) for word in command)
    if not (command and (isinstance(command, str) or words)):
        return Message("its command is neither a text nor a list of words")
    timeout = found.get("timeout")
    number = isinstance(timeout, int | float) and not isinstance(timeout, bool) and timeout > 0
    if timeout is not None and not number:
        return Message("its timeout is no number of seconds")
    if not all(isinstance(found.get(name, ""), str) for name in ("id", "cwd", "stdin")):
        return Message("its id, cwd and stdin are texts")
    return FleetItem(
        command=tuple(command) if words else command,
        cwd=found.get("cwd", ""),
        stdin=found.get("stdin", "").encode("utf-8", "surrogateescape"),
        timeout=timeout,
        id=found.get("id", ""),
    )


def as_json(result: ItemResult) -> dict[str, object]:
    """A result as a line of the file of results."""
    from redoma.cli.json_report import result_json

    made: dict[str, object] = {
        "item": result.number,
        "id": result.id,
        "outcome": result.outcome.value,
        "ok": result.ok,
        "why": result.why,
        "node": result.node,
        "attempts": result.attempts,
        "changes": [],
        "result": None,
    }
    if result.result is not None:
        told = result_json(result.result)
        unused = ("decision", "transaction", "applied", "undoable")
        made["result"] = {name: value for name, value in told.items() if name not in unused}
    if result.changes is not None:
        made["changes"] = [
            {"path": _valid(item.path), "did": item.did.value} for item in result.changes.items
        ]
        made["left_out"] = list(result.changes.left_out)
    return made


def _valid(path: str) -> str:
    return path.encode("utf-8", "backslashreplace").decode()
