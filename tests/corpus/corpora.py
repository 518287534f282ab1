"""Where the corpora lie; they are measured with and never part of the project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

CORPORA = Path(
    os.environ.get("REDOMA_CORPORA") or Path(__file__).resolve().parents[3] / "shared" / "corpora"
)
needs_corpora = pytest.mark.skipif(
    not (CORPORA / "labelled.jsonl").is_file(),
    reason="no corpora: set REDOMA_CORPORA to the directory that holds labelled.jsonl",
)
