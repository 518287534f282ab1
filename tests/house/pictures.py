"""The pictures of the first page: what a terminal really shows, drawn as SVG.

`python -m tests.house.pictures` runs the commands on a terminal and writes the pictures anew.
"""

from __future__ import annotations

import os
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import time
from fcntl import ioctl
from html import escape
from pathlib import Path
from termios import TIOCSWINSZ

from tests.house.tree import PACKAGE, ROOT

PLACE = ROOT / "docs/pictures"
START = [sys.executable, "-I", "-S", "-X", "utf8", str(PACKAGE / "__main__.py")]
COLUMNS, ROWS = 76, 40
WIDTH, HEIGHT = 8.4, 19
_PAINT = {"31": "#f47067", "32": "#8ddb8c", "33": "#f0b254", "36": "#6bc6d8"}
_SEQUENCE = re.compile(r"\x1b\[([0-9;]*)([A-Za-z])")


def shown(arguments: list[str], project: Path, *, keys: str = "", stop: str = "") -> str:
    """What a command shows on a terminal; `keys` are pressed once `stop` is on the screen."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(project)
        home = str(project.parent)
        place = {f"XDG_{kind}_HOME": f"{home}/{kind}" for kind in ("STATE", "CACHE", "CONFIG")}
        env = {"PATH": "/usr/bin:/bin", "HOME": home, "TERM": "xterm", "LC_ALL": "C.UTF-8", **place}
        os.execve(START[0], [*START, *arguments], {**env, "REDOMA_PAGER": "cat", "USER": "ana"})
    ioctl(terminal, TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    said, pressed, until = "", False, time.monotonic() + 60
    while time.monotonic() < until:
        if not select.select([terminal], [], [], 0.2)[0]:
            if stop in said and keys and not pressed:
                time.sleep(1)
                os.write(terminal, keys.encode())
                pressed = True
            continue
        try:
            data = os.read(terminal, 65536)
        except OSError:
            break
        if not pressed:
            said += data.decode()
    os.close(terminal)
    os.waitpid(child, 0)
    return said.replace("\r\n", "\n").replace(str(project.parent), "/home/ana")


def drawn(text: str) -> str:
    """Lines of a terminal as a picture."""
    lines = text.rstrip("\n").split("\n")
    height = HEIGHT * len(lines) + 32
    made = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{COLUMNS * WIDTH + 32:.0f}"'
        f' height="{height}" font-family="ui-monospace, monospace" font-size="14">',
        '<rect width="100%" height="100%" rx="8" fill="#1e2227"/>',
    ]
    for at, line in enumerate(lines):
        spans, style = [], ""
        for part in re.split(r"(\x1b\[[0-9;]*[A-Za-z])", line.rpartition("\r")[2]):
            found = _SEQUENCE.fullmatch(part)
            if found is None:
                spans += [f"<tspan{style}>{escape(part)}</tspan>"] if part else []
            elif found[2] == "m":
                style = _style(found[1].split(";"))
        y = 16 + HEIGHT * (at + 0.75)
        made.append(f'<text x="16" y="{y:.1f}" fill="#cdd3da" xml:space="preserve">')
        made.append("".join(spans) + "</text>")
    return "\n".join([*made, "</svg>", ""])


def _style(codes: list[str]) -> str:
    fill = next((_PAINT[code] for code in codes if code in _PAINT), "")
    said = f' fill="{fill}"' if fill else ""
    said += ' font-weight="bold"' if "1" in codes else ""
    return said + (' opacity="0.6"' if "2" in codes else "")


def pictures() -> dict[str, str]:
    """Each picture by its name."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as home:
        project = Path(home) / "project"
        project.mkdir()
        subprocess.run(["git", "init", "-q", "--template="], cwd=project, check=True)
        (project / "version.txt").write_text("name = app\nversion = 1.0\n")
        change = "sed -i s/1.0/1.1/ version.txt; echo '1.1: faster' > CHANGES"
        card = "git push --force origin main"
        preview = shown(["preview", change], project)
        asked = shown(["run", card], project, keys="d", stop="deny in")
    return {
        "card.svg": drawn(f"$ redoma run '{card}'\n{asked.partition(' deny in')[0]}"),
        "preview.svg": drawn(f'$ redoma preview "{change}"\n{preview}'),
    }


if __name__ == "__main__":
    PLACE.mkdir(exist_ok=True)
    for name, picture in pictures().items():
        (PLACE / name).write_text(picture)
