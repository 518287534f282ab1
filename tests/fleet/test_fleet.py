"""Commands and calls on a real cluster of several nodes, each in its own sandbox there."""

from __future__ import annotations

import asyncio
import itertools
import os
import tarfile
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from redoma import Access, Limits, Sandbox, UsageError
from redoma.fleet import AsyncFleet, Fleet, FleetItem, ItemOutcome, NoNode
from redoma.fleet.gathered_rows import verified
from redoma.fleet.returned_changes import applied_here
from redoma.model.errors import ApplyConflict
from tests.fleet.conftest import MEMORY, staffed
from tests.tidy import remove

pytestmark = pytest.mark.slow


def doubled(number: int) -> dict[str, int]:
    """A function of the caller's own, which is on no node."""
    return {"is": number * 2}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("shipped")
    (place / "a.txt").write_text("one\n")
    (place / "tool.sh").write_text("#!/bin/sh\necho tool\n")
    (place / "tool.sh").chmod(0o755)
    (place / "link").symlink_to("a.txt")
    (place / "deep" / "er").mkdir(parents=True)
    (place / "deep" / "er" / "old").write_text("old\n")
    return place


@pytest.fixture(scope="module")
def fleet(cluster: Any, workspace: Path) -> Iterator[Fleet]:
    # One run at a time on each node: so there is room for another fleet beside this one.
    with Fleet(cluster.address, workspace=str(workspace), slots=1) as made:
        yield staffed(made)


def test_a_command_runs_on_a_node_in_its_own_copy_and_only_what_changed_comes_back(
    fleet: Fleet, workspace: Path
) -> None:
    ended = fleet.run(
        "./tool.sh; cat link; echo two >> a.txt; mkdir new; echo n > new/f; rm deep/er/old"
    )
    assert ended.raise_for_outcome().result is not None
    assert ended.result is not None and ended.result.stdout == b"tool\none\n"
    assert ended.changes is not None
    assert {(c.path, c.did.value) for c in ended.changes.items} == {
        ("a.txt", "modified"),
        ("new", "created"),
        ("new/f", "created"),
        ("deep/er/old", "deleted"),
    }
    assert b"+two\n" in ended.changes.patch and b"tool.sh" not in ended.changes.patch
    # The next run finds the workspace as it was sent.
    again = fleet.run("cat a.txt deep/er/old; ls")
    assert again.result is not None
    assert again.result.stdout == b"one\nold\na.txt\ndeep\nlink\ntool.sh\n"
    assert again.changes is None
    assert (workspace / "a.txt").read_text() == "one\n"


def test_what_came_back_is_applied_here_and_undone_like_any_commands_changes(
    fleet: Fleet, workspace: Path
) -> None:
    ended = fleet.run("echo two >> a.txt; ln -s deep way; mv deep/er deep/est; chmod 700 tool.sh")
    assert ended.changes is not None and ended.changes.left_out == ()
    place = Path(tempfile.mkdtemp(dir="/var/tmp")) / "mine"
    os.system(f"cp -a {workspace} {place}")
    sandbox = Sandbox(str(place))
    result = applied_here(ended.changes.archive, sandbox)
    assert result.applied and result.changes is not None
    assert (place / "a.txt").read_text() == "one\ntwo\n"
    assert os.readlink(place / "way") == "deep"
    assert (place / "deep" / "est" / "old").read_text() == "old\n"
    assert not (place / "deep" / "er").exists()
    assert (place / "tool.sh").stat().st_mode & 0o777 == 0o700
    sandbox.undo(result.changes.id)
    assert (place / "a.txt").read_text() == "one\n"
    assert (place / "deep" / "er" / "old").read_text() == "old\n" and not (place / "way").exists()
    # A person changed the file meanwhile: nothing is applied.
    (place / "a.txt").write_text("mine\n")
    with pytest.raises(ApplyConflict, match=r"a\.txt"):
        applied_here(ended.changes.archive, sandbox)
    assert (place / "a.txt").read_text() == "mine\n" and not (place / "way").exists()
    remove(place.parent)


def test_results_come_in_order_or_as_they_end_and_each_once(fleet: Fleet) -> None:
    commands = [("/bin/echo", str(number)) for number in range(40)]
    ordered = list(fleet.map(commands))
    assert [r.result and r.result.stdout for r in ordered] == [b"%d\n" % n for n in range(40)]
    assert len({r.node for r in ordered}) == 2
    ended = list(fleet.map(commands, ordered=False, ahead=7))
    assert sorted(int(r.result.stdout) for r in ended if r.result) == list(range(40))


def test_no_more_is_taken_than_is_asked_for_ahead(fleet: Fleet) -> None:
    taken = []

    def endless() -> Iterator[tuple[str, ...]]:
        for number in itertools.count():
            taken.append(number)
            yield ("/bin/echo", str(number))

    results = fleet.map(endless(), ahead=5)
    for number in range(10):
        found = next(results)
        assert found.result is not None and int(found.result.stdout) == number
        assert len(taken) <= number + 6
    results.close()  # type: ignore[attr-defined]


