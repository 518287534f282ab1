"""Limits as people write them."""

from __future__ import annotations

import pytest

from redoma.jail.profiles.profile import read_limit
from redoma.model.errors import UsageError


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("memory", "512M", 512 << 20),
        ("memory", "2G", 2 << 30),
        ("memory", "2 GiB", 2 << 30),
        ("memory", "1.5g", 3 << 29),
        ("file_size", "4096", 4096),
        ("wall_seconds", "90s", 90.0),
        ("wall_seconds", "1.5m", 90.0),
        ("wall_seconds", "200ms", 0.2),
        ("processes", "12", 12),
        ("cpu_percent", "50%", 50),
        ("memory", "none", None),
    ],
)
def test_a_limit_means_what_it_says(name: str, text: str, value: float | None) -> None:
    assert read_limit(name, text) == value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("memory", "lots"),
        ("memory", "-1G"),
        ("memory", "0"),
        ("memory", "1K"),
        ("memory", "5Q"),
        ("memory", ""),
        ("memory", "1e9"),
        ("memory", "٣G"),
        ("wall_seconds", "soon"),
        ("wall_seconds", "0"),
        ("wall_seconds", "nan"),
        ("processes", "1.5"),
        ("processes", "-3"),
        ("processes", "12x"),
        ("open_files", "2"),
        ("output", "9" * 30),
    ],
)
def test_a_nonsense_limit_is_a_usage_error_that_names_it(name: str, text: str) -> None:
    with pytest.raises(UsageError, match=name):
        read_limit(name, text)
