"""The three standard streams, where whoever started us closed some of them."""

from __future__ import annotations

import os
import sys


def open_closed() -> None:
    """Opens what was closed onto nothing.

    Attack: the next file that we open would get the number of a closed stream; then what a command
    prints would be written into it, be it our own record.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number: this one
        if getattr(sys, name) is None:
            mode = "w" if number else "r"
            stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115 — it stays
            setattr(sys, name, stream)