def test_a_call_returns_data_and_raises_what_it_raised(fleet: Fleet) -> None:
    assert fleet.call(doubled, 21) == {"is": 42}
    with pytest.raises(ZeroDivisionError):
        fleet.call(divmod, 1, 0)


def test_each_way_not_to_succeed_has_a_type(fleet: Fleet) -> None:
    assert fleet.run("rm -rf ~").outcome is ItemOutcome.REFUSED
    failed = fleet.run("exit 7")
    assert failed.outcome is ItemOutcome.FINISHED and not failed.ok
    assert failed.result is not None and failed.result.exit_code == 7 and failed.attempts == 1
    killed = fleet.run(("/bin/sh", "-c", "kill -9 $$"))
    assert killed.outcome is ItemOutcome.FINISHED and killed.attempts == 1 and not killed.ok
    for outside in ("../..", "deep/../..", "/usr", "not/there", "a.txt"):
        assert fleet.run("true", cwd=outside).outcome is ItemOutcome.UNUSABLE
    within = fleet.run("pwd", cwd="deep/er/../er")
    assert within.result is not None and within.result.stdout.endswith(b"/deep/er\n")
    late = fleet.run("sleep 60", timeout=0.5)
    assert late.result is not None and late.result.outcome.value == "timed-out"


def test_an_item_that_is_given_up_ends_on_its_node(fleet: Fleet) -> None:
    pending = fleet.submit(FleetItem(command="sleep 300"))
    threading.Timer(1.0, fleet.cancel, (pending,)).start()
    assert pending.result().outcome is ItemOutcome.CANCELLED


def test_output_larger_than_an_object_store_holds_at_once_arrives_whole(fleet: Fleet) -> None:
    # Each node's store has 80 MiB; these are 100 MiB together, and are taken one by one.
    command = "head -c 6500000 /dev/zero"
    sizes = [len(r.result.stdout) for r in fleet.map([command] * 16, ahead=16) if r.result]
    assert sizes == [6_500_000] * 16


def test_the_rows_of_all_workers_are_one_log_whose_every_chain_can_be_checked(
    cluster: Any, tmp_path: Path
) -> None:
    audit = str(tmp_path / "audit")
    with Fleet(cluster.address, audit=audit, slots=1) as made:
        staffed(made)
        ran = {r.result.run for r in made.map([("/bin/true",)] * 12, ordered=False) if r.result}
    found, workers = verified(audit)
    assert found.faults == () and len(workers) == 2 and found.rows == sum(workers.values())
    from redoma.audit.entries import AuditReader, EntryFilter

    with AuditReader(audit) as reader:
        rows = list(reader.all(EntryFilter(kinds=("run-starting", "run-ended"))))
    assert {row.run for row in rows} == ran and len(rows) == 24


def test_a_node_that_cannot_give_what_is_required_gets_no_work_and_says_why(cluster: Any) -> None:
    with pytest.raises(NoNode) as refused:
        Fleet(cluster.address, limits=Limits(memory=2 * MEMORY))
    assert len(refused.value.tried) == 3
    assert sum("a run may use 2048" in why for why in refused.value.tried.values()) == 2
    with pytest.raises(NoNode, match="engine here can enforce"):
        Fleet(cluster.address, engine="landlock", level="strict")


def test_what_means_something_on_one_machine_only_is_refused_before_anything_is_sent(
    cluster: Any,
) -> None:
    for given in (
        {"access": Access(direct=True)},
        {"access": Access(secrets=("TOKEN",))},
        {"level": "./mine.yaml"},
    ):
        with pytest.raises(UsageError, match="not for a fleet"):
            Fleet(cluster.address, **given)


def test_an_archive_is_sent_as_a_directory_is(cluster: Any, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("in a tar\n")
    with tarfile.open(tmp_path / "w.tar.gz", "w:gz") as tar:
        tar.add(tmp_path / "x", "x")
    with Fleet(cluster.address, workspace=str(tmp_path / "w.tar.gz"), slots=1) as made:
        ended = made.run(("/bin/cat", "x"))
        assert ended.result is not None and ended.result.stdout == b"in a tar\n"


def test_the_same_awaited_and_cancelled(cluster: Any) -> None:
    async def go() -> None:
        async with AsyncFleet(cluster.address, slots=1) as made:
            first, second = await asyncio.gather(
                made.run(("/bin/echo", "1")), made.call(doubled, 1)
            )
            assert first.result is not None and first.result.stdout == b"1\n"
            assert second == {"is": 2}
            found = [r.ok async for r in made.map([("/bin/true",)] * 9, ordered=False)]
            assert found == [True] * 9
            task = asyncio.create_task(made.run("sleep 300"))
            await asyncio.sleep(1.0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            # Its worker is free again, long before it would have been.
            both = [made.run(("/bin/true",)) for _ in range(4)]
            assert all(each.ok for each in await asyncio.wait_for(asyncio.gather(*both), 120))

    asyncio.run(go())
