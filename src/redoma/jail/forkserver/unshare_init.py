"""The first process of a sandbox whose namespaces `unshare` of util-linux makes.

It builds the root, gives up every privilege, waits for its limits, starts the command and ends
with it.
"""

from __future__ import annotations

import os
import select
import signal
import sys

from redoma.jail.forkserver import first_process
from redoma.jail.forkserver.description import SandboxDescription
from redoma.jail.forkserver.root import Root
from redoma.jail.kernel import privileges

COULD_NOT_SET_UP = 125
_UNUSED = (select, signal)  # loaded now: after the root has changed nothing can be imported


def main(arguments: list[str]) -> None:
    """`--args FD -- COMMAND…`, as bubblewrap reads them; never returns."""
    try:
        cut = arguments.index("--")
        orders = SandboxDescription(_read(int(arguments[1])))
        pid = first_process.own_pid()
        _set_up(orders)
        status, go = orders.numbers["--json-status-fd"], orders.numbers["--block-fd"]
        first_process.leave_signals_to_the_command()
        first_process.introduce(status, pid)
        first_process.wait_for_go(go)
        child = first_process.start(
            arguments[cut + 1 :], orders.env, first_process.be_the_first_to_go
        )
        privileges.keep_out_others()
        for fd in (0, 1, 2):
            os.close(fd)  # else the end of the command's output would not be seen
        first_process.end(status, first_process.attend(child, go))
    except (OSError, ValueError, KeyError) as error:
        os.write(2, f"redoma: {error}\n".encode(errors="surrogateescape"))
    os._exit(COULD_NOT_SET_UP)


def _set_up(orders: SandboxDescription) -> None:
    given = orders.numbers
    filter_of_calls = _contents(given["--seccomp"])
    for name in ("--json-status-fd", "--block-fd"):
        os.set_inheritable(given[name], False)  # noqa: FBT003
    first_process.bring_up_loopback()
    if "--new-session" in orders.flags:
        os.setsid()  # Attack: TIOCSTI into the caller's terminal
    root = Root(no_user_namespaces="--disable-userns" in orders.flags)
    root.begin()
    root.add(orders.steps)
    root.enter()
    # The mounts belong to the namespace outside this one; and only what is in this one counts as
    # a process of the run.
    privileges.enter_user_namespace()
    privileges.drop_capabilities()
    privileges.no_new_privileges()
    os.chdir(orders.directory)
    privileges.load_filter(filter_of_calls)


def _read(fd: int) -> list[str]:
    text = _contents(fd).decode(errors="surrogateescape")
    return text.removesuffix("\0").split("\0")


def _contents(fd: int) -> bytes:
    with open(fd, "rb") as file:
        return file.read()


if __name__ == "__main__":
    main(sys.argv[1:])
