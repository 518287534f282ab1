"""What Redoma promises about a run, numbered; docs/promises.md says the same to people."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Promise(NamedTuple):
    """One sentence, and the guarantee (by its value) that an engine must give for it to hold."""

    number: str
    sentence: str
    guarantee: str


class P(Enum):
    """The promises, by number."""

    WRITES = Promise(
        "P1", "Nothing outside the workspace is changed, by any route.", "writes-confined"
    )
    SECRETS = Promise(
        "P2", "Nothing secret of the caller or of the machine can be read.", "reads-confined"
    )
    ENVIRONMENT = Promise(
        "P3", "No variable of the caller's environment is seen, but for a few harmless ones.",
        "reads-confined",
    )  # fmt: skip
    DESCRIPTORS = Promise(
        "P4", "No open file, socket or directory of the caller comes along.", "writes-confined"
    )
    PROCESSES = Promise(
        "P5", "No process of the machine is seen, signalled, traced or read.", "processes-hidden"
    )
    NETWORK = Promise(
        "P6", "Nothing is reached by network but the command's own loopback.", "network-closed"
    )
    SOCKETS = Promise(
        "P7", "No socket or pipe of another program is reached through a path.", "reads-confined"
    )
    MOUNTS = Promise("P8", "What is mounted cannot be changed or uncovered.", "syscalls-filtered")
    NAMESPACES = Promise(
        "P9", "No namespace is made or entered, so no privilege comes by one.", "syscalls-filtered"
    )
    PRIVILEGES = Promise(
        "P10", "The command has no privilege and gets none, also where root runs it.",
        "no-new-privileges",
    )  # fmt: skip
    SETTINGS = Promise(
        "P11", "No setting or control of the kernel can be written.", "writes-confined"
    )
    CALLS = Promise(
        "P12",
        "System calls that ordinary programs do not need are refused, and those that a later kernel adds.",
        "syscalls-filtered",
    )
    DEVICES = Promise(
        "P13", "No device is reached or made, but for the harmless ones.", "writes-confined"
    )
    TERMINAL = Promise("P14", "Nothing is typed into the caller's terminal.", "syscalls-filtered")
    LEFTOVERS = Promise(
        "P15", "Every process of a command ends with it, with its time, or with Redoma.",
        "tree-killed",
    )  # fmt: skip
    FORKS = Promise("P16", "The number of processes is capped.", "processes-capped")
    MEMORY = Promise(
        "P17", "Memory is held to a limit for the whole tree: capped by the kernel, or watched.",
        "memory-watched",
    )  # fmt: skip
    DISK = Promise(
        "P18",
        "What is written to disk and to /tmp is held to a limit, and a run that met one is not "
        "applied.",
        "disk-watched",
    )
    OUTPUT = Promise(
        "P19", "Open files, output and time are capped, and the caller is never stuck.",
        "tree-killed",
    )  # fmt: skip
    PLANTING = Promise(
        "P20", "Nothing is planted that your own tools would obey: hooks, settings, start files.",
        "protected-paths",
    )  # fmt: skip
    STUBS = Promise(
        "P21", "Work in repositories goes on as ever, and no stray file is left anywhere.",
        "protected-paths",
    )  # fmt: skip
    OWNER = Promise(
        "P22", "What a command makes belongs to the workspace's owner and carries no set-id bit.",
        "no-new-privileges",
    )  # fmt: skip
    FAITHFUL = Promise(
        "P23", "The exit status and the signal are the command's own.", "tree-killed"
    )

    @property
    def number(self) -> str:
        return self.value.number

    @property
    def guarantee(self) -> str:
        return self.value.guarantee
