"""`Fleet`: runs commands and Python calls on the nodes of a cluster, each in its sandbox."""

from __future__ import annotations

import tempfile
from queue import SimpleQueue

from redoma.base.identity import short_id
from redoma.base.own_directories import made_state
from redoma.base.private_file import make_directory
from redoma.fleet.calls import call_item
from redoma.fleet.cluster import Cluster, ray_library
from redoma.fleet.crew import Crew
from redoma.fleet.dispatcher import Dispatcher, PendingItem
from redoma.fleet.gathered_rows import GatheredLog
from redoma.fleet.items import FleetItem, ItemResult, NoNode
from redoma.fleet.nodes import NodeSize, Requirement, refuse_unsendable
from redoma.fleet.returned_changes import MOST
from redoma.fleet.shipment import EMPTY, Shipment
from redoma.fleet.worker import Orders
from redoma.model.errors import StateUnavailable, UsageError
from redoma.model.value import replace
from redoma.pipeline.requests import this_caller
from redoma.pipeline.sandbox import Sandbox
from redoma.pipeline.settings import Access

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, Self, TypeVar

    T = TypeVar("T")
    Command = str | Sequence[str] | FleetItem

_AHEAD = 64


class Fleet:
    """Sandboxes on every node of a Ray cluster, kept warm, behind the calls of one.

    `address` is the cluster's head (`RAY_ADDRESS` by default); without one, Ray is started on this
    machine. `workspace` is a directory, or a tar file of one, that is sent to each node once: every
    run has its own copy-on-write layer over it, and what it changed comes back with its result.
    `slots` is how many runs a node has at a time at most, `attempts` how often an item is tried
    that the machinery fails. Everything else is as for `redoma.Sandbox`, and holds on each node.

    NoNode where no node can hold what is required; it says why not, node by node.
    """

    __module__ = "redoma.fleet"

    def __init__(
        self,
        address: str = "",
        *,
        workspace: str = "",
        slots: int | None = None,
        attempts: int = 3,
        audit: str = "",
        job: str = "",
        before_send: Callable[[int, str], None] | None = None,
        most_changed: int = MOST,
        **given: Any,
    ) -> None:
        """`audit` is the directory of the log into which the nodes' rows are gathered.

        `job` names what is gone on with after a crash, and `before_send` hears which item goes to
        which worker; then whoever calls says with `arrived` what is safe on its disk.
        """
        ray_library()
        refuse_unsendable(given)
        if attempts < 1 or (slots is not None and slots < 1):
            raise UsageError("attempts and slots are numbers from one on")
        self.job = job or short_id()
        self._confirms = before_send is not None
        self._closed = False
        self._numbers = 0
        self._shipment = Shipment(workspace) if workspace else None
        try:
            sandbox = self._planned(given)
            self._requirement = Requirement(
                sandbox.config,
                slots,
                memory_named=given.get("limits") is not None and given["limits"].memory is not None,
                writes_outside=bool(getattr(given.get("access"), "write", ())),
            )
            self._cluster = Cluster(address)
        except BaseException:
            self._drop_shipment()
            raise
        orders = Orders(
            job=self.job,
            workspace=self.workspace,
            given=self._sent(given, sandbox),
            most_changed=most_changed,
        )
        self._crew = Crew(self._cluster, self._requirement, orders, self._shipment)
        try:
            self._crew.open()
            self.audit = audit or self._own_audit()
            self._log = GatheredLog(self.audit)
        except BaseException:
            self._crew.close()
            self._leave()
            raise
        self._dispatcher = Dispatcher(
            self._crew, self._log, attempts=attempts, before_send=before_send
        )
        self._started = False

    def run(self, command: Command, **how: Any) -> ItemResult:
        """Runs a command somewhere and returns its whole story; `how` as in `FleetItem`."""
        return self.submit(item_of(command, how)).result()

    def call(self, function: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
        """What a function returns, run in a sandbox somewhere; raises what it raised."""
        ended = self.submit(call_item(function, args, kwargs)).result()
        value: T = ended.raise_for_outcome().result.value  # type: ignore[union-attr, assignment]
        return value

    def map(
        self,
        commands: Iterable[Command],
        *,
        ordered: bool = True,
        ahead: int = _AHEAD,
    ) -> Iterator[ItemResult]:
        """Runs commands as they are taken from `commands`, and gives each result once.

        In their order, or as they end. At most `ahead` are taken and not yet given back, so memory
        stays flat however many there are; whoever does not take results holds the rest up.
        """
        if ahead < 1:
            raise UsageError("ahead is a number from one on")
        rest = iter(commands)
        window: dict[int, PendingItem] = {}
        over: SimpleQueue[PendingItem] = SimpleQueue()
        try:
            while True:
                while len(window) < ahead and (made := next(rest, None)) is not None:
                    pending = self.submit(item_of(made, {}))
                    window[pending.number] = pending
                    if not ordered:
                        pending.when_over(over.put)
                if not window:
                    return
                done = next(iter(window.values())) if ordered else over.get()
                result = done.result()
                del window[done.number]
                yield result
        finally:
            for pending in window.values():
                self._dispatcher.cancel(pending)

    def submit(self, item: FleetItem, number: int | None = None) -> PendingItem:
        """Puts an item into the queue; its `result()` waits for its end."""
        if self._closed:
            raise UsageError("this fleet is closed")
        self.start()
        if number is None:
            number, self._numbers = self._numbers, self._numbers + 1
        isolation = "" if item.call else self._requirement.isolation_of(item.command)
        pending = PendingItem(number, item, isolation)
        if not self._confirms:
            pending.when_over(lambda over: self.arrived(over.number, over.worker))
        self._dispatcher.submit(pending)
        return pending

    def cancel(self, pending: PendingItem) -> None:
        """Ends an item that waits or runs."""
        self._dispatcher.cancel(pending)

    def arrived(self, number: int, worker: str) -> None:
        """The end of an item is where it has to be: its node lets go of it."""
        self._dispatcher.arrived(number, worker)

    def start(self) -> None:
        """Sends the workspace and starts the workers; the first item does that by itself."""
        if not self._started:
            self._started = True
            self._crew.staff()

    @property
    def running(self) -> int:
        """How many items are at a worker now."""
        return self._dispatcher.running

    @property
    def workspace(self) -> str:
        """The digest of the workspace that is sent."""
        return self._shipment.digest if self._shipment else EMPTY

    @property
    def crew(self) -> Crew:
        """The nodes, for whoever shows them or asks them what they know of a job."""
        return self._crew

    @property
    def log(self) -> GatheredLog:
        """The log into which the rows of all workers are gathered."""
        return self._log

    def close(self) -> None:
        """Ends what still runs and every worker; a Ray that was started for this ends as well."""
        if self._closed:
            return
        self._closed = True
        try:
            self._dispatcher.close()
            self._log.close()
            self._crew.close()
        finally:
            self._leave()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _planned(self, given: dict[str, Any]) -> Sandbox:
        """A sandbox like those of the nodes, over a place of no meaning: plans need only that."""
        with tempfile.TemporaryDirectory(prefix="redoma-fleet-", dir="/var/tmp") as place:
            access = given.get("access") or Access()
            known = {name: value for name, value in given.items() if name != "access"}
            if isinstance(access, Access):
                access = replace(access, apply="never", write=(), read=())
            return Sandbox(place, access=access, **known)

    def _sent(self, given: dict[str, Any], sandbox: Sandbox) -> dict[str, Any]:
        """What the nodes' sandboxes are made with: the policy as it stands here, and the caller."""
        caller = sandbox.config.caller
        session = caller.session or f"fleet:{self.job}"
        return {
            **given,
            "policy": sandbox.config.policy(),
            "caller": replace(caller, name=caller.name or this_caller(), session=session),
        }

    def _own_audit(self) -> str:
        make_directory(f"{made_state()}/fleet-audit", StateUnavailable)
        return f"{made_state()}/fleet-audit/{self.job}"

    def _drop_shipment(self) -> None:
        if self._shipment is not None:
            self._shipment.close()

    def _leave(self) -> None:
        self._drop_shipment()
        self._cluster.close()


def item_of(command: Command, how: dict[str, Any]) -> FleetItem:
    """A command as an item."""
    if isinstance(command, FleetItem):
        return replace(command, **how)
    words = command if isinstance(command, str) else tuple(command)
    return FleetItem(command=words, **how)


def surveyed(address: str = "", **given: Any) -> list[Any]:
    """Every node with its report, its size, and how it would be used or why not."""
    given.pop("workspace", None)
    try:
        fleet = Fleet(address, **given)
    except NoNode as error:
        unknown = NodeSize(cpus=0, memory=0)
        return [(name, None, unknown, None, why) for name, why in error.tried.items()]
    with fleet:
        return list(fleet.crew.reports())
