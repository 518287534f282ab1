"""What a command reached becomes the smallest grants that would have sufficed, and they can be read."""

from __future__ import annotations

import pytest

from redoma.egress.host_rules import read
from redoma.model.network import NOT_GRANTED, Connection
from redoma.pipeline.learned_grants import smallest


def reached(name: str, port: int = 443, **more: object) -> Connection:
    return Connection(allowed=True, name=name, port=port, **more)  # type: ignore[arg-type]


def asked(path: str, method: str = "GET", name: str = "a.test", port: int = 443) -> Connection:
    return reached(name, port, kind="https", method=method, path=path, status=200)


@pytest.mark.parametrize(
    ("calls", "rules"),
    [
        ([], ()),
        (
            [reached("a.test"), reached("a.test", 80), reached("b.test", 22)],
            ("a.test", "b.test:22"),
        ),
        ([Connection(allowed=True, address="198.51.100.7", port=443)], ("198.51.100.7:443",)),
        ([Connection(allowed=False, name="x.test", port=443, why=NOT_GRANTED)], ()),
        ([Connection(allowed=True, kind="published", name="localhost", port=8000)], ()),
        ([asked("/a?x=…"), asked("/a"), asked("/b", "HEAD")], ("GET a.test/a", "GET a.test/b")),
        (
            [asked("/a"), asked("/a", "POST"), asked("/c", "PUT", port=8443)],
            ("GET,POST a.test/a", "PUT a.test:8443/c"),
        ),
        ([asked(f"/v1/pkg/{n}.tgz") for n in range(9)], ("GET a.test/v1/pkg/**",)),
        ([asked(f"/{n}/x") for n in range(9)], ("GET a.test/**",)),
        # A path that no rule can name is granted by what is above it.
        ([asked("/a/it's*")], ("GET a.test/**",)),
        ([asked("/ok/x"), asked("/a/../b")], ("GET a.test/**",)),
        # What was not read is granted whole, and nothing beside it.
        ([reached("a.test"), asked("/a")], ("a.test",)),
    ],
)
def test_grants_are_the_smallest_that_suffice(
    calls: list[Connection], rules: tuple[str, ...]
) -> None:
    assert smallest(calls) == rules
    assert len(read(rules).hosts) == len(rules)
