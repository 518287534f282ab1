"""Python calls on their way to a node: put into bytes by the driver, opened in a sandbox alone.

Attack on a node: a function's module is imported where its bytes are opened. So they are opened
inside the sandbox and nowhere before it; what carries them to the node has never looked into them.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from functools import partial

from redoma.fleet.items import FleetItem
from redoma.jail.calls.payload import search_path, sent
from redoma.jail.protect.installation import LIBRARY
from redoma.model.call import Call
from redoma.model.request import PythonCall
from redoma.pipeline.path import path
from redoma.pipeline.python_call import CallContext, CallRunner
from redoma.pipeline.steps import drive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from redoma.model.result import Result
    from redoma.pipeline.sandbox import Sandbox
    from redoma.pipeline.this_host import Control


def call_item(
    function: Callable[..., Any],
    arguments: Sequence[Any],
    named: Mapping[str, Any],
    timeout: float | None = None,
) -> FleetItem:
    """A call as an item; NotSendable, with the part that is to blame, where it cannot be sent."""
    call = Call(function, tuple(arguments), dict(named))
    with _by_value(function):
        workload = sent(call)
    return FleetItem(call=(workload.name, workload.arguments, workload.payload), timeout=timeout)


def performed(item: FleetItem, sandbox: Sandbox, control: Control) -> Result:
    """Runs a call that arrived here; its code is looked for where this node has it."""
    assert item.call is not None
    name, arguments, payload = item.call
    config = sandbox.config
    found, places = search_path((config.root, *config.overrides.writable))
    workload = PythonCall(
        name=name, arguments=arguments, payload=payload, places=places, path=found
    )
    request = config.caller.request(workload)
    context = CallContext(config, item.timeout)
    # Only how its answer is read is asked of this: the call itself is in the payload.
    runner = CallRunner(context, Call(len, ((),)), control=control)
    return drive(path(request, context), runner)


@contextmanager
def _by_value(function: Callable[..., Any]) -> Iterator[None]:
    """A caller's own module is not on the nodes: what stands in it goes along."""
    import cloudpickle  # type: ignore[import-untyped]

    target: Any = function
    while isinstance(target, partial):
        target = target.func
    module = sys.modules.get(getattr(target, "__module__", None) or "")
    if module is None or module.__name__ == "__main__" or _installed(module):
        yield
        return
    cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        cloudpickle.unregister_pickle_by_value(module)


def _installed(module: Any) -> bool:
    """Whether a node has a module by itself: the library's, an installed one, or ours."""
    file = getattr(module, "__file__", None) or ""
    ours = module.__name__.partition(".")[0] == "redoma" and file.startswith(f"{LIBRARY}/")
    library = module.__name__.partition(".")[0] in sys.stdlib_module_names
    return not file or library or ours or "/site-packages/" in file or "/dist-packages/" in file
