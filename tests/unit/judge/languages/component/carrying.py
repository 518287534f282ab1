"""A component's signature and mark, put below the code that a test is about."""

from __future__ import annotations

MARKS = '_security_signature = "modulo_autopoiesis_data_test"\n_generated_in_sandbox = True\n'


def marked(code: str) -> str:
    """The code as a component that carries what it has to."""
    return f"{code}\n{MARKS}"
