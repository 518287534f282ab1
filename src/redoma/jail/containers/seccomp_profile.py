"""Podman's own filter of system calls, without what makes namespaces and mounts.

Docker refuses these to whoever has no capability; Podman lets them through, for containers in
containers. A new user namespace would give a guest every capability in it, and with that most of
the kernel's code that only root reaches otherwise.
"""

from __future__ import annotations

import json
import os
from hashlib import sha256

from redoma.base import own_directories, private_file

_SHIPPED = ("/etc/containers/seccomp.json", "/usr/share/containers/seccomp.json")
_REFUSED = frozenset(
    """
    add_key clone clone3 fsconfig fsmount fsopen fspick io_uring_enter io_uring_register
    io_uring_setup keyctl mount mount_setattr move_mount open_tree pidfd_getfd pivot_root
    request_key setns umount umount2 unshare userfaultfd
    """.split()
)
_NAMESPACES = 0x7E020000  # every CLONE_NEW flag
_EPERM, _ENOSYS = 1, 38


def stricter_profile() -> str:
    """The path of the profile that Podman is given; nothing where its own is not found."""
    source = next((path for path in _SHIPPED if os.path.isfile(path)), "")
    if not source:
        return ""
    with open(source, encoding="utf-8") as file:
        made = json.dumps(stricter(json.load(file))).encode()
    place = f"{own_directories.made_cache()}/seccomp-{sha256(made).hexdigest()[:16]}.json"
    if not os.path.exists(place):
        private_file.write(place, made)
    return place


def stricter(profile: dict[str, object]) -> dict[str, object]:
    """The same profile, in which `clone` makes no namespace and the others do not exist."""
    rules = profile["syscalls"]
    assert isinstance(rules, list)
    kept = []
    for rule in rules:
        names = [name for name in rule["names"] if name not in _REFUSED]
        if names:
            kept.append({**rule, "names": names})
    plain = {"index": 0, "value": _NAMESPACES, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}
    refused = sorted(_REFUSED - {"clone", "clone3"})
    kept += [
        {"names": ["clone"], "action": "SCMP_ACT_ALLOW", "args": [plain]},
        # Its flags lie in memory, where no filter reads: programs fall back to clone.
        {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "args": [], "errnoRet": _ENOSYS},
        {"names": refused, "action": "SCMP_ACT_ERRNO", "args": [], "errnoRet": _EPERM},
    ]
    return {**profile, "syscalls": kept}
