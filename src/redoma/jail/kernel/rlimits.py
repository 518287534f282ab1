"""Resource limits (`setrlimit`): the kernel holds each process to them, and all that it starts."""

from __future__ import annotations

import resource

TYPE_CHECKING = False
if TYPE_CHECKING:
    from redoma.model.access import Limits


def rlimits_of(limits: Limits) -> list[tuple[int, int]]:
    """The kind and the value of each limit that the kernel holds for every process by itself."""
    wanted = (
        (resource.RLIMIT_CORE, 1),  # not 0: then a crash starts the machine's own handler, outside
        (resource.RLIMIT_NOFILE, limits.open_files),
        (resource.RLIMIT_FSIZE, limits.file_size),
        (resource.RLIMIT_CPU, limits.cpu_seconds),
        (resource.RLIMIT_AS, limits.address_space),
    )
    return [(kind, value) for kind, value in wanted if value is not None]


def soft_and_hard(kind: int, value: int) -> tuple[int, int]:
    """The pair that `setrlimit` takes; never above what this process may have itself."""
    most = resource.getrlimit(kind)[1]
    soft = value if most == resource.RLIM_INFINITY else min(value, most)
    # At the hard limit of CPU time the kernel kills without a word; before it, it says why.
    return soft, soft + 1 if kind == resource.RLIMIT_CPU else soft


def packed_rlimits(limits: Limits) -> str:
    """`kind:value` pairs for a process that limits itself."""
    pairs = rlimits_of(limits)
    if limits.memory is not None:
        pairs.append((resource.RLIMIT_DATA, limits.memory))
    return ",".join(f"{kind}:{value}" for kind, value in pairs)


def limit_this_process(packed: str) -> None:
    """Sets what `packed_rlimits` says on this process."""
    for pair in filter(None, packed.split(",")):
        kind, _, value = pair.partition(":")
        resource.setrlimit(int(kind), soft_and_hard(int(kind), int(value)))
