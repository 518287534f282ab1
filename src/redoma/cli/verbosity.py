"""`-v`, `-vv` and `REDOMA_LOG`: what Redoma does, on standard error, for whoever runs it."""

from __future__ import annotations

from redoma.base.log import configure
from redoma.pipeline.secrets import redact


def print_log(level: str) -> None:
    """Prints the operator's log from this level on; no line has a secret in it."""
    configure(level, redact)
