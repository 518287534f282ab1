"""What a real server reads as a request that the rules do not grant never arrives there."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.escape.request_fuzz import not_granted, passed, requests

pytestmark = pytest.mark.both_users
COUNT = 600


@pytest.mark.parametrize("kind", ["python", "node", "nginx"])
def test_whatever_a_server_reads_of_a_thousand_odd_requests_was_granted(
    kind: str, tmp_path: Path
) -> None:
    program = {"python": "python3"}.get(kind, kind)
    if shutil.which(program, path="/usr/bin:/usr/sbin:/usr/local/bin") is None:
        pytest.skip(f"{program} is not here")
    tmp_path.chmod(0o755)
    arrived, past = passed(kind, 1, COUNT, tmp_path)
    assert past == []
    # The gate would pass this test by letting nothing through.
    assert arrived > COUNT / 20


def test_the_check_can_fail() -> None:
    """Sent without a gate, the same texts are read as requests that nobody granted."""
    assert len({*requests(1, COUNT)}) > COUNT / 2
    assert not_granted([("DELETE", "/admin", "h.test"), ("GET", "/okay", "h.test")]) == [
        ("DELETE", "/admin", "h.test"),
        ("GET", "/okay", "h.test"),
    ]
    assert not_granted([("GET", "/ok/f", "h.test"), ("HEAD", "/ok/a/b", "H.test:80")]) == []
