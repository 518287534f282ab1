"""The same place for each test as the tests of the whole path have."""

from tests.pipeline.conftest import one_cache, place

__all__ = ["one_cache", "place"]
