"""A tool that writes a file is judged by where that file lies."""

from __future__ import annotations

import pytest

from redoma.model.decision import Verdict
from redoma.pipeline.decisions.check import check_write


@pytest.mark.parametrize(
    ("path", "verdict"),
    [
        ("src/app.py", Verdict.ALLOW),
        ("/home/user/project/README.md", Verdict.ALLOW),
        ("/tmp/scratch.txt", Verdict.ALLOW),
        ("a file with spaces.txt", Verdict.ALLOW),
        ("/home/user/notes.txt", Verdict.LOG),
        ("../other/main.py", Verdict.LOG),
        ("/etc/hostname", Verdict.CONFIRM),
        ("~/.bashrc", Verdict.DENY),
        ("~/.ssh/authorized_keys", Verdict.DENY),
        (".git/hooks/pre-commit", Verdict.DENY),
        (".git/config", Verdict.DENY),
        ("src/../.git/hooks/post-merge", Verdict.DENY),
        ("vendor/lib/.git/hooks/pre-push", Verdict.DENY),
        (".claude/settings.json", Verdict.DENY),
        (".vscode/tasks.json", Verdict.DENY),
        ("sandbox.yaml", Verdict.DENY),
        ("/etc/sudoers.d/me", Verdict.DENY),
        ("/dev/sda", Verdict.DENY),
        ("/proc/sys/kernel/core_pattern", Verdict.DENY),
        ("", Verdict.DENY),
        ("nul\0byte", Verdict.DENY),
        ("src/\u202eyp.ppa", Verdict.CONFIRM),
    ],
)
def test_a_written_path_gets_its_verdict(path: str, verdict: Verdict) -> None:
    decided = check_write(path, cwd="/home/user/project", home="/home/user")
    assert decided.verdict is verdict, decided.because
