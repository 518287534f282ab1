"""A machine of the tests' own: namespaces with public addresses, and names that lead to them.

    unshare --net --mount python own_machine.py HOSTS SCRIPT

What SCRIPT, run there by Python, has as `address(TEXT)`: one more address of this machine.
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def on_a_machine(hosts: dict[str, str], script: str) -> list[str]:
    """What a script prints on a machine that knows these hosts by name, and nobody else."""
    own = [] if os.geteuid() == 0 else ["--user", "--map-current-user", "--keep-caps"]
    argv = ["unshare", *own, "--net", "--mount", sys.executable, __file__]
    with tempfile.NamedTemporaryFile("w", prefix="hosts-") as names:
        names.writelines(f"{address} {name}\n" for name, address in hosts.items())
        names.flush()
        os.chmod(names.name, 0o644)
        done = subprocess.run(
            [*argv, names.name, script],
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": f"{ROOT}/src:{ROOT}"},
        )
    return (done.stdout or done.stderr).splitlines()


def main() -> None:
    """Sets the machine up, and runs the script."""
    from redoma.jail.kernel.netns import IPV4, IPV6, ROUTE, own_address

    subprocess.run(["mount", "--bind", sys.argv[1], "/etc/hosts"], check=True)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as lo:
        fcntl.ioctl(lo, 0x8914, struct.pack("16sH22x", b"lo", 0x49))

    def address(text: str) -> str:
        family = socket.AF_INET6 if ":" in text else socket.AF_INET
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, ROUTE) as channel:
            kind = IPV6 if ":" in text else IPV4
            own_address(channel, kind, socket.inet_pton(family, text))
        return text

    exec(sys.argv[2], {"address": address})


if __name__ == "__main__":
    main()
