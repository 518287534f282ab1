"""The card files as they are written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

import redoma.judge.programs

FOLDER = Path(redoma.judge.programs.__file__).parent / "cards"


def bodies() -> dict[str, dict[str, Any]]:
    """Every card by its first name."""
    return {
        str(name): {"otherwise": body} if isinstance(body, str) else body or {}
        for path in sorted(FOLDER.glob("*.yaml"))
        for name, body in yaml.safe_load(path.read_text(encoding="utf-8")).items()
    }
