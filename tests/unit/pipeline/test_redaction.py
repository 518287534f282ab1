"""The sanitizer that programs use: it knows what this process holds."""

from __future__ import annotations

import pytest

from redoma import SecretSanitizer
from redoma.vault.redactor import Found


@pytest.mark.requirement("S11")
def test_a_prompt_is_sent_without_its_secrets() -> None:
    sanitizer = SecretSanitizer(["battery staple"], environ={"CI_TOKEN": "correct-horse"})
    message = "run DB_PASSWORD=hunter2 ./x, then say correct-horse and battery staple"
    assert sanitizer.sanitize(message) == (
        "run DB_PASSWORD=[REDACTED] ./x, then say [REDACTED] and [REDACTED]"
    )
    assert sanitizer.found("\nPASSWORD=hunter2") == (Found(kind="password", line=2),)


def test_the_variables_of_the_process_are_known_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_SECRET", "correct-horse")
    assert SecretSanitizer().sanitize("it said correct-horse") == "it said [REDACTED]"


def test_a_stream_gives_what_the_whole_gives() -> None:
    stream = SecretSanitizer(environ={}).stream()
    assert stream.feed(b"PASSWORD=hun") + stream.feed(b"ter2\n") + stream.finish() == (
        b"PASSWORD=[REDACTED]\n"
    )
