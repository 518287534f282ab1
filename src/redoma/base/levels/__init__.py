"""The isolation levels: each is one YAML file in this folder, and nothing else knows their names.

`rank` orders them from the least isolation to the most. What else a file says is read by
`jail/profiles`; here its name and its rank are enough, and cost a cold start next to nothing.
"""

from __future__ import annotations

import os

DIRECTORY = os.path.dirname(os.path.abspath(__file__))
_END = ".yaml"


def _rank(name: str) -> int:
    with open(f"{DIRECTORY}/{name}", encoding="utf-8") as file:
        ranks = [line.split(":")[1] for line in file if line.startswith("rank:")]
    return int(ranks[0])


LEVELS = tuple(
    name.removesuffix(_END)
    for name in sorted((n for n in os.listdir(DIRECTORY) if n.endswith(_END)), key=_rank)
)
"""The isolation levels, from the least to the most."""


def level_file(name: str) -> str:
    """The file of a level."""
    return f"{DIRECTORY}/{name}{_END}"
