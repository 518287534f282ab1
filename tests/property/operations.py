"""A small language of file operations, and its interpreter: runs inside a sandbox or outside.

It reads a list of operations as JSON, each a list of words. What an operation cannot do it leaves:
the same in every place where the same tree stands.
"""

import json
import os
import shutil
import stat
import sys
from contextlib import suppress


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def append(path, text):
    with open(path, "a") as file:
        file.write(text)


def truncate(path, size):
    os.truncate(path, size)


def remove(path):
    if stat.S_ISDIR(os.lstat(path).st_mode):
        shutil.rmtree(path)
    else:
        os.unlink(path)


def make(path):
    os.mkdir(path)


def move(old, new):
    # As `mv`: a directory of a lower layer has to be copied.
    shutil.move(old, new if not os.path.isdir(new) or os.path.islink(new) else f"{new}/moved")


def link(old, new):
    os.link(old, new, follow_symlinks=False)


def symlink(target, path):
    os.symlink(target, path)


def mode(path, bits):
    if not os.path.islink(path):
        os.chmod(path, bits)


def date(path, seconds):
    os.utime(path, (seconds, seconds), follow_symlinks=False)


def mark(path, value):
    if not os.path.islink(path):
        os.setxattr(path, "user.mark", value.encode())


def unmark(path):
    if not os.path.islink(path):
        os.removexattr(path, "user.mark")


def pipe(path):
    os.mkfifo(path)


def is_pipe(path):
    return os.path.exists(path) and stat.S_ISFIFO(os.stat(path).st_mode)


VERBS = (write, append, truncate, remove, make, move, link, symlink, mode, date, mark, unmark, pipe)
BY_NAME = {verb.__name__: verb for verb in VERBS}


def perform(operations):
    for name, *words in operations:
        with suppress(OSError, shutil.Error):
            # A pipe would wait for someone to read it.
            if name not in ("write", "append") or not is_pipe(words[0]):
                BY_NAME[name](*words)


if __name__ == "__main__":
    perform(json.loads(sys.stdin.read()))
