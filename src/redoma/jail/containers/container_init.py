"""The first process of a run's container: what it runs, and the word that it waits for.

It waits at a socket until limits are on it and the start of the run is on disk. The command, its
variables and its secrets come through that socket: they are in no description that an engine keeps
on a disk, and in no list of arguments. With them come the streams themselves: nobody stands between
a command and whoever reads it.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

GATE = "/.gate"
# It starts the command as its child, takes in orphans, and ends as the command does. An engine's
# own init would be mounted where /usr goes.
CODE = f"""
import os, signal, sys
import _socket
IGNORED = (1, 2, 3, 10, 12, 15)
door = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
door.connect("{GATE}/go")
told, given, size = b"", [], 8
while len(told) < size:
    data, more, _, _ = door.recvmsg(65536, 256, 0x40000000)  # closed at an exec
    for _, _, packed in more:
        given += [
            int.from_bytes(packed[at : at + 4], sys.byteorder) for at in range(0, len(packed), 4)
        ]
    if not data:
        os._exit(125)  # whoever started us ended before it said everything
    told += data
    if size == 8 and len(told) >= 8:
        size += int.from_bytes(told[:8], "big")
told = told[8:].split(b"\\0")
def many():
    count = int(told.pop(0))
    taken = told[:count]
    del told[:count]
    return taken
words, pairs, files, streams = many(), many(), many(), [int(each) for each in many()]
env = dict(pair.split(b"=", 1) for pair in pairs)
for one in files:
    place, _, text = one.partition(b"=")
    fd = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400)
    data = bytes.fromhex(text.decode())
    while data:
        data = data[os.write(fd, data):]
    os.close(fd)
os.chdir(told.pop(0))
for number in IGNORED:
    signal.signal(number, signal.SIG_IGN)
child = os.fork()
if child == 0:
    for number in (*IGNORED, 13, 25):
        signal.signal(number, signal.SIG_DFL)
    # What came stands above the streams, or on the place of the one that it is.
    for fd, number in zip(given, streams):
        os.dup2(fd, number)
        os.set_inheritable(number, True)
    try:
        try:
            os.execve(words[0], words, env)
        except OSError as error:
            if error.errno != 8:
                raise
            os.execve(b"/bin/sh", [b"/bin/sh", *words], env)  # a script that names no reader
    except OSError as error:
        os.write(2, words[0] + b": " + error.strerror.encode() + bytes([10]))
        os._exit(127 if error.errno == 2 else 126)
for fd in given:
    os.close(fd)
while True:
    pid, status = os.wait()
    if pid == child:
        # While we are there the kernel can still be asked what became of the limits.
        try:
            door.send(b"ended")
            door.recv(1)
        except OSError:
            pass  # nobody asks
        code = os.waitstatus_to_exitcode(status)
        os._exit(code if code >= 0 else 128 - code)
"""


def packed_word(
    words: Sequence[str],
    env: Mapping[str, str],
    files: Mapping[str, bytes],
    streams: Sequence[int],
    directory: str,
) -> bytes:
    """What the socket carries: the command, its variables, secrets by place, and where it begins.

    `streams` are the numbers that the descriptors beside it have for the command.
    """
    pairs = [f"{name}={value}" for name, value in env.items()]
    laid = [f"{place}={data.hex()}" for place, data in files.items()]
    made: list[str] = []
    for each in (list(words), pairs, laid, list(map(str, streams))):
        made += [str(len(each)), *each]
    packed = b"\0".join(map(os.fsencode, (*made, directory)))
    return len(packed).to_bytes(8, "big") + packed
