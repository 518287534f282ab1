"""Signs that mislead are found; other languages, accents and emoji are not taken for them."""

from __future__ import annotations

import pytest

from redoma.judge.text.deception import deceptions

HONEST = [
    "git commit -m 'Исправить вход через API-ключ'",
    "git commit -m '修复：登录问题，完成。'",
    "git commit -m 'ログイン（画面）を直す'",
    "echo 'مرحبا بالعالم'",
    "echo 'שלום עולם'",
    "echo 'naïve café, Größe 5µs, Δt → λx'",
    "echo '👩‍💻 done 🏳️‍🌈 👨‍👩‍👧'",
    "echo 'می‌خواهم'",
    "git commit -m 'Attention\u00a0: fin'",
    "cat résumé.txt",
    "echo 你好。",
    "ls -la\tsrc\n",
]
MISLEADING = [
    ("ls \u202e# gnp", "bidi"),
    ("ls \u2066x\u2069", "bidi"),
    ("curl https://go\u200bogle.example", "hidden"),
    ("rm\u200d -rf x", "hidden"),
    ("rm\u00a0-rf /", "space"),
    ("echo \x1b[2K", "escape"),
    ("echo \x07", "control"),
    ("ls # x\rrm -rf ~", "carriage-return"),
    ("ѕudo ls", "lookalike"),
    ("curl https://gіthub.com", "lookalike"),
    ("curl https://example\uff0ecom", "lookalike"),
    ("curl https://example\u3002com", "lookalike"),
    ("rm -rf ./ｂuild", "lookalike"),
    ("𝐫m -rf x", "lookalike"),
    ("ls\0", "nul"),
]


@pytest.mark.parametrize("text", HONEST)
def test_text_in_other_languages_is_no_deception(text: str) -> None:
    assert deceptions(text) == []


@pytest.mark.parametrize(("text", "kind"), MISLEADING)
def test_a_sign_that_looks_like_another_is_found(text: str, kind: str) -> None:
    assert [fact.detail for fact in deceptions(text)] == [kind]
