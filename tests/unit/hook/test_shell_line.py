"""The line of Claude Code is taken apart as the shell would, or not at all."""

from __future__ import annotations

import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redoma.hook.shell_line import read_line, unquoted

BEFORE = (
    "source /home/a/.claude/shell-snapshots/snapshot-bash-1-x.sh 2>/dev/null || true && "
    "{ shopt -u extglob || setopt NO_EXTENDED_GLOB NO_BARE_GLOB_QUAL; } >/dev/null 2>&1 || true && "
)
AFTER = " && pwd -P >| /tmp/claude-71d9-cwd"


def line(word: str, more: str = " < /dev/null") -> str:
    return f"{BEFORE}eval {word}{more}{AFTER}"


@pytest.mark.parametrize("more", ["", " < /dev/null"])
def test_the_models_command_is_read_out_of_its_wrapping(more: str) -> None:
    command = 'echo "it\'s é"\ncat <<EOF && pwd -P >| /tmp/x-cwd\nfoo\nEOF'
    found = read_line(line(shlex.quote(command), more))
    assert found is not None
    assert (found.command, found.place) == (command, "/tmp/claude-71d9-cwd")
    assert found.snapshot.endswith("snapshot-bash-1-x.sh")
    assert found.script("/tmp/c") == line(shlex.quote(command), more).replace(
        "/tmp/claude-71d9-cwd", "/tmp/c"
    )


@pytest.mark.parametrize(
    "text",
    [
        "ls",
        "/bin/cat -u 'a b'",
        line("ls; id"),
        line("'ls' $(id)"),
        line('"$(id)"'),
        line('"`id`"'),
        line("'ls'\nid"),
        line("'ls"),
        line("ls -l"),
        line("", ""),
        line("ls").replace("source ", "source $(id)/"),
        line("ls") + "; id",
        "id; " + line("ls"),
    ],
)
def test_a_line_of_another_form_is_not_read(text: str) -> None:
    assert read_line(text) is None


@given(st.text(alphabet="ab'\"\\$`!; \n<>&|(é", min_size=1, max_size=12))
def test_what_is_read_as_one_word_is_that_word_for_a_shell(word: str) -> None:
    said = unquoted(word)
    if said is None:
        return
    done = subprocess.run(
        ["/bin/bash", "-c", f"printf %s {word}"], capture_output=True, check=False, timeout=20
    )
    assert (done.returncode, done.stdout.decode()) == (0, said)
