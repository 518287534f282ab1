"""Paths behind errors that name none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from redoma.jail.calls.refusal_watch import as_path, paths_behind, paths_in


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("unable to open database: /home/ana/a.db", ["/home/ana/a.db"]),
        ("Error reading file '/home/ana/a b.xml': failed", ["/home/ana/a b.xml"]),
        ("/lib/x.so: cannot open shared object file", ["/lib/x.so"]),
        ("GET https://a.example/x/y failed", []),
        ("either/or", []),
        ("no path / at all", []),
        ("/", []),
        ("", []),
    ],
)
def test_a_message_is_read_for_its_paths(text: str, paths: list[str]) -> None:
    assert paths_in(text) == paths


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ("/a/../b", "/b"),
        ("file:/a?mode=ro", "/a"),
        ("file:///a#x", "/a"),
        ("relative", ""),
        ("/a\0b", ""),
        ("/" + "x" * 5000, ""),
    ],
)
def test_a_text_is_a_path_or_not(value: str, path: str) -> None:
    assert as_path(value) == path


def test_values_of_the_frame_that_called_c_are_looked_at_and_no_others() -> None:
    def called(path: Any) -> None:
        import ssl

        ssl.create_default_context().load_verify_locations(*[path])

    def raised(path: str) -> None:
        raise OSError(2, f"raised by hand for {len(path)}")

    for given in ("/no/such/file", Path("/no/such/file")):
        with pytest.raises(FileNotFoundError) as error:
            called(given)
        assert paths_behind(error.value)[0] == "/no/such/file"
    with pytest.raises(OSError, match="hand") as error_by_hand:
        raised("/no/such/file")
    assert paths_behind(error_by_hand.value) == []
