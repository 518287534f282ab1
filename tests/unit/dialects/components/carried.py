"""Components for tests: a body, with the signature and the mark below it."""

from __future__ import annotations

import logging
from textwrap import dedent

MARKS = '_security_signature = "modulo_autopoiesis_data_test"\n_generated_in_sandbox = True\n'
KEYS = ["success", "output", "error", "execution_time", "security_validated", "isolation"]

ADDER = '''
"""Adds."""
import json

class Adder:
    _security_signature = "modulo_autopoiesis_data_adder"
    _generated_in_sandbox = True

    def run(self, parts):
        return json.dumps({"sum": sum(parts)})

print(Adder().run([1, 2, 3]))
'''


def component(body: str) -> str:
    """A component that does this."""
    return MARKS + dedent(body)


def tried(records: list[logging.LogRecord]) -> list[str]:
    """With which isolation a component was tried, in order."""
    return [str(r.args[1]) for r in records if r.args and "is tried with" in r.msg]
