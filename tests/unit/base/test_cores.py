"""The cores are what the public modules are made of."""

from __future__ import annotations

import hashlib
import json
import queue
import socket
import sqlite3
import subprocess
import sys

import pytest

from redoma.base import cores
from tests.house.tree import PACKAGE


def test_what_a_core_has_is_what_the_public_module_has() -> None:
    assert cores.blake2b is hashlib.blake2b
    assert cores.SimpleQueue is queue.SimpleQueue
    assert (cores.connect, cores.Connection) == (sqlite3.connect, sqlite3.Connection)
    assert issubclass(socket.socket, cores.socket)
    for name in cores.__all__:
        if name.isupper():
            assert getattr(cores, name) == getattr(socket, name)


def test_a_line_of_json_is_what_json_says() -> None:
    value = {"a": [1, 2.5, None, True, 'é\n"\udcff'], "b": {}, "c": ("x",)}
    assert cores.json_line(value) == json.dumps(value, separators=(",", ":"))
    with pytest.raises(TypeError, match="set is not JSON"):
        cores.json_line({"a": {1}})
    with pytest.raises(ValueError, match="not JSON compliant"):
        cores.json_line(float("nan"))


def test_a_name_that_there_is_not_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'elsewhere'"):
        _ = cores.elsewhere


def test_a_library_is_loaded_by_who_asks_for_it() -> None:
    code = (
        f"import sys; sys.path.append({str(PACKAGE.parent)!r})\n"
        "from redoma.base.cores import blake2b\n"
        "print(sorted({'_blake2', '_socket', '_sqlite3', '_queue'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "['_blake2']\n"
